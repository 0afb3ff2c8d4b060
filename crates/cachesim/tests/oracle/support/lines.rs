//! Moves of lines into levels and out of them.

use super::address::Address;
use super::cache::{Line, Stream};
use super::fault::Fault;
use super::stack::{Event, Kind, Stack, What, Why};

impl Stack {
    pub(crate) fn note(&mut self, level: usize, address: Address, what: What) {
        let shape = &self.levels[level].shape;
        self.events.push(Event {
            level,
            set: address.set(shape),
            tag: address.tag(shape),
            what,
        });
    }

    pub(crate) fn take(&mut self, level: usize, set: usize, way: usize, why: Why) -> Line {
        let line = self.levels[level].sets[set][way]
            .take()
            .expect("a line is there");
        self.note(
            level,
            line.address,
            What::Left {
                owner: line.owner,
                why,
            },
        );
        line
    }

    /// Brings a line into its set, and handles the line that leaves.
    pub(crate) fn bring_in(&mut self, level: usize, line: Line, time: u64) {
        let left = self.levels[level].put(line);
        if let Some(left) = left {
            self.note(
                level,
                left.address,
                What::Left {
                    owner: left.owner,
                    why: Why::DrivenOut,
                },
            );
        }
        self.note(level, line.address, What::Arrived);
        let Some(mut left) = left else { return };
        left.is_unused = false;
        let Some(victim) = self.levels[level].shape.victim else {
            return self.gone(level, left, Why::DrivenOut, time);
        };
        let victims = &mut self.levels[level].victims;
        victims.push(left);
        if victims.len() > victim.lines as usize {
            let oldest = victims.remove(0);
            self.gone(level, oldest, Why::DrivenOut, time);
        }
    }

    /// Handles a line that has left a level, including its victim cache.
    fn gone(&mut self, level: usize, mut line: Line, why: Why, time: u64) {
        if self.levels[level].shape.is_inclusive() {
            line.is_modified |= self.lose_inside(level, line.address, why);
        }
        if line.is_modified {
            self.levels[level].counts.write_backs += 1;
        }
        let is_move = |next: usize| self.levels[next].shape.is_exclusive() && why != Why::Flushed;
        if !line.is_modified && self.below(level).is_some_and(is_move) {
            self.levels[level].counts.moves += 1;
        }
        match self.below(level) {
            Some(next) if self.levels[next].shape.is_exclusive() && why != Why::Flushed => {
                self.use_bus(level, time);
                self.move_down(next, line, time);
            }
            _ if line.is_modified => {
                if self.fault != Some(Fault::WriteBacksTakeNoBus) {
                    self.use_bus(level, time);
                }
                self.give_modified(level, line);
            }
            _ => {}
        }
    }

    fn move_down(&mut self, level: usize, line: Line, time: u64) {
        match self.levels[level].holding(line.address) {
            Some(there) => there.is_modified |= line.is_modified,
            None => self.bring_in(level, line, time),
        }
    }

    /// Writes a modified line back: to the next write-back level that holds the line, or to memory.
    fn give_modified(&mut self, level: usize, line: Line) {
        let mut next = self.below(level);
        while let Some(level) = next {
            let cache = &mut self.levels[level];
            let stops_here =
                cache.shape.is_write_back() || self.fault == Some(Fault::WriteBackStopsAtThrough);
            match cache.holding(line.address) {
                Some(there) if stops_here => {
                    there.is_modified = true;
                    return;
                }
                _ => next = self.below(level),
            }
        }
    }

    /// Removes all lines inside a line that leaves `level` from the levels before; returns whether
    /// one of them was modified.
    fn lose_inside(&mut self, level: usize, address: Address, why: Why) -> bool {
        let shape = self.levels[level].shape.clone();
        let is_inside = |inner: Address| inner.tag(&shape) == address.tag(&shape);
        let mut is_modified = false;
        let all_before: Vec<usize> = (0..level)
            .filter(|&before| self.share_a_path(before, level))
            .collect();
        for before in all_before {
            for (set, way) in self.levels[before].places() {
                if self.levels[before].sets[set][way].is_some_and(|line| is_inside(line.address)) {
                    is_modified |= self.take(before, set, way, why).is_modified;
                    self.levels[before].counts.back_invalidations += 1;
                }
            }
            let cache = &mut self.levels[before];
            cache
                .streams
                .iter_mut()
                .for_each(|stream| stream.lines.retain(|&(line, _)| !is_inside(line)));
            if self.fault != Some(Fault::InclusiveForgetsVictims) {
                is_modified |= cache
                    .victims
                    .iter()
                    .any(|line| line.is_modified && is_inside(line.address));
                let held = cache.victims.len();
                cache.victims.retain(|line| !is_inside(line.address));
                cache.counts.back_invalidations += (held - cache.victims.len()) as u64;
            }
        }
        is_modified
    }

    fn share_a_path(&self, one: usize, other: usize) -> bool {
        [Kind::Fetch, Kind::Load]
            .into_iter()
            .any(|kind| self.is_on_path(one, kind) && self.is_on_path(other, kind))
    }

    /// Transfers a line over the bus after a level; returns how long it waits for earlier lines.
    pub(crate) fn use_bus(&mut self, level: usize, time: u64) -> u64 {
        let cache = &mut self.levels[level];
        if cache.shape.bus_cycles == 0 {
            return 0;
        }
        let start = cache.bus_free_at.max(time);
        cache.bus_free_at = start + cache.shape.bus_cycles;
        cache.counts.bus_lines += 1;
        start - time
    }

    /// Empties a level at a switch.
    pub(crate) fn flush(&mut self, level: usize, time: u64) {
        for (set, way) in self.levels[level].places() {
            if self.levels[level].sets[set][way].is_some() {
                let line = self.take(level, set, way, Why::Flushed);
                self.gone(level, line, Why::Flushed, time);
            }
        }
        for line in std::mem::take(&mut self.levels[level].victims) {
            self.gone(level, line, Why::Flushed, time);
        }
        let cache = &mut self.levels[level];
        cache
            .streams
            .iter_mut()
            .for_each(|stream| *stream = Stream::default());
        if self.fault != Some(Fault::FlushKeepsRuns) {
            cache.runs.clear();
        }
        if self.fault != Some(Fault::FlushKeepsPrefetchers) {
            cache.strides.clear();
            cache.pages.clear();
        }
        cache.reset_replacement();
    }
}
