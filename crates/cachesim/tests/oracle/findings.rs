//! Converts the findings of either simulator to one form, and returns the first difference of two
//! such findings.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use switchcost_cachesim::{Options, Outcome, Simulator};
use switchcost_design::Design;
use switchcost_design::result::{
    ByView, Detail, Eviction, EvictorPlace, HierarchyCounts, Interval, PlaceCost, ProcessFacts,
    ProcessMisses, SwitchCause,
};
use switchcost_trace::Chunk;

use crate::support::address::KERNEL;
use crate::support::fault::Fault;
use crate::support::simulator::{Code, OneDesign, Oracle};

#[derive(Debug, PartialEq)]
pub(crate) struct Findings {
    pub(crate) processes: Vec<ProcessFacts>,
    /// Causes in the order of appearance.
    pub(crate) causes: Vec<SwitchCause>,
    pub(crate) designs: Vec<DesignFindings>,
}

#[derive(Debug, PartialEq)]
pub(crate) struct DesignFindings {
    pub(crate) hierarchies: ByView<HierarchyCounts>,
    pub(crate) by_process: Vec<ProcessMisses>,
    /// Intervals in sorted order, as if there were no other design.
    pub(crate) intervals: Vec<Interval>,
    /// Findings that only designs simulated in full have, without lost lines, and without those
    /// about the kernel alone, which are independent of caches.
    pub(crate) full: Option<Detail>,
    /// Lost lines by the level in which the private view finds them, and the farthest level that
    /// the shared view misses, without the kind of request, which is independent of caches.
    pub(crate) lost_lines: BTreeMap<(String, String), u64>,
}

fn sorted(mut intervals: Vec<Interval>) -> Vec<Interval> {
    intervals.sort_by_key(|one| (one.segment, one.number, one.process, one.cause, one.end));
    intervals
}

pub(crate) fn run_engine(designs: &[Design], options: &Options, chunks: &[Chunk]) -> Findings {
    let (outcome, intervals) = feed(designs, options, chunks);
    let designs = outcome
        .designs
        .into_iter()
        .enumerate()
        .map(|(number, result)| {
            let mut lost_lines = BTreeMap::new();
            let full = result.detail.map(|detail| {
                for lost in &detail.lost_lines {
                    let levels = (lost.found_alone.clone(), lost.missed.clone());
                    *lost_lines.entry(levels).or_default() += lost.lines;
                }
                Detail {
                    lost_lines: Vec::new(),
                    kernel_batches: Vec::new(),
                    kernel_functions: Vec::new(),
                    ..detail
                }
            });
            let own = intervals
                .iter()
                .filter(|one| usize::from(one.design) == number);
            DesignFindings {
                hierarchies: result.hierarchies,
                by_process: result.by_process,
                intervals: sorted(own.map(|&one| Interval { design: 0, ..one }).collect()),
                full,
                lost_lines,
            }
        });
    Findings {
        designs: designs.collect(),
        processes: outcome.processes,
        causes: outcome.causes,
    }
}

/// Feeds chunks to the simulator, and returns its outcome and its intervals, in its order.
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

/// Converts the oracle's findings to the common form. `deep` says for each design whether it counts
/// as simulated in full.
pub(crate) fn of_oracle(oracle: &Oracle, deep: &[bool], places: usize) -> Findings {
    let designs = oracle.designs.iter().zip(deep).map(|(one, &is_deep)| {
        let name = |level: usize| one.machine.design.levels[level].name.clone();
        let lost_lines = one.machine.lost_lines.iter().filter(|_| is_deep);
        DesignFindings {
            hierarchies: one.machine.counts(),
            by_process: one.machine.by_process(),
            intervals: sorted(if is_deep {
                one.intervals.clone()
            } else {
                added_up(&one.intervals)
            }),
            full: is_deep.then(|| full_of_oracle(one, places)),
            lost_lines: lost_lines
                .map(|(&(near, far), &lines)| ((name(near), name(far)), lines))
                .collect(),
        }
    });
    Findings {
        processes: oracle.processes(),
        causes: oracle.causes.clone(),
        designs: designs.collect(),
    }
}

fn full_of_oracle(one: &OneDesign, places: usize) -> Detail {
    let evictions = one.machine.evictions.iter();
    let name = |level: usize| one.machine.design.levels[level].name.clone();
    let owner = |process: u32| (process != KERNEL).then_some(process);
    let evictions = evictions.map(|(&(level, by, of), &lines)| Eviction {
        level: name(level),
        evictor: owner(by),
        victim: owner(of),
        lines,
    });
    let [code, data] = [&one.code, &one.data].map(|sums| {
        let mut all = places_of_oracle(sums);
        all.truncate(places);
        all
    });
    // Equal numbers of lines are in the order of the keys.
    let mut evictors: Vec<_> = one.evictors.iter().collect();
    evictors.sort_by_key(|((level, ..), lines)| (*level, Reverse(**lines)));
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
    Detail {
        origins: one.machine.origins.clone(),
        miss_differences: one.machine.differences.clone(),
        lost_cycles: one.machine.lost_to,
        gained_cycles: one.machine.gained,
        most_held: one.machine.most_held.clone(),
        fill_curve: one.machine.fill_curve.clone(),
        losses: one.machine.losses.clone(),
        evictions: evictions.collect(),
        code,
        data,
        evictors: evictors.collect(),
        calls: calls.collect(),
        ..Detail::default()
    }
}

fn places_of_oracle(sums: &Code) -> Vec<PlaceCost> {
    // Equal sums are in the order of the keys.
    let mut sums: Vec<_> = sums.iter().filter(|&(_, &excess)| excess != 0).collect();
    sums.sort_by_key(|&(_, &excess)| Reverse(excess));
    let costs = sums
        .into_iter()
        .map(|((program, cause, place), &excess_cycles)| PlaceCost {
            program: program.clone(),
            cause: *cause,
            object: place.object.clone(),
            build_id: place.build_id.clone(),
            offset: place.offset,
            symbol: None,
            line: None,
            excess_cycles,
        });
    costs.collect()
}

impl Findings {
    /// Returns which designs were simulated in full.
    pub(crate) fn depths(&self) -> Vec<bool> {
        let designs = self.designs.iter();
        designs.map(|design| design.full.is_some()).collect()
    }

    /// Removes the findings that a sweep (one pass over many designs) does not report, for designs
    /// that are not `deep` (simulated in full).
    pub(crate) fn without_depth(mut self, deep: &[bool]) -> Findings {
        for (design, is_deep) in self.designs.iter_mut().zip(deep) {
            if !is_deep {
                design.intervals = sorted(added_up(&design.intervals));
                design.full = None;
                design.lost_lines.clear();
            }
        }
        self
    }
}

/// Adds up intervals of the same process, cause, end and number. A segment that an exec divides
/// counts as one.
fn added_up(intervals: &[Interval]) -> Vec<Interval> {
    let mut sums: BTreeMap<_, Interval> = BTreeMap::new();
    let mut seen = BTreeSet::new();
    for one in intervals {
        let sum = sums
            .entry((one.process, one.cause, one.end, one.number))
            .or_insert_with(|| Interval {
                segments: 0,
                instructions: 0,
                cycles: ByView::default(),
                of_others: None,
                ..*one
            });
        sum.segments += u32::from(seen.insert((one.segment, one.number)));
        sum.instructions += one.instructions;
        sum.cycles.shared += one.cycles.shared;
        sum.cycles.private += one.cycles.private;
        sum.cycles.flushed += one.cycles.flushed;
    }
    sums.into_values().collect()
}

/// Returns an error with the first difference and the lines before it, if there is a difference.
pub(crate) fn compare(engine: &Findings, oracle: &Findings) -> Result<(), String> {
    if engine == oracle {
        return Ok(());
    }
    let [engine, oracle] = [engine, oracle].map(|findings| format!("{findings:#?}"));
    let pairs = engine.lines().zip(oracle.lines());
    let same = pairs.take_while(|(one, other)| one == other).count();
    let part = |text: &str| {
        let lines = text.lines().skip(same.saturating_sub(12)).take(14);
        lines.collect::<Vec<_>>().join("\n")
    };
    Err(format!(
        "the engine:\n{}\nthe oracle:\n{}",
        part(&engine),
        part(&oracle)
    ))
}
