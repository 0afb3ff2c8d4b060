//! Converts the findings of either simulator to one form, and returns the first difference of two
//! such findings.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use serde_json::{Value, json};
use switchcost_cachesim::{Options, Outcome, Simulator};
use switchcost_design::Design;
use switchcost_design::result::{
    ByView, CallCost, Detail, Eviction, EvictorPlace, FillPoint, GainedCycles, HierarchyCounts,
    Interval, LostCycles, MissDifference, MissOrigins, PlaceCost, ProcessFacts, ProcessMisses,
    SwitchCause, WorkingSetLoss,
};
use switchcost_trace::Chunk;

use crate::support::address::KERNEL;
use crate::support::fault::Fault;
use crate::support::process_table::CodePlace;
use crate::support::simulator::{Code, FoundInterval, OneDesign, Oracle};

#[derive(Debug, PartialEq, Serialize)]
pub(crate) struct Findings {
    pub(crate) processes: Vec<ProcessFacts>,
    pub(crate) designs: Vec<DesignFindings>,
}

#[derive(Debug, PartialEq, Serialize)]
pub(crate) struct DesignFindings {
    pub(crate) hierarchies: ByView<HierarchyCounts>,
    pub(crate) by_process: Vec<ProcessMisses>,
    /// Intervals in sorted order.
    pub(crate) intervals: Vec<FoundInterval>,
    /// Findings that only designs simulated in full have.
    pub(crate) full: Option<FullFindings>,
}

#[derive(Debug, PartialEq, Serialize)]
pub(crate) struct FullFindings {
    pub(crate) origins: Vec<MissOrigins>,
    pub(crate) differences: Vec<MissDifference>,
    pub(crate) lost_to: LostCycles,
    pub(crate) gained: GainedCycles,
    /// Lost lines by the level in which the private view finds them, and the farthest level that
    /// the shared view misses.
    pub(crate) lost_lines: BTreeMap<String, u64>,
    pub(crate) most_held: Vec<u64>,
    pub(crate) fill_curve: Vec<FillPoint>,
    pub(crate) losses: Vec<WorkingSetLoss>,
    /// Evictions as level, evictor, victim and lines, in the order reported. [`KERNEL`] is not a
    /// process.
    pub(crate) evictions: Vec<(String, u32, u32, u64)>,
    pub(crate) code: Vec<(PlaceCost, SwitchCause)>,
    pub(crate) data: Vec<(PlaceCost, SwitchCause)>,
    pub(crate) evictors: Vec<EvictorPlace>,
    pub(crate) calls: Vec<CallCost>,
}

/// Returns the lost lines by level, without the kind of request, which is independent of caches.
fn lost_lines(detail: &Detail) -> BTreeMap<String, u64> {
    let mut all = BTreeMap::new();
    for lost in &detail.lost_lines {
        *all.entry(levels(&lost.found_alone, &lost.missed))
            .or_default() += lost.lines;
    }
    all
}

fn levels(found_alone: &str, missed: &str) -> String {
    format!("{found_alone} to {missed}")
}

pub(crate) fn run_engine(designs: &[Design], options: &Options, chunks: &[Chunk]) -> Findings {
    let (outcome, intervals) = feed(designs, options, chunks);
    of_engine(&outcome, &intervals)
}

/// Feeds chunks to the engine and returns everything that it reports, in its order.
pub(crate) fn feed(
    designs: &[Design],
    options: &Options,
    chunks: &[Chunk],
) -> (Outcome, Vec<Interval>) {
    let mut simulator =
        Simulator::new(designs.to_vec(), options.clone()).expect("the designs can be built");
    let mut intervals = Vec::new();
    for chunk in chunks {
        simulator
            .feed(&mut chunk.clone(), &mut intervals)
            .expect("the chunk is sound");
    }
    let outcome = simulator.finish(&mut intervals, &mut |_, _| None);
    (outcome, intervals)
}

pub(crate) fn run_oracle(
    designs: &[Design],
    options: &Options,
    chunks: &[Chunk],
    fault: Option<Fault>,
) -> Oracle {
    let mut oracle = Oracle::new(designs, options, fault);
    chunks.iter().for_each(|chunk| oracle.feed(chunk));
    oracle.finish();
    oracle
}

fn of_engine(outcome: &Outcome, intervals: &[Interval]) -> Findings {
    let cause = |index: u32| outcome.causes[index as usize].clone();
    let designs = outcome.designs.iter().enumerate().map(|(index, result)| {
        let own = intervals
            .iter()
            .filter(|interval| usize::from(interval.design) == index);
        let interval = |interval: &Interval| FoundInterval {
            segment: interval.segment,
            segments: interval.segments,
            number: interval.number,
            task: interval.task,
            process: interval.process,
            cause: cause(interval.cause),
            end: cause(interval.end),
            instructions: interval.instructions,
            cycles: [
                interval.cycles.shared,
                interval.cycles.private,
                interval.cycles.flushed,
            ],
            of_others: interval
                .of_others
                .map(|all| [all.lost, all.gained, all.first_touches]),
        };
        let owner = |process: Option<u32>| process.unwrap_or(KERNEL);
        let eviction = |one: &Eviction| {
            (
                one.level.clone(),
                owner(one.evictor),
                owner(one.victim),
                one.lines,
            )
        };
        let places = |costs: &[PlaceCost]| -> Vec<_> {
            costs
                .iter()
                .map(|cost| {
                    (
                        PlaceCost {
                            cause: 0,
                            ..cost.clone()
                        },
                        cause(cost.cause),
                    )
                })
                .collect()
        };
        let full = result.detail.as_ref().map(|detail| FullFindings {
            origins: detail.origins.clone(),
            differences: detail.miss_differences.clone(),
            lost_to: detail.lost_cycles,
            gained: detail.gained_cycles,
            lost_lines: lost_lines(detail),
            most_held: detail.most_held.clone(),
            fill_curve: detail.fill_curve.clone(),
            losses: detail.losses.clone(),
            evictions: detail.evictions.iter().map(eviction).collect(),
            code: places(&detail.code),
            data: places(&detail.data),
            evictors: detail.evictors.clone(),
            calls: detail.calls.clone(),
        });
        let mut intervals: Vec<FoundInterval> = own.map(interval).collect();
        intervals.sort();
        let by_process = result.by_process.clone();
        DesignFindings {
            hierarchies: result.hierarchies.clone(),
            by_process,
            intervals,
            full,
        }
    });
    Findings {
        processes: outcome.processes.clone(),
        designs: designs.collect(),
    }
}

/// Converts the oracle's findings; `deep` says for each design whether everything is reported.
pub(crate) fn of_oracle(oracle: &Oracle, deep: &[bool], places: usize) -> Findings {
    let designs = oracle.designs.iter().zip(deep).map(|(one, &is_deep)| {
        let mut intervals = if is_deep {
            one.intervals.clone()
        } else {
            added_up(&one.intervals)
        };
        intervals.sort();
        DesignFindings {
            hierarchies: one.machine.counts(),
            by_process: one.machine.by_process(),
            intervals,
            full: is_deep.then(|| full_of_oracle(oracle, one, places)),
        }
    });
    Findings {
        processes: oracle.processes(),
        designs: designs.collect(),
    }
}

fn full_of_oracle(oracle: &Oracle, one: &OneDesign, places: usize) -> FullFindings {
    let evictions = one.machine.evictions.iter();
    let name = |level: usize| one.machine.design.levels[level].name.clone();
    let evictions = evictions.map(|(&(level, by, of), &lines)| (name(level), by, of, lines));
    let [code, data] = [&one.code, &one.data].map(|sums| {
        let mut all = places_of_oracle(oracle, sums);
        all.truncate(places);
        all
    });
    // Equal numbers of lines are in the order of the keys.
    let mut evictors: Vec<_> = one.evictors.iter().collect();
    evictors.sort_by_key(|((level, ..), lines)| (*level, std::cmp::Reverse(**lines)));
    let of_one_level = evictors.chunk_by(|((one, ..), _), ((other, ..), _)| one == other);
    let evictors = of_one_level
        .flat_map(|of_level| of_level.iter().take(places))
        .map(|&((level, program, is_code, place), &lines)| EvictorPlace {
            level: name(*level),
            program: program.clone(),
            is_code: *is_code,
            object: place.object.clone(),
            build_id: place.build_id.clone(),
            offset: place.offset,
            symbol: None,
            lines,
        });
    let cycles = one.machine.cycles();
    let excess = cycles.shared as i64 - cycles.private as i64;
    assert_eq!(
        one.machine.compared_cycles, excess,
        "whatever the views differ by arises in a lookup"
    );
    let sums = [
        one.machine.counted().misses.len(),
        one.machine.design.levels.len(),
    ];
    let calls = one.calls.values().cloned().map(|mut cost| {
        cost.misses.resize(sums[0], 0);
        cost.driven_out.resize(sums[1], 0);
        cost
    });
    let lost_lines = one
        .machine
        .lost_lines
        .iter()
        .map(|((near, far), lines)| (levels(&name(*near), &name(*far)), *lines));
    FullFindings {
        origins: one.machine.origins.clone(),
        differences: one.machine.differences.clone(),
        lost_to: one.machine.lost_to,
        gained: one.machine.gained,
        lost_lines: lost_lines.collect(),
        most_held: one.machine.most_held.clone(),
        fill_curve: one.machine.fill_curve.clone(),
        losses: one.machine.losses.clone(),
        evictions: evictions.collect(),
        code,
        data,
        evictors: evictors.collect(),
        calls: calls.collect(),
    }
}

fn places_of_oracle(oracle: &Oracle, sums: &Code) -> Vec<(PlaceCost, SwitchCause)> {
    let mut sums: Vec<_> = sums.iter().filter(|&(_, &excess)| excess != 0).collect();
    // Everything else is in the order of the keys, except causes, which are in the order of their
    // appearance.
    let cause_place = |cause: &SwitchCause| oracle.causes.iter().position(|other| other == cause);
    sums.sort_by_key(|((program, cause, place), excess)| {
        (
            std::cmp::Reverse(**excess),
            program.clone(),
            cause_place(cause),
            place.clone(),
        )
    });
    let cost =
        |((program, cause, place), &excess_cycles): (&(String, SwitchCause, CodePlace), &i64)| {
            let cost = PlaceCost {
                program: program.clone(),
                cause: 0,
                object: place.object.clone(),
                build_id: place.build_id.clone(),
                offset: place.offset,
                symbol: None,
                line: None,
                excess_cycles,
            };
            (cost, cause.clone())
        };
    sums.into_iter().map(cost).collect()
}

impl Findings {
    /// Removes the findings that a sweep does not report, for designs that are not `deep`.
    pub(crate) fn without_depth(mut self, deep: &[bool]) -> Findings {
        for (design, _) in self
            .designs
            .iter_mut()
            .zip(deep)
            .filter(|(_, is_deep)| !**is_deep)
        {
            design.intervals = added_up(&design.intervals);
            design.intervals.sort();
            design.full = None;
        }
        self
    }
}

/// Adds up intervals of the same process, cause, end and number. A segment that an exec divides
/// counts as one.
fn added_up(intervals: &[FoundInterval]) -> Vec<FoundInterval> {
    let mut sums: BTreeMap<_, FoundInterval> = BTreeMap::new();
    let mut seen = BTreeSet::new();
    for interval in intervals {
        let FoundInterval {
            process,
            cause,
            end,
            number,
            ..
        } = interval;
        let sum = sums
            .entry((process, cause, end, number))
            .or_insert_with(|| FoundInterval {
                segments: 0,
                instructions: 0,
                cycles: [0; 3],
                of_others: None,
                ..interval.clone()
            });
        sum.segments += u32::from(seen.insert((interval.segment, number)));
        sum.instructions += interval.instructions;
        (0..3).for_each(|view| sum.cycles[view] += interval.cycles[view]);
    }
    sums.into_values().collect()
}

/// Returns a short report of the first difference, or nothing.
pub(crate) fn compare(engine: &Findings, oracle: &Findings) -> Result<(), String> {
    if engine == oracle {
        return Ok(());
    }
    let difference = first_difference("", &json!(engine), &json!(oracle));
    Err(difference
        .unwrap_or_else(|| "they differ in a way that the report does not show".to_owned()))
}

fn first_difference(path: &str, engine: &Value, oracle: &Value) -> Option<String> {
    match (engine, oracle) {
        (Value::Object(one), Value::Object(other)) => {
            let of_other = |key: &String| other.get(key).unwrap_or(&Value::Null);
            let inside = |(key, value): (&String, &Value)| {
                first_difference(&format!("{path}.{key}"), value, of_other(key))
            };
            one.iter().find_map(inside)
        }
        (Value::Array(one), Value::Array(other)) => {
            let inside = |(index, pair): (usize, (&Value, &Value))| {
                first_difference(&format!("{path}[{index}]"), pair.0, pair.1)
            };
            let common = one.iter().zip(other).enumerate().find_map(inside);
            let length = || {
                format!(
                    "{path}: {} in the engine, {} in the oracle",
                    one.len(),
                    other.len()
                )
            };
            common.or_else(|| (one.len() != other.len()).then(length))
        }
        _ => (engine != oracle)
            .then(|| format!("{path}: {engine} in the engine, {oracle} in the oracle")),
    }
}
