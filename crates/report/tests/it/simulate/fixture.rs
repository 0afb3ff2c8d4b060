//! A synthetic simulation: two designs, two programs (one with a hostile name), 200 switches.

use std::sync::OnceLock;

use switchcost_analysis::simulation::{Analyser, Findings, Options};
use switchcost_design::result::{ByView, Interval, OfOthers, Simulation};

pub(crate) const HOSTILE: &str = "cat\u{1b}[2J\u{202e},\"x\"";
pub(crate) const SEGMENTS: u32 = 200;

const LENGTH: u64 = 10_000;

/// Makes the head and the intervals of a record. Intervals of the first design are of single
/// segments, those of the second design are sums.
pub(crate) fn record() -> (Simulation, Vec<Interval>) {
    let mut head: Simulation =
        serde_json::from_str(include_str!("head.json")).expect("the head of a record");
    let mut intervals = Vec::new();
    let mut sums: std::collections::BTreeMap<(u32, u32, u32), Interval> = Default::default();
    for segment in 0..SEGMENTS {
        let (process, cause, count) = if segment % 4 == 0 {
            (1, 1, 3)
        } else {
            (0, 2, 40)
        };
        head.processes[process as usize].segments += 1;
        for number in 0..count {
            let private = if process == 1 { 20_000 } else { 12_000 };
            let excess = 4000 / u64::from(number + 1) + u64::from(segment * 7 % 11) * 10;
            let cycles = ByView {
                shared: private + excess,
                private,
                flushed: private + 2 * excess,
            };
            let task = process + 1;
            let interval = Interval {
                design: 0,
                segment,
                segments: 1,
                task,
                process,
                cause,
                end: cause,
                number,
                instructions: LENGTH,
                cycles,
                of_others: Some(OfOthers {
                    lost: excess + 12,
                    gained: 20,
                    first_touches: 0,
                }),
            };
            head.trace.instructions += LENGTH;
            head.processes[process as usize].instructions += LENGTH;
            intervals.push(interval);
            let blank = Interval {
                design: 1,
                segments: 0,
                instructions: 0,
                cycles: ByView::default(),
                of_others: None,
                ..interval
            };
            let sum = sums.entry((process, cause, number)).or_insert(blank);
            sum.segments += 1;
            add(sum, &interval);
            for design in &mut head.designs {
                let hierarchies = &mut design.hierarchies;
                hierarchies.shared.cycles += cycles.shared;
                hierarchies.private.cycles += cycles.private;
                hierarchies.flushed.cycles += cycles.flushed;
            }
        }
    }
    intervals.extend(sums.into_values());
    (head, intervals)
}

fn add(sum: &mut Interval, interval: &Interval) {
    sum.instructions += interval.instructions;
    sum.cycles.shared += interval.cycles.shared;
    sum.cycles.private += interval.cycles.private;
    sum.cycles.flushed += interval.cycles.flushed;
}

pub(crate) fn findings(head: &Simulation, intervals: &[Interval]) -> Findings {
    let mut analyser = Analyser::new(head, Options::default());
    analyser.add(intervals);
    analyser.finish()
}

/// Returns the head of the synthetic record, and the findings.
pub(crate) fn whole() -> (Simulation, Findings) {
    static WHOLE: OnceLock<(Simulation, Findings)> = OnceLock::new();
    let whole = WHOLE.get_or_init(|| {
        let (head, intervals) = record();
        let findings = findings(&head, &intervals);
        (head, findings)
    });
    whole.clone()
}
