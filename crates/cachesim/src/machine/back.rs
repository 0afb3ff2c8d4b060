//! Simulates the farther levels of a design whose nearer levels are simulated elsewhere. Each
//! request is for one line, from one view.

use switchcost_design::{Design, Inclusion};

use super::Hierarchies;
use super::line::Line;
use super::lines::Counts;
use super::listener::Requester;
use super::plan::{FallbackReason, Kind, Plan};
use super::walk::{Answer, Request};
use super::{Machine, RunContext};
use crate::address::Address;

/// Index of the level that receives the requests.
const FIRST: usize = 0;

impl Machine<()> {
    /// Makes a machine from the levels of a design from `first` on: at least one, all on the same
    /// paths.
    pub(crate) fn new_back(mut design: Design, first: usize) -> Machine<()> {
        design.levels.drain(..first);
        design.tlbs.clear();
        let mut plan = Plan::new(&design);
        for level in &mut plan.levels {
            (level.is_first, level.fallback) = ([false; 2], Some(FallbackReason::Behind));
        }
        Machine::planned(design, plan)
    }

    /// Reads the memory that a lookup of a line will need first, so that it is cached by then. Such
    /// reads for several machines overlap, whereas their lookups would wait one after the other.
    #[inline]
    pub(crate) fn read_ahead(&self, view: usize, address: &Address) -> u64 {
        let set = self.plan.levels[FIRST].set(address);
        self.state.levels[FIRST].views[view].read_ahead(set)
    }

    /// Handles a request from the preceding level. Returns the cycles of the request, and whether
    /// the line arrives modified.
    pub(crate) fn ask(
        &mut self,
        view: usize,
        kind: Kind,
        address: &Address,
        is_demand: bool,
    ) -> (u64, bool) {
        self.visit_levels(|levels| {
            let Answer {
                cycles,
                is_miss,
                is_modified,
            } = levels.look_up_alone(Request {
                view,
                at: FIRST,
                kind,
                address,
                is_demand,
            });
            let counts = &mut levels.lines(view, FIRST).counts;
            counts.accesses[kind as usize] += 1;
            counts.misses[kind as usize] += u64::from(is_miss);
            (cycles, is_modified)
        })
    }

    /// Handles a line that the preceding level evicted. An exclusive level takes the line; any
    /// other level only records that a modified line is modified. Returns whether the level took
    /// the line.
    pub(crate) fn take_line(&mut self, view: usize, address: &Address, is_modified: bool) -> bool {
        let is_exclusive = self.plan.levels[FIRST].inclusion == Inclusion::Exclusive;
        if is_exclusive {
            let line = Line {
                address: *address,
                is_modified,
                requester: Requester::NONE,
            };
            self.visit_levels(|levels| levels.move_to(view, FIRST, line));
        } else if is_modified {
            self.give_line(view, address);
        }
        is_exclusive
    }

    /// Writes a modified line back to the first level that is not write-through and holds the line.
    pub(crate) fn give_line(&mut self, view: usize, address: &Address) {
        self.visit_levels(|levels| levels.give(view, FIRST, address));
    }

    /// Whether a flush restores the behaviour that the levels had at the start.
    pub(crate) fn forgets_when_flushed(&self) -> bool {
        self.plan
            .levels
            .iter()
            .all(|level| level.policy.forgets_when_flushed() && !level.prefetches())
    }

    /// Returns the counts of a view, by level.
    pub(crate) fn counts(&self, view: usize) -> Vec<Counts> {
        self.state
            .levels
            .iter()
            .map(|level| level.views[view].counts.clone())
            .collect()
    }

    pub(crate) fn set_counts(&mut self, view: usize, counts: &[Counts]) {
        self.state
            .levels
            .iter_mut()
            .zip(counts)
            .for_each(|(level, counts)| level.views[view].counts = counts.clone());
    }

    pub(crate) fn add_counts(&mut self, view: usize, counts: &[Counts]) {
        self.state
            .levels
            .iter_mut()
            .zip(counts)
            .for_each(|(level, counts)| level.views[view].counts.add(counts));
    }

    fn visit_levels<T>(&mut self, act: impl FnOnce(&mut Hierarchies<'_, ()>) -> T) -> T {
        act(&mut self.state.hierarchies(&self.plan, &RunContext::idle()))
    }
}
