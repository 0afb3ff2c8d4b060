use switchcost_analysis::simulation::{DesignFinding, Findings, Group, GroupFinding};

use super::detailed;
use crate::Page;
use crate::quantity::{count, rounded};
use crate::sparkline::sparkline;

/// Width of a curve in characters.
const WIDTH: usize = 50;

/// Adds the excess CPI as a function of the instructions since the switch, up to the cut-off, as
/// lines of block characters.
pub(super) fn add(page: &mut Page, findings: &Findings) {
    let lines: Vec<(String, String)> = detailed(findings).iter().flat_map(lines).collect();
    if lines.is_empty() {
        return;
    }
    page.heading(
        "Excess CPI since the switch",
        "up to the cut-off, each curve on its own scale",
    );
    let widest = lines
        .iter()
        .map(|(name, _)| name.chars().count())
        .max()
        .unwrap_or(0);
    for (name, line) in lines {
        page.item(format!("{name:<widest$}  {line}"));
    }
}

fn lines(design: &DesignFinding) -> Vec<(String, String)> {
    let is_shown = |group: &&GroupFinding| matches!(group.group, Group::All | Group::Class(_));
    let line = |group: &GroupFinding| {
        let name = match &group.group {
            Group::Class(class) => class,
            _ => "all",
        };
        Some((format!("{} {name}", design.name), curve(group)?))
    };
    design
        .groups
        .iter()
        .filter(is_shown)
        .filter_map(line)
        .collect()
}

/// Formats a curve as `▁▂█ 0.42 to 0.01, 10,300 cycles by 400,000 instructions`; `None` for an
/// empty curve, or if the cost is unknown.
fn curve(group: &GroupFinding) -> Option<String> {
    let end = group.cut.instructions;
    let shown: Vec<_> = group
        .curve
        .iter()
        .filter(|point| point.since_switch_instructions < end)
        .collect();
    let values: Vec<f64> = shown.iter().map(|point| point.excess_cpi.mean).collect();
    let (first, last) = (values.first()?, values.last()?);
    let cost = group.cost_cycles.estimate?;
    Some(format!(
        "{} {} to {}, {} cycles by {} instructions",
        sparkline(&thinned(&values), 0.0),
        rounded(*first),
        rounded(*last),
        rounded(cost),
        count(end)
    ))
}

/// Averages groups of adjacent values, so that at most [`WIDTH`] values remain.
fn thinned(values: &[f64]) -> Vec<f64> {
    let group = values.len().div_ceil(WIDTH).max(1);
    values
        .chunks(group)
        .map(|part| part.iter().sum::<f64>() / part.len() as f64)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_curve_is_thinned() {
        let values: Vec<f64> = (0..100).map(f64::from).collect();
        let thin = thinned(&values);
        assert_eq!((thin.len(), thin[0], thin[49]), (50, 0.5, 98.5));
    }
}
