//! A design prepared for simulation: the shape of each level, and the level that gets its requests.

use switchcost_design::{
    AddressKind, Design, Holds, Inclusion, Level, OnSwitch, PageAllocation, Partition, Prefetch,
    Replacement, StreamBuffers, Streamer, StridePrefetcher, TlbLevel, VictimCache, WriteBuffers,
    WritePolicy,
};

use super::replacement::Policy;
use crate::address::{Address, KeyFormat, VALID, VIRTUAL_BITS, VIRTUAL_MASK};

/// Binary logarithm of the page size that prefetches and frames never cross, whatever page size is
/// simulated.
pub(super) const SMALLEST_PAGE_BITS: u32 = 12;

/// Kind of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Fetch,
    Load,
    Store,
}

/// Simulation plan of one cache or TLB.
#[derive(Clone, Debug)]
pub(super) struct LevelPlan {
    pub(super) name: String,
    pub(super) is_tlb: bool,
    pub(super) line_bits: u32,
    pub(super) sets: usize,
    pub(super) ways: usize,
    pub(super) has_physical_index: bool,
    pub(super) has_physical_tag: bool,
    /// Whether the private hierarchies of several processes may hold the same line.
    pub(super) is_of_several: bool,
    /// Whether the owner of each line, and the reason for each loss, are recorded.
    pub(super) is_compared: bool,
    /// Whether each line stores its whole address, because a later level needs more than the tag.
    pub(super) carries_addresses: bool,
    pub(super) policy: Policy,
    pub(super) seed: u64,
    pub(super) is_write_through: bool,
    pub(super) allocates: bool,
    pub(super) hit_cycles: u64,
    pub(super) miss_cycles: u64,
    pub(super) bus_cycles: u32,
    pub(super) inclusion: Inclusion,
    pub(super) is_flushed_on_switch: bool,
    pub(super) fetches_next_line: bool,
    pub(super) victim: Option<VictimCache>,
    pub(super) streams: Option<StreamBuffers>,
    pub(super) stride: Option<StridePrefetcher>,
    pub(super) streamer: Option<Streamer>,
    /// Whether the level has a stride prefetcher or a streamer, which learn from demand requests.
    pub(super) trains: bool,
    pub(super) partition: Option<Partition>,
    /// Whether the ways that a line may fill, or its replacement priority, depend on its requester.
    pub(super) depends_on_requester: bool,
    pub(super) write_buffers: Option<WriteBuffers>,
    /// Index of the next level on the path of fetches, and on the path of loads and stores.
    pub(super) next: [Option<usize>; 2],
    /// Index of the level that receives evicted lines.
    pub(super) next_for_lines: Option<usize>,
    /// Indices of the preceding levels, on either path.
    pub(super) before: Vec<usize>,
    /// For each path (fetches; loads and stores), whether the program itself accesses the level.
    pub(super) is_first: [bool; 2],
    /// For each path (fetches; loads and stores), whether requests can reach the level.
    pub(super) is_on: [bool; 2],
    /// Whether requests to the level are reported.
    pub(super) has_wanted_requests: bool,
    /// Whether the eviction of an unmodified line affects other levels.
    pub(super) is_left_with_effects: bool,
    /// Whether each view keeps a process's lines in the same order. A line that the process evicts,
    /// but would not evict alone, then made room for lines of others.
    pub(super) keeps_order: bool,
    /// Reason why each view must be looked up separately, if any.
    pub(super) fallback: Option<FallbackReason>,
    set_mask: Option<u64>,
}

/// Plan of a whole design: caches first, then TLBs.
#[derive(Clone, Debug)]
pub(super) struct Plan {
    pub(super) levels: Vec<LevelPlan>,
    pub(super) caches: usize,
    /// Index of the first cache for fetches, and of the first cache for loads and stores.
    pub(super) first_caches: [Option<usize>; 2],
    pub(super) first_tlbs: [Option<usize>; 2],
    /// Policy that assigns frames to pages, if any level needs physical addresses.
    pub(super) pages: Option<PageAllocation>,
    /// Whether some level can hit lines that another address space brought in.
    pub(super) finds_lines_of_others: bool,
    /// Whether each task of a process has a private hierarchy.
    pub(super) tells_tasks_apart: bool,
    /// Number of address spaces that the tags distinguish.
    pub(super) most_processes: u64,
}

/// Returns the path of a request, an index into `next` and other arrays by path: 0 for fetches, 1
/// for loads and stores.
pub(super) const fn path_of(kind: Kind) -> usize {
    match kind {
        Kind::Fetch => 0,
        Kind::Load | Kind::Store => 1,
    }
}

impl Plan {
    /// Makes the plan. The design must have passed its check.
    pub(super) fn new(design: &Design) -> Plan {
        let mut levels: Vec<LevelPlan> = design.levels.iter().map(LevelPlan::cache).collect();
        let caches = levels.len();
        let cache_holds: Vec<Holds> = design.levels.iter().map(|level| level.holds).collect();
        let tlb_holds: Vec<Holds> = design.tlbs.iter().map(|tlb| tlb.holds).collect();
        levels.extend(design.tlbs.iter().map(LevelPlan::tlb));
        let first_caches = chain(&mut levels, 0, &cache_holds);
        let first_tlbs = chain(&mut levels, caches, &tlb_holds);
        set_carrying(&mut levels);
        let is_physical = levels
            .iter()
            .any(|level| level.has_physical_index || level.has_physical_tag);
        let most_processes = levels
            .iter()
            .map(LevelPlan::most_processes)
            .min()
            .unwrap_or(u64::MAX);
        let pages = design.pages.filter(|_| is_physical);
        let is_timed = design.levels.iter().any(Level::is_timed);
        levels
            .iter_mut()
            .for_each(|level| level.fallback = FallbackReason::find(level, is_timed));
        for at in 0..levels.len() {
            let is_exclusive = |next: usize| levels[next].inclusion == Inclusion::Exclusive;
            let goes_on = levels[at].next_for_lines.is_some_and(is_exclusive);
            levels[at].is_left_with_effects =
                goes_on || levels[at].inclusion == Inclusion::Inclusive;
            levels[at].keeps_order = levels[at].has_one_order()
                && levels[at].before.iter().all(|&e| levels[e].keeps_order);
        }
        let finds_lines_of_others = levels.iter().any(|level| level.has_physical_tag);
        Plan {
            levels,
            caches,
            first_caches,
            first_tlbs,
            pages,
            finds_lines_of_others,
            tells_tasks_apart: false,
            most_processes,
        }
    }

    /// Gives each task of a process its own private hierarchy. A line may then be in several
    /// private hierarchies, whatever its tag.
    pub(super) fn tell_tasks_apart(&mut self) {
        (self.tells_tasks_apart, self.finds_lines_of_others) = (true, true);
        self.levels
            .iter_mut()
            .for_each(|level| level.is_of_several = true);
    }
}

/// Returns each level's name, and the reason, if any, why its views must be looked up separately.
/// The design must have passed its check.
pub(crate) fn fallbacks(design: &Design) -> Vec<(String, Option<FallbackReason>)> {
    Plan::new(design)
        .levels
        .into_iter()
        .map(|level| (level.name, level.fallback))
        .collect()
}

/// Connects the levels from index `start` on. Returns the first level of each path.
fn chain(levels: &mut [LevelPlan], start: usize, holds: &[Holds]) -> [Option<usize>; 2] {
    let on_path = |path: usize, at: usize| {
        if path == 0 {
            holds[at].instructions()
        } else {
            holds[at].data()
        }
    };
    for at in 0..holds.len() {
        let next = [0, 1].map(|path| {
            (at + 1..holds.len())
                .find(|&later| on_path(path, at) && on_path(path, later))
                .map(|later| start + later)
        });
        let level = &mut levels[start + at];
        level.next = next;
        level.next_for_lines = if holds[at].data() { next[1] } else { next[0] };
        let is_before = |path: usize, earlier: usize| on_path(path, at) && on_path(path, earlier);
        level.before = (0..at)
            .filter(|&e| is_before(0, e) || is_before(1, e))
            .map(|e| start + e)
            .collect();
        level.is_on = [0, 1].map(|path| on_path(path, at));
        level.is_first =
            [0, 1].map(|path| on_path(path, at) && !(0..at).any(|earlier| on_path(path, earlier)));
    }
    [0, 1].map(|path| {
        (0..holds.len())
            .find(|&at| on_path(path, at))
            .map(|at| start + at)
    })
}

fn set_carrying(levels: &mut [LevelPlan]) {
    for at in 0..levels.len() {
        let mut later = levels[at].next_for_lines;
        while let Some(next) = later {
            let wants_physical = levels[next].has_physical_index || levels[next].has_physical_tag;
            levels[at].carries_addresses |= wants_physical && !levels[at].has_physical_tag;
            later = levels[next].next_for_lines;
        }
    }
}

/// Reason why a level has no list of the lines that all three views used last: these lines may
/// differ between views, or the list would not help.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FallbackReason {
    /// The level's replacement is not least recently used.
    Replacement,
    /// Lines return from a victim cache.
    VictimCache,
    StreamBuffers,
    Prefetch,
    /// The level has a partition: programs may fill only some ways.
    Partition,
    /// The level is exclusive: a line that is found leaves the level.
    Exclusive,
    /// Lines keep the physical address of the request that brought them in, which may differ
    /// between views.
    CarriedAddress,
    /// The time of a request to a cache matters, and each view has its own clock. Lookups in TLBs
    /// do not depend on the time.
    Time,
    /// Requests come from one view at a time, because the preceding levels are simulated elsewhere.
    Behind,
}

impl FallbackReason {
    fn find(level: &LevelPlan, is_timed: bool) -> Option<FallbackReason> {
        let all = [
            (is_timed && !level.is_tlb, FallbackReason::Time),
            (!level.policy.is_lru(), FallbackReason::Replacement),
            (level.victim.is_some(), FallbackReason::VictimCache),
            (level.streams.is_some(), FallbackReason::StreamBuffers),
            (level.prefetches(), FallbackReason::Prefetch),
            (level.partition.is_some(), FallbackReason::Partition),
            (
                level.inclusion == Inclusion::Exclusive,
                FallbackReason::Exclusive,
            ),
            (level.carries_addresses, FallbackReason::CarriedAddress),
        ];
        all.into_iter()
            .find_map(|(is_so, reason)| is_so.then_some(reason))
    }
}

impl LevelPlan {
    fn cache(level: &Level) -> LevelPlan {
        let lines = level.lines();
        let ways = level.ways.of(lines);
        LevelPlan {
            name: level.name.clone(),
            is_tlb: false,
            has_physical_index: level.index == AddressKind::Physical,
            has_physical_tag: level.tag == AddressKind::Physical,
            is_of_several: level.tag == AddressKind::Physical,
            policy: Policy::new(level.replacement, ways as usize),
            seed: level.seed,
            is_write_through: level.write == WritePolicy::Through,
            allocates: level.allocates_on_write(),
            hit_cycles: level.hit_cycles.into(),
            miss_cycles: level.miss_cycles.into(),
            bus_cycles: level.bus_cycles,
            inclusion: level.inclusion,
            is_flushed_on_switch: level.on_switch == OnSwitch::Flush,
            fetches_next_line: level.prefetch == Prefetch::NextLine,
            victim: level.victim,
            streams: level.streams,
            stride: level.stride,
            streamer: level.streamer,
            trains: level.stride.is_some() || level.streamer.is_some(),
            partition: level.partition.clone(),
            depends_on_requester: level.partition.is_some()
                || level.replacement == Replacement::Ship,
            write_buffers: level.write_buffers,
            ..LevelPlan::shaped(level.line.0.trailing_zeros(), lines / ways, ways)
        }
    }

    fn tlb(tlb: &TlbLevel) -> LevelPlan {
        let entries = u64::from(tlb.entries);
        let ways = tlb.ways.of(entries);
        LevelPlan {
            name: tlb.name.clone(),
            is_tlb: true,
            policy: Policy::new(tlb.replacement, ways as usize),
            seed: tlb.seed,
            depends_on_requester: tlb.replacement == Replacement::Ship,
            hit_cycles: tlb.hit_cycles.into(),
            miss_cycles: tlb.miss_cycles.into(),
            is_flushed_on_switch: tlb.on_switch == OnSwitch::Flush,
            ..LevelPlan::shaped(tlb.page.0.trailing_zeros(), entries / ways, ways)
        }
    }

    fn shaped(line_bits: u32, sets: u64, ways: u64) -> LevelPlan {
        LevelPlan {
            name: String::new(),
            is_tlb: false,
            line_bits,
            sets: sets as usize,
            ways: ways as usize,
            has_physical_index: false,
            has_physical_tag: false,
            is_of_several: false,
            is_compared: true,
            carries_addresses: false,
            policy: Policy::Lru,
            seed: 0,
            is_write_through: false,
            allocates: true,
            hit_cycles: 0,
            miss_cycles: 0,
            bus_cycles: 0,
            inclusion: Inclusion::Neither,
            is_flushed_on_switch: false,
            fetches_next_line: false,
            victim: None,
            streams: None,
            stride: None,
            streamer: None,
            trains: false,
            partition: None,
            depends_on_requester: false,
            write_buffers: None,
            next: [None; 2],
            next_for_lines: None,
            before: Vec::new(),
            is_first: [false; 2],
            is_on: [false; 2],
            has_wanted_requests: false,
            is_left_with_effects: false,
            keeps_order: false,
            fallback: None,
            set_mask: sets.is_power_of_two().then(|| sets - 1),
        }
    }

    pub(super) fn lines(&self) -> usize {
        self.sets * self.ways
    }

    /// Whether recent lines are stored once for all views, in [`super::common_lines`].
    pub(super) fn has_common_top(&self) -> bool {
        self.fallback.is_none()
    }

    /// Whether the level is a plain LRU level whose lines come in only on request.
    fn has_one_order(&self) -> bool {
        self.policy.is_lru()
            && self.victim.is_none()
            && self.streams.is_none()
            && !self.prefetches()
    }

    /// Whether lines come into the sets without being requested.
    pub(super) fn prefetches(&self) -> bool {
        self.fetches_next_line || self.trains
    }

    /// Returns the ways that a process may fill, one bit each; `None` if the level has no
    /// partition.
    pub(super) fn open_ways(&self, program: &str, process: u32) -> Option<u64> {
        let all = u64::MAX >> (u64::BITS as usize).saturating_sub(self.ways);
        self.partition.as_ref().map(|partition| {
            partition
                .bitmask(program, process)
                .map_or(all, |mask| mask.0)
        })
    }

    /// Whether a second lookup of the line that was used last in its set changes nothing;
    /// `was_found` is the result of the first lookup.
    pub(super) fn may_skip_repeat(&self, was_found: bool) -> bool {
        let changes_nothing = was_found || !self.fetches_next_line;
        changes_nothing && !self.trains && self.policy.may_skip_repeat(was_found)
    }

    fn most_processes(&self) -> u64 {
        if self.has_physical_tag {
            u64::MAX
        } else {
            1 << (63 - (VIRTUAL_BITS - self.line_bits))
        }
    }

    /// Returns the key of an address's line. [`VALID`] is set, so a key is never 0.
    #[inline]
    pub(super) fn key(&self, address: &Address) -> u64 {
        if self.has_physical_tag {
            VALID | address.physical >> self.line_bits
        } else {
            self.process_bits(address.process)
                | (address.virtual_address & VIRTUAL_MASK) >> self.line_bits
        }
    }

    /// Returns the bits of a virtual key that tell processes apart, for a process.
    #[inline]
    pub(super) fn process_bits(&self, process: u32) -> u64 {
        VALID | u64::from(process) << (VIRTUAL_BITS - self.line_bits)
    }

    #[inline]
    pub(super) fn set(&self, address: &Address) -> usize {
        let line = if self.has_physical_index {
            address.physical >> self.line_bits
        } else {
            (address.virtual_address & VIRTUAL_MASK) >> self.line_bits
        };
        match self.set_mask {
            Some(mask) => (line & mask) as usize,
            None => (line % self.sets as u64) as usize,
        }
    }

    /// Returns the part of the address that a key stores.
    pub(super) fn address_of(&self, key: u64) -> Address {
        self.key_format().address_of(key)
    }

    pub(super) fn key_format(&self) -> KeyFormat {
        KeyFormat {
            line_bits: self.line_bits,
            is_physical: self.has_physical_tag,
        }
    }

    /// Returns the process that a key belongs to; `None` if several processes may have the line.
    #[inline]
    pub(super) fn process_of(&self, key: u64) -> Option<u32> {
        (!self.is_of_several).then(|| ((key & !VALID) >> (VIRTUAL_BITS - self.line_bits)) as u32)
    }

    /// Returns the sets that may hold a line with this tag: the first set, and the step between
    /// sets.
    pub(super) fn candidate_sets(&self, address: &Address) -> (usize, usize) {
        if self.has_physical_index || !self.has_physical_tag {
            return (self.set(address), self.sets);
        }
        let known = self.known_set_bits();
        let line = address.physical >> self.line_bits;
        ((line & ((1 << known) - 1)) as usize, 1 << known)
    }

    /// Returns the number of low bits of the set number that a virtual and a physical address
    /// share.
    pub(super) fn known_set_bits(&self) -> u32 {
        self.sets
            .trailing_zeros()
            .min(SMALLEST_PAGE_BITS.saturating_sub(self.line_bits))
    }
}
