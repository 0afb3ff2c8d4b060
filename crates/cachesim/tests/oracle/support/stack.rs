//! The levels of one hierarchy, requested one after another: the caches, or the TLBs.

use super::address::{Address, Tag};
use super::cache::{Cache, Line, Run as FillRun, Stream};
use super::fault::Fault;
use super::shape::Shape;

const PREFETCH_PAGE: u64 = 4096;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Fetch,
    Load,
    Store,
}

/// Reason why a line left the main array of a level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Why {
    /// The line was evicted for another that came in, or because an inclusive level lost it.
    DrivenOut,
    /// The level was flushed.
    Flushed,
    /// The line was found in an exclusive level and moved to a nearer one.
    TakenUp,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum What {
    Filled,
    Arrived,
    Left {
        owner: u32,
        why: Why,
    },
    /// The line was found on demand; `by` is the process that brought it in.
    Found {
        by: u32,
    },
    /// The level requests the line from memory.
    Asked {
        is_demand: bool,
    },
}

/// An event of a line of the main array.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Event {
    pub(crate) level: usize,
    pub(crate) set: usize,
    pub(crate) tag: Tag,
    pub(crate) what: What,
}

/// State that all levels of a hierarchy share during a request.
pub(crate) struct Run<'a> {
    pub(crate) clock: &'a mut u64,
    pub(crate) stall_cycles: &'a mut u64,
    /// Owner of the lines that come in.
    pub(crate) owner: u32,
    /// The process that runs.
    pub(crate) process: u32,
    /// Last byte of the loading or storing instruction, if there is one.
    pub(crate) instruction: Option<u64>,
    /// Signature of the instruction that loads, stores or is fetched.
    pub(crate) signature: u64,
    /// First byte that the request covers.
    pub(crate) first_byte: u64,
    pub(crate) is_first_line: bool,
}

#[derive(Clone, Copy, Default)]
pub(crate) struct Reply {
    pub(crate) cycles: u64,
    pub(crate) is_miss: bool,
    pub(crate) is_modified: bool,
}

/// A request as one level receives it.
#[derive(Clone, Copy)]
pub(crate) struct Ask {
    pub(crate) kind: Kind,
    pub(crate) address: Address,
    /// Whether the request is a demand request, whose cycles the processor waits for.
    is_demand: bool,
    /// Number of cycles by which the request is later than the clock.
    later: u64,
    is_prefetch: bool,
}

impl Ask {
    fn time(&self, run: &Run<'_>) -> u64 {
        *run.clock + self.later
    }
}

pub(crate) struct Stack {
    pub(crate) levels: Vec<Cache>,
    pub(crate) events: Vec<Event>,
    pub(crate) is_tlb: bool,
    pub(crate) fault: Option<Fault>,
}

impl Stack {
    pub(crate) fn new(shapes: Vec<Shape>, is_tlb: bool, fault: Option<Fault>) -> Stack {
        let levels = shapes
            .into_iter()
            .map(|shape| Cache::new(shape, fault))
            .collect();
        Stack {
            levels,
            events: Vec::new(),
            is_tlb,
            fault,
        }
    }

    pub(crate) fn is_on_path(&self, level: usize, kind: Kind) -> bool {
        let holds = self.levels[level].shape.holds;
        if kind == Kind::Fetch {
            holds.instructions()
        } else {
            holds.data()
        }
    }

    pub(crate) fn first(&self, kind: Kind) -> Option<usize> {
        (0..self.levels.len()).find(|&level| self.is_on_path(level, kind))
    }

    fn next(&self, level: usize, kind: Kind) -> Option<usize> {
        (level + 1..self.levels.len()).find(|&level| self.is_on_path(level, kind))
    }

    /// Returns the next level for lines that leave this one.
    pub(crate) fn below(&self, level: usize) -> Option<usize> {
        let is_data = self.levels[level].shape.holds.data();
        self.next(level, if is_data { Kind::Load } else { Kind::Fetch })
    }

    pub(crate) fn count_access(&mut self, level: usize, kind: Kind, number: u64) {
        let counts = &mut self.levels[level].counts;
        match kind {
            Kind::Fetch => counts.instruction_accesses += number,
            Kind::Load => counts.load_accesses += number,
            Kind::Store => counts.store_accesses += number,
        }
    }

    pub(crate) fn count_miss(&mut self, level: usize, kind: Kind) {
        let counts = &mut self.levels[level].counts;
        match kind {
            Kind::Fetch => counts.instruction_misses += 1,
            Kind::Load => counts.load_misses += 1,
            Kind::Store => counts.store_misses += 1,
        }
    }

    /// Makes a lookup by the processor; the caller counts access and miss.
    pub(crate) fn look_up_first(
        &mut self,
        run: &mut Run<'_>,
        kind: Kind,
        address: Address,
    ) -> Reply {
        let level = self.first(kind).expect("the caller asked for it");
        self.look_up(
            run,
            level,
            Ask {
                kind,
                address,
                is_demand: true,
                later: 0,
                is_prefetch: false,
            },
        )
    }

    /// Makes a request from level `from` to the next level. If only memory follows, the request is
    /// only recorded.
    fn request(&mut self, run: &mut Run<'_>, from: usize, ask: Ask) -> Reply {
        let Some(level) = self.next(from, ask.kind) else {
            self.note(
                from,
                ask.address,
                What::Asked {
                    is_demand: ask.is_demand,
                },
            );
            return Reply::default();
        };
        self.count_access(level, ask.kind, 1);
        let reply = self.look_up(run, level, ask);
        if reply.is_miss {
            self.count_miss(level, ask.kind);
        }
        reply
    }

    fn look_up(&mut self, run: &mut Run<'_>, level: usize, ask: Ask) -> Reply {
        let ask = Ask {
            address: ask.address.line(self.levels[level].shape.line),
            ..ask
        };
        let reply = self.answer(run, level, ask);
        if ask.is_demand || self.fault == Some(Fault::AnyRequestTrains) {
            self.train(run, level, ask);
        }
        reply
    }

    fn answer(&mut self, run: &mut Run<'_>, level: usize, ask: Ask) -> Reply {
        if let Some((set, way)) = self.levels[level].find(ask.address) {
            return self.hit(run, level, ask, set, way);
        }
        let shape = &self.levels[level].shape;
        if ask.kind == Kind::Store && !shape.allocates_on_write() {
            return self.pass_store(run, level, ask);
        }
        if let Some(index) = self.levels[level].find_victim(ask.address) {
            return self.victim_hit(run, level, ask, index);
        }
        let heads = |stream: &Stream| {
            stream
                .lines
                .front()
                .map(|&(head, _)| self.levels[level].tag(head))
        };
        let wanted = Some(self.levels[level].tag(ask.address));
        if let Some(stream) = self.levels[level]
            .streams
            .iter()
            .position(|stream| heads(stream) == wanted)
        {
            return self.stream_hit(run, level, ask, stream);
        }
        self.miss(run, level, ask)
    }

    fn hit(&mut self, run: &mut Run<'_>, level: usize, ask: Ask, set: usize, way: usize) -> Reply {
        let cycles = self.levels[level].shape.hit_cycles;
        let line = self.levels[level].sets[set][way].as_mut().expect("found");
        let is_first_use =
            std::mem::take(&mut line.is_unused) || self.fault == Some(Fault::AnyHitIsOfAPrefetch);
        self.levels[level].counts.prefetch_hits += u64::from(is_first_use);
        if ask.is_demand {
            let by = self.levels[level].sets[set][way].expect("found").by;
            self.note(level, ask.address, What::Found { by });
        }
        let ask = self.spend(run, level, ask, cycles);
        if self.levels[level].shape.is_exclusive() {
            if self.fault == Some(Fault::ExclusiveKeepsLine) {
                return Reply {
                    cycles,
                    ..Reply::default()
                };
            }
            let line = self.take(level, set, way, Why::TakenUp);
            return Reply {
                cycles,
                is_miss: false,
                is_modified: line.is_modified,
            };
        }
        self.as_found(run, level, ask);
        Reply {
            cycles,
            ..Reply::default()
        }
    }

    fn victim_hit(&mut self, run: &mut Run<'_>, level: usize, ask: Ask, index: usize) -> Reply {
        let victim = self.levels[level]
            .shape
            .victim
            .expect("it has a victim cache");
        let cycles = u64::from(victim.hit_cycles);
        let ask = self.spend(run, level, ask, cycles);
        self.levels[level].counts.victim_hits += 1;
        let mut line = self.levels[level].victims.remove(index);
        (line.owner, line.by, line.address, line.signature) =
            (run.owner, run.process, ask.address, run.signature);
        line.is_modified &= self.fault != Some(Fault::VictimForgetsModified);
        self.bring_in(level, line, ask.time(run));
        if self.is_written(ask.kind) {
            self.as_found(run, level, ask);
        }
        Reply {
            cycles,
            is_miss: true,
            is_modified: false,
        }
    }

    fn stream_hit(&mut self, run: &mut Run<'_>, level: usize, ask: Ask, stream: usize) -> Reply {
        let streams = self.levels[level]
            .shape
            .streams
            .expect("it has stream buffers");
        let (_, arrival) = self.levels[level].streams[stream]
            .lines
            .pop_front()
            .expect("its head was found");
        let mut cycles = u64::from(streams.hit_cycles);
        if streams.timed && self.fault != Some(Fault::PrefetchedIsThere) {
            let wait = arrival.saturating_sub(ask.time(run));
            self.levels[level].counts.late_stream_hits += u64::from(wait > cycles);
            cycles = cycles.max(wait);
        }
        let ask = self.spend(run, level, ask, cycles);
        self.levels[level].counts.stream_hits += 1;
        self.bring_in(level, Line::new(ask.address, false, run), ask.time(run));
        if self.is_written(ask.kind) {
            self.as_found(run, level, ask);
        }
        self.levels[level].streams[stream].used = self.levels[level].tick();
        self.extend_stream(run, level, ask, stream);
        Reply {
            cycles,
            is_miss: true,
            is_modified: false,
        }
    }

    fn miss(&mut self, run: &mut Run<'_>, level: usize, ask: Ask) -> Reply {
        let (reply, ask) = self.ask_below(run, level, ask);
        let cycles = reply.cycles;
        if self.levels[level].shape.is_exclusive() {
            return Reply {
                cycles,
                is_miss: true,
                is_modified: reply.is_modified,
            };
        }
        self.levels[level].counts.fills += 1;
        self.note(level, ask.address, What::Filled);
        self.bring_in(
            level,
            Line::new(ask.address, reply.is_modified, run),
            ask.time(run),
        );
        if self.is_written(ask.kind) {
            self.as_found(run, level, ask);
        }
        self.after_fill(run, level, ask);
        Reply {
            cycles,
            is_miss: true,
            is_modified: false,
        }
    }

    /// Requests a line over the bus, from the next level or memory. Returns all cycles of the
    /// request, and the request with its new time.
    fn ask_below(&mut self, run: &mut Run<'_>, level: usize, ask: Ask) -> (Reply, Ask) {
        let is_exempt = self.fault == Some(Fault::PrefetchesTakeNoBus) && ask.is_prefetch;
        let wait = if is_exempt {
            0
        } else {
            self.use_bus(level, ask.time(run))
        };
        let own = wait + self.levels[level].shape.miss_cycles;
        let kind = self.kind_below(ask.kind);
        let asked = self.spend(run, level, ask, own);
        let reply = self.request(
            run,
            level,
            Ask {
                kind,
                is_prefetch: false,
                ..asked
            },
        );
        let back = match ask.is_demand {
            true => ask,
            false => Ask {
                later: asked.later + reply.cycles,
                ..ask
            },
        };
        (
            Reply {
                cycles: own + reply.cycles,
                ..reply
            },
            back,
        )
    }

    /// Returns the kind of the request to the next level: a store that misses in a level that
    /// allocates becomes a load. TLBs treat loads and stores alike.
    fn kind_below(&self, kind: Kind) -> Kind {
        match kind {
            Kind::Store if !self.is_tlb => Kind::Load,
            kind => kind,
        }
    }

    fn after_fill(&mut self, run: &mut Run<'_>, level: usize, ask: Ask) {
        if !self.levels[level].streams.is_empty() && self.ends_a_run(level, ask.address) {
            self.start_stream(run, level, ask);
        }
        if self.levels[level].shape.prefetches_next() {
            self.prefetch_next(run, level, ask);
        }
    }

    fn ends_a_run(&mut self, level: usize, address: Address) -> bool {
        let streams = self.levels[level].shape.streams.expect("there are some");
        let enough = match self.fault {
            Some(Fault::RunsAreShorter) => streams.allocate_after.saturating_sub(1),
            _ => streams.allocate_after,
        };
        let behind = self.behind(level, address);
        let cache = &mut self.levels[level];
        let known = cache
            .runs
            .iter()
            .position(|run| cache.tag(run.waits_for) == cache.tag(address));
        let length = 1 + known.map_or(0, |known| cache.runs.remove(known).length);
        if length >= enough {
            return true;
        }
        cache
            .runs
            .extend(behind.map(|waits_for| FillRun { waits_for, length }));
        if cache.runs.len() > streams.count as usize {
            cache.runs.remove(0);
        }
        false
    }

    fn start_stream(&mut self, run: &mut Run<'_>, level: usize, ask: Ask) {
        let fault = self.fault;
        let cache = &mut self.levels[level];
        let order = |index: &usize| match &cache.streams[*index] {
            stream if stream.lines.is_empty() => (0, 0),
            _ if fault == Some(Fault::FirstStreamIsReused) => (1, 0),
            stream => (1, stream.used),
        };
        let stream = (0..cache.streams.len())
            .min_by_key(order)
            .expect("there are some");
        let used = cache.tick();
        cache.streams[stream] = Stream {
            last: Some(ask.address),
            used,
            ..Default::default()
        };
        for _ in 0..cache.shape.streams.expect("there are some").depth {
            self.extend_stream(run, level, ask, stream);
        }
    }

    fn extend_stream(&mut self, run: &mut Run<'_>, level: usize, ask: Ask, stream: usize) {
        let last = self.levels[level].streams[stream]
            .last
            .expect("the buffer was started");
        let Some(address) = self.behind(level, last) else {
            return;
        };
        let arrival = ask.time(run) + self.prefetch(run, level, ask, address).cycles;
        let stream = &mut self.levels[level].streams[stream];
        stream.lines.push_back((address, arrival));
        stream.last = Some(address);
    }

    fn prefetch_next(&mut self, run: &mut Run<'_>, level: usize, ask: Ask) {
        if self.behind(level, ask.address).is_some() {
            self.bring_ahead(run, level, ask, 1);
        }
    }

    /// Brings in a line at this distance, unless the level holds it.
    pub(crate) fn bring_ahead(&mut self, run: &mut Run<'_>, level: usize, ask: Ask, lines: i64) {
        let bytes = lines * self.levels[level].shape.line as i64;
        let virt = ask.address.virt.wrapping_add_signed(bytes);
        let address = Address {
            virt,
            phys: ask.address.phys.wrapping_add_signed(bytes),
            ..ask.address
        };
        if self.levels[level].holding(address).is_some() {
            return;
        }
        let reply = self.prefetch(run, level, ask, address);
        let mut line = Line::new(address, reply.is_modified, run);
        line.is_unused = true;
        self.bring_in(level, line, ask.time(run));
    }

    fn prefetch(&mut self, run: &mut Run<'_>, level: usize, ask: Ask, address: Address) -> Reply {
        self.levels[level].counts.prefetches += 1;
        self.ask_below(
            run,
            level,
            Ask {
                address,
                is_demand: false,
                is_prefetch: true,
                ..ask
            },
        )
        .0
    }

    /// Returns the next line, if it lies in the same page.
    fn behind(&self, level: usize, address: Address) -> Option<Address> {
        let line = self.levels[level].shape.line;
        let virt = address.virt.checked_add(line)?;
        let is_near = virt / PREFETCH_PAGE == address.virt / PREFETCH_PAGE
            || self.fault == Some(Fault::PrefetchLeavesPage);
        is_near.then(|| Address {
            virt,
            phys: address.phys.wrapping_add(line),
            ..address
        })
    }

    /// Adds cycles of this level: to the clock for a demand request, else to the request itself.
    /// Returns the request with its new time.
    fn spend(&mut self, run: &mut Run<'_>, level: usize, ask: Ask, cycles: u64) -> Ask {
        if ask.is_demand {
            self.levels[level].counts.cycles += cycles;
            *run.clock += cycles;
            return ask;
        }
        if self.fault == Some(Fault::OtherThanDemandTakesNoTime) {
            return ask;
        }
        Ask {
            later: ask.later + cycles,
            ..ask
        }
    }

    /// Whether the request writes; TLBs treat stores like loads.
    fn is_written(&self, kind: Kind) -> bool {
        kind == Kind::Store && !self.is_tlb
    }

    /// Handles a request for a line that is now in its set.
    fn as_found(&mut self, run: &mut Run<'_>, level: usize, ask: Ask) {
        let (set, way) = self.levels[level].find(ask.address).expect("it is there");
        self.levels[level].touch(set, way);
        if !self.is_written(ask.kind) {
            return;
        }
        if self.levels[level].shape.is_write_back() {
            self.levels[level].sets[set][way]
                .as_mut()
                .expect("it is there")
                .is_modified = true;
        } else {
            self.store_goes_on(run, level, ask);
        }
    }

    /// Handles a store that misses in a level which does not allocate on stores.
    fn pass_store(&mut self, run: &mut Run<'_>, level: usize, ask: Ask) -> Reply {
        if !self.levels[level].shape.is_write_back() {
            self.store_goes_on(run, level, ask);
            return Reply {
                is_miss: true,
                ..Reply::default()
            };
        }
        let reply = self.request(run, level, ask);
        Reply {
            cycles: reply.cycles,
            is_miss: true,
            is_modified: false,
        }
    }

    /// Passes a store on from a write-through level: nothing waits, unless all write buffers are
    /// taken.
    fn store_goes_on(&mut self, run: &mut Run<'_>, level: usize, ask: Ask) {
        let ask = Ask {
            is_demand: false,
            ..ask
        };
        let Some(buffers) = self.levels[level].shape.write_buffers else {
            self.request(run, level, ask);
            return;
        };
        let spare = usize::from(self.fault == Some(Fault::OneBufferMore));
        self.take_buffer(run, level, buffers.count as usize + spare);
        let now = *run.clock;
        let mut later = ask
            .later
            .max(self.levels[level].written_last.saturating_sub(now));
        if self.fault == Some(Fault::BufferedStoreSetsOutAtOnce) {
            later = ask.later;
        }
        let cycles = self.request(run, level, Ask { later, ..ask }).cycles;
        let cache = &mut self.levels[level];
        cache.written_last = now.max(cache.written_last) + u64::from(buffers.drain_cycles) + cycles;
        cache.pending.push_back(cache.written_last);
    }

    fn take_buffer(&mut self, run: &mut Run<'_>, level: usize, count: usize) {
        let pending = &mut self.levels[level].pending;
        pending.retain(|&written| written > *run.clock);
        if pending.len() < count {
            return;
        }
        let oldest = pending.pop_front().expect("there is at least one");
        *run.stall_cycles += oldest - *run.clock;
        *run.clock = oldest;
    }
}
