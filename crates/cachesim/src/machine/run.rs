//! Looks up the blocks of one process, and the kernel's touches, in the first levels of a design.

use switchcost_trace::{Block, BlockRun, Reference};

use super::Hierarchies;
use super::known_blocks::{CodeSlots, KnownBlocks};
use super::level::Level;
use super::listener::Listener;
use super::plan::{Kind, Plan};
use super::view_set::ViewSet;
use super::way_predictor::{Slots, WayPredictor};
use super::{Machine, RunContext};
use crate::address::VIRTUAL_BITS;
use crate::blocks::{Lookups, bytes_of, last_byte, look_up_all, pieces};

/// First levels of a design, and what the design requires of the order of lookups.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry {
    /// Index of the first TLB for fetches, if there is one.
    fetch_tlb: Option<usize>,
    fetch_cache: Option<usize>,
    /// Index of the first TLB for loads and stores, if there is one.
    data_tlb: Option<usize>,
    data_cache: Option<usize>,
    /// Binary logarithm of the page size of the first TLB for fetches; 48 without a TLB.
    page_bits: u32,
    /// Cycles of a hit in the first TLB and in the first cache for loads and stores; 0 for an
    /// absent one.
    data_hit_cycles: [u64; 2],
    /// Whether the fetches of a block must be made between its loads and stores, even if all hit.
    is_ordered: bool,
    /// Whether each store also goes to the next level when the first data cache hits.
    writes_through: bool,
    /// Whether some level uses the address of the instruction that loads or stores.
    knows_instructions: bool,
}

impl Entry {
    pub(super) fn new(plan: &Plan) -> Entry {
        let ([fetch_tlb, data_tlb], [fetch_cache, data_cache]) =
            (plan.first_tlbs, plan.first_caches);
        let levels =
            |both: [Option<usize>; 2]| both.into_iter().flatten().map(|at| &plan.levels[at]);
        let mut asked_by_fetches = levels([fetch_tlb, fetch_cache]);
        Entry {
            fetch_tlb,
            fetch_cache,
            data_tlb,
            data_cache,
            page_bits: fetch_tlb.map_or(VIRTUAL_BITS, |at| plan.levels[at].line_bits),
            data_hit_cycles: [data_tlb, data_cache]
                .map(|at| at.map_or(0, |at| plan.levels[at].hit_cycles)),
            is_ordered: asked_by_fetches.any(|level| level.is_on[1] || level.hit_cycles != 0),
            writes_through: data_cache.is_some_and(|at| plan.levels[at].is_write_through),
            knows_instructions: plan
                .levels
                .iter()
                .any(|level| level.trains || level.depends_on_requester),
        }
    }

    fn data_levels(&self) -> usize {
        [self.data_tlb, self.data_cache]
            .into_iter()
            .flatten()
            .count()
    }
}

/// A run of blocks of one process, with the state of its simulation.
struct Run<'a, L> {
    entry: Entry,
    hierarchies: Hierarchies<'a, L>,
    known_blocks: &'a mut KnownBlocks,
    /// [`Clocks::steady_difference`](super::clocks::Clocks::steady_difference) at the end of the
    /// last block.
    difference: u64,
}

/// Maximum number of blocks whose code is looked up ahead. Lookups after the first miss are wasted,
/// so more would not be faster.
const MOST_AHEAD: usize = 64;

impl<L: Listener> Lookups for Run<'_, L> {
    #[inline(always)]
    fn advance_clock(&mut self, instructions: u64) {
        self.hierarchies.clocks.common += instructions;
        self.hierarchies.listener.executed(instructions);
    }

    #[inline(never)]
    fn finds_code(&mut self, blocks: BlockRun<'_>) -> usize {
        let Entry {
            fetch_tlb,
            fetch_cache,
            is_ordered,
            ..
        } = self.entry;
        if is_ordered {
            return 0;
        }
        let losses = self.code_losses();
        let [tlb, cache] = way_predictors(self.hierarchies.levels, fetch_tlb, fetch_cache);
        if tlb.is_none() && fetch_tlb.is_some() || cache.is_none() && fetch_cache.is_some() {
            return 0;
        }
        let mut code = CodePredictors {
            tlb,
            cache,
            page_bits: self.entry.page_bits,
        };
        let mut found = 0;
        for &number in blocks.numbers().iter().take(MOST_AHEAD) {
            if let Some(slots) = self.known_blocks.get(number, losses) {
                code.use_now(slots);
            } else if !code.finds(&blocks.kinds()[number as usize], |slots| {
                self.known_blocks.set(number, losses, slots)
            }) {
                break;
            }
            found += 1;
        }
        let times =
            [code.tlb, code.cache].map(|predictor| predictor.map(|predictor| predictor.now()));
        self.hierarchies.advance([fetch_tlb, fetch_cache], times);
        found
    }

    #[inline]
    fn code_losses(&self) -> u64 {
        let losses = |at: Option<usize>| {
            at.map_or(0, |at| self.hierarchies.levels[at].common_lines.losses())
        };
        losses(self.entry.fetch_tlb) + losses(self.entry.fetch_cache)
    }

    #[inline]
    fn finds_data(&mut self, references: &[Reference]) -> usize {
        let Entry {
            data_tlb,
            data_cache,
            data_hit_cycles,
            ..
        } = self.entry;
        let mut predictors = way_predictors(self.hierarchies.levels, data_tlb, data_cache);
        // A store to a write-through cache always has an effect, so predictions do not help.
        let found = match (&mut predictors, self.entry.data_levels()) {
            ([Some(tlb), Some(cache)], _) => cache.finds_data_behind(tlb, references),
            ([Some(one), None] | [None, Some(one)], 1) => one.finds_data(references),
            (_, 0) => references.len(),
            _ => 0,
        };
        let times = predictors.map(|predictor| predictor.map(|predictor| predictor.now()));
        self.hierarchies.advance([data_tlb, data_cache], times);
        if data_hit_cycles != [0; 2] {
            for (at, cycles) in [data_tlb, data_cache].into_iter().zip(data_hit_cycles) {
                self.hierarchies.charge_hits(at, cycles * found as u64);
            }
        }
        found
    }

    fn first_instruction(&mut self, first: u64, last: u64) {
        if let Some(at) = self.entry.fetch_tlb {
            self.hierarchies.one_reference(at, Kind::Fetch, first, last);
        }
        if let Some(at) = self.entry.fetch_cache {
            self.hierarchies.one_reference(at, Kind::Fetch, first, last);
        }
    }

    fn code(&mut self, done: u64, last: u64) {
        if let Some(at) = self.entry.fetch_tlb {
            self.hierarchies.code(at, done, last);
        }
        if let Some(at) = self.entry.fetch_cache {
            self.hierarchies.code(at, done, last);
        }
    }

    #[inline]
    fn data(&mut self, block: &Block, reference: Reference) {
        let is_store = reference.is_store();
        let (first, last) = bytes_of(reference);
        if L::COMPARES || self.entry.knows_instructions {
            self.hierarchies.lookup.instruction =
                Some(block.address.saturating_add(reference.through().into()));
        }
        let Entry {
            data_tlb,
            data_cache,
            writes_through,
            ..
        } = self.entry;
        let is_written_through = is_store && writes_through && data_tlb.is_none();
        if !is_written_through
            || !data_cache.is_some_and(|at| self.hierarchies.writes_through(at, first, last))
        {
            self.touch(
                if is_store { Kind::Store } else { Kind::Load },
                (first, last),
            );
        }
    }

    #[inline]
    fn attribute(&mut self, block: &Block) {
        self.hierarchies.listener.block_ended(block.address);
        let difference = self.hierarchies.clocks.steady_difference();
        if difference != self.difference {
            let longer = difference.wrapping_sub(self.difference) as i64;
            self.difference = difference;
            self.hierarchies
                .listener
                .ran(block.address, longer, self.hierarchies.lookup.context);
        }
    }
}

/// Way predictors of the first TLB and the first cache for fetches.
struct CodePredictors<'a> {
    tlb: Option<WayPredictor<'a>>,
    cache: Option<WayPredictor<'a>>,
    page_bits: u32,
}

impl CodePredictors<'_> {
    #[inline(always)]
    fn use_now(&mut self, slots: CodeSlots) {
        if let Some(tlb) = &mut self.tlb {
            tlb.use_now(slots.page);
        }
        if let Some(cache) = &mut self.cache {
            slots.lines.into_iter().for_each(|slot| cache.use_now(slot));
        }
    }

    /// Whether the code of a block is known to hit. If so, its lines become the most recently used.
    /// Calls `know` with the slots if the slots are worth storing.
    #[inline(never)]
    fn finds(&mut self, block: &Block, know: impl FnOnce(CodeSlots)) -> bool {
        let (first, last) = (block.address, last_byte(block));
        if let Some(slots) = self.slots_of(first, last) {
            know(slots);
            self.use_now(slots);
            return true;
        }
        let finds = |predictor: &mut Option<WayPredictor<'_>>| {
            predictor
                .as_mut()
                .is_none_or(|predictor| predictor.finds_all(first, last))
        };
        finds(&mut self.tlb) && finds(&mut self.cache)
    }

    /// Returns the slots of a block's code; `None` if the code crosses a page, has too many lines,
    /// or is not known to hit.
    #[inline]
    fn slots_of(&self, first: u64, last: u64) -> Option<CodeSlots> {
        let page = match &self.tlb {
            Some(_) if first >> self.page_bits != last >> self.page_bits => return None,
            Some(tlb) => tlb.slot_of(first, false)?,
            None => 0,
        };
        let lines = match &self.cache {
            Some(cache) => cache.slots_of(first, last)?,
            None => Slots::default(),
        };
        Some(CodeSlots { page, lines })
    }
}

impl<L: Listener> Run<'_, L> {
    /// Looks up a load or store: all its pages, then all its lines.
    #[inline(never)]
    fn touch(&mut self, kind: Kind, (first, last): (u64, u64)) {
        if let Some(at) = self.entry.data_tlb {
            self.hierarchies.one_reference(at, kind, first, last);
        }
        if let Some(at) = self.entry.data_cache {
            self.hierarchies.one_reference(at, kind, first, last);
        }
    }
}

impl<L: Listener> Hierarchies<'_, L> {
    #[inline]
    fn advance(&mut self, levels: [Option<usize>; 2], times: [Option<u64>; 2]) {
        for (at, now) in levels.into_iter().zip(times) {
            if let (Some(at), Some(now)) = (at, now) {
                self.levels[at].common_lines.advance(now);
            }
        }
    }

    #[inline]
    fn charge_hits(&mut self, at: Option<usize>, cycles: u64) {
        if let Some(at) = at {
            self.spend_all(at, cycles, true);
        }
    }

    /// Looks up all lines of one instruction, load or store. All these lines together count as one
    /// miss at most.
    fn one_reference(&mut self, at: usize, kind: Kind, first: u64, last: u64) {
        let bits = self.plan.levels[at].line_bits;
        let mut missed = self.look_up(at, kind, first, first >> bits << bits);
        if first >> bits != last >> bits {
            missed = missed.and(self.later_lines(at, kind, first, last));
        }
        self.count_misses(at, kind, missed);
    }

    #[inline(never)]
    fn later_lines(&mut self, at: usize, kind: Kind, first: u64, last: u64) -> ViewSet {
        let bits = self.plan.levels[at].line_bits;
        self.is_first_line = false;
        let mut missed = ViewSet::NONE;
        for line in (first >> bits) + 1..=last >> bits {
            missed = missed.and(self.look_up(at, kind, line << bits, line << bits));
        }
        self.is_first_line = true;
        missed
    }

    /// Looks up the lines of a block's later instructions, each of which may count as a miss.
    fn code(&mut self, at: usize, done: u64, last: u64) {
        let bits = self.plan.levels[at].line_bits;
        for line in (done >> bits) + 1..=last >> bits {
            let missed = self.look_up(at, Kind::Fetch, line << bits, line << bits);
            self.count_misses(at, Kind::Fetch, missed);
        }
    }

    fn count_misses(&mut self, at: usize, kind: Kind, missed: ViewSet) {
        if missed != ViewSet::NONE {
            self.levels[at].count_misses(kind as usize, missed);
            self.listener.reference_missed(at, missed);
        }
    }
}

/// Returns the predictors of a TLB and a cache.
#[inline(always)]
fn way_predictors(
    levels: &mut [Level],
    tlb: Option<usize>,
    cache: Option<usize>,
) -> [Option<WayPredictor<'_>>; 2] {
    match (tlb, cache) {
        (Some(tlb), Some(cache)) => match levels.get_disjoint_mut([tlb, cache]) {
            Ok(both) => both.map(|level| level.common_lines.way_predictor()),
            Err(_) => [None, None],
        },
        (Some(tlb), None) => [levels[tlb].common_lines.way_predictor(), None],
        (None, Some(cache)) => [None, levels[cache].common_lines.way_predictor()],
        (None, None) => [None, None],
    }
}

impl<L: Listener> Machine<L> {
    /// Begins a chunk that has `kinds` distinct blocks.
    pub(crate) fn begin_chunk(&mut self, kinds: usize) {
        self.known_blocks.begin(kinds);
    }

    /// Simulates blocks of one process, with their references.
    pub(crate) fn run(
        &mut self,
        blocks: BlockRun<'_>,
        references: &[Reference],
        context: &RunContext<'_>,
    ) {
        let opened = self.state.clocks.read();
        let mut run = self.start(context);
        look_up_all(blocks, references, &mut run);
        self.state.clocks.commit();
        self.opened.get_or_insert(opened);
        self.closed = self.state.clocks.read();
    }

    /// Simulates the kernel's accesses to the user memory of the running process. Returns the
    /// number of loads and stores into which the accesses were split.
    pub(crate) fn touch(
        &mut self,
        address: u64,
        bytes: u64,
        is_store: bool,
        context: &RunContext<'_>,
    ) -> [u64; 2] {
        let kind = if is_store { Kind::Store } else { Kind::Load };
        let mut run = self.start(context);
        let pieces = pieces(address, bytes)
            .map(|piece| run.touch(kind, piece))
            .count() as u64;
        self.state.clocks.commit();
        if is_store { [0, pieces] } else { [pieces, 0] }
    }

    fn start<'a>(&'a mut self, context: &'a RunContext<'a>) -> Run<'a, L> {
        Run {
            entry: self.entry,
            known_blocks: &mut self.known_blocks,
            difference: self.state.clocks.steady_difference(),
            hierarchies: self.state.hierarchies(&self.plan, context),
        }
    }
}
