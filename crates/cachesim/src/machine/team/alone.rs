//! Steps of one member where its views may differ, but what they ask behind the first level changes nothing there.

use crate::machine::address::Address;
use crate::machine::buffers::Buffers;
use crate::machine::ledger::Bookkeeper;
use crate::machine::plan::Kind;
use crate::machine::views::{Misses, Views};
use crate::machine::watch::{Departure, Nobody, Watch};

impl Views<'_> {
    /// A fetch or load of a line of whose set nothing is known, in a first level with one way and nothing beside it, where a
    /// hit takes no time. The next level holds the line in all views, and to find it there changes nothing.
    pub(super) fn look_up_alone(&mut self, at: usize, kind: Kind, address: &Address, next: Option<usize>) -> Misses {
        let level = &self.plan.levels[at];
        let (set, key) = (level.set(address), level.key(address));
        let distances = Buffers::distances(self.shared, self.private, self.flushed);
        let writes = &self.shared.levels[self.buffers.level].writes;
        let are_idle = writes.is_idle(self.shared.now + self.ahead);
        let misses = [&*self.shared, &*self.private, &*self.flushed]
            .map(|hierarchy| hierarchy.levels[at].find(set, key).is_none());
        if misses[0] {
            let mut bookkeeper = Bookkeeper {
                plan: self.plan,
                ledger: &mut *self.ledger,
                others: &mut *self.others,
                process: self.scene.process,
                private: Some(&mut *self.private),
            };
            bookkeeper.filled(at, set, key);
            let arrival = bookkeeper.arrival();
            let (old_key, old) = self.shared.levels[at].exchange(set, key, arrival);
            if old_key != 0 {
                bookkeeper.left(at, set, old_key, old.arrival, Departure::Replaced);
            }
            bookkeeper.came(at, set, key, arrival);
        }
        let hierarchies = [&mut *self.shared, &mut *self.private, &mut *self.flushed];
        for (view, (hierarchy, is_miss)) in hierarchies.into_iter().zip(misses).enumerate() {
            if !is_miss {
                continue;
            }
            let lines = &mut hierarchy.levels[at];
            if view != 0 {
                lines.exchange(set, key, Nobody.arrival());
            }
            lines.counts.fills += 1;
            lines.counts.cycles += level.miss_cycles;
            hierarchy.now += level.miss_cycles;
            if let Some(next) = next {
                let counts = &mut hierarchy.levels[next].counts;
                counts.accesses[kind as usize] += 1;
                counts.cycles += self.plan.levels[next].hit_cycles;
                hierarchy.now += self.plan.levels[next].hit_cycles;
            }
        }
        if !are_idle && Buffers::distances(self.shared, self.private, self.flushed) != distances {
            self.buffers.part(distances, self.shared, self.private, self.flushed);
        }
        misses
    }

    /// A store that the next level takes without more ado goes into each view's own buffers; gives whether one waited.
    pub(super) fn put_apart_waiting(&mut self, at: usize, next_level_cycles: u64) -> bool {
        let ahead = self.ahead;
        let hierarchies = [&mut *self.shared, &mut *self.private, &mut *self.flushed];
        let clocks = hierarchies.each_ref().map(|hierarchy| hierarchy.now + ahead);
        let now = hierarchies.map(|hierarchy| hierarchy.wait_for_buffer(at, ahead));
        self.put_apart(at, now, [next_level_cycles; 3]);
        let [shared, private, flushed] =
            [&*self.shared, &*self.private, &*self.flushed].map(|hierarchy| &hierarchy.levels[at].writes);
        let backlogs = [shared.backlog(now[0]), private.backlog(now[1]), flushed.backlog(now[2])];
        self.buffers.are_alike = backlogs[0].is_some() && backlogs[1..].iter().all(|backlog| *backlog == backlogs[0]);
        now != clocks
    }
}
