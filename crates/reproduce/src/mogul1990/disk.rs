//! Figures 1 and 3 of Mogul and Borg with page faults, which hardly occur with today's memory. A
//! trace of Timesharing is reordered so that its tasks wait for a disk at the first use of each
//! page of a file.

use switchcost_analysis::simulation::{DesignFinding, Findings};

use super::curves::{PRIVATE, draw, draw_lengths};
use super::sample::{FAULT, SCHEDULER, TIMESHARING, common_ends, first_tenth, group};
use super::{QUICK_SWITCHES, SETS, seed};
use crate::claims::{Found, ranged};
use crate::exhibit::NO_COLUMNS;
use crate::{Exhibit, Outcome, Records, Site, Step};

/// Times of a page fault: half and twice the 20 ms of disks of 1990.
const DISKS: [&str; 2] = ["10ms", "40ms"];
const TRACE: &str = "mogul1990-timesharing-disk-trace";
/// Number of switches: enough for all programs to start, and few enough for the trace file to be
/// kept.
const SWITCHES: u64 = 800;

pub(super) fn step(disk: usize) -> String {
    format!("mogul1990-timesharing-disk-{}", DISKS[disk])
}

pub(super) fn steps(site: &Site<'_>) -> Vec<Step> {
    let switches = site.effort.choose(SWITCHES, QUICK_SWITCHES);
    let set = &SETS[TIMESHARING];
    let (name, seed, turns) = (set.name, seed(site, 1), set.turns.flags());
    let line = format!(
        "workload {name} --seed {seed} {turns} --switches {switches} --design mogul-1a --trace records/{TRACE}.sct"
    );
    let trace = Step::new(TRACE, &line);
    let with = |(disk, time): (usize, &str)| {
        let line =
            format!("simulate records/{TRACE}.sct --design mogul-1a {turns} --page-faults {time}");
        Step::new(step(disk), &line)
    };
    std::iter::once(trace)
        .chain(DISKS.into_iter().enumerate().map(with))
        .collect()
}

fn found(records: &Records, disk: usize) -> Outcome<(&Findings, &DesignFinding)> {
    let (_, findings) = records.simulated(&step(disk))?;
    Ok((
        findings,
        findings.designs.first().ok_or("the record has no design")?,
    ))
}

pub(super) fn exhibits(records: &Records) -> Vec<Exhibit> {
    let mut private = Exhibit::new(
        "Figure 3 with a disk",
        "CPI since the switch, a cache for each process",
        NO_COLUMNS,
    );
    private.add_step(step(0));
    let mut lengths = Exhibit::new(
        "Figure 1 with a disk",
        "Lengths of trace segments, Timesharing",
        NO_COLUMNS,
    );
    lengths.add_step(step(0));
    if let Ok((findings, design)) = found(records, 0) {
        draw_lengths(&mut lengths, findings);
        let curves = (findings.interval_instructions, design);
        draw(&mut private, curves, "CPI, private", PRIVATE);
    }
    lengths.add_note("Each task waits 10 ms at the first use of each page of a file.");
    vec![lengths, private]
}

/// Returns a number for the first disk, with its range over all disks as interval.
fn over_disks(records: &Records, name: &str, of: fn(&DesignFinding) -> Option<f64>) -> Outcome {
    let number = |disk: usize| {
        of(found(records, disk)?.1).ok_or("too few segments of one of the causes".to_owned())
    };
    let others = (1..DISKS.len())
        .map(number)
        .collect::<Outcome<Vec<f64>>>()?;
    let segments = group(found(records, 0)?.1, &FAULT).map_or(0, |group| group.segments);
    Ok(Found::number(
        ranged(name, number(0)?, others.into_iter()),
        format!("{segments} page faults with a disk of {}", DISKS[0]),
    ))
}

/// Returns the ratio of the private CPI after page faults to the private CPI after involuntary
/// switches, in the first tenth of the curve, for all disks.
pub(super) fn fault_outcome(records: &Records) -> Outcome {
    over_disks(
        records,
        "after page faults / after the scheduler",
        |design| {
            let early = |wanted| first_tenth(design, wanted, |point| point.private_cpi.mean);
            Some(early(&FAULT)? / early(&SCHEDULER)?)
        },
    )
}

/// Returns how much more the private CPI changes along its curve after involuntary switches than
/// after page faults, for all disks. The change is the absolute logarithm of the ratio of both
/// ends.
pub(super) fn flatter(records: &Records) -> Outcome {
    over_disks(
        records,
        "change after the scheduler's switches minus that after page faults",
        |design| {
            let curves = common_ends(design, [&SCHEDULER, &FAULT], |p| p.private_cpi.mean)?;
            let [scheduler, fault] = curves.map(|[early, late]| (early / late).ln().abs());
            Some(scheduler - fault)
        },
    )
}
