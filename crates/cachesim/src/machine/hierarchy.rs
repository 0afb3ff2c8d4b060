//! One hierarchy: what a lookup does in a level, and in all behind it.

mod leave;
mod prefetch;

use design::Inclusion;

use super::address::Address;
use super::line::Line;
use super::lines::{Lines, Role};
use super::plan::{Kind, LevelPlan, Plan, path_of};
use super::watch::{Departure, Nobody, Watch};

/// All levels and TLBs of one view.
#[derive(Debug)]
pub(super) struct Hierarchy {
    pub(super) levels: Vec<Lines>,
    /// Cycles so far.
    pub(super) now: u64,
    /// How much later than the clock a request is made that is not a demand. Only timed designs ask.
    delay: u64,
    pub(super) write_stall_cycles: u64,
    /// Sets that somebody else than the caller of a lookup may have changed, by level, until somebody drains the list.
    pub(super) disturbed: Vec<(usize, usize)>,
    /// What swept levels were asked for, until somebody takes it.
    pub(super) sent: Vec<Sent>,
}

/// A request to a swept level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sent {
    pub(crate) level: usize,
    pub(crate) key: u64,
    /// None where a modified line is given to the level.
    pub(crate) kind: Option<Kind>,
    pub(crate) is_demand: bool,
}

/// What a lookup comes back with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Answer {
    pub(super) cycles: u64,
    pub(super) is_miss: bool,
    /// Modified state that comes with a line taken out of an exclusive level.
    pub(super) is_modified: bool,
    /// Where the level that was asked holds the line now, if it does.
    pub(super) slot: u32,
}

/// A request as it stands before one level.
#[derive(Clone, Copy)]
struct Request<'a> {
    at: usize,
    kind: Kind,
    address: &'a Address,
    /// A demand request: somebody waits for it.
    is_demand: bool,
}

impl Hierarchy {
    pub(super) fn new(plan: &Plan, role: Role) -> Hierarchy {
        let levels = plan.levels.iter().map(|level| Lines::new(level, role)).collect();
        Hierarchy { levels, now: 0, delay: 0, write_stall_cycles: 0, disturbed: Vec::new(), sent: Vec::new() }
    }

    /// One lookup in a level; counts what happens there and behind it, but not the lookup itself.
    pub(super) fn look_up<W: Watch>(
        &mut self,
        plan: &Plan,
        watch: &mut W,
        at: usize,
        kind: Kind,
        address: &Address,
        is_demand: bool,
    ) -> Answer {
        self.delay = 0;
        Walk { plan, watch, hierarchy: self }.look_up(Request { at, kind, address, is_demand })
    }

    /// A line of the only way of a set leaves for another one. Only in levels with nothing beside them, and where nobody
    /// watches.
    #[inline]
    pub(super) fn replace(&mut self, plan: &Plan, at: usize, set: usize, key: u64) {
        let (old, is_modified) = self.levels[at].replace(set, key);
        if is_modified {
            self.write_back(plan, at, old);
        }
    }

    /// What [`Hierarchy::look_up`] does in a level with one way and nothing beside it, where a store brings the line in and
    /// stays there.
    #[inline(always)]
    pub(super) fn look_up_plainly<W: Watch>(
        &mut self,
        plan: &Plan,
        watch: &mut W,
        at: usize,
        kind: Kind,
        address: &Address,
        is_demand: bool,
    ) -> Answer {
        let level = &plan.levels[at];
        let (set, key) = (level.set(address), level.key(address));
        if self.levels[at].find(set, key).is_none() {
            return self.bring_into(plan, watch, at, kind, address, is_demand, set);
        }
        let mut walk = Walk { plan, watch, hierarchy: self };
        walk.charge(at, level.hit_cycles, is_demand);
        if kind == Kind::Store && !level.is_tlb {
            walk.lines(at).modify(set);
        }
        Answer { cycles: level.hit_cycles, slot: set as u32, ..Answer::default() }
    }

    /// What [`Hierarchy::look_up`] does where a line is not in a level with nothing beside it, whose stores stay there, and
    /// the line that leaves is known. Whoever knows it keeps the order of its set.
    #[inline(always)]
    #[allow(clippy::too_many_arguments)]
    pub(super) fn bring_into<W: Watch>(
        &mut self,
        plan: &Plan,
        watch: &mut W,
        at: usize,
        kind: Kind,
        address: &Address,
        is_demand: bool,
        slot: usize,
    ) -> Answer {
        Walk { plan, watch, hierarchy: self }.bring_into(Request { at, kind, address, is_demand }, slot)
    }

    #[inline(never)]
    fn write_back(&mut self, plan: &Plan, at: usize, key: u64) {
        self.levels[at].counts.write_backs += 1;
        if let Some(next) = plan.levels[at].next_for_lines {
            let address = plan.levels[at].address_of(key);
            Walk { plan, watch: &mut Nobody, hierarchy: self }.give(next, &address);
        }
    }

    /// Waits until a write buffer of a level is free, `ahead` cycles from the clock; gives the time then.
    #[inline]
    pub(super) fn wait_for_buffer(&mut self, at: usize, ahead: u64) -> u64 {
        let now = self.now + ahead;
        let wait = self.levels[at].writes.wait(now);
        self.now += wait;
        self.write_stall_cycles += wait;
        now + wait
    }

    /// Every line leaves a level, its victim cache and stream buffers.
    pub(super) fn flush<W: Watch>(&mut self, plan: &Plan, watch: &mut W, at: usize) {
        self.delay = 0;
        Walk { plan, watch, hierarchy: self }.flush(at);
    }
}

struct Walk<'a, W> {
    plan: &'a Plan,
    watch: &'a mut W,
    hierarchy: &'a mut Hierarchy,
}

impl<'a, W: Watch> Walk<'a, W> {
    #[inline]
    fn plan_of(&self, at: usize) -> &'a LevelPlan {
        let plan: &'a Plan = self.plan;
        &plan.levels[at]
    }

    #[inline]
    fn lines(&mut self, at: usize) -> &mut Lines {
        &mut self.hierarchy.levels[at]
    }

    #[inline]
    fn charge(&mut self, at: usize, cycles: u64, is_demand: bool) {
        if is_demand {
            self.hierarchy.now += cycles;
            self.hierarchy.levels[at].counts.cycles += cycles;
        }
    }

    /// When a request is made that has come so far.
    #[inline]
    fn time(&self) -> u64 {
        self.hierarchy.now + self.hierarchy.delay
    }

    /// A request takes its time in a level.
    #[inline]
    fn pass(&mut self, at: usize, cycles: u64, is_demand: bool) {
        if is_demand {
            self.charge(at, cycles, true);
        } else {
            self.hierarchy.delay += cycles;
        }
    }

    fn look_up(&mut self, request: Request<'_>) -> Answer {
        let Request { at, kind, address, is_demand } = request;
        let level = self.plan_of(at);
        let (set, key) = (level.set(address), level.key(address));
        if level.is_swept {
            self.hierarchy.sent.push(Sent { level: at, key, kind: Some(kind), is_demand });
            return Answer { is_miss: true, ..Answer::default() };
        }
        let is_store = kind == Kind::Store && !level.is_tlb;
        if let Some(slot) = self.lines(at).find(set, key) {
            self.pass(at, level.hit_cycles, is_demand);
            let mut answer = Answer { cycles: level.hit_cycles, slot: slot as u32, ..Answer::default() };
            if level.inclusion == Inclusion::Exclusive {
                answer.is_modified = self.remove(at, set, slot, Departure::Taken).is_some_and(|line| line.is_modified);
            } else if is_store {
                self.as_found(at, slot, address);
            } else {
                self.lines(at).found(slot);
            }
            return answer;
        }
        if !is_store || level.allocates {
            return self.bring(request, set, key, is_store);
        }
        if level.is_write_through {
            self.go_on(at, address);
            return Answer { is_miss: true, ..Answer::default() };
        }
        Answer { is_miss: true, ..self.ask_next(request, Kind::Store) }
    }

    /// The same request at the next level, which counts it.
    fn ask_next(&mut self, request: Request<'_>, kind: Kind) -> Answer {
        let Some(next) = self.plan_of(request.at).next[path_of(kind)] else { return Answer::default() };
        let answer = self.look_up(Request { at: next, kind, ..request });
        if self.plan_of(next).is_filtered {
            self.disturb(next, self.plan_of(next).set(request.address));
        }
        let counts = &mut self.lines(next).counts;
        counts.accesses[kind as usize] += 1;
        counts.misses[kind as usize] += u64::from(answer.is_miss);
        answer
    }

    /// What a store does to a line that is there.
    fn as_found(&mut self, at: usize, slot: usize, address: &Address) {
        self.lines(at).found(slot);
        if self.plan_of(at).is_write_through { self.go_on(at, address) } else { self.lines(at).modify(slot) }
    }

    /// A store goes on from a write-through level; nobody waits for it, but perhaps for a buffer.
    fn go_on(&mut self, at: usize, address: &Address) {
        let request = Request { at, kind: Kind::Store, address, is_demand: false };
        let delay = self.hierarchy.delay;
        if self.lines(at).writes.is_absent() {
            self.ask_next(request, Kind::Store);
        } else {
            let now = self.hierarchy.wait_for_buffer(at, 0);
            self.hierarchy.delay = self.lines(at).writes.last_written().saturating_sub(now).max(delay);
            let cycles = self.ask_next(request, Kind::Store).cycles;
            self.lines(at).writes.put(now, cycles);
        }
        self.hierarchy.delay = delay;
    }

    /// A line that is not in the sets: from the victim cache, a stream buffer, or the next level.
    fn bring(&mut self, request: Request<'_>, set: usize, key: u64, is_store: bool) -> Answer {
        let Request { at, kind, address, is_demand } = request;
        let level = self.plan_of(at);
        if let Some(line) = self.lines(at).victims.take(key) {
            let cycles = level.victim.map_or(0, |victim| victim.hit_cycles.into());
            self.pass(at, cycles, is_demand);
            self.lines(at).counts.victim_hits += 1;
            let slot = self.arrive(request, set, key, line.is_modified, is_store);
            return Answer { cycles, is_miss: true, is_modified: false, slot };
        }
        if let Some((stream, arrives)) = self.lines(at).streams.take_head(key) {
            let cycles = level.streams.map_or(0, |streams| streams.hit_cycles.into());
            let cycles = arrives.saturating_sub(self.time()).max(cycles);
            self.pass(at, cycles, is_demand);
            self.lines(at).counts.stream_hits += 1;
            let slot = self.arrive(request, set, key, false, is_store);
            self.prefetch_into_stream(request, stream);
            return Answer { cycles, is_miss: true, is_modified: false, slot };
        }
        let asked = if is_store { Kind::Load } else { kind };
        let below = self.fetch_from_next(request, asked);
        if level.inclusion == Inclusion::Exclusive {
            return Answer { is_miss: true, ..below };
        }
        self.lines(at).counts.fills += 1;
        self.watch.filled(at, set, key);
        let slot = self.arrive(request, set, key, below.is_modified, is_store);
        self.prefetch_behind(Request { kind: asked, address, ..request }, key);
        Answer { cycles: below.cycles, is_miss: true, is_modified: false, slot }
    }

    /// A line comes over the bus from the next level.
    fn fetch_from_next(&mut self, request: Request<'_>, kind: Kind) -> Answer {
        let (at, time) = (request.at, self.time());
        let cycles = self.lines(at).bus.take(time) + self.plan_of(at).miss_cycles;
        self.pass(at, cycles, request.is_demand);
        let below = self.ask_next(request, kind);
        Answer { cycles: cycles + below.cycles, ..below }
    }

    /// A line comes from the next level and takes the place of one that is known.
    fn bring_into(&mut self, request: Request<'_>, slot: usize) -> Answer {
        let Request { at, kind, address, is_demand } = request;
        let level = self.plan_of(at);
        let (set, key) = (level.set(address), level.key(address));
        self.charge(at, level.miss_cycles, is_demand);
        let asked = if kind == Kind::Store && !level.is_tlb { Kind::Load } else { kind };
        let below = self.ask_next(request, asked);
        self.watch.filled(at, set, key);
        let arrival = self.watch.arrival();
        let has_inclusive = self.plan.has_inclusive;
        let lines = self.lines(at);
        lines.counts.fills += 1;
        // An inclusive level may have taken a line of this set meanwhile.
        let slot = if has_inclusive { lines.empty_slot(set).unwrap_or(slot) } else { slot };
        let (old_key, mut old) = lines.exchange(slot, key, arrival);
        if below.is_modified {
            lines.modify(slot);
        }
        if old_key != 0 {
            self.watch.left(at, set, old_key, old.arrival, Departure::Replaced);
        }
        self.watch.came(at, set, key, arrival);
        if old_key != 0 {
            old.address = level.address_of(old_key);
            self.leave_level(at, old);
        }
        if kind == Kind::Store && !level.is_tlb {
            self.lines(at).modify(slot);
        }
        Answer { cycles: level.miss_cycles + below.cycles, is_miss: true, is_modified: false, slot: slot as u32 }
    }

    /// A line that was asked for comes in, and is stored to where a store asked.
    fn arrive(&mut self, request: Request<'_>, set: usize, key: u64, is_modified: bool, is_store: bool) -> u32 {
        let line = Line { address: *request.address, is_modified, arrival: self.watch.arrival() };
        let slot = self.insert(request.at, set, key, &line);
        if is_store {
            self.as_found(request.at, slot, request.address);
        }
        slot as u32
    }

    fn insert(&mut self, at: usize, set: usize, key: u64, line: &Line) -> usize {
        let level = self.plan_of(at);
        let lines = self.lines(at);
        let slot = lines.slot_for_new(set);
        let old = lines.take(level, slot);
        lines.put(slot, key, line);
        if let Some((old_key, old_line)) = old {
            self.watch.left(at, set, old_key, old_line.arrival, Departure::Replaced);
            self.watch.came(at, set, key, line.arrival);
            self.leave_set(at, old_key, old_line);
        } else {
            self.watch.came(at, set, key, line.arrival);
        }
        slot
    }

    fn disturb(&mut self, at: usize, set: usize) {
        self.hierarchy.disturbed.push((at, set));
    }
}
