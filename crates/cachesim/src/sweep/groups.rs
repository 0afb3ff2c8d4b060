//! Which designs can be simulated together.

use std::collections::HashMap;

use switchcost_design::{AddressKind, Design, Holds, Inclusion, Level, Prefetch, Replacement, Ways};
use switchcost_units::Bytes;

use super::stacks::MOST_WAYS;

/// Designs that are alike but for the size, ways and cycles of some levels.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Group {
    /// Places in the list of designs, ascending.
    pub(crate) members: Vec<usize>,
    /// The levels in which they may differ.
    pub(super) levels: Vec<usize>,
    /// Whether other levels stand before those.
    pub(super) is_behind: bool,
}

/// All groups of so many members or more, the first members ascending.
pub(crate) fn groups(designs: &[Design], fewest_members: usize) -> Vec<Group> {
    let mut places: HashMap<String, usize> = HashMap::new();
    let mut groups: Vec<Group> = Vec::new();
    for (number, design) in designs.iter().enumerate() {
        let Some((levels, is_behind)) = swept_levels(design) else { continue };
        let place = *places.entry(likeness(design, &levels)).or_insert(groups.len());
        if place == groups.len() {
            groups.push(Group { members: Vec::new(), levels, is_behind });
        }
        groups[place].members.push(number);
    }
    groups.retain(|group| group.members.len() >= fewest_members);
    groups
}

/// What all members of a group have in common.
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

/// The levels of a design that can be swept, and whether other levels stand before them.
fn swept_levels(design: &Design) -> Option<(Vec<usize>, bool)> {
    let levels = &design.levels;
    // The time that stores wait in buffers, and lines on a bus, depends on all levels behind, and is no sum over misses.
    if levels.iter().any(|level| level.write_buffers.is_some() || level.is_timed()) {
        return None;
    }
    let is_asked = |at: usize| {
        let has_before = |is_on: fn(Holds) -> bool| levels[..at].iter().any(|other| is_on(other.holds));
        [Holds::instructions, Holds::data].into_iter().all(|is_on| !is_on(levels[at].holds) || has_before(is_on))
    };
    let is_last = |at: usize| !(at + 1..levels.len()).any(|other| share_a_path(&levels[at], &levels[other]));
    if (0..levels.len()).all(is_last) {
        let is_virtual = |level: &Level| level.index == AddressKind::Virtual;
        let are_all = levels.iter().all(|level| is_sweepable(level) && is_virtual(level));
        return are_all.then(|| ((0..levels.len()).collect(), false));
    }
    // A level that the processor asks too would learn nothing of references that touch several lines.
    let is_swept = |at: &usize| is_asked(*at) && is_last(*at) && is_sweepable(&levels[*at]);
    let swept: Vec<usize> = (0..levels.len()).filter(is_swept).collect();
    (!swept.is_empty()).then_some((swept, true))
}

fn share_a_path(one: &Level, other: &Level) -> bool {
    (one.holds.instructions() && other.holds.instructions()) || (one.holds.data() && other.holds.data())
}

/// Whether a level of more ways holds all that one of fewer ways does, always.
fn is_sweepable(level: &Level) -> bool {
    let lines = level.lines();
    let ways = level.ways.of(lines);
    let is_plain = level.victim.is_none()
        && level.streams.is_none()
        && level.prefetch == Prefetch::None
        && level.inclusion == Inclusion::Neither;
    // A store that finds its line in the larger level only makes it the newest there: there is no one order then.
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
