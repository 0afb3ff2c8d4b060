//! Tests a part of a trace after a warm-up against the whole trace and the instructions before the
//! part.

use std::collections::BTreeMap;

use proptest::prelude::*;
use serde_json::{Value, json};
use switchcost_cachesim::{Options, Outcome, Simulator};
use switchcost_design::Design;
use switchcost_design::result::{DesignResult, Interval};
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

/// Returns every number that is a sum over the trace, by its place in the results, added up over
/// these results.
fn sums<'a>(results: impl IntoIterator<Item = &'a DesignResult>) -> BTreeMap<String, u64> {
    let mut sums = BTreeMap::new();
    for result in results {
        let of_detail = result.detail.as_ref().map(|detail| {
            let evicted: u64 = detail.evictions.iter().map(|eviction| eviction.lines).sum();
            json!([
                detail.origins,
                detail.miss_differences,
                detail.losses,
                detail.lost_cycles,
                detail.gained_cycles,
                evicted
            ])
        });
        add_numbers("", &json!([result.hierarchies, of_detail]), &mut sums);
    }
    sums
}

fn add_numbers(path: &str, value: &Value, sums: &mut BTreeMap<String, u64>) {
    match value {
        Value::Object(fields) => fields
            .iter()
            .for_each(|(key, value)| add_numbers(&format!("{path}.{key}"), value, sums)),
        Value::Array(values) => values
            .iter()
            .enumerate()
            .for_each(|(at, value)| add_numbers(&format!("{path}.{at}"), value, sums)),
        value => *sums.entry(path.to_owned()).or_default() += value.as_u64().unwrap_or(0),
    }
}

proptest! {
    #![proptest_config(cases(60))]

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
        prop_assert_eq!(sums([&first.designs[0], &second.designs[0]]), sums(&whole.designs));
        prop_assert_eq!(first.instructions + second.instructions, whole.instructions);
        let switches = |outcome: &Outcome| outcome.voluntary_switches + outcome.involuntary_switches;
        prop_assert_eq!(switches(&first) + switches(&second), switches(&whole));
        prop_assert_eq!(intervals.iter().map(|interval| interval.instructions).sum::<u64>(), second.instructions);
        let of_processes: u64 = second.processes.iter().map(|process| process.instructions).sum();
        prop_assert_eq!(of_processes, second.instructions);

        let (head, rest) = part.split_at(part.len() / 2);
        let (several, intervals_of_several) = run(&design, &options, before, &[head, rest]);
        prop_assert_eq!(intervals_of_several, intervals);
        prop_assert_eq!(sums(several.parts.iter().map(|part| &part.designs[0].1)), sums(&second.designs));
    }
}
