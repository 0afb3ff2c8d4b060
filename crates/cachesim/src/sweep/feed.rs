//! Passes requests to swept levels, with one interface for sweeps of last levels and of levels
//! between others.

use switchcost_design::Design;
use switchcost_design::result::DesignResult;

use crate::address::KeyFormat;
use crate::machine::LevelRequest;
use crate::processes::Running;

use super::VIEWS;
use super::behind::Behind;
use super::depths::Depths;
use super::groups::Position;
use super::shape::{GridSlot, Shape};
use super::through::Through;

#[derive(Debug)]
pub(super) enum Feed {
    Behind(Behind),
    Through(Through),
}

/// Expression that calls the same method on either kind of feed.
macro_rules! either {
    ($feed:expr, $call:ident($($argument:expr),*)) => {
        match $feed {
            Feed::Behind(behind) => behind.$call($($argument),*),
            Feed::Through(through) => through.$call($($argument),*),
        }
    };
}

impl Feed {
    /// Makes the feed. `places` are the members' places in the first swept level. Keys have the
    /// layout `format`.
    pub(super) fn new(
        position: Position,
        members: &[Design],
        shapes: &[Shape],
        places: &[GridSlot],
        format: KeyFormat,
    ) -> Feed {
        match position {
            Position::Last => Feed::Behind(Behind::new(shapes)),
            Position::Between => Feed::Through(Through::new(members, &shapes[0], places, format)),
        }
    }

    /// Answers the requests of the levels before the swept ones.
    pub(super) fn answer(&mut self, requests: &[LevelRequest]) {
        either!(self, answer(requests))
    }

    pub(super) fn empty_flushed_view(&mut self) {
        either!(self, empty_flushed_view())
    }

    pub(super) fn change_process(&mut self, to: Running) {
        either!(self, change_process(to))
    }

    pub(super) fn drop_process(&mut self, process: u32) {
        either!(self, drop_process(process))
    }

    /// Returns the number of demand lookups in a swept level, by view.
    pub(super) fn lookups(&self, level: usize) -> [u64; VIEWS] {
        either!(self, lookups(level))
    }

    pub(super) fn depths(&self, level: usize, grid: usize) -> &Depths {
        either!(self, depths(level, grid))
    }

    /// Writes the cycles of the levels after the swept one to `into`, by member and view; nothing
    /// without such levels.
    pub(super) fn cycles_behind(&self, into: &mut [[u64; VIEWS]]) {
        if let Feed::Through(through) = self {
            through.cycles_behind(into);
        }
    }

    /// Returns two numbers for a member's level in a view: the modified lines that left the level,
    /// and the unmodified lines that a later level took.
    pub(super) fn given(
        &self,
        member: usize,
        level: usize,
        place: &GridSlot,
        view: usize,
    ) -> [u64; 2] {
        match self {
            Feed::Through(through) => through.given(member, view),
            Feed::Behind(_) => [
                self.depths(level, place.grid).write_backs(view, place.ways),
                0,
            ],
        }
    }

    /// Ends the trace. Lines that are modified then are counted as not written back.
    pub(super) fn finish(&mut self) {
        match self {
            Feed::Behind(behind) => behind.finish(),
            Feed::Through(_) => {}
        }
    }

    /// Returns the counts of the levels after the swept one, by member; empty without such levels.
    pub(super) fn results_behind(&mut self) -> Vec<DesignResult> {
        match self {
            Feed::Behind(_) => Vec::new(),
            Feed::Through(through) => through.results(),
        }
    }
}
