//! Describes one swept level of a group of designs: what the designs have in common, and in what
//! they differ.

use std::collections::BTreeMap;

use switchcost_design::{Design, OnSwitch, WritePolicy};

/// Swept level of a group of designs: the common properties, and the numbers of sets and ways that
/// occur.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Shape {
    /// Index of the level in the design.
    pub(super) level: usize,
    /// Whether modified lines stay in the level, to be written back later.
    pub(super) is_write_back: bool,
    pub(super) is_flushed_on_switch: bool,
    /// Grids of the level, by ascending number of sets.
    pub(super) grids: Vec<GridShape>,
}

/// All designs of a group whose swept level has the same number of sets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct GridShape {
    pub(super) sets: usize,
    /// Numbers of ways of these designs' levels, descending.
    pub(super) ways: Vec<usize>,
    /// First column of the grid, which has one column for each number of ways.
    pub(super) first_column: usize,
}

/// Position of one design's level (its grid and its column), with the ways and the cycles of the
/// level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct GridSlot {
    pub(super) grid: usize,
    pub(super) ways: usize,
    pub(super) column: usize,
    pub(super) hit_cycles: u64,
    pub(super) miss_cycles: u64,
}

pub(super) fn sets_and_ways(design: &Design, level: usize) -> (usize, usize) {
    let level = &design.levels[level];
    let lines = level.lines();
    let ways = level.ways.of(lines);
    ((lines / ways) as usize, ways as usize)
}

impl Shape {
    /// Creates the shape of a level, with columns numbered from `first_column` on.
    pub(super) fn new(members: &[Design], level: usize, first_column: usize) -> Shape {
        let mut by_sets: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for member in members {
            let (sets, ways) = sets_and_ways(member, level);
            by_sets.entry(sets).or_default().push(ways);
        }
        let mut next = first_column;
        let grid = |(sets, mut ways): (usize, Vec<usize>)| {
            ways.sort_unstable_by(|a, b| b.cmp(a));
            ways.dedup();
            let first_column = next;
            next += ways.len();
            GridShape {
                sets,
                ways,
                first_column,
            }
        };
        let grids = by_sets.into_iter().map(grid).collect();
        let of_all = &members[0].levels[level];
        Shape {
            level,
            is_write_back: of_all.write == WritePolicy::Back,
            is_flushed_on_switch: of_all.on_switch == OnSwitch::Flush,
            grids,
        }
    }

    pub(super) fn columns(&self) -> usize {
        self.grids.iter().map(|grid| grid.ways.len()).sum()
    }

    /// Returns the position of a member's level, if the member was among the designs given to
    /// [`Shape::new`].
    pub(super) fn place(&self, member: &Design) -> Option<GridSlot> {
        let (sets, ways) = sets_and_ways(member, self.level);
        let grid = self.grids.iter().position(|grid| grid.sets == sets)?;
        let shape = &self.grids[grid];
        let column = shape.first_column + shape.ways.iter().position(|&other| other == ways)?;
        let level = &member.levels[self.level];
        let (hit_cycles, miss_cycles) = (level.hit_cycles.into(), level.miss_cycles.into());
        Some(GridSlot {
            grid,
            ways,
            column,
            hit_cycles,
            miss_cycles,
        })
    }
}

impl GridShape {
    pub(super) fn most_ways(&self) -> usize {
        self.ways.first().copied().unwrap_or(1)
    }
}
