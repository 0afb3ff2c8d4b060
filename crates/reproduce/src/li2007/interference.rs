//! Claims on Tables 1 and 2 of Li et al.: runs of three array sizes, with and without isolation,
//! with and without noise.
//!
//! The run is the statistical unit. The settings are run in blocks, and the intervals are from
//! blocks drawn with replacement. The variation of runs is measured by their mean absolute
//! deviation from the median (Brown and Forsythe 1974). The paper uses the variance, which a single
//! run of many may dominate unless the data are normal.

use std::collections::BTreeMap;

use switchcost_record::{Arm, Evidence, MeasureRecord};
use switchcost_units::Bytes;

use super::steps::{RUNS, SETTINGS, Setting};
use crate::claims::{Found, Quantities, Term};
use crate::exhibit::Cell;
use crate::interval::{mean_interval, run_interval};
use crate::published::{LiRow, li_tables};
use crate::text::{number, percent};
use crate::{Exhibit, Outcome, Records};

const SIZES: usize = 3;

/// One run of each setting, in the order of [`SETTINGS`], with a time for each array size: ns per
/// hand-off of the switching arm with its traversals, which the paper computes as s1/20000.
type Block = [[f64; SIZES]; SETTINGS.len()];

const ISOLATED_QUIET: usize = 0;
const SHARED_QUIET: usize = 1;
const ISOLATED_NOISY: usize = 2;
const SHARED_NOISY: usize = 3;

/// Returns the array sizes of a run in bytes, each with the time per hand-off in ns. Contaminated
/// samples are included, because interference is what the tables compare.
fn run(record: &MeasureRecord) -> Vec<(u64, f64)> {
    let ns_per_tick = 1e9 / record.header.clock.ticks_per_second.0 as f64;
    let mut sums: BTreeMap<u64, (f64, f64)> = BTreeMap::new();
    for window in &record.cycles {
        let Some(case) = record.header.plan.cases.get(window.case as usize) else {
            continue;
        };
        if case.working_set.is_empty() {
            continue;
        }
        let sum = sums.entry(case.working_set.size_bytes.0).or_default();
        for batch in window
            .batches
            .iter()
            .filter(|batch| batch.arm == Arm::SwitchTotal)
        {
            sum.0 += (batch.handoff_ticks.0 as f64 + batch.walk_ticks.0 as f64) * ns_per_tick;
            sum.1 += f64::from(batch.handoffs);
        }
    }
    let found = sums
        .into_iter()
        .filter(|(_, (_, handoffs))| *handoffs > 0.0);
    found
        .map(|(size, (ns, handoffs))| (size, ns / handoffs))
        .collect()
}

/// Returns the share of a run's time in which other tasks had the CPU of the run's tasks.
fn share_of_others(record: &MeasureRecord) -> f64 {
    let sum = |of: fn(&Evidence) -> u64| {
        record
            .cycles
            .iter()
            .map(|window| of(&window.evidence))
            .sum::<u64>() as f64
    };
    1.0 - sum(|evidence| evidence.task_cpu_ns.0) / sum(|evidence| evidence.wall_ns.0)
}

/// Returns the ratio of two shares of all time that other tasks had: the share in setting `after`,
/// over the share in setting `before`.
fn ratio_of_foreign_time(records: &Records, before: usize, after: usize) -> Outcome {
    let of = |place: usize, number: usize| {
        records
            .measured(&SETTINGS[place].run(number))
            .map(|(record, _)| share_of_others(record))
    };
    let pair = |number| Some([of(before, number).ok()?, of(after, number).ok()?]);
    let pairs: Vec<[f64; 2]> = (0..RUNS).filter_map(pair).collect();
    let mean = |pairs: &[[f64; 2]], place: usize| {
        pairs.iter().map(|pair| pair[place]).sum::<f64>() / pairs.len() as f64
    };
    let ratio = |pairs: &[[f64; 2]]| finite((mean(pairs, 1) / mean(pairs, 0)).ln());
    let ratio = run_interval(&pairs, ratio).ok_or(TOO_FEW)?;
    let note = format!(
        "{} and {} of the time; {} runs each",
        percent(mean(&pairs, 0)),
        percent(mean(&pairs, 1)),
        pairs.len()
    );
    Ok(Found::number(
        Term::new("share over share", ratio.map(f64::exp)),
        note,
    ))
}

/// Returns the array sizes and times of run `number` of a setting.
fn one(records: &Records, setting: Setting, number: usize) -> Outcome<[(u64, f64); SIZES]> {
    let (record, _) = records.measured(&setting.run(number))?;
    let found = run(record);
    let sizes = found.len();
    found
        .try_into()
        .map_err(|_| format!("{sizes} of {SIZES} sizes were measured"))
}

/// Returns the blocks, each with one run of each wanted setting, and the array sizes in bytes. A
/// machine with one CPU has no blocks with isolation.
fn blocks(records: &Records, wanted: &[usize]) -> Outcome<(Vec<Block>, [u64; SIZES])> {
    let mut sizes = [0; SIZES];
    let mut block = |number: usize| -> Outcome<Block> {
        let mut block = [[f64::NAN; SIZES]; SETTINGS.len()];
        for place in wanted {
            let run = one(records, SETTINGS[*place], number)?;
            (sizes, block[*place]) = (run.map(|(size, _)| size), run.map(|(_, ns)| ns));
        }
        Ok(block)
    };
    let (found, missing): (Vec<_>, Vec<_>) = (0..RUNS).map(&mut block).partition(Result::is_ok);
    let blocks: Vec<Block> = found.into_iter().flatten().collect();
    match missing.into_iter().find_map(Result::err) {
        Some(why) if blocks.is_empty() => Err(why),
        _ => Ok((blocks, sizes)),
    }
}

fn select(blocks: &[Block], setting: usize, size: usize) -> Vec<f64> {
    blocks.iter().map(|block| block[setting][size]).collect()
}

fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    f64::midpoint(sorted[(sorted.len() - 1) / 2], sorted[sorted.len() / 2])
}

/// Returns the mean of a number over the array sizes.
fn over_sizes(of_size: impl Fn(usize) -> f64) -> f64 {
    (0..SIZES).map(of_size).sum::<f64>() / SIZES as f64
}

/// Returns the logarithm of the relative variation of a setting's runs, as a mean over the array
/// sizes.
fn spread(blocks: &[Block], setting: usize) -> f64 {
    over_sizes(|size| {
        let runs = select(blocks, setting, size);
        let middle = median(&runs);
        (runs.iter().map(|run| (run - middle).abs()).sum::<f64>() / runs.len() as f64 / middle).ln()
    })
}

/// Returns the relative increase of the median run from one setting to another, as a mean over the
/// array sizes.
fn shift(blocks: &[Block], before: usize, after: usize) -> f64 {
    over_sizes(|size| {
        median(&select(blocks, after, size)) / median(&select(blocks, before, size)) - 1.0
    })
}

fn finite(value: f64) -> Option<f64> {
    value.is_finite().then_some(value)
}

const TOO_FEW: &str = "too few runs for an interval, or runs that do not vary";

fn shifted(blocks: &[Block], before: usize, after: usize) -> Outcome {
    let shift =
        run_interval(blocks, |blocks| finite(shift(blocks, before, after))).ok_or(TOO_FEW)?;
    Ok(Found::number(
        Term::new("medians shift by", shift),
        format!("{} runs each", blocks.len()),
    ))
}

/// Returns the ratio of the relative variation of the runs in setting `after` to the relative
/// variation in setting `before`.
fn widened(blocks: &[Block], before: usize, after: usize) -> Outcome {
    let found = run_interval(blocks, |blocks| {
        finite(spread(blocks, after) - spread(blocks, before))
    });
    let found = found.ok_or(TOO_FEW)?;
    let is_noise = (before, after) == (SHARED_QUIET, SHARED_NOISY);
    let [before, after] = [before, after].map(|setting| percent(spread(blocks, setting).exp()));
    let note = format!(
        "runs vary by {before} and {after} of their median; {} runs each",
        blocks.len()
    );
    let name = if is_noise {
        "spread with noise over quiet"
    } else {
        "spread, not isolated over isolated"
    };
    Ok(Found::number(Term::new(name, found.map(f64::exp)), note))
}

/// Returns the ratio of two increases of the variation by noise: the increase without isolation
/// over the increase with isolation. Its logarithm is a difference of differences.
fn isolation_helps(blocks: &[Block]) -> Outcome {
    let of = |blocks: &[Block], before, after| spread(blocks, after) - spread(blocks, before);
    let difference = |blocks: &[Block]| {
        of(blocks, SHARED_QUIET, SHARED_NOISY) - of(blocks, ISOLATED_QUIET, ISOLATED_NOISY)
    };
    let found = run_interval(blocks, |blocks| finite(difference(blocks))).ok_or(TOO_FEW)?;
    let [shared, isolated] = [
        of(blocks, SHARED_QUIET, SHARED_NOISY),
        of(blocks, ISOLATED_QUIET, ISOLATED_NOISY),
    ];
    let words = |change: f64| number(change.exp());
    let note = format!(
        "noise widens {} times without isolation, {} times with it",
        words(shared),
        words(isolated)
    );
    Ok(Found::number(
        Term::new("widening, not isolated over isolated", found.map(f64::exp)),
        note,
    ))
}

/// Returns the published rows of a setting, with a row for each array size.
fn published_rows(setting: Setting) -> Vec<LiRow> {
    let environment = if setting.is_noisy {
        "network interference"
    } else {
        "quiet"
    };
    let name = if setting.is_isolated {
        "dual-processor"
    } else {
        "single-processor"
    };
    let mut rows = li_tables();
    rows.retain(|row| row.environment == environment && row.setting == name);
    rows
}

pub(super) fn tables(records: &Records) -> Exhibit {
    let mut exhibit = Exhibit::new(
        "Tables 1 and 2",
        "90 % intervals, isolated or not, quiet or with noise",
        [
            "setting",
            "size published",
            "size here",
            "quiet, published (+-%)",
            "quiet, here us (+-%)",
            "noise, published (+-%)",
            "noise, here us (+-%)",
        ],
    );
    for (name, places) in [
        ("isolated", [ISOLATED_QUIET, ISOLATED_NOISY]),
        ("not isolated", [SHARED_QUIET, SHARED_NOISY]),
    ] {
        let found = places.map(|place| blocks(records, &[place]));
        let published = places.map(|place| published_rows(SETTINGS[place]));
        let sizes = found.iter().flatten().next().map(|(_, sizes)| *sizes);
        for size in 0..SIZES {
            let [quiet, noise] = [0, 1].map(|of| {
                let there = published_interval(&published[of][size]);
                [there, found_interval(&found[of], places[of], size)]
            });
            let here = sizes.map_or(String::new(), |sizes| Bytes(sizes[size]).to_string());
            let first = [
                name.into(),
                format!("{} KB", published[0][size].array_kb).into(),
                here.into(),
            ];
            exhibit.row(first.into_iter().chain(quiet).chain(noise).collect());
        }
    }
    exhibit.steps = SETTINGS
        .iter()
        .flat_map(|setting| (0..RUNS).map(|number| setting.run(number)))
        .collect();
    exhibit.notes = vec![
        format!(
            "The paper's tables have no unit. We assume microseconds per half round trip, including the walks, because this \
             agrees with Figure 1. Sizes are half, three quarters and all of the second level. Intervals are Student's t \
             intervals of the mean of {RUNS} runs; claims are judged by the runs' deviation from their median."
        ),
        "Isolated: the CPU with the fewest interrupts, at real-time priority, with the noise on another CPU. Not \
         isolated: all tasks on the CPU that has the noise, without real-time priority (in the paper, a kernel without \
         support for a second processor). The noise is bursts of messages over the loopback device; the paper's came over a network."
            .into(),
    ];
    exhibit
}

fn published_interval(row: &LiRow) -> Cell {
    let half = (row.ci90_high - row.ci90_low) / (row.ci90_high + row.ci90_low) * 100.0;
    let (low, high) = (row.ci90_low, row.ci90_high);
    format!("{low:.2} to {high:.2} ({half:.2})").into()
}

fn found_interval(
    found: &Outcome<(Vec<Block>, [u64; SIZES])>,
    setting: usize,
    size: usize,
) -> Cell {
    let interval = found
        .as_ref()
        .map(|(blocks, _)| mean_interval(&select(blocks, setting, size)));
    match interval {
        Ok(Some(mean)) => {
            let half = (mean.high - mean.low) / 2.0 / mean.estimate * 100.0;
            let [low, high] = [mean.low, mean.high].map(|ns| number(ns / 1e3));
            format!("{low} to {high} ({half:.2})").into()
        }
        Ok(None) => Cell::or_missing(None, 0, "one run has no interval"),
        Err(why) => Cell::Missing { why: why.clone() },
    }
}

pub(super) fn quantities() -> Quantities {
    vec![
        ("quiet-widths-alike", |r| {
            compared(r, ISOLATED_QUIET, SHARED_QUIET, widened)
        }),
        ("isolated-unmoved", |r| {
            compared(r, ISOLATED_QUIET, ISOLATED_NOISY, shifted)
        }),
        ("shared-widened", |r| {
            compared(r, SHARED_QUIET, SHARED_NOISY, widened)
        }),
        ("shared-wider-than-isolated", |r| {
            compared(r, ISOLATED_NOISY, SHARED_NOISY, widened)
        }),
        ("isolation-helps", |r| {
            isolation_helps(&blocks(r, &[0, 1, 2, 3])?.0)
        }),
        ("shared-shifted", |r| {
            compared(r, SHARED_QUIET, SHARED_NOISY, shifted)
        }),
        ("others-have-the-cpu", |r| {
            ratio_of_foreign_time(r, ISOLATED_QUIET, SHARED_QUIET)
        }),
        ("noise-takes-little", |r| {
            ratio_of_foreign_time(r, SHARED_QUIET, SHARED_NOISY)
        }),
    ]
}

type Compare = fn(&[Block], usize, usize) -> Outcome;

/// Compares the settings `before` and `after` by the function `of`. Only runs of these two settings
/// are required.
fn compared(records: &Records, before: usize, after: usize, of: Compare) -> Outcome {
    of(&blocks(records, &[before, after])?.0, before, after)
}

#[cfg(test)]
pub(crate) mod tests;
