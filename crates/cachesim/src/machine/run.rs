//! Blocks and touches of one process, looked up in the first levels of a design.

use trace::{Block, BlockRun, Reference};

use super::blocks::{Lookups, bytes_of, last_byte, look_up_all, pieces};
use super::code::Attribution;
use super::plan::{Kind, Plan};
use super::views::{Missed, Views};
use super::{Machine, Scene, VIEWS, VIRTUAL_BITS};

/// Where lookups begin, and in what order they have to be made.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry {
    /// The first TLB and the first cache of fetches.
    fetch_tlb: Option<usize>,
    fetch_cache: Option<usize>,
    /// The same of loads and stores.
    data_tlb: Option<usize>,
    data_cache: Option<usize>,
    /// Of the first cache and the first TLB of fetches. Without a TLB all addresses are one page.
    line_bits: u32,
    page_bits: u32,
    /// Loads and stores that are found take time.
    has_data_hit_cycles: bool,
    /// Fetches have to be made between the loads and stores of their block, even where all of them are found.
    is_ordered: bool,
    /// A load or store may take code away that the same block fetches behind it.
    may_lose_code: bool,
    /// No store is done with the first cache of data.
    passes_stores_on: bool,
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
            line_bits: fetch_cache.map_or(VIRTUAL_BITS, |at| plan.levels[at].line_bits),
            page_bits: fetch_tlb.map_or(VIRTUAL_BITS, |at| plan.levels[at].line_bits),
            has_data_hit_cycles: levels([data_tlb, data_cache]).any(|level| level.hit_cycles != 0),
            is_ordered: asked_by_fetches.any(|level| level.is_on[1] || level.hit_cycles != 0),
            may_lose_code: plan.pages.is_some() || plan.has_inclusive,
            passes_stores_on: data_cache.is_some_and(|at| plan.levels[at].is_write_through),
        }
    }
}

/// A run of blocks of one process.
struct Run<'a> {
    entry: Entry,
    views: Views<'a>,
    attribution: &'a mut Attribution,
    /// By how much longer the shared view has taken up to the last block.
    difference: u64,
    /// The line of code that was looked up last, and its page: to look them up once more changes nothing.
    last_line: u64,
    last_page: u64,
}

/// Not known: no address shifted by anything is this.
const NONE: u64 = u64::MAX;

impl Lookups for Run<'_> {
    #[inline(always)]
    fn enter(&mut self, block: &Block) {
        self.views.clocks.common += u64::from(block.instructions);
    }

    #[inline(always)]
    fn finds_code(&mut self, block: &Block) -> bool {
        let Entry { fetch_tlb, fetch_cache, is_ordered, line_bits, page_bits, .. } = self.entry;
        let (first, last) = (block.address, last_byte(block));
        let line = last >> line_bits;
        if line == self.last_line && line == first >> line_bits {
            return true;
        }
        let page = last >> page_bits;
        let same_page = page == self.last_page && page == first >> page_bits;
        let is_found = !is_ordered
            && (same_page || fetch_tlb.is_none_or(|at| self.views.levels[at].recent.finds_all(first, last)))
            && fetch_cache.is_none_or(|at| self.views.levels[at].recent.finds_all(first, last));
        (self.last_line, self.last_page) = if is_found { (line, page) } else { (NONE, NONE) };
        is_found
    }

    #[inline(always)]
    fn finds(&mut self, reference: Reference) -> bool {
        let Entry { data_tlb, data_cache, has_data_hit_cycles, passes_stores_on, .. } = self.entry;
        let (first, last) = bytes_of(reference);
        let is_store = reference.is_store();
        if is_store && passes_stores_on {
            return false;
        }
        let is_found = data_tlb.is_none_or(|at| self.views.finds_one(at, first, last, false))
            && data_cache.is_none_or(|at| self.views.finds_one(at, first, last, is_store));
        if is_found && has_data_hit_cycles {
            self.views.charge_hit(data_tlb);
            self.views.charge_hit(data_cache);
        }
        is_found
    }

    #[inline(always)]
    fn may_lose_code(&self) -> bool {
        self.entry.may_lose_code
    }

    fn first_instruction(&mut self, first: u64, last: u64) {
        for at in [self.entry.fetch_tlb, self.entry.fetch_cache].into_iter().flatten() {
            self.views.one_reference(at, Kind::Fetch, first, last);
        }
    }

    fn code(&mut self, done: u64, last: u64) {
        (self.last_line, self.last_page) = (NONE, NONE);
        for at in [self.entry.fetch_tlb, self.entry.fetch_cache].into_iter().flatten() {
            self.views.code(at, done, last);
        }
    }

    #[inline(never)]
    fn data(&mut self, reference: Reference) {
        if self.entry.may_lose_code {
            self.last_line = NONE;
        }
        let kind = if reference.is_store() { Kind::Store } else { Kind::Load };
        self.touch(kind, bytes_of(reference));
    }

    #[inline(always)]
    fn leave(&mut self, block: &Block) {
        let difference = self.views.clocks.difference();
        if difference != self.difference {
            let longer = difference.wrapping_sub(self.difference) as i64;
            self.difference = difference;
            let scene = self.views.scene;
            self.attribution.add(block.address, longer, scene.context, scene.mappings);
        }
    }
}

impl Run<'_> {
    /// A load or store: all pages, then all lines.
    fn touch(&mut self, kind: Kind, (first, last): (u64, u64)) {
        for at in [self.entry.data_tlb, self.entry.data_cache].into_iter().flatten() {
            self.views.one_reference(at, kind, first, last);
        }
    }
}

impl Views<'_> {
    /// Whether all views are known to find what lies in one line.
    #[inline(always)]
    fn finds_one(&mut self, at: usize, first: u64, last: u64, is_store: bool) -> bool {
        let recent = &mut self.levels[at].recent;
        let line = recent.line_of(first);
        recent.line_of(last) == line && recent.finds(line, is_store)
    }

    #[inline]
    fn charge_hit(&mut self, at: Option<usize>) {
        if let Some(at) = at {
            self.charge_all(at, self.plan.levels[at].hit_cycles, true);
        }
    }

    /// All lines of one instruction, load or store: at most one miss.
    fn one_reference(&mut self, at: usize, kind: Kind, first: u64, last: u64) {
        let bits = self.plan.levels[at].line_bits;
        let mut missed = [false; VIEWS];
        for line in first >> bits..=last >> bits {
            let more = self.look_up(at, kind, line << bits);
            missed.iter_mut().zip(more).for_each(|(one, more)| *one |= more);
        }
        self.count_misses(at, kind, missed);
    }

    /// Lines of later instructions: each one that is not there is a miss.
    fn code(&mut self, at: usize, done: u64, last: u64) {
        let bits = self.plan.levels[at].line_bits;
        for line in (done >> bits) + 1..=last >> bits {
            let missed = self.look_up(at, Kind::Fetch, line << bits);
            self.count_misses(at, Kind::Fetch, missed);
        }
    }

    fn count_misses(&mut self, at: usize, kind: Kind, missed: Missed) {
        if missed != [false; VIEWS] {
            self.levels[at].count_misses(kind as usize, missed);
            self.levels[at].count_difference(missed);
        }
    }
}

impl Machine {
    /// Blocks of one process, and their references.
    pub(crate) fn run(&mut self, blocks: BlockRun<'_>, references: &[Reference], scene: &Scene<'_>) {
        let opened = self.state.clocks.read();
        let mut run = self.start(scene);
        look_up_all(blocks, references, &mut run);
        self.state.clocks.settle();
        self.opened.get_or_insert(opened);
        self.closed = self.state.clocks.read();
    }

    /// The kernel touches memory of the process. Gives the loads and the stores.
    pub(crate) fn touch(&mut self, address: u64, bytes: u64, is_store: bool, scene: &Scene<'_>) -> [u64; 2] {
        let kind = if is_store { Kind::Store } else { Kind::Load };
        let mut run = self.start(scene);
        let pieces = pieces(address, bytes).map(|piece| run.touch(kind, piece)).count() as u64;
        self.state.clocks.settle();
        if is_store { [0, pieces] } else { [pieces, 0] }
    }

    fn start<'a>(&'a mut self, scene: &'a Scene<'a>) -> Run<'a> {
        Run {
            entry: self.entry,
            difference: self.state.clocks.difference(),
            last_line: NONE,
            last_page: NONE,
            views: self.state.views(&self.plan, scene),
            attribution: &mut self.attribution,
        }
    }
}
