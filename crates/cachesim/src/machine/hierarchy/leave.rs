//! How lines leave a level, and where they go.

use design::Inclusion;

use super::{Sent, Walk};
use crate::machine::address::{Address, VALID};
use crate::machine::line::Line;
use crate::machine::watch::{Departure, Watch};

impl<W: Watch> Walk<'_, W> {
    /// A line leaves its set for another one.
    pub(super) fn leave_set(&mut self, at: usize, key: u64, line: Line) {
        if self.lines(at).victims.is_absent() {
            self.leave_level(at, line);
        } else if let Some((_, line)) = self.lines(at).victims.put(key, line) {
            self.leave_level(at, line);
        }
    }

    pub(super) fn leave_level(&mut self, at: usize, mut line: Line) {
        let level = self.plan_of(at);
        if level.inclusion == Inclusion::Inclusive {
            line.is_modified |= self.lose_inside(at, &line.address, Departure::Lost);
        }
        self.lines(at).counts.write_backs += u64::from(line.is_modified);
        let taker = level.next_for_lines.filter(|&next| self.plan_of(next).inclusion == Inclusion::Exclusive);
        if line.is_modified || taker.is_some() {
            self.take_bus(at);
        }
        match level.next_for_lines {
            Some(next) if taker.is_some() => self.move_to(next, line),
            Some(next) if line.is_modified => self.give(next, &line.address),
            _ => {}
        }
    }

    /// A line goes to the next level; nobody waits for it, but perhaps for the bus.
    fn take_bus(&mut self, at: usize) {
        let time = self.time();
        self.lines(at).bus.take(time);
    }

    /// A modified line is given to a level, and on, until one holds it that is write-back.
    pub(super) fn give(&mut self, first: usize, address: &Address) {
        let mut to = Some(first);
        while let Some(at) = to {
            let level = self.plan_of(at);
            if !level.is_write_through && self.modify_where_held(at, address) {
                return;
            }
            to = level.next_for_lines;
        }
    }

    fn modify_where_held(&mut self, at: usize, address: &Address) -> bool {
        let level = self.plan_of(at);
        let (set, key) = (level.set(address), level.key(address));
        if level.is_swept {
            self.hierarchy.sent.push(Sent { level: at, key, kind: None, is_demand: false });
            return true;
        }
        let lines = self.lines(at);
        if let Some(slot) = lines.find(set, key) {
            lines.modify(slot);
            return true;
        }
        lines.victims.get_mut(key).map(|line| line.is_modified = true).is_some()
    }

    /// A line goes to an exclusive level.
    fn move_to(&mut self, at: usize, line: Line) {
        let level = self.plan_of(at);
        let (set, key) = (level.set(&line.address), level.key(&line.address));
        if let Some(slot) = self.lines(at).find(set, key) {
            if line.is_modified {
                self.lines(at).modify(slot);
            }
            return;
        }
        let turn = self.watch.arrival().turn;
        let mut line = line;
        line.arrival.turn = turn;
        self.insert(at, set, key, &line);
        self.disturb(at, set);
    }

    /// All levels before an inclusive one lose what lies inside a line of it; gives whether any of that was modified.
    fn lose_inside(&mut self, at: usize, address: &Address, how: Departure) -> bool {
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
                is_modified |= self.lose(before, &inner, how);
                inner = inner.next_line(level.line_bits);
            }
            let beside = bits - level.line_bits;
            let lines = self.lines(before);
            if !lines.streams.is_absent() {
                lines.streams.lose(|key| is_inside(key, outer, beside));
            }
        }
        is_modified
    }

    /// A level loses a line, wherever it holds it; gives whether it was modified.
    fn lose(&mut self, at: usize, address: &Address, how: Departure) -> bool {
        let level = self.plan_of(at);
        let key = level.key(address);
        let (first, step) = level.candidate_sets(address);
        let mut is_modified = false;
        for set in (first..level.sets).step_by(step) {
            while let Some(slot) = self.lines(at).find(set, key) {
                is_modified |= self.remove(at, set, slot, how).is_some_and(|line| line.is_modified);
            }
        }
        while let Some(line) = self.lines(at).victims.take(key) {
            is_modified |= line.is_modified;
        }
        is_modified
    }

    /// A line leaves its set, and the set is left with an empty way.
    pub(super) fn remove(&mut self, at: usize, set: usize, slot: usize, how: Departure) -> Option<Line> {
        let level = self.plan_of(at);
        let (key, line) = self.lines(at).take(level, slot)?;
        self.watch.left(at, set, key, line.arrival, how);
        self.disturb(at, set);
        Some(line)
    }

    pub(super) fn flush(&mut self, at: usize) {
        let level = self.plan_of(at);
        let slots = self.lines(at).take_touched();
        for &slot in &slots {
            let slot = slot as usize;
            let lines = self.lines(at);
            let set = lines.set_of(slot);
            lines.order.restart(set);
            if let Some((key, line)) = lines.take(level, slot) {
                self.watch.left(at, set, key, line.arrival, Departure::Flushed);
                self.flush_line(at, line);
            }
        }
        self.lines(at).reuse(slots);
        while let Some((_, line)) = self.lines(at).victims.pop() {
            self.flush_line(at, line);
        }
        self.lines(at).streams.clear();
    }

    fn flush_line(&mut self, at: usize, mut line: Line) {
        let level = self.plan_of(at);
        if level.inclusion == Inclusion::Inclusive {
            line.is_modified |= self.lose_inside(at, &line.address, Departure::Flushed);
        }
        if line.is_modified {
            self.lines(at).counts.write_backs += 1;
            self.take_bus(at);
            if let Some(next) = level.next_for_lines {
                self.give(next, &line.address);
            }
        }
    }
}

/// Whether a line lies inside a longer one, `bits` more bits of the address long.
fn is_inside(key: u64, outer: u64, bits: u32) -> bool {
    (key & !VALID) >> bits == outer & !VALID
}
