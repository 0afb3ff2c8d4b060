//! Levels that other levels ask: those are simulated once, by a machine that writes down what it asks.

use switchcost_design::Design;
use switchcost_trace::{BlockRun, Reference};

use crate::machine::{DeferredRequest, DeferredRequests, Kind, Machine, RunContext};
use crate::processes::Running;

use super::VIEWS;
use super::depths::Depths;
use super::grid::Grid;
use super::shape::Shape;

/// Last levels, behind first ones that are the same in all members.
#[derive(Debug)]
pub(super) struct Behind {
    /// Everything but the swept levels.
    front: Box<Machine<DeferredRequests>>,
    levels: Vec<BehindLevel>,
}

#[derive(Debug)]
struct BehindLevel {
    shape: Shape,
    grids: Vec<Grid>,
    /// Demand lookups.
    lookups: [u64; VIEWS],
}

impl Behind {
    /// `design` is any of the members.
    pub(super) fn new(design: Design, shapes: &[Shape]) -> Behind {
        let swept: Vec<usize> = shapes.iter().map(|shape| shape.level).collect();
        let level = |shape: &Shape| BehindLevel {
            grids: shape.grids.iter().map(Grid::new).collect(),
            shape: shape.clone(),
            lookups: [0; VIEWS],
        };
        let front = Box::new(Machine::sweeping(design, &swept));
        Behind { front, levels: shapes.iter().map(level).collect() }
    }

    /// The machine of the first levels, for what concerns it alone.
    pub(super) fn front_mut(&mut self) -> &mut Machine<DeferredRequests> {
        &mut self.front
    }

    pub(super) fn run(&mut self, blocks: BlockRun<'_>, references: &[Reference], context: &RunContext<'_>) {
        self.front.run(blocks, references, context);
        self.take();
    }

    pub(super) fn touch(&mut self, address: u64, bytes: u64, is_store: bool, context: &RunContext<'_>) {
        self.front.touch(address, bytes, is_store, context);
        self.take();
    }

    pub(super) fn empty_flushed_view(&mut self) {
        self.front.empty_flushed_view();
        self.take();
        self.grids().for_each(Grid::clear_flushed);
    }

    pub(super) fn change_process(&mut self, to: Running) {
        self.front.change_process(to);
        self.take();
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
        self.front.drop_process(process);
        self.grids().for_each(|grid| grid.drop_process(process));
    }

    /// Demand lookups, by view.
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

    /// Answers what the first levels have asked. No level's answer changes what they ask.
    fn take(&mut self) {
        let levels = &mut self.levels;
        self.front.listener_mut().take(|view, deferred| {
            for request in deferred {
                if let Some(level) = levels.iter_mut().find(|level| level.shape.level == request.level) {
                    level.answer(view, request);
                }
            }
        });
    }
}

impl BehindLevel {
    #[inline]
    fn answer(&mut self, view: usize, request: &DeferredRequest) {
        let Some(kind) = request.kind else {
            self.grids.iter_mut().for_each(|grid| grid.give(view, request.key));
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
