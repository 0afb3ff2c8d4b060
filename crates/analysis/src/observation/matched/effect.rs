//! Estimates the mean difference between calls with a switch and controls on the same path, with an
//! interval from blocks of time.

use std::collections::HashMap;

use schemars::JsonSchema;
use serde::Serialize;

use super::blocks::Blocks;
use crate::statistics::Interval;
use crate::statistics::quantiles::student;

/// Least number of controls on a path. Calls with a switch on a path with fewer controls are not
/// compared.
const LEAST_CONTROLS: usize = 5;
/// Share of values that is trimmed, per arm and path: the largest ones.
const CUT: f64 = 0.01;

/// Cost of a switch in the code after it, compared with controls.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct Effect {
    /// Cost summed over all positions, in nanoseconds per switch.
    pub ns: Interval,
    /// Part of the cost in user code, in nanoseconds.
    pub user_ns: f64,
    /// Part of the cost within system calls, in nanoseconds.
    pub kernel_ns: f64,
    /// Cost in user code at each position after the switch, in nanoseconds.
    pub positions_ns: Vec<f64>,
    /// Number of switches in the comparison.
    pub anchors: usize,
    /// Number of switches that have controls on the same path.
    pub treated: usize,
    /// Number of controls (calls without a switch) in the comparison.
    pub controls: usize,
    /// Number of blocks of time that contain the compared calls.
    pub blocks: usize,
}

/// System call of either arm at one position, which is the number of calls since the start of the
/// comparison.
#[derive(Clone, Copy, Debug)]
pub(super) struct Observed {
    pub(super) key: u64,
    pub(super) is_treated: bool,
    /// Index of the block of time in which the comparison of this call began.
    pub(super) block: usize,
    pub(super) user_ns: f64,
    pub(super) call_ns: f64,
}

/// Differences between the arms at each position after the switch.
pub(super) struct Positions<'a> {
    anchors: usize,
    blocks: &'a Blocks,
    found: Vec<Position>,
}

struct Position {
    /// Difference in user time in nanoseconds: from all blocks, and then with each group of blocks
    /// left out once.
    user: Vec<f64>,
    call: Vec<f64>,
    treated: usize,
    controls: usize,
}

impl<'a> Positions<'a> {
    pub(super) fn new(anchors: usize, blocks: &'a Blocks) -> Positions<'a> {
        Positions {
            anchors,
            blocks,
            found: Vec::new(),
        }
    }

    /// Adds the next position (the n-th call after each compared call). `observed` are the calls at
    /// the position, of which `followed` come after a call with a switch. Returns how many of the
    /// latter have controls on the same path. With `has_trend`, controls are scaled to their mean
    /// in near blocks of time, because the speed of the core may change.
    pub(super) fn add(&mut self, observed: &[Observed], followed: usize, has_trend: bool) -> usize {
        let keys = Keys::of(observed);
        let share = followed as f64 / self.anchors as f64;
        let effects = |of: fn(&Observed) -> f64| -> Vec<f64> {
            let mut effects = keys.sums(observed, self.blocks, of).effects(has_trend);
            effects.iter_mut().for_each(|effect| *effect *= share);
            effects
        };
        let (user, call) = (effects(|it| it.user_ns), effects(|it| it.call_ns));
        self.found.push(Position {
            user,
            call,
            treated: keys.treated,
            controls: keys.controls,
        });
        keys.treated
    }

    pub(super) fn drop_last(&mut self) {
        self.found.pop();
    }

    pub(super) fn effect(&self) -> Option<Effect> {
        let first = self.found.first()?;
        let mut sums = vec![0.0; first.user.len()];
        for found in &self.found {
            for (sum, (user, call)) in sums.iter_mut().zip(found.user.iter().zip(&found.call)) {
                *sum += user + call;
            }
        }
        let half = half_width(&sums[1..], self.blocks)?;
        Some(Effect {
            ns: Interval::symmetric(sums[0], half),
            user_ns: self.found.iter().map(|found| found.user[0]).sum(),
            kernel_ns: self.found.iter().map(|found| found.call[0]).sum(),
            positions_ns: self.found.iter().map(|found| found.user[0]).collect(),
            anchors: self.anchors,
            treated: first.treated,
            controls: first.controls,
            blocks: self.blocks.len(),
        })
    }
}

/// Returns the half-width of the interval at 90 %, from the estimates with each group of blocks
/// left out once. Of the half-widths for the lengths of groups, the largest is returned.
fn half_width(without: &[f64], blocks: &Blocks) -> Option<f64> {
    let of_length = |numbers: std::ops::Range<usize>| {
        let without = &without[numbers];
        let n = without.len() as f64;
        let mean = without.iter().sum::<f64>() / n;
        let squares: f64 = without.iter().map(|it| (it - mean).powi(2)).sum();
        let error = (squares * (n - 1.0) / n).sqrt();
        Some(student(n - 1.0, 0.9)? * error)
    };
    blocks.lengths().filter_map(of_length).reduce(f64::max)
}

/// Paths (sequences of call sites) that have enough calls of both arms for a comparison.
struct Keys {
    /// For each path (sequence of call sites), the indices of the controls and of the calls with a
    /// switch.
    arms: Vec<[Vec<usize>; 2]>,
    treated: usize,
    controls: usize,
}

impl Keys {
    fn of(observed: &[Observed]) -> Keys {
        let mut numbers: HashMap<u64, usize> = HashMap::new();
        let mut arms: Vec<[Vec<usize>; 2]> = Vec::new();
        for (at, it) in observed.iter().enumerate() {
            let key = *numbers.entry(it.key).or_insert(arms.len());
            if key == arms.len() {
                arms.push([Vec::new(), Vec::new()]);
            }
            arms[key][usize::from(it.is_treated)].push(at);
        }
        arms.retain(|[controls, treated]| controls.len() >= LEAST_CONTROLS && !treated.is_empty());
        let count = |arm: usize| arms.iter().map(|arms| arms[arm].len()).sum();
        Keys {
            controls: count(0),
            treated: count(1),
            arms,
        }
    }

    fn sums<'a>(
        &self,
        observed: &[Observed],
        blocks: &'a Blocks,
        of: fn(&Observed) -> f64,
    ) -> Sums<'a> {
        let keys = self.arms.len();
        let mut cells = vec![[Cell::default(); 2]; keys * blocks.len()];
        let mut arms = Vec::new();
        for (key, both) in self.arms.iter().enumerate() {
            for (arm, indices) in both.iter().enumerate() {
                let mut values: Vec<(f64, usize)> = indices
                    .iter()
                    .map(|&at| (of(&observed[at]), observed[at].block))
                    .collect();
                for &(value, block) in &values {
                    cells[block * keys + key][arm].add(1.0, value);
                }
                arms.push(Arm {
                    key,
                    arm,
                    count: values.len(),
                    largest: largest(&mut values),
                });
            }
        }
        Sums {
            keys,
            blocks,
            cells,
            arms,
        }
    }
}

/// Returns the largest values with their blocks, in descending order. The list is longer than the
/// number of values to be trimmed, because a block with many of them may be left out.
fn largest(values: &mut [(f64, usize)]) -> Vec<(f64, usize)> {
    const PART: usize = 8;
    const LEAST: usize = 16;
    let kept = (values.len() / PART).max(LEAST).min(values.len());
    let descending = |a: &(f64, usize), b: &(f64, usize)| b.0.total_cmp(&a.0);
    if kept < values.len() {
        values.select_nth_unstable_by(kept, descending);
    }
    let mut largest = values[..kept].to_vec();
    largest.sort_unstable_by(descending);
    largest
}

/// The largest values of one arm (with or without a switch) on one path of call sites.
struct Arm {
    key: usize,
    arm: usize,
    count: usize,
    largest: Vec<(f64, usize)>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Cell {
    count: f64,
    sum: f64,
}

impl Cell {
    fn add(&mut self, count: f64, value: f64) {
        self.count += count;
        self.sum += count * value;
    }
}

/// Numbers and sums of values for each block of time, path and arm.
struct Sums<'a> {
    keys: usize,
    blocks: &'a Blocks,
    cells: Vec<[Cell; 2]>,
    arms: Vec<Arm>,
}

impl Sums<'_> {
    /// Returns the mean difference between the arms: from all blocks, and then with each group of
    /// blocks left out once.
    fn effects(&self, has_trend: bool) -> Vec<f64> {
        let all = std::iter::once(self.effect(&|_| true, has_trend));
        let without = self
            .blocks
            .groups()
            .iter()
            .map(|group| self.effect(&|block| !group.contains(&block), has_trend));
        all.chain(without).collect()
    }

    fn effect(&self, is_in: &dyn Fn(usize) -> bool, has_trend: bool) -> f64 {
        let cells = self.drop_largest(is_in);
        let blocks: Vec<usize> = (0..self.blocks.len()).filter(|at| is_in(*at)).collect();
        let mut controls = vec![Cell::default(); self.keys];
        for row in blocks.iter().map(|block| self.row(&cells, *block)) {
            for (sum, cell) in controls.iter_mut().zip(row) {
                sum.count += cell[0].count;
                sum.sum += cell[0].sum;
            }
        }
        // Trimming makes counts fractional, and sums inexact, so a count of 0 is recognized with a
        // tolerance.
        let mean = |key: usize| {
            let Cell { count, sum } = controls[key];
            (count > 0.5).then(|| sum / count)
        };
        let (mut difference, mut treated) = (0.0, 0.0);
        for together in blocks.chunk_by(|a, b| self.blocks.are_near(*a, *b)) {
            let rows = || {
                let rows = together.iter().map(|block| self.row(&cells, *block));
                rows.flat_map(|row| row.iter().enumerate())
            };
            let (mut seen, mut expected) = (0.0, 0.0);
            for (key, cell) in rows() {
                if let Some(mean) = mean(key) {
                    seen += cell[0].sum;
                    expected += cell[0].count * mean;
                }
            }
            let has_factor = has_trend && seen > 0.0 && expected > 0.0;
            let factor = if has_factor { seen / expected } else { 1.0 };
            for (key, cell) in rows() {
                if let Some(mean) = mean(key) {
                    difference += cell[1].sum - cell[1].count * mean * factor;
                    treated += cell[1].count;
                }
            }
        }
        if treated > 0.5 {
            difference / treated
        } else {
            0.0
        }
    }

    fn row<'a>(&self, cells: &'a [[Cell; 2]], block: usize) -> &'a [[Cell; 2]] {
        &cells[block * self.keys..][..self.keys]
    }

    /// Removes the largest values of each arm and path from the sums, among the blocks for which
    /// `is_in` is true. Of the last removed value only a fraction may be removed, so that the
    /// trimmed share is the same in both arms.
    fn drop_largest(&self, is_in: &dyn Fn(usize) -> bool) -> Vec<[Cell; 2]> {
        let mut cells = self.cells.clone();
        for arm in &self.arms {
            let out = (0..self.blocks.len()).filter(|block| !is_in(*block));
            let out: f64 = out
                .map(|block| self.cells[block * self.keys + arm.key][arm.arm].count)
                .sum();
            let mut left = CUT * (arm.count as f64 - out);
            for &(value, block) in arm.largest.iter().filter(|(_, block)| is_in(*block)) {
                let cut = left.min(1.0);
                cells[block * self.keys + arm.key][arm.arm].add(-cut, value);
                left -= cut;
                if left <= 0.0 {
                    break;
                }
            }
        }
        cells
    }
}
