//! Figures 1 to 7: lengths of segments, CPI since the switch, excess CPI, its integral.

use analysis::simulation::{DesignFinding, Group, GroupFinding, Point};

use super::first;
use crate::exhibit::Cell;
use crate::text::{number, percent};
use crate::{Axis, Chart, Claim, Exhibit, Records, Series, Shape, Style, Table};

/// All switches, then by class.
const GROUPS: [(Group, &str); 4] = [
    (Group::All, "all"),
    (Group::Class("system call"), "system call"),
    (Group::Class("page fault"), "page fault"),
    (Group::Class("involuntary"), "scheduler"),
];

const TIMESHARING: usize = 0;
const COMPUTE: usize = 1;
const CLIENT: usize = 2;

pub(super) fn exhibits(records: &Records) -> Vec<Exhibit> {
    vec![
        lengths(records),
        shared(records),
        private(records),
        excess(records),
        trial_a(records),
        trial_b(records),
        trial_c(records),
    ]
}

fn group<'a>(design: &'a DesignFinding, wanted: &Group) -> Option<&'a GroupFinding> {
    design.groups.iter().find(|found| found.group == *wanted && !found.curve.is_empty())
}

/// Figure 1: of Trial A, by why the segment ends.
fn lengths(records: &Records) -> Exhibit {
    let mut exhibit = Exhibit::new("Figure 1", "Lengths of trace segments, Timesharing (Trial A)");
    let groups = [
        (Group::All, "all"),
        (Group::EndClass("system call"), "system call"),
        (Group::EndClass("page fault"), "page fault"),
        (Group::EndClass("involuntary"), "scheduler"),
    ];
    let mut table = Table::new(&["ends by", "segments", "median instructions", "mean instructions", "longest"]);
    let outcome = first(records, TIMESHARING, "1a").map(|(trial, _)| {
        exhibit.steps.push(trial.step.clone());
        let mut series = Vec::new();
        for (wanted, name) in &groups {
            let Some(found) = trial.findings.lengths.iter().find(|lengths| lengths.group == *wanted) else { continue };
            series.push(Series::new(*name, Style::Found, found.points.iter().map(|(x, y)| (*x as f64, *y))));
            table.row(vec![
                (*name).into(),
                Cell::number(found.segments as f64, 0),
                Cell::number(found.median_instructions as f64, 0),
                Cell::number(found.mean_instructions, 0),
                Cell::number(found.max_instructions as f64, 0),
            ]);
        }
        exhibit.chart =
            Some(Chart::new("instructions in a segment", Axis::Linear, "share of segments", Axis::Share, series));
        let of = |name: &str| trial.findings.lengths.iter().find(|l| l.group == Group::EndClass(name_of(name)));
        let all = trial.findings.lengths.iter().find(|l| l.group == Group::All).map_or(0, |l| l.segments);
        let scheduler = of("involuntary").map_or(0, |l| l.segments);
        let medians =
            (of("system call").map(|l| l.median_instructions), of("involuntary").map(|l| l.median_instructions));
        (all, scheduler, medians)
    });
    exhibit.table = table;
    let most = outcome.clone().map(|(all, scheduler, _)| {
        let found = format!("{scheduler} of {all} segments end by the scheduler");
        (found, Shape::of(scheduler * 2 > all, "today's programs block more often in the same number of instructions"))
    });
    let shorter = outcome.and_then(|(_, _, medians)| match medians {
        (Some(call), Some(quantum)) => {
            let found = format!("medians of {call} and {quantum} instructions");
            Ok((found, Shape::of(call < quantum, "programs that block run as long as those that do not")))
        }
        _ => Err("no segment of one of the classes".to_owned()),
    });
    exhibit.claims = vec![
        Claim::decided("Most segments end by the scheduler", most),
        Claim::decided("Segments that end in a system call are shorter than those that the scheduler ends", shorter),
    ];
    exhibit.notes.push(
        "Page faults do not switch in the deterministic order that traces are taken in: today's memory holds these programs \
         whole."
            .into(),
    );
    exhibit
}

fn name_of(name: &str) -> &'static str {
    if name == "involuntary" { "involuntary" } else { "system call" }
}

/// A chart of one value of every point, and the same as a table.
fn over_time(
    exhibit: &mut Exhibit,
    records: &Records,
    set: usize,
    y_title: &str,
    value: impl Fn(&Point) -> f64,
    at_end: bool,
) {
    let Ok((trial, design)) = first(records, set, "1a") else { return };
    exhibit.steps.push(trial.step.clone());
    let length = trial.findings.interval_instructions;
    let mut table = Table::new(&["after", "instructions since the switch", "segments", y_title]);
    let mut series = Vec::new();
    for (wanted, name) in &GROUPS {
        let Some(found) = group(design, wanted) else { continue };
        let place = |point: &Point| {
            point.since_switch_instructions as f64 + if at_end { length as f64 } else { length as f64 / 2.0 }
        };
        // What adds up begins with nothing.
        let start = at_end.then_some((0.0, 0.0));
        let points = found.curve.iter().map(|point| (place(point), value(point)));
        series.push(Series::new(*name, Style::Found, start.into_iter().chain(points)));
        for point in &found.curve {
            table.row(vec![
                (*name).into(),
                Cell::number(place(point), 0),
                Cell::number(point.segments as f64, 0),
                Cell::number(value(point), 4),
            ]);
        }
    }
    let mut chart = Chart::new("instructions since the switch", Axis::Linear, y_title, Axis::Linear, series);
    chart.marks.push((design.cut.instructions as f64, "cut-off".to_owned()));
    exhibit.chart = Some(chart);
    exhibit.table = table;
}

/// The mean of a value over the first tenth of a group's curve, and over the last tenth before the cut-off.
fn ends(design: &DesignFinding, wanted: &Group, value: impl Fn(&Point) -> f64) -> Result<(f64, f64), String> {
    let found = group(design, wanted).ok_or("no such segments")?;
    let within: Vec<&Point> =
        found.curve.iter().filter(|point| point.since_switch_instructions < design.cut.instructions).collect();
    let tenth = (within.len() / 10).max(1);
    let mean = |points: &[&Point]| points.iter().map(|point| value(point)).sum::<f64>() / points.len() as f64;
    if within.len() < 4 {
        return Err("the curve has fewer than four intervals before the cut-off".to_owned());
    }
    Ok((mean(&within[..tenth]), mean(&within[within.len() - tenth..])))
}

fn shared(records: &Records) -> Exhibit {
    let mut exhibit = Exhibit::new("Figure 2", "CPI since the switch, one cache for all, Trial A");
    over_time(&mut exhibit, records, TIMESHARING, "CPI, shared", |point| point.shared_cpi.mean, false);
    let outcome = first(records, TIMESHARING, "1a").and_then(|(_, design)| {
        let (early, late) = ends(design, &Group::All, |point| point.shared_cpi.mean)?;
        let found = format!("CPI {} at first, {} before the cut-off", number(early), number(late));
        Ok((found, Shape::of(early > late, "misses right after a switch are no dearer than later ones")))
    });
    exhibit.claims = vec![Claim::decided("The CPI is high right after a switch, and falls", outcome)];
    exhibit
}

fn private(records: &Records) -> Exhibit {
    let mut exhibit = Exhibit::new("Figure 3", "CPI since the switch, a cache for each process, Trial A");
    over_time(&mut exhibit, records, TIMESHARING, "CPI, private", |point| point.private_cpi.mean, false);
    let both = |records| {
        let (_, design) = first(records, TIMESHARING, "1a")?;
        let call = ends(design, &Group::Class("system call"), |point| point.private_cpi.mean)?;
        let scheduler = ends(design, &Group::Class("involuntary"), |point| point.private_cpi.mean)?;
        Ok::<_, String>((call, scheduler))
    };
    let higher = both(records).map(|((call, _), (scheduler, _))| {
        let found = format!("CPI {} after system calls, {} after the scheduler", number(call), number(scheduler));
        let why =
            "what today's programs do after a system call finds its data in a private cache as often as anything else";
        (found, Shape::of(call > scheduler, why))
    });
    let flatter = both(records).map(|(call, scheduler)| {
        let fall = |(early, late): (f64, f64)| (early / late - 1.0).abs();
        let found = format!("changes by {} and {}", percent(fall(call)), percent(fall(scheduler)));
        let why = "long and short segments come from different programs here";
        (found, Shape::of(fall(scheduler) < fall(call), why))
    });
    exhibit.claims = vec![
        Claim::decided("Even alone, CPI is higher after a system call than after the scheduler took the CPU", higher),
        Claim::decided("The curve of the scheduler's switches is the flatter of the two, though not flat", flatter),
    ];
    exhibit.notes.push(
        "Curves fall or rise also because short segments end: what is left to the right are other programs than to the left."
            .into(),
    );
    exhibit
}

fn excess(records: &Records) -> Exhibit {
    let mut exhibit = Exhibit::new("Figure 4", "Excess CPI since the switch, Trial A");
    over_time(&mut exhibit, records, TIMESHARING, "excess CPI", |point| point.excess_cpi.mean, false);
    let outcome = first(records, TIMESHARING, "1a").and_then(|(_, design)| {
        let (all, _) = ends(design, &Group::All, |point| point.excess_cpi.mean)?;
        let (scheduler, _) = ends(design, &Group::Class("involuntary"), |point| point.excess_cpi.mean)?;
        let found = format!("{} and {} at first", number(scheduler), number(all));
        let holds = (scheduler / all - 1.0).abs() < 0.25;
        let why = "other classes than the scheduler's have a share of the switches here that shows";
        Ok((found, Shape::of(holds, why)))
    });
    exhibit.claims =
        vec![Claim::decided("The curve of the scheduler's switches is nearly that of all (within a quarter)", outcome)];
    exhibit
}

/// Cumulative excess cycles of all switches after so many instructions.
fn cumulative(design: &DesignFinding, length: u64, after: u64) -> Option<f64> {
    let found = group(design, &Group::All)?;
    let point = found.curve.iter().find(|point| point.since_switch_instructions + length >= after)?;
    Some(point.cumulative_excess_cycles)
}

fn trial_a(records: &Records) -> Exhibit {
    let mut exhibit = Exhibit::new("Figure 5", "Cumulative excess cycles, Timesharing (Trial A)");
    over_time(&mut exhibit, records, TIMESHARING, "excess cycles so far", |point| point.cumulative_excess_cycles, true);
    let outcome = first(records, TIMESHARING, "1a").and_then(|(trial, design)| {
        let length = trial.findings.interval_instructions;
        let at = |after| cumulative(design, length, after).ok_or(format!("no segment reaches {after} instructions"));
        let (before, end) = (at(300_000)?, at(400_000)?);
        let found = format!("{} cycles after 300,000 instructions, {} after 400,000", number(before), number(end));
        let why = "what is lost is brought back sooner: nothing is added in the last 100,000 instructions";
        Ok((found, Shape::of(end > before * 1.02, why)))
    });
    exhibit.claims = vec![
        Claim::decided(
            "No asymptote: the sum still grows (by more than 2 %) between 300,000 and 400,000 instructions",
            outcome,
        ),
        bound(records),
    ];
    exhibit
}

/// Section 5: reloading all of both caches would take more than 120,000 cycles; the cost found was a tenth of that.
fn bound(records: &Records) -> Claim {
    let outcome = first(records, TIMESHARING, "1a").and_then(|(_, design)| {
        let cost = design.average_cost_cycles.estimate.ok_or("no cost")?;
        let bound = design.reload_bound_cycles as f64;
        let found = format!("{} of {} cycles: {}", number(cost), number(bound), percent(cost / bound));
        Ok((found, Shape::of(cost < bound / 2.0, "nearly everything in the caches is lost and wanted back")))
    });
    Claim::decided("The cost is well below reloading every line (in the paper a tenth of 120,000 cycles)", outcome)
}

fn trial_b(records: &Records) -> Exhibit {
    let mut exhibit = Exhibit::new("Figure 6", "Cumulative excess cycles, Compute-bound (Trial B)");
    over_time(&mut exhibit, records, COMPUTE, "excess cycles so far", |point| point.cumulative_excess_cycles, true);
    let outcome = first(records, TIMESHARING, "1a").and_then(|(a, timesharing)| {
        let (b, compute) = first(records, COMPUTE, "1a")?;
        let at = |design, length| cumulative(design, length, 300_000).ok_or("no segment reaches 300,000 instructions");
        let (a, b) =
            (at(timesharing, a.findings.interval_instructions)?, at(compute, b.findings.interval_instructions)?);
        let found = format!("{} cycles after 300,000 instructions, {} in Trial A", number(b), number(a));
        Ok((found, Shape::of(b < a, "the two large programs leave less of each other than the many small ones do")))
    });
    exhibit.claims = vec![Claim::decided("The plateau is lower than that of Trial A", outcome)];
    exhibit
}

fn trial_c(records: &Records) -> Exhibit {
    let mut exhibit = Exhibit::new("Figure 7", "Cumulative excess cycles, Client-Server (Trial C)");
    over_time(&mut exhibit, records, CLIENT, "excess cycles so far", |point| point.cumulative_excess_cycles, true);
    let flat = first(records, CLIENT, "1a").and_then(|(trial, design)| {
        let length = trial.findings.interval_instructions;
        let all = group(design, &Group::All).ok_or("no curve")?;
        // Where few segments remain, a curve says little: up to the cut-off.
        let last =
            all.curve.iter().rfind(|p| p.since_switch_instructions < design.cut.instructions).ok_or("no curve")?;
        let early = cumulative(design, length, 4000).ok_or("no segment reaches 4,000 instructions")?;
        let late = last.cumulative_excess_cycles;
        let found = format!("{} cycles after 4,000 instructions, {} at the cut-off", number(early), number(late));
        let why = "the pair's segments go on bringing back what they lost";
        Ok((found, Shape::of((late - early).abs() <= 0.1 * late.abs(), why)))
    });
    let alone = first(records, CLIENT, "1a").map(|(_, design)| {
        let cpi = design.hierarchies.private.cycles as f64 / design.instructions as f64;
        let found = format!("private CPI {}", number(cpi));
        (found, Shape::of(cpi < 1.1, "the pair's own data and code do not fit the cache"))
    });
    exhibit.claims = vec![
        Claim::decided("Flat after 4,000 instructions (within a tenth of its height)", flat),
        Claim::decided("Alone, the two hardly miss: private CPI near 1.0", alone),
    ];
    exhibit
}
