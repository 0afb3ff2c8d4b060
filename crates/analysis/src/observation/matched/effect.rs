//! The mean difference of the treated from what is expected of controls on the same path, with an interval from blocks of time.

use std::collections::HashMap;

use schemars::JsonSchema;
use serde::Serialize;
use statrs::distribution::{ContinuousCDF, StudentsT};

use super::Interval;

/// A key has so many controls.
const LEAST_CONTROLS: usize = 5;
/// Of so many of an arm in a key the largest is cut.
const CUT: usize = 100;
/// Fewer blocks give no interval.
const LEAST_BLOCKS: usize = 5;

/// What a switch costs in what follows it.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct Effect {
    /// The sum over all positions, in nanoseconds each.
    pub ns: Interval,
    /// Of it, in user code.
    pub user_ns: f64,
    /// Of it, in the kernel.
    pub kernel_ns: f64,
    /// In user code at each position.
    pub positions_ns: Vec<f64>,
    /// Switches of which it is.
    pub anchors: usize,
    /// Of them, those with a match.
    pub treated: usize,
    /// Those with which they were compared.
    pub controls: usize,
    /// Blocks of time.
    pub blocks: usize,
}

/// A call at a position, of a switch or of a control.
#[derive(Clone, Copy, Debug)]
pub(super) struct Observed {
    pub(super) key: u64,
    pub(super) is_treated: bool,
    /// Its number.
    pub(super) block: usize,
    pub(super) user_ns: f64,
    pub(super) call_ns: f64,
}

/// What was found at each position.
pub(super) struct Positions {
    anchors: usize,
    blocks: usize,
    found: Vec<Position>,
}

struct Position {
    user: Vec<f64>,
    call: Vec<f64>,
    treated: usize,
    controls: usize,
}

impl Positions {
    pub(super) fn new(anchors: usize, blocks: usize) -> Positions {
        Positions {
            anchors,
            blocks,
            found: Vec::new(),
        }
    }

    /// Adds a position that so many treated got to, and says how many of them have a match.
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
        let blocks = self.blocks;
        if blocks < LEAST_BLOCKS {
            return None;
        }
        // The first is of all blocks, the others of all but one.
        let mut sums = vec![0.0; blocks + 1];
        for found in &self.found {
            for (sum, (user, call)) in sums.iter_mut().zip(found.user.iter().zip(&found.call)) {
                *sum += user + call;
            }
        }
        Some(Effect {
            ns: jackknife(sums[0], &sums[1..])?,
            user_ns: self.found.iter().map(|found| found.user[0]).sum(),
            kernel_ns: self.found.iter().map(|found| found.call[0]).sum(),
            positions_ns: self.found.iter().map(|found| found.user[0]).collect(),
            anchors: self.anchors,
            treated: first.treated,
            controls: first.controls,
            blocks,
        })
    }
}

/// The interval at 90 % from the estimates without one block each.
fn jackknife(estimate: f64, without: &[f64]) -> Option<Interval> {
    let n = without.len() as f64;
    let mean = without.iter().sum::<f64>() / n;
    let squares: f64 = without.iter().map(|it| (it - mean).powi(2)).sum();
    let error = (squares * (n - 1.0) / n).sqrt();
    let half = StudentsT::new(0.0, 1.0, n - 1.0).ok()?.inverse_cdf(0.95) * error;
    Some(Interval {
        estimate,
        low: estimate - half,
        high: estimate + half,
    })
}

/// Keys that have enough of both arms.
struct Keys {
    /// Values of which one has which key: the controls and the treated of each, as indices.
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

    /// Sums over each key in each block, without what is cut.
    fn sums(&self, observed: &[Observed], blocks: usize, of: fn(&Observed) -> f64) -> Sums {
        let mut of_block = vec![Vec::new(); blocks];
        for (key, arms) in self.arms.iter().enumerate() {
            let mut cells = vec![Cell::default(); blocks];
            for (cell_of_arm, arm) in arms.iter().enumerate() {
                let value = |at: &usize| (of(&observed[*at]), observed[*at].block);
                let mut values: Vec<(f64, usize)> = arm.iter().map(value).collect();
                for &(value, block) in without_largest(&mut values) {
                    add(&mut cells[block].arms[cell_of_arm], (1.0, value), 1.0);
                }
            }
            for (block, cell) in cells.into_iter().enumerate() {
                if cell.arms != Cell::default().arms {
                    of_block[block].push((key, cell));
                }
            }
        }
        Sums {
            keys: self.arms.len(),
            of_block,
        }
    }
}

fn without_largest(arm: &mut [(f64, usize)]) -> &[(f64, usize)] {
    let kept = arm.len() - arm.len() / CUT;
    if kept < arm.len() {
        arm.select_nth_unstable_by(kept, |a, b| a.0.total_cmp(&b.0));
    }
    &arm[..kept]
}

/// Counts and sums of the controls and of the treated.
#[derive(Clone, Copy, Debug, Default)]
struct Cell {
    arms: [(f64, f64); 2],
}

/// Cells of each block, each with its key.
struct Sums {
    keys: usize,
    of_block: Vec<Vec<(usize, Cell)>>,
}

impl Sums {
    /// The mean difference of the treated, of all blocks and then without each.
    fn effects(&self, has_trend: bool) -> Vec<f64> {
        let mut all = vec![(0.0, 0.0); self.keys];
        for (key, cell) in self.of_block.iter().flatten() {
            add(&mut all[*key], cell.arms[0], 1.0);
        }
        let mut effects = vec![self.effect(&all, None, has_trend)];
        for (without, cells) in self.of_block.iter().enumerate() {
            let mut rest = all.clone();
            for (key, cell) in cells {
                add(&mut rest[*key], cell.arms[0], -1.0);
            }
            effects.push(self.effect(&rest, Some(without), has_trend));
        }
        effects
    }

    fn effect(&self, controls: &[(f64, f64)], without: Option<usize>, has_trend: bool) -> f64 {
        // Counts are whole, and what is left of a sum is not exactly 0.
        let mean = |key: usize| (controls[key].0 > 0.5).then(|| controls[key].1 / controls[key].0);
        let (mut difference, mut treated) = (0.0, 0.0);
        for (block, cells) in self.of_block.iter().enumerate() {
            if Some(block) == without {
                continue;
            }
            let (mut seen, mut expected) = (0.0, 0.0);
            for (key, cell) in cells {
                if let Some(mean) = mean(*key) {
                    seen += cell.arms[0].1;
                    expected += cell.arms[0].0 * mean;
                }
            }
            let has_factor = has_trend && seen > 0.0 && expected > 0.0;
            let factor = if has_factor { seen / expected } else { 1.0 };
            for (key, cell) in cells {
                let (count, sum) = cell.arms[1];
                if let Some(mean) = mean(*key) {
                    difference += sum - count * mean * factor;
                    treated += count;
                }
            }
        }
        if treated > 0.0 {
            difference / treated
        } else {
            0.0
        }
    }
}

fn add(sum: &mut (f64, f64), more: (f64, f64), sign: f64) {
    sum.0 += sign * more.0;
    sum.1 += sign * more.1;
}
