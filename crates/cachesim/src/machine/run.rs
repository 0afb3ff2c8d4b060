//! Blocks and touches of one process, looked up in the first levels of a design.

use switchcost_trace::{Block, BlockRun, Reference};

use super::Hierarchies;
use super::common_lines::WayPredictor;
use super::level::Level;
use super::listener::Listener;
use super::plan::{Kind, Plan};
use super::view_set::ViewSet;
use super::{Machine, RunContext};
use crate::address::VIRTUAL_BITS;
use crate::blocks::{Lookups, bytes_of, last_byte, look_up_all, pieces};

/// Where lookups begin, and in what order they have to be made.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry {
    /// The first TLB and the first cache of fetches.
    fetch_tlb: Option<usize>,
    fetch_cache: Option<usize>,
    /// The same of loads and stores.
    data_tlb: Option<usize>,
    data_cache: Option<usize>,
    /// Of the first TLB of fetches. Without one all addresses are one page.
    page_bits: u32,
    /// How long loads and stores take that are found there.
    data_hit_cycles: [u64; 2],
    /// Fetches have to be made between the loads and stores of their block, even where all of them are found.
    is_ordered: bool,
    /// No store is done with the first cache of data.
    writes_through: bool,
    /// Some level asks which instruction loads or stores.
    knows_instructions: bool,
}

impl Entry {
    pub(super) fn new(plan: &Plan) -> Entry {
        let ([fetch_tlb, data_tlb], [fetch_cache, data_cache]) = (plan.first_tlbs, plan.first_caches);
        let levels = |both: [Option<usize>; 2]| both.into_iter().flatten().map(|at| &plan.levels[at]);
        let mut asked_by_fetches = levels([fetch_tlb, fetch_cache]);
        Entry {
            fetch_tlb,
            fetch_cache,
            data_tlb,
            data_cache,
            page_bits: fetch_tlb.map_or(VIRTUAL_BITS, |at| plan.levels[at].line_bits),
            data_hit_cycles: [data_tlb, data_cache].map(|at| at.map_or(0, |at| plan.levels[at].hit_cycles)),
            is_ordered: asked_by_fetches.any(|level| level.is_on[1] || level.hit_cycles != 0),
            writes_through: data_cache.is_some_and(|at| plan.levels[at].is_write_through),
            knows_instructions: plan.levels.iter().any(|level| level.trains || level.depends_on_requester),
        }
    }
}

/// A run of blocks of one process.
struct Run<'a, L> {
    entry: Entry,
    hierarchies: Hierarchies<'a, L>,
    /// By how much longer the shared view has taken up to the last block, but for what first touches gained.
    difference: u64,
}

/// Blocks whose code is looked up ahead: more, and those behind a loss are looked up in vain.
const MOST_AHEAD: usize = 64;

impl<L: Listener> Lookups for Run<'_, L> {
    #[inline(always)]
    fn advance_clock(&mut self, instructions: u64) {
        self.hierarchies.clocks.common += instructions;
        self.hierarchies.listener.executed(instructions);
    }

    #[inline(never)]
    fn finds_code(&mut self, blocks: BlockRun<'_>) -> usize {
        let Entry { fetch_tlb, fetch_cache, is_ordered, page_bits, .. } = self.entry;
        if is_ordered {
            return 0;
        }
        let [mut tlb, mut cache] = way_predictors(self.hierarchies.levels, fetch_tlb, fetch_cache);
        let mut last_page = None;
        let mut is_found = |block: &Block| {
            let (first, last) = (block.address, last_byte(block));
            let page = last >> page_bits;
            // Once more the page that was looked up last: that changes nothing.
            let is_known = last_page == Some(page) && first >> page_bits == page;
            last_page = Some(page);
            (is_known || tlb.as_mut().is_none_or(|tlb| tlb.finds_all(first, last)))
                && cache.as_mut().is_none_or(|cache| cache.finds_all(first, last))
        };
        blocks.iter().take(MOST_AHEAD).take_while(|block| is_found(block)).count()
    }

    #[inline]
    fn code_losses(&self) -> u64 {
        let losses = |at: Option<usize>| at.map_or(0, |at| self.hierarchies.levels[at].common_lines.losses());
        losses(self.entry.fetch_tlb) + losses(self.entry.fetch_cache)
    }

    #[inline]
    fn finds_data(&mut self, references: &[Reference]) -> usize {
        let Entry { data_tlb, data_cache, data_hit_cycles, writes_through, .. } = self.entry;
        let [mut tlb, mut cache] = way_predictors(self.hierarchies.levels, data_tlb, data_cache);
        let mut is_found = |&reference: &Reference| {
            let (first, last) = bytes_of(reference);
            let is_store = reference.is_store();
            !(is_store && writes_through)
                && tlb.as_mut().is_none_or(|tlb| tlb.finds_one(first, last, false))
                && cache.as_mut().is_none_or(|cache| cache.finds_one(first, last, is_store))
        };
        let found = references.iter().take_while(|reference| is_found(reference)).count();
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
            self.hierarchies.lookup.instruction = Some(block.address.saturating_add(reference.through().into()));
        }
        let Entry { data_tlb, data_cache, writes_through, .. } = self.entry;
        let is_written_through = is_store && writes_through && data_tlb.is_none();
        if !is_written_through || !data_cache.is_some_and(|at| self.hierarchies.writes_through(at, first, last)) {
            self.touch(if is_store { Kind::Store } else { Kind::Load }, (first, last));
        }
    }

    #[inline]
    fn attribute(&mut self, block: &Block) {
        self.hierarchies.listener.block_ended(block.address);
        let difference = self.hierarchies.clocks.steady_difference();
        if difference != self.difference {
            let longer = difference.wrapping_sub(self.difference) as i64;
            self.difference = difference;
            self.hierarchies.listener.ran(block.address, longer, self.hierarchies.lookup.context);
        }
    }
}

impl<L: Listener> Run<'_, L> {
    /// A load or store: all pages, then all lines.
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
    fn charge_hits(&mut self, at: Option<usize>, cycles: u64) {
        if let Some(at) = at {
            self.spend_all(at, cycles, true);
        }
    }

    /// All lines of one instruction, load or store: at most one miss.
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

    /// Lines of later instructions: each one that is not there is a miss.
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

/// Of a TLB and a cache.
#[inline(always)]
fn way_predictors(levels: &mut [Level], tlb: Option<usize>, cache: Option<usize>) -> [Option<WayPredictor<'_>>; 2] {
    match (tlb, cache) {
        (Some(tlb), Some(cache)) => match levels.get_disjoint_mut([tlb, cache]) {
            Ok(both) => both.map(|level| Some(level.common_lines.way_predictor())),
            Err(_) => [None, None],
        },
        (Some(tlb), None) => [Some(levels[tlb].common_lines.way_predictor()), None],
        (None, Some(cache)) => [None, Some(levels[cache].common_lines.way_predictor())],
        (None, None) => [None, None],
    }
}

impl<L: Listener> Machine<L> {
    /// Blocks of one process, and their references.
    pub(crate) fn run(&mut self, blocks: BlockRun<'_>, references: &[Reference], context: &RunContext<'_>) {
        let opened = self.state.clocks.read();
        let mut run = self.start(context);
        look_up_all(blocks, references, &mut run);
        self.state.clocks.commit();
        self.opened.get_or_insert(opened);
        self.closed = self.state.clocks.read();
    }

    /// The kernel touches memory of the process. Gives the loads and the stores.
    pub(crate) fn touch(&mut self, address: u64, bytes: u64, is_store: bool, context: &RunContext<'_>) -> [u64; 2] {
        let kind = if is_store { Kind::Store } else { Kind::Load };
        let mut run = self.start(context);
        let pieces = pieces(address, bytes).map(|piece| run.touch(kind, piece)).count() as u64;
        self.state.clocks.commit();
        if is_store { [0, pieces] } else { [pieces, 0] }
    }

    fn start<'a>(&'a mut self, context: &'a RunContext<'a>) -> Run<'a, L> {
        Run {
            entry: self.entry,
            difference: self.state.clocks.steady_difference(),
            hierarchies: self.state.hierarchies(&self.plan, context),
        }
    }
}
