use switchcost_analysis::observation::Findings;

use crate::Table;
use crate::for_programs::{self, Column};

const COLUMNS: [Column; 29] = [
    ("name", "/name"),
    ("process", "/process"),
    ("process_inside", "/process_inside"),
    ("control_group", "/control_group"),
    ("is_kernel", "/is_kernel"),
    ("tasks", "/tasks"),
    ("switches", "/switches"),
    ("involuntary", "/involuntary"),
    ("switches_per_second", "/per_second"),
    ("cpu_ns", "/cpu_ns"),
    ("direct_low_ns", "/direct_ns/low"),
    ("direct_ns", "/direct_ns/likely"),
    ("direct_high_ns", "/direct_ns/high"),
    ("indirect_low_ns", "/indirect_ns/low"),
    ("indirect_ns", "/indirect_ns/likely"),
    ("indirect_high_ns", "/indirect_ns/high"),
    ("indirect_by", "/likely_by"),
    ("indirect_unknown_because", "/indirect_unknown_because"),
    ("indirect_share_low", "/indirect_share/low"),
    ("indirect_share", "/indirect_share/likely"),
    ("indirect_share_high", "/indirect_share/high"),
    ("share_low", "/share/low"),
    ("share", "/share/likely"),
    ("share_high", "/share/high"),
    ("cost_cpus_low", "/cost_cpus/low"),
    ("cost_cpus", "/cost_cpus/likely"),
    ("cost_cpus_high", "/cost_cpus/high"),
    ("interrupts_ns", "/interrupts_ns/likely"),
    ("interrupts_high_ns", "/interrupts_ns/high"),
];

/// Returns a table with a row for each process.
pub(super) fn table(findings: &Findings) -> Table {
    for_programs::table(&COLUMNS, &findings.processes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::for_programs::tests::assert_known;
    use switchcost_analysis::observation::ProcessFinding;

    #[test]
    fn columns_are_fields_of_findings() {
        assert_known::<ProcessFinding>(COLUMNS.map(|(_, path)| path));
    }
}
