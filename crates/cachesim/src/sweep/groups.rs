//! Decides which designs can be simulated together in one pass.

use std::collections::HashMap;

use switchcost_design::{Design, Holds, Inclusion, Level, Replacement, Ways, WritePolicy};
use switchcost_units::Bytes;

use super::shape::sets_and_ways;
use super::stacks::MOST_WAYS;
use super::through::MOST_MEMBERS;

/// Position of swept levels in the hierarchy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Position {
    /// The swept level is followed by memory.
    Last,
    /// The swept level is followed by levels that are simulated separately for each design.
    Between,
}

/// Designs that differ only in the size, ways and cycles of some levels, and perhaps in all levels
/// after the differing ones.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Group {
    /// Indices of the group's designs in the list of all designs, ascending.
    pub(crate) members: Vec<usize>,
    /// Levels in which the designs may differ.
    pub(super) levels: Vec<usize>,
    pub(super) position: Position,
}

/// Returns all groups of at least `fewest_members` designs, sorted by their first designs.
pub(crate) fn groups(designs: &[Design], fewest_members: usize) -> Vec<Group> {
    let mut free: Vec<usize> = (0..designs.len()).collect();
    let mut groups = Vec::new();
    let most_levels = designs
        .iter()
        .map(|design| design.levels.len())
        .max()
        .unwrap_or(0);
    for level in 0..most_levels {
        let between = |design: &Design| {
            let levels = vec![level];
            is_between(design, level)
                .then(|| (name_common_levels(design, level), levels, Position::Between))
        };
        let found = alike(designs, &free, between)
            .into_iter()
            .filter(|group| differ_at(designs, group, level));
        let divided = found
            .flat_map(|group| divided(designs, &group, level))
            .filter(|group| group.members.len() >= fewest_members);
        for group in divided {
            free.retain(|number| !group.members.contains(number));
            groups.push(group);
        }
    }
    let last = |design: &Design| {
        let (levels, position) = swept_levels(design)?;
        Some((likeness(design, &levels), levels, position))
    };
    groups.extend(
        alike(designs, &free, last)
            .into_iter()
            .filter(|group| group.members.len() >= fewest_members),
    );
    groups.sort_by_key(|group| group.members[0]);
    groups
}

/// Key that is equal for designs that can be swept together, the swept levels, and their position.
type Sweep = (String, Vec<usize>, Position);

fn alike(
    designs: &[Design],
    free: &[usize],
    sweep: impl Fn(&Design) -> Option<Sweep>,
) -> Vec<Group> {
    let mut places: HashMap<String, usize> = HashMap::new();
    let mut groups: Vec<Group> = Vec::new();
    for &number in free {
        let Some((likeness, levels, position)) = sweep(&designs[number]) else {
            continue;
        };
        let place = *places.entry(likeness).or_insert(groups.len());
        if place == groups.len() {
            groups.push(Group {
                members: Vec::new(),
                levels,
                position,
            });
        }
        groups[place].members.push(number);
    }
    groups
}

/// Splits a group so that each part has at most [`MOST_MEMBERS`] members for each number of sets.
fn divided(designs: &[Design], group: &Group, level: usize) -> Vec<Group> {
    let (mut groups, mut found): (Vec<Group>, HashMap<usize, usize>) = (Vec::new(), HashMap::new());
    for &member in &group.members {
        let (sets, _) = sets_and_ways(&designs[member], level);
        let before = found.entry(sets).or_default();
        let place = *before / MOST_MEMBERS;
        *before += 1;
        if place == groups.len() {
            groups.push(Group {
                members: Vec::new(),
                ..group.clone()
            });
        }
        groups[place].members.push(member);
    }
    groups
}

/// Whether the designs of a group differ in the size or the ways of a level.
fn differ_at(designs: &[Design], group: &Group, level: usize) -> bool {
    let shape = |number: usize| {
        (
            designs[number].levels[level].size,
            designs[number].levels[level].ways,
        )
    };
    group
        .members
        .iter()
        .any(|&number| shape(number) != shape(group.members[0]))
}

/// Returns the key of a design for a sweep of `level`: the properties that all designs of a group
/// must share. The level's size, ways and cycles may differ, and so may all later levels.
fn name_common_levels(design: &Design, level: usize) -> String {
    let mut common = design.clone();
    common.levels.truncate(level + 1);
    likeness(&common, &[level])
}

/// Whether a level can be swept while its later levels are simulated for each member: all requests
/// to the later levels come from this level, and the later levels change nothing before it.
fn is_between(design: &Design, at: usize) -> bool {
    let levels = &design.levels;
    let Some((level, behind)) = levels.get(at).zip(levels.get(at + 1..)) else {
        return false;
    };
    let is_fit = |later: &Level| {
        later.holds == level.holds
            && !later.knows_instructions()
            && later.inclusion != Inclusion::Inclusive
            && later.index == level.tag
            && later.tag == level.tag
    };
    !behind.is_empty()
        && behind.iter().all(is_fit)
        && is_untimed(levels)
        && is_open_to_all(levels)
        && is_asked(levels, at)
        && is_sweepable(level)
        && level.write == WritePolicy::Back
}

/// Returns the key of a design: the properties that all designs of a group must share. The size,
/// ways and cycles of `levels` may differ.
fn likeness(design: &Design, levels: &[usize]) -> String {
    let mut common = design.clone();
    (common.name, common.title, common.source, common.cycle_ns) = Default::default();
    for &level in levels {
        let level = &mut common.levels[level];
        (level.size, level.ways) = (Bytes(0), Ways::Full);
        (level.hit_cycles, level.miss_cycles, level.seed) = (0, 0, 0);
    }
    format!("{common:?}")
}

/// Returns the last levels of a design, if they can be swept, and their position.
fn swept_levels(design: &Design) -> Option<(Vec<usize>, Position)> {
    let levels = &design.levels;
    if !is_untimed(levels) || !is_open_to_all(levels) {
        return None;
    }
    let is_last =
        |at: usize| !(at + 1..levels.len()).any(|other| share_a_path(&levels[at], &levels[other]));
    // A level that the processor accesses itself would not see references that touch several lines.
    let is_swept = |at: &usize| is_asked(levels, *at) && is_last(*at) && is_sweepable(&levels[*at]);
    let swept: Vec<usize> = (0..levels.len()).filter(is_swept).collect();
    (!swept.is_empty()).then_some((swept, Position::Last))
}

/// Whether the levels have neither write buffers nor a bus. Waiting times depend on all later
/// levels, so they are no sum over misses.
fn is_untimed(levels: &[Level]) -> bool {
    !levels
        .iter()
        .any(|level| level.write_buffers.is_some() || level.is_timed())
}

/// Whether no level has a partition. Levels that are simulated separately do not know the running
/// program.
fn is_open_to_all(levels: &[Level]) -> bool {
    levels.iter().all(|level| level.partition.is_none())
}

/// Whether other levels precede a level on each of its paths.
fn is_asked(levels: &[Level], at: usize) -> bool {
    let has_before = |is_on: fn(Holds) -> bool| levels[..at].iter().any(|other| is_on(other.holds));
    [Holds::instructions, Holds::data]
        .into_iter()
        .all(|is_on| !is_on(levels[at].holds) || has_before(is_on))
}

fn share_a_path(one: &Level, other: &Level) -> bool {
    (one.holds.instructions() && other.holds.instructions())
        || (one.holds.data() && other.holds.data())
}

/// Whether a level with more ways always holds all lines that the same level would hold with fewer
/// ways.
fn is_sweepable(level: &Level) -> bool {
    let lines = level.lines();
    let ways = level.ways.of(lines);
    let is_plain = level.victim.is_none()
        && level.streams.is_none()
        && !level.prefetches()
        && level.inclusion == Inclusion::Neither;
    // Without write allocation, a store makes a line the newest only in the levels that have it, so
    // the levels have no common order.
    let takes_all = level.allocates_on_write() || !level.holds.data();
    is_plain
        && takes_all
        && level.replacement == Replacement::Lru
        && level.index == level.tag
        && ways <= MOST_WAYS as u64
        && (lines / ways).is_power_of_two()
}

#[cfg(test)]
mod tests;
