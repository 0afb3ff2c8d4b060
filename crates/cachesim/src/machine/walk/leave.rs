//! Handles lines that leave a level: where they go, and which other lines must leave with them.

use switchcost_design::Inclusion;

use crate::address::{Address, VALID};
use crate::machine::Hierarchies;
use crate::machine::line::Line;
use crate::machine::listener::LevelRequest;
use crate::machine::listener::{Departure, Listener};
use crate::machine::view_set::ViewSet;
use crate::machine::{FLUSHED, PRIVATE, SHARED};

impl<L: Listener> Hierarchies<'_, L> {
    /// Handles a line that was evicted from its set: the line moves to the victim cache, or leaves
    /// the level if there is none.
    pub(super) fn leave_set(&mut self, view: usize, at: usize, key: u64, line: Line) {
        if self.lines(view, at).victims.is_absent() {
            self.leave_level(view, at, line);
        } else if let Some((_, line)) = self.lines(view, at).victims.put(key, line) {
            self.leave_level(view, at, line);
        }
    }

    pub(in crate::machine) fn leave_level(&mut self, view: usize, at: usize, mut line: Line) {
        let level = self.plan_of(at);
        if level.inclusion == Inclusion::Inclusive {
            line.is_modified |= self.lose_inside(view, at, &line.address, Departure::Lost);
        }
        self.lines(view, at).counts.write_backs += u64::from(line.is_modified);
        let taker = level
            .next_for_lines
            .filter(|&next| self.plan_of(next).inclusion == Inclusion::Exclusive);
        self.lines(view, at).counts.moves += u64::from(!line.is_modified && taker.is_some());
        if line.is_modified || taker.is_some() {
            self.take_bus(view, at);
        }
        match level.next_for_lines {
            Some(next) if taker.is_some() => self.move_to(view, next, line),
            Some(next) if line.is_modified => self.give(view, next, &line.address),
            _ => {}
        }
    }

    /// Occupies the bus to the next level for one line. The sender does not wait, but a later
    /// request may.
    fn take_bus(&mut self, view: usize, at: usize) {
        let time = self.time(view);
        self.lines(view, at).take_bus(time);
    }

    /// Writes a modified line back to the first level from `first` on that holds it and is
    /// write-back.
    pub(in crate::machine) fn give(&mut self, view: usize, first: usize, address: &Address) {
        let mut to = Some(first);
        while let Some(at) = to {
            let level = self.plan_of(at);
            if !level.is_write_through && self.modify_where_held(view, at, address) {
                return;
            }
            to = level.next_for_lines;
        }
    }

    fn modify_where_held(&mut self, view: usize, at: usize, address: &Address) -> bool {
        let level = self.plan_of(at);
        let (set, key) = (level.set(address), level.key(address));
        if level.has_wanted_requests {
            let views = ViewSet::single(view, true);
            let given = LevelRequest {
                views,
                level: at,
                key,
                kind: None,
                is_demand: false,
                address: *address,
            };
            self.listener.requested(given);
        }
        self.levels[at].modify(view, set, key)
    }

    /// Moves a line to an exclusive level.
    pub(in crate::machine) fn move_to(&mut self, view: usize, at: usize, mut line: Line) {
        let level = self.plan_of(at);
        let (set, key) = (level.set(&line.address), level.key(&line.address));
        if let Some(slot) = self.lines(view, at).find(set, key) {
            if line.is_modified {
                self.lines(view, at).modify(slot);
            }
            return;
        }
        line.requester.turn = self.lookup.requester.turn;
        self.insert(view, at, set, key, &line);
    }

    /// Removes all parts of a line that leaves an inclusive level from the levels before it.
    /// Returns whether any part was modified.
    fn lose_inside(&mut self, view: usize, at: usize, address: &Address, how: Departure) -> bool {
        let plan = self.plan;
        let bits = plan.levels[at].line_bits;
        let start = |address: u64| address >> bits << bits;
        let mut is_modified = false;
        for &before in &plan.levels[at].before {
            let level = &plan.levels[before];
            let mut inner = Address {
                process: address.process,
                virtual_address: start(address.virtual_address),
                physical: start(address.physical),
            };
            let outer = plan.levels[at].key(address);
            for _ in 0..1_u64 << (bits - level.line_bits) {
                is_modified |= self.lose(view, before, &inner, how);
                inner = inner.next_line(level.line_bits);
            }
            let beside = bits - level.line_bits;
            let lines = self.lines(view, before);
            if !lines.streams.is_absent() {
                lines.streams.lose(|key| is_inside(key, outer, beside));
            }
        }
        is_modified
    }

    /// Removes a line from a level, wherever in the level it is; returns whether the line was
    /// modified.
    fn lose(&mut self, view: usize, at: usize, address: &Address, how: Departure) -> bool {
        let level = self.plan_of(at);
        let key = level.key(address);
        let (first, step) = level.candidate_sets(address);
        let mut is_modified = false;
        for set in (first..level.sets).step_by(step) {
            if self.levels[at].common_lines.find(set, key).is_some() {
                self.levels[at].split(set);
            }
            while let Some(slot) = self.levels[at].find_below(view, set, key) {
                is_modified |= self
                    .remove(view, at, set, slot, how)
                    .is_some_and(|line| line.is_modified);
                self.lines(view, at).counts.back_invalidations += 1;
            }
        }
        while let Some(line) = self.lines(view, at).victims.take(key) {
            is_modified |= line.is_modified;
            self.lines(view, at).counts.back_invalidations += 1;
        }
        is_modified
    }

    /// Removes and returns the line in a slot, if any, leaving an empty way.
    pub(super) fn remove(
        &mut self,
        view: usize,
        at: usize,
        set: usize,
        slot: usize,
        how: Departure,
    ) -> Option<Line> {
        let level = self.plan_of(at);
        // In levels with a list of common lines, the removed line is not listed. In other levels it
        // may be the line used last.
        if !level.has_common_top() {
            self.levels[at].split(set);
        }
        let (key, line) = self.lines(view, at).take(level, slot)?;
        if view == SHARED {
            self.left(at, set, key, line.requester, how);
        }
        if view == PRIVATE {
            self.let_go(at, set, key);
        }
        Some(line)
    }

    /// Removes all lines from a level, its victim cache and stream buffers, and resets its
    /// prefetchers.
    pub(in crate::machine) fn flush(&mut self, view: usize, at: usize) {
        self.clocks.delays[view] = 0;
        let level = self.plan_of(at);
        if view == FLUSHED {
            for key in self.levels[at].split_all_but_flushed() {
                let line = Line {
                    address: level.address_of(key),
                    is_modified: true,
                    ..Line::default()
                };
                self.flush_line(view, at, line);
            }
        } else {
            self.levels[at].split_all();
        }
        let slots = self.lines(view, at).take_touched();
        for &slot in &slots {
            let slot = slot as usize;
            let lines = self.lines(view, at);
            let set = lines.set_of(slot);
            lines.order.restart(set);
            if let Some((key, line)) = lines.take(level, slot) {
                if view == SHARED {
                    self.left(at, set, key, line.requester, Departure::Flushed);
                }
                self.flush_line(view, at, line);
            }
        }
        self.lines(view, at).reuse(slots);
        while let Some((_, line)) = self.lines(view, at).victims.pop() {
            self.flush_line(view, at, line);
        }
        self.lines(view, at).streams.clear();
        if let Some(prefetchers) = &mut self.lines(view, at).prefetchers {
            prefetchers.clear();
        }
    }

    fn flush_line(&mut self, view: usize, at: usize, mut line: Line) {
        let level = self.plan_of(at);
        // The flushed view has lost the lines of all earlier levels before.
        if level.inclusion == Inclusion::Inclusive && view != FLUSHED {
            line.is_modified |= self.lose_inside(view, at, &line.address, Departure::Flushed);
        }
        if line.is_modified {
            self.lines(view, at).counts.write_backs += 1;
            self.take_bus(view, at);
            if let Some(next) = level.next_for_lines {
                self.give(view, next, &line.address);
            }
        }
    }
}

/// Whether the line `key` is part of the longer line `outer`, whose number has `bits` bits fewer.
fn is_inside(key: u64, outer: u64, bits: u32) -> bool {
    (key & !VALID) >> bits == outer & !VALID
}
