//! Sweeps levels that other levels precede. The preceding levels are simulated once, by a machine
//! that reports its requests.

use crate::machine::{Kind, LevelRequest};
use crate::processes::Running;

use super::VIEWS;
use super::depths::Depths;
use super::grid::Grid;
use super::shape::Shape;

/// Swept last levels. The first levels, before the swept ones, are the same in all members.
#[derive(Debug)]
pub(super) struct Behind {
    levels: Vec<BehindLevel>,
}

#[derive(Debug)]
struct BehindLevel {
    shape: Shape,
    grids: Vec<Grid>,
    /// Number of demand lookups by view.
    lookups: [u64; VIEWS],
}

impl Behind {
    pub(super) fn new(shapes: &[Shape]) -> Behind {
        let level = |shape: &Shape| BehindLevel {
            grids: shape.grids.iter().map(Grid::new).collect(),
            shape: shape.clone(),
            lookups: [0; VIEWS],
        };
        Behind {
            levels: shapes.iter().map(level).collect(),
        }
    }

    /// Answers requests of the first levels. The requests do not depend on the answers.
    pub(super) fn answer(&mut self, requests: &[LevelRequest]) {
        for view in 0..VIEWS {
            for request in requests.iter().filter(|request| request.views.has(view)) {
                if let Some(level) = self
                    .levels
                    .iter_mut()
                    .find(|level| level.shape.level == request.level)
                {
                    level.answer(view, request);
                }
            }
        }
    }

    pub(super) fn empty_flushed_view(&mut self) {
        self.grids().for_each(Grid::clear_flushed);
    }

    pub(super) fn change_process(&mut self, to: Running) {
        for level in &mut self.levels {
            for grid in &mut level.grids {
                grid.change_process(to.process);
                if level.shape.is_flushed_on_switch && to.is_other_space {
                    grid.clear_shared();
                }
            }
        }
    }

    pub(super) fn drop_process(&mut self, process: u32) {
        self.grids().for_each(|grid| grid.drop_process(process));
    }

    /// Returns the number of demand lookups in a level, by view.
    pub(super) fn lookups(&self, level: usize) -> [u64; VIEWS] {
        self.levels[level].lookups
    }

    pub(super) fn depths(&self, level: usize, grid: usize) -> &Depths {
        &self.levels[level].grids[grid].depths
    }

    pub(super) fn finish(&mut self) {
        self.grids().for_each(Grid::finish);
    }

    fn grids(&mut self) -> impl Iterator<Item = &mut Grid> {
        self.levels.iter_mut().flat_map(|level| &mut level.grids)
    }
}

impl BehindLevel {
    #[inline]
    fn answer(&mut self, view: usize, request: &LevelRequest) {
        let Some(kind) = request.kind else {
            self.grids
                .iter_mut()
                .for_each(|grid| grid.give(view, request.key));
            return;
        };
        self.lookups[view] += u64::from(request.is_demand);
        let is_store = kind == Kind::Store && self.shape.is_write_back;
        for grid in &mut self.grids {
            if grid.look_up(view, request.key, kind, is_store, request.is_demand) {
                break;
            }
        }
    }
}
