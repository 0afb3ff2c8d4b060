//! Simulates the levels after a swept one in the flushed view, once for all members that have lost
//! no line since the last flush.
//!
//! The swept level of such a member holds all lines that were requested since the flush. The member
//! has therefore requested each line once from its later levels, as all such members have, and one
//! machine answers for all of them. When the swept level of a member loses a line, the member's own
//! levels repeat the requests since the flush.

use switchcost_design::Design;

use super::FLUSHED;
use crate::address::Address;
use crate::machine::{Kind, LevelCounts, Machine};

#[derive(Clone, Copy, Debug)]
struct Request {
    kind: Kind,
    address: Address,
    is_demand: bool,
}

#[derive(Debug)]
pub(super) struct Cold {
    design: Design,
    first: usize,
    levels: Machine<()>,
    /// Requests since the last flush. A level that is full loses a line, so the number of requests
    /// is at most the number of lines in the largest swept level.
    asked: Vec<Request>,
    /// Request that is recorded but not answered yet.
    next: Option<Request>,
    /// Cycles of demand requests that are not yet added to the designs (*members*) that this
    /// machine represents.
    cycles: u64,
}

impl Cold {
    /// Makes the levels of a design, from level `first` on.
    pub(super) fn new(design: &Design, first: usize) -> Cold {
        Cold {
            levels: Machine::new_back(design.clone(), first),
            design: design.clone(),
            first,
            asked: Vec::new(),
            next: None,
            cycles: 0,
        }
    }

    /// Whether the later levels of another design would answer all requests as the levels of this
    /// machine do, after every flush.
    pub(super) fn stands_for(&self, design: &Design) -> bool {
        self.levels.forgets_when_flushed()
            && design.levels[self.first..] == self.design.levels[self.first..]
    }

    /// Records that all represented members request a line; called before [`Cold::answer`].
    #[inline]
    pub(super) fn ask(&mut self, kind: Kind, address: &Address, is_demand: bool) {
        self.next = Some(Request {
            kind,
            address: *address,
            is_demand,
        });
    }

    /// Answers the recorded request. The line is never modified, because the levels have not had it
    /// since the last flush.
    #[inline]
    pub(super) fn answer(&mut self) {
        if let Some(ask) = self.next.take() {
            let (cycles, is_modified) =
                self.levels
                    .ask(FLUSHED, ask.kind, &ask.address, ask.is_demand);
            debug_assert!(!is_modified);
            self.cycles += if ask.is_demand { cycles } else { 0 };
            self.asked.push(ask);
        }
    }

    pub(super) fn give_line(&mut self, address: &Address) {
        self.levels.give_line(FLUSHED, address);
    }

    pub(super) fn flush(&mut self) {
        self.levels.empty_flushed_view();
        self.asked.clear();
    }

    /// Repeats all requests since the last flush in a member's own levels. The counts of these
    /// levels already include the requests, so nothing is counted.
    pub(super) fn repeat_for(&self, levels: &mut Machine<()>) {
        let counts = levels.counts(FLUSHED);
        for ask in &self.asked {
            levels.ask(FLUSHED, ask.kind, &ask.address, ask.is_demand);
        }
        levels.set_counts(FLUSHED, &counts);
    }

    /// Returns the counts of each level since the last call of [`Cold::restart_counts`].
    pub(super) fn counts(&self) -> Vec<LevelCounts> {
        self.levels.counts(FLUSHED)
    }

    #[inline]
    pub(super) fn cycles(&self) -> u64 {
        self.cycles
    }

    /// Restarts the counts at 0.
    pub(super) fn restart_counts(&mut self) {
        let none = vec![LevelCounts::default(); self.design.levels.len() - self.first];
        self.levels.set_counts(FLUSHED, &none);
        self.cycles = 0;
    }
}
