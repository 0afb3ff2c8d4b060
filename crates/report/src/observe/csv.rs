use switchcost_analysis::observation::{Findings, ProcessFinding, Range};

use crate::for_programs::{self, Column, Table};

const COLUMNS: [Column<ProcessFinding>; 24] = [
    ("name", |p| p.name.clone()),
    ("process", |p| {
        p.process
            .map_or(String::new(), |process| process.to_string())
    }),
    ("process_inside", |p| {
        p.process_inside
            .map_or(String::new(), |process| process.to_string())
    }),
    ("control_group", |p| {
        p.control_group.clone().unwrap_or_default()
    }),
    ("is_kernel", |p| p.is_kernel.to_string()),
    ("tasks", |p| p.tasks.to_string()),
    ("switches", |p| p.switches.to_string()),
    ("involuntary", |p| p.involuntary.to_string()),
    ("switches_per_second", |p| p.per_second.to_string()),
    ("cpu_ns", |p| perhaps(p.cpu_ns)),
    ("direct_low_ns", |p| {
        end(p.direct_ns, |range| Some(range.low))
    }),
    ("direct_ns", |p| end(p.direct_ns, |range| range.likely)),
    ("direct_high_ns", |p| {
        end(p.direct_ns, |range| Some(range.high))
    }),
    ("indirect_low_ns", |p| {
        end(p.indirect_ns, |range| Some(range.low))
    }),
    ("indirect_ns", |p| end(p.indirect_ns, |range| range.likely)),
    ("indirect_high_ns", |p| {
        end(p.indirect_ns, |range| Some(range.high))
    }),
    ("share_low", |p| end(p.share, |range| Some(range.low))),
    ("share", |p| end(p.share, |range| range.likely)),
    ("share_high", |p| end(p.share, |range| Some(range.high))),
    ("cost_cpus_low", |p| {
        end(p.cost_cpus, |range| Some(range.low))
    }),
    ("cost_cpus", |p| end(p.cost_cpus, |range| range.likely)),
    ("cost_cpus_high", |p| {
        end(p.cost_cpus, |range| Some(range.high))
    }),
    ("interrupts_ns", |p| {
        end(p.interrupts_ns, |range| range.likely)
    }),
    ("interrupts_high_ns", |p| {
        end(p.interrupts_ns, |range| Some(range.high))
    }),
];

/// A row for each process.
pub(super) fn table(findings: &Findings) -> Table {
    for_programs::table(&COLUMNS, &findings.processes)
}

fn perhaps(value: Option<f64>) -> String {
    value.map_or(String::new(), |value| value.to_string())
}

fn end(range: Option<Range>, of: fn(Range) -> Option<f64>) -> String {
    perhaps(range.and_then(of))
}
