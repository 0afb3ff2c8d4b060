//! Computes the findings for each cache and TLB: misses, lookups lost and gained, and whether the
//! trace filled the level.

use switchcost_design::result::{
    ByView, DesignResult, Detail, HierarchyCounts, LevelCounts, MissDifference, TraceFacts,
};
use switchcost_design::{Holds, Inclusion, Level};

use super::filling::{Filling, filling};
use super::findings::{FULL_FROM, LevelFinding, filled};
use crate::lists::saturating_sum;

/// Name of a level, its capacity in lines, and the largest number of lines held or an upper bound.
type Room<'a> = (&'a str, u64, u64);

/// Counters of a level in the shared, private and flushed hierarchies.
type Views<'a> = ((&'a LevelCounts, &'a LevelCounts), &'a LevelCounts);

/// Returns the findings for each cache and then each TLB.
pub(crate) fn levels(
    result: &DesignResult,
    detail: &Detail,
    trace: &TraceFacts,
    switches: f64,
) -> Vec<LevelFinding> {
    let instructions = trace.instructions;
    let counts = &result.hierarchies;
    let design = &result.design;
    let caches = design.levels.iter().enumerate().map(|(place, level)| {
        (
            level.name.as_str(),
            level.lines(),
            brought_in_place(&design.levels, &counts.shared.levels, place),
        )
    });
    let tlbs = design.tlbs.iter().zip(&counts.shared.tlbs);
    let tlbs =
        tlbs.map(|(tlb, counts)| (tlb.name.as_str(), tlb.entries.into(), brought_in(counts)));
    let mpki = |counts: &LevelCounts| counts.misses() as f64 * 1000.0 / instructions as f64;
    let views = level_counts(&counts.shared)
        .zip(level_counts(&counts.private))
        .zip(level_counts(&counts.flushed));
    let finding = |(place, found): (usize, (Room<'_>, Views<'_>))| {
        let ((level, lines, brought_in), ((shared, private), flushed)) = found;
        let most_held = detail
            .most_held
            .get(place)
            .copied()
            .unwrap_or(brought_in.min(lines));
        let filling = filling(detail, trace, place, lines);
        let difference = if switches > 0.0 {
            detail.miss_differences.get(place)
        } else {
            None
        };
        LevelFinding {
            level: level.to_owned(),
            mpki: (instructions > 0).then(|| ByView {
                shared: mpki(shared),
                private: mpki(private),
                flushed: mpki(flushed),
            }),
            lost_per_switch: difference.map(|lookups| lookups.lost as f64 / switches),
            gained_per_switch: difference
                .map(gained)
                .map(|lookups| lookups as f64 / switches),
            lines,
            most_held,
            was_full: filled(most_held, lines) >= FULL_FROM,
            full_at_instructions: match filling {
                Some(Filling::At(instructions)) => Some(instructions),
                Some(Filling::Never) | None => None,
            },
            is_never_full: filling == Some(Filling::Never),
        }
    };
    caches
        .chain(tlbs)
        .zip(views)
        .enumerate()
        .map(finding)
        .collect()
}

/// Returns the number of lookups that hit because of other processes, without first touches.
fn gained(lookups: &MissDifference) -> u64 {
    lookups.gained.saturating_sub(lookups.first_touches)
}

fn level_counts(hierarchy: &HierarchyCounts) -> impl Iterator<Item = &LevelCounts> {
    hierarchy.levels.iter().chain(&hierarchy.tlbs)
}

/// Returns the number of lines brought into the level with index `place`, which is an upper bound
/// of the lines held at any time. An exclusive level receives lines that the levels just before
/// evict; at most as many as were brought into those levels.
fn brought_in_place(levels: &[Level], counts: &[LevelCounts], place: usize) -> u64 {
    if levels[place].inclusion != Inclusion::Exclusive {
        return counts.get(place).map_or(0, brought_in);
    }
    let mut before: Vec<usize> = [Holds::Instructions, Holds::Data]
        .into_iter()
        .filter_map(|kind| {
            levels[..place]
                .iter()
                .rposition(|level| level.holds == kind || level.holds == Holds::Both)
        })
        .collect();
    before.dedup();
    let before = before.into_iter();
    saturating_sum(before.map(|place| brought_in_place(levels, counts, place)))
}

/// Returns the number of lines brought into a level. A line that is written back to the level again
/// does not count, because it needs no additional room.
fn brought_in(counts: &LevelCounts) -> u64 {
    counts.fills.saturating_add(counts.prefetches)
}

#[cfg(test)]
mod tests {
    use switchcost_design::result::MissDifference;

    use super::super::testing::Run;

    #[test]
    fn where_it_was_not_counted_a_level_was_full_when_as_many_lines_came_in() {
        let mut run = Run::turns(&[0; 4]);
        let result = &mut run.head.designs[0];
        let lines = result.design.levels[0].lines();
        let counts = &mut result.hierarchies.shared.levels;
        (counts[0].fills, counts[0].prefetches) = (lines - 10, 10);
        (counts[1].fills, counts[1].load_misses) = (lines / 2, 400);
        result.hierarchies.private.levels[1].load_misses = 200;
        let difference = |level: &str, lost, gained| MissDifference {
            level: level.to_owned(),
            lost,
            gained,
            first_touches: gained / 4,
        };
        result.detail.as_mut().expect("in full").miss_differences =
            vec![difference("L1I", 0, 0), difference("L1D", 300, 100)];
        let levels = &run.design().levels;
        assert_eq!(
            (levels[0].lines, levels[0].most_held, levels[0].was_full),
            (lines, lines, true)
        );
        assert_eq!(
            (levels[1].level.as_str(), levels[1].was_full),
            ("L1D", false)
        );
        // The level after both is exclusive, so at most their lines come into it.
        run.head.designs[0].design.levels[1].inclusion = switchcost_design::Inclusion::Exclusive;
        run.head.designs[0].design.levels[1].holds = switchcost_design::Holds::Both;
        assert_eq!(run.design().levels[1].most_held, lines);
        // The lines that came in may have come in repeatedly, so the lines present were counted.
        run.head.designs[0]
            .detail
            .as_mut()
            .expect("in full")
            .most_held = vec![lines, lines / 27];
        let found = run.design().levels.swap_remove(1);
        assert_eq!((found.most_held, found.was_full), (lines / 27, false));
        // There are 400 and 200 misses in 40,000 instructions, 300 and 100 lookups in four
        // switches, 25 of the latter at first touches.
        let mpki = levels[1].mpki.as_ref().expect("instructions");
        assert_eq!((mpki.shared, mpki.private), (10.0, 5.0));
        assert_eq!(
            (levels[1].lost_per_switch, levels[1].gained_per_switch),
            (Some(75.0), Some(18.75))
        );
    }

    #[test]
    fn the_last_level_of_this_machine_is_in_use_from_twice_the_lines_of_the_level_before() {
        let mut design = Run::turns(&[0; 4]).design();
        let (before, mut tlb) = (design.levels[0].lines, design.levels[1].clone());
        tlb.level = "L1-DTLB".to_owned();
        tlb.most_held = 8 * before;
        design.levels.push(tlb);
        let mut in_use = |name: &str, most_held| {
            design.name = name.to_owned();
            design.levels[1].most_held = most_held;
            design.last_level_in_use().map(|last| last.level.clone())
        };
        let last = Some("L1D".to_owned());
        assert_eq!(in_use("host", 2 * before), None);
        assert_eq!(in_use("host", 2 * before + 1), last);
        assert_eq!(in_use("host[L1D.ways=2]", 2 * before + 1), last);
        assert_eq!(in_use("mogul-1a", 2 * before + 1), None);
        design.levels.truncate(1);
        assert_eq!(design.last_level_in_use(), None);
    }
}
