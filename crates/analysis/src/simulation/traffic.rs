//! Computes the traffic between caches, and the accuracy and coverage of prefetching.

use switchcost_design::Level;
use switchcost_design::result::{DesignResult, LevelCounts};

use super::findings::{PrefetchFinding, TrafficFinding};

/// Returns the findings for each cache of the shared hierarchy; empty without instructions.
pub(crate) fn traffic(result: &DesignResult, instructions: u64) -> Vec<TrafficFinding> {
    let shared = &result.hierarchies.shared;
    let levels = result
        .design
        .levels
        .iter()
        .zip(&shared.levels)
        .filter(|_| instructions > 0);
    levels
        .map(|(level, counts)| level_traffic(level, counts, instructions, shared.cycles))
        .collect()
}

fn level_traffic(
    level: &Level,
    counts: &LevelCounts,
    instructions: u64,
    cycles: u64,
) -> TrafficFinding {
    let per_thousand = |events: u64| events as f64 * 1000.0 / instructions as f64;
    let bytes = |lines: u64| per_thousand(lines) * level.line.0 as f64;
    let has_bus = level.bus_cycles > 0 && cycles > 0;
    TrafficFinding {
        level: counts.name.clone(),
        filled_bytes: bytes(counts.fills.saturating_add(counts.prefetches)),
        written_back_bytes: bytes(counts.write_backs),
        moved_bytes: bytes(counts.moves),
        bus_share: has_bus
            .then(|| counts.bus_lines as f64 * f64::from(level.bus_cycles) / cycles as f64),
        back_invalidations: per_thousand(counts.back_invalidations),
        prefetching: prefetching(counts),
    }
}

/// Returns accuracy and coverage of prefetching; `None` for a cache into which no line was
/// prefetched.
fn prefetching(counts: &LevelCounts) -> Option<PrefetchFinding> {
    let used = counts.prefetch_hits.saturating_add(counts.stream_hits);
    let share = |part: u64, all: u64| (all > 0).then(|| part as f64 / all as f64);
    Some(PrefetchFinding {
        accuracy: share(used, counts.prefetches)?,
        coverage: share(used, used.saturating_add(counts.fills)),
        late: share(counts.late_stream_hits, counts.stream_hits),
    })
}

#[cfg(test)]
mod tests {
    use super::super::testing::Run;

    #[test]
    fn lines_are_reported_in_bytes_by_instructions_and_prefetches_by_their_use() {
        let mut run = Run::turns(&[0; 4]);
        assert!(run.design().traffic[0].prefetching.is_none());
        let result = &mut run.head.designs[0];
        (
            result.design.levels[0].bus_cycles,
            result.hierarchies.shared.cycles,
        ) = (4, 80_000);
        let counts = &mut result.hierarchies.shared.levels[0];
        (
            counts.fills,
            counts.prefetches,
            counts.write_backs,
            counts.moves,
        ) = (60, 100, 20, 10);
        (
            counts.prefetch_hits,
            counts.stream_hits,
            counts.late_stream_hits,
        ) = (20, 40, 10);
        (counts.back_invalidations, counts.bus_lines) = (8, 190);
        let found = run.design().traffic.swap_remove(0);
        // The traffic is lines of 16 B in 40,000 instructions.
        assert_eq!(
            (
                found.filled_bytes,
                found.written_back_bytes,
                found.moved_bytes
            ),
            (64.0, 8.0, 4.0)
        );
        assert_eq!(
            (found.bus_share, found.back_invalidations),
            (Some(0.0095), 0.2)
        );
        let prefetching = found.prefetching.expect("there is some");
        assert_eq!(
            (prefetching.accuracy, prefetching.coverage, prefetching.late),
            (0.6, Some(0.5), Some(0.25))
        );
    }
}
