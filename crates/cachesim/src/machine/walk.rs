//! Looks up a line in a single view: the effects in one level and in all levels after it. The
//! faster methods of other modules must give the same results.

mod leave;
mod prefetch;

use switchcost_design::Inclusion;

use super::Hierarchies;
use super::level::Level;
use super::line::Line;
use super::lines::Lines;
use super::listener::LevelRequest;
use super::listener::{Departure, Listener};
use super::plan::{Kind, LevelPlan, path_of};
use super::view_set::ViewSet;
use super::{PRIVATE, SHARED};
use crate::address::Address;

/// Result of a lookup of a line in a single view.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Answer {
    pub(super) cycles: u64,
    pub(super) is_miss: bool,
    /// Whether the line came modified, because an exclusive level gave it up.
    pub(super) is_modified: bool,
}

/// A request of one view to one level.
#[derive(Clone, Copy)]
pub(super) struct Request<'r> {
    pub(super) view: usize,
    pub(super) at: usize,
    pub(super) kind: Kind,
    pub(super) address: &'r Address,
    /// Whether an instruction waits for the request.
    pub(super) is_demand: bool,
}

impl<'a, L: Listener> Hierarchies<'a, L> {
    #[inline]
    fn plan_of(&self, at: usize) -> &'a LevelPlan {
        let plan = self.plan;
        &plan.levels[at]
    }

    #[inline]
    pub(super) fn lines(&mut self, view: usize, at: usize) -> &mut Lines {
        &mut self.levels[at].views[view]
    }

    /// Returns the time, in cycles, that a view has reached in the current request.
    #[inline]
    fn time(&self, view: usize) -> u64 {
        self.clocks.now(view) + self.clocks.delays[view]
    }

    /// Adds the cycles that a request spends in a level to the view's clock, or to the view's delay
    /// if no instruction waits.
    #[inline]
    pub(super) fn spend(&mut self, request: Request<'_>, cycles: u64) {
        if request.is_demand {
            self.clocks.now[request.view] += cycles;
            self.lines(request.view, request.at).counts.cycles += cycles;
        } else {
            self.clocks.delays[request.view] += cycles;
        }
    }

    /// Looks up a line in a level. Counts misses and cycles, but not the lookup itself.
    pub(super) fn look_up_alone(&mut self, request: Request<'_>) -> Answer {
        let answer = self.answer_alone(request);
        if self.plan_of(request.at).trains && request.is_demand {
            self.train(request);
        }
        answer
    }

    fn answer_alone(&mut self, request: Request<'_>) -> Answer {
        let Request {
            view,
            at,
            kind,
            address,
            is_demand,
        } = request;
        let level = self.plan_of(at);
        let (set, key) = (level.set(address), level.key(address));
        self.levels[at].split(set);
        let is_store = kind == Kind::Store && !level.is_tlb;
        if let Some(slot) = self.lines(view, at).find(set, key) {
            self.lines(view, at).count_use(slot);
            if view == SHARED && is_demand {
                self.found_in_shared(at, set, key, slot);
            }
            self.spend(request, level.hit_cycles);
            let mut answer = Answer {
                cycles: level.hit_cycles,
                ..Answer::default()
            };
            if level.inclusion == Inclusion::Exclusive {
                let taken = self.remove(view, at, set, slot, Departure::Taken);
                answer.is_modified = taken.is_some_and(|line| line.is_modified);
            } else if is_store {
                self.store_to(view, at, slot, address);
            } else {
                self.lines(view, at).found(slot);
            }
            return answer;
        }
        if !is_store || level.allocates {
            return self.bring(request, set, key, is_store);
        }
        if level.is_write_through {
            self.go_on(view, at, address);
            return Answer {
                is_miss: true,
                ..Answer::default()
            };
        }
        Answer {
            is_miss: true,
            ..self.ask_next(request, Kind::Store)
        }
    }

    /// Reports a request, if the level's requests are also answered elsewhere.
    #[inline]
    pub(super) fn note_request(&mut self, views: ViewSet, request: Request<'_>) {
        let Request {
            at: level,
            kind,
            address,
            is_demand,
            ..
        } = request;
        let plan = self.plan_of(level);
        if plan.has_wanted_requests {
            let (key, kind) = (plan.key(address), Some(kind));
            self.listener.requested(LevelRequest {
                views,
                level,
                key,
                kind,
                is_demand,
                address: *address,
            });
        }
    }

    /// Passes a request to the next level, which counts it. Returns that level's answer.
    pub(super) fn ask_next(&mut self, request: Request<'_>, kind: Kind) -> Answer {
        let Some(next) = self.plan_of(request.at).next[path_of(kind)] else {
            if request.view == PRIVATE {
                self.ask_memory(request.at, request.address, request.is_demand);
            }
            return Answer::default();
        };
        let asked = Request {
            at: next,
            kind,
            ..request
        };
        self.note_request(ViewSet::single(request.view, true), asked);
        let answer = self.look_up_alone(asked);
        let counts = &mut self.lines(request.view, next).counts;
        counts.accesses[kind as usize] += 1;
        counts.misses[kind as usize] += u64::from(answer.is_miss);
        self.compare_misses(next, ViewSet::single(request.view, answer.is_miss));
        answer
    }

    /// Applies a store to a line that the level holds.
    fn store_to(&mut self, view: usize, at: usize, slot: usize, address: &Address) {
        self.lines(view, at).found(slot);
        if self.plan_of(at).is_write_through {
            self.go_on(view, at, address);
        } else {
            self.lines(view, at).modify(slot);
        }
    }

    /// Passes a store on from a write-through level. The instruction waits only if all write
    /// buffers are full.
    fn go_on(&mut self, view: usize, at: usize, address: &Address) {
        let request = Request {
            view,
            at,
            kind: Kind::Store,
            address,
            is_demand: false,
        };
        let delay = self.clocks.delays[view];
        if self.lines(view, at).writes.is_absent() {
            self.ask_next(request, Kind::Store);
        } else {
            self.levels[at].split_writes();
            let now = self.wait_for_buffer(view, at);
            self.clocks.delays[view] = self
                .lines(view, at)
                .writes
                .last_written()
                .saturating_sub(now)
                .max(delay);
            let cycles = self.ask_next(request, Kind::Store).cycles;
            self.lines(view, at).writes.put(now, cycles);
        }
        self.clocks.delays[view] = delay;
    }

    /// Waits until a write buffer of a level is free; returns the time afterwards.
    #[inline]
    pub(super) fn wait_for_buffer(&mut self, view: usize, at: usize) -> u64 {
        let now = self.clocks.now(view);
        let wait = self.lines(view, at).writes.wait(now);
        self.clocks.now[view] += wait;
        self.clocks.stalls[view] += wait;
        now + wait
    }

    /// Obtains a line that is not in the sets from the victim cache, a stream buffer or the next
    /// level.
    fn bring(&mut self, request: Request<'_>, set: usize, key: u64, is_store: bool) -> Answer {
        let Request {
            view,
            at,
            kind,
            address,
            ..
        } = request;
        let level = self.plan_of(at);
        if let Some(line) = self.lines(view, at).victims.take(key) {
            let cycles = level.victim.map_or(0, |victim| victim.hit_cycles.into());
            self.spend(request, cycles);
            self.lines(view, at).counts.victim_hits += 1;
            self.arrive(request, set, key, line.is_modified, is_store);
            return Answer {
                cycles,
                is_miss: true,
                is_modified: false,
            };
        }
        if let Some((stream, arrives)) = self.lines(view, at).streams.take_head(key) {
            let cycles = level.streams.map_or(0, |streams| streams.hit_cycles.into());
            let late = arrives.saturating_sub(self.time(view));
            let (cycles, is_late) = (late.max(cycles), late > cycles);
            self.spend(request, cycles);
            let counts = &mut self.lines(view, at).counts;
            counts.stream_hits += 1;
            counts.late_stream_hits += u64::from(is_late);
            self.arrive(request, set, key, false, is_store);
            self.prefetch_into_stream(request, stream);
            return Answer {
                cycles,
                is_miss: true,
                is_modified: false,
            };
        }
        let asked = if is_store { Kind::Load } else { kind };
        let below = self.fetch_from_next(request, asked);
        if level.inclusion == Inclusion::Exclusive {
            return Answer {
                is_miss: true,
                ..below
            };
        }
        self.lines(view, at).counts.fills += 1;
        if view == SHARED {
            self.fill_alone(at, set, key);
        }
        self.arrive(request, set, key, below.is_modified, is_store);
        self.prefetch_behind(
            Request {
                kind: asked,
                address,
                ..request
            },
            key,
        );
        Answer {
            cycles: below.cycles,
            is_miss: true,
            is_modified: false,
        }
    }

    /// Fetches a line from the next level over the bus.
    fn fetch_from_next(&mut self, request: Request<'_>, kind: Kind) -> Answer {
        let Request { view, at, .. } = request;
        let time = self.time(view);
        let cycles = self.lines(view, at).take_bus(time) + self.plan_of(at).miss_cycles;
        self.spend(request, cycles);
        let below = self.ask_next(request, kind);
        Answer {
            cycles: cycles + below.cycles,
            ..below
        }
    }

    /// Brings a requested line into its set, and applies the store if the request is one.
    fn arrive(
        &mut self,
        request: Request<'_>,
        set: usize,
        key: u64,
        is_modified: bool,
        is_store: bool,
    ) {
        let Request {
            view, at, address, ..
        } = request;
        let line = Line {
            address: *address,
            is_modified,
            requester: self.lookup.requester,
        };
        let slot = self.insert(view, at, set, key, &line);
        if is_store {
            self.store_to(view, at, slot, address);
        }
    }

    fn insert(&mut self, view: usize, at: usize, set: usize, key: u64, line: &Line) -> usize {
        let level = self.plan_of(at);
        self.levels[at].split(set);
        let (slot, old) = match level.depends_on_requester {
            true => self.make_room_for_requester(view, at, set),
            false => self.lines(view, at).make_room(level, set),
        };
        self.lines(view, at).put(slot, key, line);
        if view == SHARED {
            if let Some((old_key, old_line)) = &old {
                self.left(at, set, *old_key, old_line.requester, Departure::Replaced);
            }
            self.came(at, set, key, line.requester);
        }
        if let Some((old_key, old_line)) = old {
            if view == PRIVATE {
                self.let_go(at, set, old_key);
            }
            self.leave_set(view, at, old_key, old_line);
        }
        slot
    }

    /// Returns a slot for the requested line, in a way that the process may fill.
    #[inline(never)]
    fn make_room_for_requester(
        &mut self,
        view: usize,
        at: usize,
        set: usize,
    ) -> (usize, Option<(u64, Line)>) {
        let level = self.plan_of(at);
        let instruction = if self.lookup.is_code {
            Some(self.lookup.address)
        } else {
            self.lookup.instruction
        };
        let Level {
            views, open_ways, ..
        } = &mut self.levels[at];
        views[view].order.asked_by(instruction.unwrap_or(0));
        match *open_ways {
            Some(open) => views[view].make_room_within(level, set, open),
            None => views[view].make_room(level, set),
        }
    }
}
