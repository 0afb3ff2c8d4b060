//! Tests a part of a trace after a warm-up against the whole trace and the instructions before the
//! part.

use proptest::prelude::*;
use switchcost_cachesim::{Options, Outcome, Simulator};
use switchcost_design::Design;
use switchcost_design::result::{DesignResult, HierarchyCounts, Interval, View};
use switchcost_trace::{Chunk, Purpose};

use crate::agreement::{cases, options};
use crate::random::designs::design;
use crate::random::streams::{cut, stream};

/// Simulates chunks, of which the first ones only warm up caches.
fn run(
    design: &Design,
    options: &Options,
    warm_up: &[Chunk],
    counted: &[&[Chunk]],
) -> (Outcome, Vec<Interval>) {
    let mut simulator =
        Simulator::new(vec![design.clone()], options.clone()).expect("a design that can be built");
    let mut intervals = Vec::new();
    let mut feed = |chunk: &Chunk, purpose| {
        simulator
            .feed_part(&mut chunk.clone(), purpose, None, &mut intervals)
            .expect("a valid chunk");
    };
    warm_up
        .iter()
        .for_each(|chunk| feed(chunk, Purpose::WarmUp));
    for (part, chunks) in counted.iter().enumerate() {
        chunks
            .iter()
            .for_each(|chunk| feed(chunk, Purpose::Count { part }));
    }
    let outcome = simulator.finish(&mut intervals, &mut |_, _| None);
    (outcome, intervals)
}

/// Returns every number that is a sum over the trace.
fn sums(result: &DesignResult) -> Vec<u64> {
    let of_level = |of: &HierarchyCounts| -> Vec<u64> {
        let levels = of.levels.iter().chain(&of.tlbs);
        let counts = levels.flat_map(|level| {
            let more = [
                level.fills,
                level.write_backs,
                level.prefetches,
                level.victim_hits,
                level.stream_hits,
                level.cycles,
            ];
            [level.accesses(), level.misses()].into_iter().chain(more)
        });
        counts.chain([of.cycles, of.write_stall_cycles]).collect()
    };
    let views = [View::Shared, View::Private, View::Flushed];
    let mut all: Vec<u64> = views
        .iter()
        .flat_map(|&view| of_level(result.hierarchies.get(view)))
        .collect();
    let Some(detail) = &result.detail else {
        return all;
    };
    for origins in &detail.origins {
        all.extend([
            origins.intrinsic,
            origins.evicted_by_others,
            origins.evicted_by_kernel,
            origins.aged_by_others,
        ]);
        all.extend([origins.flushed, origins.state]);
    }
    all.extend(
        detail
            .miss_differences
            .iter()
            .flat_map(|level| [level.lost, level.gained, level.first_touches]),
    );
    all.extend(detail.losses.iter().flat_map(|level| {
        [
            level.returns,
            level.resident_at_departure,
            level.lost,
            level.restored,
        ]
    }));
    let (lost, gained) = (detail.lost_cycles, detail.gained_cycles);
    all.extend([
        lost.total(),
        lost.to_others(),
        gained.others,
        gained.first_touches(),
        gained.state,
    ]);
    all.push(detail.evictions.iter().map(|eviction| eviction.lines).sum());
    all
}

fn plus(one: &[u64], other: &[u64]) -> Vec<u64> {
    one.iter()
        .zip(other)
        .map(|(one, other)| one + other)
        .collect()
}

proptest! {
    #![proptest_config(cases(120))]

    /// Shows that a part equals the whole minus what comes before the part, and that several
    /// consecutive parts together equal one part.
    #[test]
    fn what_comes_before_a_part_and_the_part_are_the_whole(
        design in design(),
        options in options(),
        stream in stream(200),
        cuts in prop::collection::vec(any::<u16>(), 2..5),
    ) {
        let chunks = cut(&stream, &cuts);
        let (before, part) = chunks.split_at(chunks.len() / 2);
        prop_assume!(!part.is_empty() && !before.is_empty());
        let (whole, _) = run(&design, &options, &[], &[&chunks]);
        let (first, _) = run(&design, &options, &[], &[before]);
        let (second, intervals) = run(&design, &options, before, &[part]);
        prop_assert_eq!(plus(&sums(&first.designs[0]), &sums(&second.designs[0])), sums(&whole.designs[0]));
        prop_assert_eq!(first.instructions + second.instructions, whole.instructions);
        let switches = |outcome: &Outcome| outcome.voluntary_switches + outcome.involuntary_switches;
        prop_assert_eq!(switches(&first) + switches(&second), switches(&whole));
        prop_assert_eq!(intervals.iter().map(|interval| interval.instructions).sum::<u64>(), second.instructions);
        let of_processes: u64 = second.processes.iter().map(|process| process.instructions).sum();
        prop_assert_eq!(of_processes, second.instructions);

        let (head, rest) = part.split_at(part.len() / 2);
        let (several, intervals_of_several) = run(&design, &options, before, &[head, rest]);
        prop_assert_eq!(intervals_of_several, intervals);
        let of_parts = several.parts.iter().map(|part| sums(&part.designs[0].1));
        let of_parts = of_parts.reduce(|one, other| plus(&one, &other)).expect("a part");
        prop_assert_eq!(of_parts, sums(&second.designs[0]));
    }
}
