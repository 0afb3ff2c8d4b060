//! What either simulator found, in one shape, and where two such findings differ first.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use switchcost_cachesim::{Options, Outcome, Simulator};
use switchcost_design::Design;
use switchcost_simulation_result::{
    ByView, CallCost, Detail, Eviction, EvictorPlace, FillPoint, GainedCycles, HierarchyCounts, Interval, LostCycles,
    MissDifference, MissOrigins, PlaceCost, PrivateBy, ProcessFacts, ProcessMisses, SwitchCause, WorkingSetLoss,
};
use switchcost_trace::Chunk;

use crate::support::address::KERNEL;
use crate::support::fault::Fault;
use crate::support::process_table::CodePlace;
use crate::support::simulator::{Code, OneDesign, Oracle, Settings, Tuple};

#[derive(Debug, PartialEq)]
pub(crate) struct Findings {
    pub(crate) processes: Vec<ProcessFacts>,
    pub(crate) designs: Vec<DesignFindings>,
}

#[derive(Debug, PartialEq)]
pub(crate) struct DesignFindings {
    pub(crate) hierarchies: ByView<HierarchyCounts>,
    pub(crate) by_process: Vec<ProcessMisses>,
    /// Sorted.
    pub(crate) tuples: Vec<Tuple>,
    /// Of designs in full only.
    pub(crate) full: Option<FullFindings>,
}

#[derive(Debug, PartialEq)]
pub(crate) struct FullFindings {
    pub(crate) origins: Vec<MissOrigins>,
    pub(crate) differences: Vec<MissDifference>,
    pub(crate) lost_to: LostCycles,
    pub(crate) gained: GainedCycles,
    /// By the level that the private view finds them in, and the farthest that the shared one misses.
    pub(crate) lost_lines: BTreeMap<String, u64>,
    pub(crate) most_held: Vec<u64>,
    pub(crate) fill_curve: Vec<FillPoint>,
    pub(crate) losses: Vec<WorkingSetLoss>,
    /// Level, evictor, victim, lines: in the order given. [`KERNEL`] is no process.
    pub(crate) evictions: Vec<(String, u32, u32, u64)>,
    pub(crate) code: Vec<(PlaceCost, SwitchCause)>,
    pub(crate) data: Vec<(PlaceCost, SwitchCause)>,
    pub(crate) evictors: Vec<EvictorPlace>,
    pub(crate) calls: Vec<CallCost>,
}

/// How they are asked for is no matter of caches.
fn lost_lines(detail: &Detail) -> BTreeMap<String, u64> {
    let mut all = BTreeMap::new();
    for lost in &detail.lost_lines {
        *all.entry(levels(&lost.found_alone, &lost.missed)).or_default() += lost.lines;
    }
    all
}

fn levels(found_alone: &str, missed: &str) -> String {
    format!("{found_alone} to {missed}")
}

pub(crate) fn settings(options: &Options, fault: Option<Fault>) -> Settings {
    Settings {
        interval_instructions: options.interval_instructions,
        intervals: options.intervals,
        with_kernel_touches: options.kernel_touches,
        syscall_name,
        tells_tasks_apart: options.private_by == PrivateBy::Task,
        fault,
    }
}

/// Of the numbers that the random streams use.
fn syscall_name(number: u16) -> Option<String> {
    Some(match number {
        0 => "read".to_owned(),
        1 => "write".to_owned(),
        other => format!("syscall {other}"),
    })
}

pub(crate) fn run_engine(designs: &[Design], options: &Options, chunks: &[Chunk]) -> Findings {
    let (outcome, tuples) = feed(designs, options, chunks);
    of_engine(&outcome, &tuples)
}

/// All that the engine says, in its order.
pub(crate) fn feed(designs: &[Design], options: &Options, chunks: &[Chunk]) -> (Outcome, Vec<Interval>) {
    let mut simulator = Simulator::new(designs.to_vec(), options.clone()).expect("the designs can be built");
    let mut tuples = Vec::new();
    for chunk in chunks {
        simulator.feed(&mut chunk.clone(), &mut tuples).expect("the chunk is sound");
    }
    let outcome = simulator.finish(&mut tuples, &mut |_, _| None);
    (outcome, tuples)
}

pub(crate) fn run_oracle(designs: &[Design], options: &Options, chunks: &[Chunk], fault: Option<Fault>) -> Oracle {
    let mut oracle = Oracle::new(designs, settings(options, fault));
    chunks.iter().for_each(|chunk| oracle.feed(chunk));
    oracle.finish();
    oracle
}

fn of_engine(outcome: &Outcome, tuples: &[Interval]) -> Findings {
    let cause = |index: u32| outcome.causes[index as usize].clone();
    let designs = outcome.designs.iter().enumerate().map(|(index, result)| {
        let own = tuples.iter().filter(|tuple| usize::from(tuple.design) == index);
        let tuple = |tuple: &Interval| Tuple {
            segment: tuple.segment,
            segments: tuple.segments,
            interval: tuple.interval,
            task: tuple.task,
            process: tuple.process,
            cause: cause(tuple.cause),
            end: cause(tuple.end),
            instructions: tuple.instructions,
            cycles: [tuple.cycles.shared, tuple.cycles.private, tuple.cycles.flushed],
            of_others: tuple.of_others.map(|all| [all.lost, all.gained, all.first_touches]),
        };
        let owner = |process: Option<u32>| process.unwrap_or(KERNEL);
        let eviction = |one: &Eviction| (one.level.clone(), owner(one.evictor), owner(one.victim), one.lines);
        let places = |costs: &[PlaceCost]| -> Vec<_> {
            costs.iter().map(|cost| (PlaceCost { cause: 0, ..cost.clone() }, cause(cost.cause))).collect()
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
        let mut tuples: Vec<Tuple> = own.map(tuple).collect();
        tuples.sort();
        let by_process = result.by_process.clone();
        DesignFindings { hierarchies: result.hierarchies.clone(), by_process, tuples, full }
    });
    Findings { processes: outcome.processes.clone(), designs: designs.collect() }
}

/// `deep` says of each design whether everything is to be reported.
pub(crate) fn of_oracle(oracle: &Oracle, deep: &[bool], places: usize) -> Findings {
    let designs = oracle.designs.iter().zip(deep).map(|(one, &is_deep)| {
        let mut tuples = if is_deep { one.tuples.clone() } else { added_up(&one.tuples) };
        tuples.sort();
        DesignFindings {
            hierarchies: one.machine.counts(),
            by_process: one.machine.by_process(),
            tuples,
            full: is_deep.then(|| full_of_oracle(oracle, one, places)),
        }
    });
    Findings { processes: oracle.processes(), designs: designs.collect() }
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
    // Of equal numbers of lines the order is that of the keys.
    let mut evictors: Vec<_> = one.evictors.iter().collect();
    evictors.sort_by_key(|((level, ..), lines)| (*level, std::cmp::Reverse(**lines)));
    let of_one_level = evictors.chunk_by(|((one, ..), _), ((other, ..), _)| one == other);
    let evictors = of_one_level.flat_map(|of_level| of_level.iter().take(places)).map(
        |&((level, program, is_code, place), &lines)| EvictorPlace {
            level: name(*level),
            program: program.clone(),
            is_code: *is_code,
            object: place.object.clone(),
            build_id: place.build_id.clone(),
            offset: place.offset,
            symbol: None,
            lines,
        },
    );
    let cycles = one.machine.cycles();
    let excess = cycles.shared as i64 - cycles.private as i64;
    assert_eq!(one.machine.compared_cycles, excess, "whatever the views differ by arises in a lookup");
    let sums = [one.machine.counted().misses.len(), one.machine.design.levels.len()];
    let calls = one.calls.values().cloned().map(|mut cost| {
        cost.misses.resize(sums[0], 0);
        cost.driven_out.resize(sums[1], 0);
        cost
    });
    let lost_lines =
        one.machine.lost_lines.iter().map(|((near, far), lines)| (levels(&name(*near), &name(*far)), *lines));
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
    // The rest of the order is that of the keys, but for causes: those are in the order in which they appear.
    let cause_place = |cause: &SwitchCause| oracle.causes.iter().position(|other| other == cause);
    sums.sort_by_key(|((program, cause, place), excess)| {
        (std::cmp::Reverse(**excess), program.clone(), cause_place(cause), place.clone())
    });
    let cost = |((program, cause, place), &excess_cycles): (&(String, SwitchCause, CodePlace), &i64)| {
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
    /// As a single pass for many designs reports it for designs that are not `deep`.
    pub(crate) fn without_depth(mut self, deep: &[bool]) -> Findings {
        for (design, _) in self.designs.iter_mut().zip(deep).filter(|(_, is_deep)| !**is_deep) {
            design.tuples = added_up(&design.tuples);
            design.tuples.sort();
            design.full = None;
        }
        self
    }
}

/// Tuples of the same process, cause, end and interval, added. What an exec divides is one segment.
fn added_up(tuples: &[Tuple]) -> Vec<Tuple> {
    let mut sums: Vec<Tuple> = Vec::new();
    for (place, tuple) in tuples.iter().enumerate() {
        let is_rest = |other: &Tuple| (other.segment, other.interval) == (tuple.segment, tuple.interval);
        let segments = u32::from(!tuples[..place].iter().any(is_rest));
        let tuple = Tuple { segments, of_others: None, ..tuple.clone() };
        let tuple = &tuple;
        let is_same = |sum: &&mut Tuple| {
            (sum.process, &sum.cause, &sum.end, sum.interval)
                == (tuple.process, &tuple.cause, &tuple.end, tuple.interval)
        };
        let Some(sum) = sums.iter_mut().find(is_same) else {
            sums.push(tuple.clone());
            continue;
        };
        sum.segments += tuple.segments;
        sum.instructions += tuple.instructions;
        sum.cycles.iter_mut().zip(tuple.cycles).for_each(|(sum, more)| *sum += more);
    }
    sums
}

/// Nothing, or a small report.
pub(crate) fn compare(engine: &Findings, oracle: &Findings) -> Result<(), String> {
    if engine == oracle {
        return Ok(());
    }
    let difference = first_difference("", &as_json(engine), &as_json(oracle));
    Err(difference.unwrap_or_else(|| "they differ in a way that the report does not show".to_owned()))
}

fn as_json(findings: &Findings) -> Value {
    let tuple = |tuple: &Tuple| {
        json!({
            "segment": tuple.segment, "segments": tuple.segments, "interval": tuple.interval, "task": tuple.task,
            "process": tuple.process, "cause": tuple.cause, "end": tuple.end, "instructions": tuple.instructions,
            "cycles": tuple.cycles, "others": tuple.of_others,
        })
    };
    let design = |design: &DesignFindings| {
        let full = design.full.as_ref().map(|full| {
            json!({
                "origins": full.origins, "losses": full.losses, "evictions": full.evictions, "code": full.code,
                "data": full.data, "evictors": full.evictors,
                "differences": full.differences, "calls": full.calls, "lost_to": full.lost_to, "gained": full.gained,
                "lost_lines": full.lost_lines,
                "most_held": full.most_held, "fill_curve": full.fill_curve,
            })
        });
        let tuples: Vec<Value> = design.tuples.iter().map(tuple).collect();
        // Counters first: where they differ, all else does.
        json!({ "a": design.hierarchies, "by_process": design.by_process, "full": full, "tuples": tuples })
    };
    let designs: Vec<Value> = findings.designs.iter().map(design).collect();
    json!({ "designs": designs, "processes": findings.processes })
}

fn first_difference(path: &str, engine: &Value, oracle: &Value) -> Option<String> {
    match (engine, oracle) {
        (Value::Object(one), Value::Object(other)) => {
            let of_other = |key: &String| other.get(key).unwrap_or(&Value::Null);
            let inside =
                |(key, value): (&String, &Value)| first_difference(&format!("{path}.{key}"), value, of_other(key));
            one.iter().find_map(inside)
        }
        (Value::Array(one), Value::Array(other)) => {
            let inside = |(index, pair): (usize, (&Value, &Value))| {
                first_difference(&format!("{path}[{index}]"), pair.0, pair.1)
            };
            let common = one.iter().zip(other).enumerate().find_map(inside);
            let length = || format!("{path}: {} in the engine, {} in the oracle", one.len(), other.len());
            common.or_else(|| (one.len() != other.len()).then(length))
        }
        _ => (engine != oracle).then(|| format!("{path}: {engine} in the engine, {oracle} in the oracle")),
    }
}
