//! Possible reasons for claims that are not met, tested by numbers of the same trials or of
//! additional runs.

use switchcost_analysis::simulation::DesignFinding;

use super::sample::{
    ALL, Sample, TIMESHARING, arithmetic, geometric, group, level, over, samples, trials_of,
};
use super::{SETS, SIZES_STEP, Trial, WAYS_STEP};
use crate::claims::{Found, Quantities, Term, exact};
use crate::interval::Interval;
use crate::text::number;
use crate::{Outcome, Records};

/// Returns the ratio of the costs on two variants of a design, simulated in one step from the same
/// references.
fn between_variants(records: &Records, step: &str, [from, to]: [usize; 2], name: &str) -> Outcome {
    let sample = |number: usize| {
        let design = records.design(step, number, "the record lacks a variant")?;
        let cost = &design.average_cost_cycles;
        let value = cost.estimate.ok_or("a variant has no cost")?;
        Ok::<_, String>(Sample {
            trial: 1,
            value,
            without_one: cost.without_one.clone(),
        })
    };
    let (from, to) = ([sample(from)?], [sample(to)?]);
    let note = format!("{} and {} cycles", level(&from, 1.0), level(&to, 1.0));
    Ok(Found::number(
        geometric(name, &over(&to, &from, true))?,
        note,
    ))
}

/// Returns the ratio of the cost of Client-Server in two-way caches to the cost in direct-mapped
/// caches, on three designs.
fn two_ways(records: &Records) -> Outcome {
    let mut all = Found::default();
    for (place, design) in ["1a", "2a", "2b"].into_iter().enumerate() {
        let name = format!("{design}: two ways over one");
        let found = between_variants(records, WAYS_STEP, [2 * place, 2 * place + 1], &name)?;
        all.terms.extend(found.terms);
        all.note += &format!(
            "{}{design}: {}",
            if place > 0 { "; " } else { "" },
            found.note
        );
    }
    Ok(all)
}

/// Returns the ratio of two designs in the number of lines that are lost and fetched again per
/// switch, in the levels with the given name.
fn restored(records: &Records, designs: [&str; 2], level_name: &str) -> Outcome {
    let lines = |trial: &Trial<'_>, design: &str| -> Option<f64> {
        let losses = trial
            .design(design)?
            .losses
            .iter()
            .filter(|loss| loss.level.starts_with(level_name));
        Some(losses.map(|loss| loss.restored).sum())
    };
    let [from, to] =
        designs.map(|design| samples(records, TIMESHARING, |trial| lines(trial, design)));
    let (from, to) = (from?, to?);
    let name = format!(
        "lines of {level_name} fetched again, {} over {}",
        designs[1], designs[0]
    );
    let note = format!(
        "{} and {} lines a switch; {}",
        level(&from, 1.0),
        level(&to, 1.0),
        trials_of(&from)
    );
    Ok(Found::number(
        geometric(name, &over(&to, &from, true))?,
        note,
    ))
}

/// Returns the ratio of the average cost to the published one, with first-level caches sixteen
/// times as large as on 1a and 1b.
fn grown_caches(records: &Records) -> Outcome {
    // Two of the sizes from 16 KiB to 4 MiB are used: 1 MiB in place of 1a's 64 KiB, and 4 MiB in
    // place of 1b's 256 KiB.
    let term = |(place, design): (usize, &str)| -> Outcome<Term> {
        let cost = &records
            .design(SIZES_STEP, place, "the record lacks a size")?
            .average_cost_cycles;
        let published = super::published(SETS[TIMESHARING].published, design, |row| {
            row.average_cost_cycles
        });
        let ends = cost
            .estimate
            .zip(cost.interval)
            .ok_or("a size has no cost with an interval")?;
        let (value, (low, high)) = ends;
        Ok(Term::new(
            format!("16 times {design}: here over published"),
            Interval::new(value, low, high).map(|cycles| cycles / published),
        ))
    };
    Ok(Found::new(
        [(6, "1a"), (8, "1b")]
            .map(term)
            .into_iter()
            .collect::<Result<_, _>>()?,
        "",
    ))
}

/// Cost in cycles of a miss in the first-level caches of the designs 2a and 2b.
const FIRST_LEVEL_MISS: f64 = 13.0;

/// Returns the share of the first-level caches' lost and refetched lines in the additional cost of
/// a switch on 2b over 2a.
fn first_levels_share(records: &Records) -> Outcome {
    let lines = |trial: &Trial<'_>, design: &str| -> Option<f64> {
        let losses = trial
            .design(design)?
            .losses
            .iter()
            .filter(|loss| loss.level.starts_with("L1"));
        Some(losses.map(|loss| loss.restored).sum())
    };
    let cost = |trial: &Trial<'_>, design: &str| trial.design(design)?.average_cost_cycles.estimate;
    let shares = samples(records, TIMESHARING, |trial| {
        let more = (lines(trial, "2b")? - lines(trial, "2a")?) * FIRST_LEVEL_MISS;
        Some(more / (cost(trial, "2b")? - cost(trial, "2a")?))
    })?;
    let [small, large] =
        ["2a", "2b"].map(|design| samples(records, TIMESHARING, |trial| lines(trial, design)));
    let note = format!(
        "{} and {} lines a switch; {}",
        level(&small?, 1.0),
        level(&large?, 1.0),
        trials_of(&shares)
    );
    Ok(Found::number(
        arithmetic("first levels' share of the higher cost", &shares)?,
        note,
    ))
}

/// Returns the ratio of the excess cycles of Client-Server at the cut-off to the excess cycles
/// after 4,000 instructions, in two-way caches.
fn flat_with_two_ways(records: &Records) -> Outcome {
    let (_, findings) = records.simulated(WAYS_STEP)?;
    let design = findings.designs.get(1).ok_or("the record lacks two ways")?;
    let at = |after: u64| sum_after(design, findings.interval_instructions, after);
    let (end, early) = at(design.cut.instructions)
        .zip(at(4000))
        .ok_or("the curve does not reach 4,000 instructions")?;
    let note = format!(
        "{} cycles after 4,000 instructions, {} at the cut-off",
        number(early),
        number(end)
    );
    Ok(Found::number(
        exact("at the cut-off / after 4,000 instructions", end / early),
        note,
    ))
}

/// Returns the cumulative excess cycles at `after` instructions since the switch, or at the end of
/// a shorter curve; `None` for an empty curve.
fn sum_after(design: &DesignFinding, interval: u64, after: u64) -> Option<f64> {
    let curve = &group(design, &ALL)?.curve;
    let reached = curve
        .iter()
        .find(|point| point.since_switch_instructions + interval >= after)
        .or(curve.last());
    reached.map(|point| point.cumulative_excess_cycles)
}

pub(super) fn quantities() -> Quantities {
    vec![
        ("two-ways", two_ways),
        ("two-ways-flat", flat_with_two_ways),
        ("larger-still", |r| {
            between_variants(r, SIZES_STEP, [4, 6], "1 MiB over 256 KiB")
        }),
        ("grown-caches", grown_caches),
        ("more-restored-1b", |r| restored(r, ["1a", "1b"], "L1")),
        ("more-restored-2b", |r| restored(r, ["2a", "2b"], "L2")),
        ("first-levels-2b", first_levels_share),
    ]
}
