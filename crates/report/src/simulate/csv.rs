use serde_json::Value;
use switchcost_analysis::simulation::Findings;

use crate::Table;
use crate::for_programs::{field, value};

/// Kind of row that a column belongs to.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Of {
    /// Rows of intervals.
    Interval,
    /// Summary rows of groups of segments.
    Group,
    /// The summary row of all segments of a design.
    Design,
}
use Of::{Design, Group, Interval};

/// Columns: name, kind of row, and JSON pointer (RFC 6901) to the value.
const COLUMNS: [(&str, Of, &str); 44] = [
    ("survivors", Interval, "/survivors"),
    ("interval", Interval, "/interval"),
    (
        "since_switch_instructions",
        Interval,
        "/since_switch_instructions",
    ),
    ("shared_cpi", Interval, "/shared_cpi/mean"),
    ("shared_cpi_sd", Interval, "/shared_cpi/sd"),
    ("shared_cpi_max", Interval, "/shared_cpi/max"),
    ("private_cpi", Interval, "/private_cpi/mean"),
    ("private_cpi_sd", Interval, "/private_cpi/sd"),
    ("private_cpi_max", Interval, "/private_cpi/max"),
    ("excess_cpi", Interval, "/excess_cpi/mean"),
    ("excess_cpi_sd", Interval, "/excess_cpi/sd"),
    ("excess_cpi_max", Interval, "/excess_cpi/max"),
    ("flushed_cpi", Interval, "/flushed_cpi"),
    (
        "cumulative_excess_cycles",
        Interval,
        "/cumulative_excess_cycles",
    ),
    ("cost_cycles", Group, "/cost_cycles/estimate"),
    ("cost_low_cycles", Group, "/cost_cycles/low"),
    ("cost_high_cycles", Group, "/cost_cycles/high"),
    ("cost_why", Group, "/cost_cycles/why"),
    ("cut_instructions", Group, "/cut/instructions"),
    ("median_instructions", Group, "/median_instructions"),
    ("excess_cycles", Group, "/excess_cycles"),
    ("instructions", Design, "/instructions"),
    ("data_refs", Design, "/data_refs"),
    ("voluntary_switches", Design, "/switches/voluntary"),
    ("involuntary_switches", Design, "/switches/involuntary"),
    ("shared_cycles", Design, "/shared/cycles"),
    ("private_cycles", Design, "/private/cycles"),
    ("flushed_cycles", Design, "/flushed/cycles"),
    ("overhead_percent", Design, "/overhead_percent"),
    (
        "excess_cycles_per_switch",
        Design,
        "/excess_cycles_per_switch",
    ),
    (
        "flushed_cycles_per_switch",
        Design,
        "/flushed_cycles_per_switch",
    ),
    ("reload_bound_cycles", Design, "/reload_bound_cycles"),
    (
        "agarwal_cycles_per_switch",
        Design,
        "/agarwal/cycles_per_switch",
    ),
    ("lost_cycles", Group, "/lost_cycles/estimate"),
    ("lost_low_cycles", Group, "/lost_cycles/low"),
    ("lost_high_cycles", Group, "/lost_cycles/high"),
    ("gained_cycles", Group, "/gained_cycles/estimate"),
    ("gained_low_cycles", Group, "/gained_cycles/low"),
    ("gained_high_cycles", Group, "/gained_cycles/high"),
    ("lost_percent", Design, "/lost_percent"),
    ("state_cycles", Group, "/state_cycles/estimate"),
    ("state_low_cycles", Group, "/state_cycles/low"),
    ("state_high_cycles", Group, "/state_cycles/high"),
    ("first_touch_cycles", Design, "/first_touch_cycles"),
];

/// Returns a table with rows for each group of segments of each design: a row of totals, and a row
/// for each interval.
pub(super) fn table(findings: &Findings) -> Table {
    let names = ["row", "design", "kind", "cause", "segments"].into_iter();
    let names = names.chain(COLUMNS.map(|(name, ..)| name));
    let mut table = vec![names.map(str::to_owned).collect()];
    for design in findings.designs.iter().map(value) {
        for group in items(&design, "groups") {
            table.push(row(&design, group, None));
            let intervals = items(group, "points");
            table.extend(intervals.map(|interval| row(&design, group, Some(interval))));
        }
    }
    table
}

fn items<'a>(value: &'a Value, name: &str) -> impl Iterator<Item = &'a Value> {
    value[name].as_array().into_iter().flatten()
}

fn row(design: &Value, group: &Value, interval: Option<&Value>) -> Vec<String> {
    let kind = if interval.is_some() {
        "interval"
    } else {
        "total"
    };
    let mut row = vec![
        kind.to_owned(),
        field(design, "/name"),
        field(group, "/kind"),
        field(group, "/name"),
        field(interval.unwrap_or(group), "/segments"),
    ];
    row.extend(COLUMNS.map(|(_, of, path)| {
        let source = match of {
            Interval => interval,
            Group => Some(group).filter(|_| interval.is_none()),
            Design => Some(design).filter(|_| interval.is_none() && group["kind"] == "all"),
        };
        source.map_or(String::new(), |source| field(source, path))
    }));
    row
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::for_programs::tests::assert_known;
    use switchcost_analysis::simulation::{DesignFinding, GroupFinding, Point};

    #[test]
    fn columns_are_fields_of_findings() {
        let paths = |rows: Of| {
            let columns = COLUMNS.into_iter();
            columns.filter_map(move |(_, of, path)| (of == rows).then_some(path))
        };
        assert_known::<DesignFinding>(paths(Design));
        assert_known::<GroupFinding>(paths(Group));
        assert_known::<Point>(paths(Interval));
    }
}
