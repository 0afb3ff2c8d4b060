//! Serialization of findings as they are printed: shares in percent, and counters with sums that
//! the record does not have.

use schemars::JsonSchema;
use serde::{Serialize, Serializer};
use switchcost_design::result::{ByView, HierarchyCounts, LevelCounts};

pub(crate) fn percentage<S: Serializer>(
    share: &Option<f64>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    share.map(|share| share * 100.0).serialize(serializer)
}

#[derive(JsonSchema, Serialize)]
pub(crate) struct Hierarchies<'a> {
    /// Counters of the hierarchy that all processes share.
    shared: Hierarchy<'a>,
    /// Counters of the private hierarchies, summed.
    private: Hierarchy<'a>,
    /// Counters of the hierarchy that every switch empties.
    flushed: Hierarchy<'a>,
}

/// Counters of one of the three hierarchies.
#[derive(JsonSchema, Serialize)]
struct Hierarchy<'a> {
    /// Number of all cycles of the hierarchy.
    cycles: u64,
    /// Number of cycles in which stores waited for a write buffer.
    write_stall_cycles: u64,
    /// Counters of the caches, in the design's order.
    levels: Vec<Level<'a>>,
    /// Counters of the TLBs, in the design's order.
    tlbs: Vec<Level<'a>>,
}

/// Counters of one cache or TLB, with sums.
#[derive(JsonSchema, Serialize)]
struct Level<'a> {
    #[schemars(skip)]
    name: &'a str,
    /// Number of references that looked in the level.
    accesses: u64,
    /// Number of references that missed in the level.
    misses: u64,
    #[serde(flatten, serialize_with = "serialize_unnamed")]
    #[schemars(with = "LevelCounts")]
    counts: &'a LevelCounts,
}

fn serialize_unnamed<S: Serializer>(
    counts: &&LevelCounts,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.collect_map(counts.counters())
}

pub(crate) fn hierarchies<S: Serializer>(
    counts: &ByView<HierarchyCounts>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    let [shared, private, flushed] =
        [&counts.shared, &counts.private, &counts.flushed].map(hierarchy);
    Hierarchies {
        shared,
        private,
        flushed,
    }
    .serialize(serializer)
}

fn hierarchy(counts: &HierarchyCounts) -> Hierarchy<'_> {
    Hierarchy {
        cycles: counts.cycles,
        write_stall_cycles: counts.write_stall_cycles,
        levels: counts.levels.iter().map(level).collect(),
        tlbs: counts.tlbs.iter().map(level).collect(),
    }
}

fn level(counts: &LevelCounts) -> Level<'_> {
    Level {
        name: &counts.name,
        accesses: counts.accesses(),
        misses: counts.misses(),
        counts,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_level_has_each_counter_of_the_record_and_their_sums() {
        let counts = LevelCounts {
            load_accesses: 3,
            load_misses: 1,
            store_accesses: 4,
            fills: 5,
            ..LevelCounts::default()
        };
        let printed = serde_json::to_value(level(&counts)).expect("JSON");
        let mut expected = serde_json::to_value(&counts).expect("JSON");
        (expected["accesses"], expected["misses"]) = (7.into(), 1.into());
        assert_eq!(printed, expected);
    }
}
