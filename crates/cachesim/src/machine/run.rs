//! Blocks and references, cut into single lookups.

use trace::{Block, BlockRun, Reference};

use super::address::VIRTUAL_MASK;
use super::code::Attribution;
use super::filter::Known;
use super::hierarchy::Hierarchy;
use super::lane::Lane;
use super::plan::{Kind, Plan};
use super::skim::Begun;
use super::views::{Misses, Shortcut, Views};
use super::{Machine, Scene};

/// How much of one touch of the kernel is simulated.
const LONGEST_TOUCH_BYTES: u64 = 1 << 30;
const TOUCH_BYTES: u64 = 64;

/// Where lookups begin, and in what order they have to be made.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry {
    /// Of fetches: the first TLB, and the first cache.
    fetch_tlb: Option<usize>,
    pub(super) fetch_cache: usize,
    data_tlb: Option<usize>,
    pub(super) data_cache: usize,
    /// Fetches have to be made between the loads and stores of their block, even where all of them are hits.
    is_ordered: bool,
    /// A load or store may take code away that the same block fetches behind it.
    may_lose_code: bool,
    passes_stores_on: bool,
    /// The first levels have one way and nothing beside them: blocks may be taken by [`Views::skim`].
    can_skim: bool,
    pub(super) lane: Lane,
}

impl Entry {
    pub(super) fn new(plan: &Plan, shortcuts: &[Shortcut]) -> Entry {
        let [fetch_cache, data_cache] = plan.first_caches.map(Option::unwrap_or_default);
        let [fetch_tlb, data_tlb] = plan.first_tlbs;
        let first_of_fetches = || [Some(fetch_cache), fetch_tlb].into_iter().flatten().map(|at| &plan.levels[at]);
        let data = &plan.levels[data_cache];
        let is_ordered = first_of_fetches().any(|level| level.is_on[1] || level.hit_cycles != 0);
        let may_lose_code = plan.pages.is_some() || plan.has_inclusive;
        let has_no_tlb = fetch_tlb.is_none() && data_tlb.is_none();
        let is_shallow = [fetch_cache, data_cache].iter().all(|&at| !shortcuts[at].filter.is_deep());
        let is_direct = is_shallow && has_no_tlb && data.hit_cycles == 0 && !plan.is_timed;
        Entry {
            fetch_tlb,
            fetch_cache,
            data_tlb,
            data_cache,
            is_ordered,
            may_lose_code,
            passes_stores_on: data.is_write_through,
            can_skim: is_direct && !is_ordered && !may_lose_code,
            lane: Lane::new(plan, shortcuts, fetch_cache, data_cache),
        }
    }
}

/// Lines or pages of a block that are still to be looked up.
#[derive(Clone, Copy)]
struct Ahead {
    next: u64,
    bits: u32,
    level: Option<usize>,
}

impl Machine {
    /// Blocks of one process, and their references.
    pub(crate) fn run(&mut self, blocks: BlockRun<'_>, references: &[Reference], scene: &Scene<'_>) {
        let mut private = self.lend_private(scene.process);
        let entry = self.entry;
        let (mut views, attribution) = self.views(&mut private, scene);
        let opened = views.clocks();
        views.blocks(&entry, blocks, references, |block, excess| {
            attribution.add(block.address, excess, scene.context, scene.mappings);
        });
        let clocks = [opened, views.clocks()];
        views.settle();
        self.take_back(scene.process, private, clocks);
    }

    /// The kernel touches memory of the process. Gives the loads and the stores.
    pub(crate) fn touch(&mut self, address: u64, bytes: u64, is_store: bool, scene: &Scene<'_>) -> [u64; 2] {
        if bytes == 0 {
            return [0; 2];
        }
        let kind = if is_store { Kind::Store } else { Kind::Load };
        let pieces = self.with_views(scene, |views, entry| {
            let look_up = |(first, last)| views.reference(entry, kind, first, last);
            pieces(address, bytes).map(look_up).count() as u64
        });
        if is_store { [0, pieces] } else { [pieces, 0] }
    }

    fn with_views<T>(&mut self, scene: &Scene<'_>, act: impl FnOnce(&mut Views<'_>, &Entry) -> T) -> T {
        let mut private = self.lend_private(scene.process);
        let entry = self.entry;
        let (mut views, _) = self.views(&mut private, scene);
        let result = act(&mut views, &entry);
        views.settle();
        self.privates.give_back(scene.process, private);
        result
    }

    /// The private hierarchy of a process, until it is given back.
    pub(super) fn lend_private(&mut self, process: u32) -> Box<Hierarchy> {
        self.ensure_private(process);
        self.privates.lend(process).unwrap_or_else(|| self.fresh_private())
    }

    /// The three views of the running process, and the attribution of their cycles to code.
    pub(super) fn views<'a>(
        &'a mut self,
        private: &'a mut Hierarchy,
        scene: &'a Scene<'a>,
    ) -> (Views<'a>, &'a mut Attribution) {
        let views = Views {
            plan: &self.plan,
            shared: &mut self.shared,
            private,
            flushed: &mut self.flushed,
            ledger: &mut self.ledger,
            others: &mut self.privates,
            frames: self.frames.as_mut(),
            shortcuts: &mut self.shortcuts,
            scene,
            ahead: 0,
            buffers: &mut self.buffers,
        };
        (views, &mut self.attribution)
    }

    /// After a pass over blocks: the clocks of the views at its start and its end.
    pub(super) fn take_back(&mut self, process: u32, private: Box<Hierarchy>, [opened, closed]: [[u64; 3]; 2]) {
        self.privates.give_back(process, private);
        self.opened.get_or_insert(opened);
        self.closed = closed;
    }
}

/// First and last bytes of what the kernel's touch is cut into.
pub(crate) fn pieces(address: u64, bytes: u64) -> impl Iterator<Item = (u64, u64)> {
    let last = address.saturating_add(bytes.min(LONGEST_TOUCH_BYTES).saturating_sub(1));
    let mut next = (bytes > 0).then_some(address);
    std::iter::from_fn(move || {
        let first = next?;
        let piece_last = (first | (TOUCH_BYTES - 1)).min(last);
        next = (piece_last < last).then(|| piece_last + 1);
        Some((first, piece_last))
    })
}

impl Views<'_> {
    /// Blocks and their references; `attribute` is told by how much longer the shared view took for a block.
    fn blocks(
        &mut self,
        entry: &Entry,
        mut blocks: BlockRun<'_>,
        mut references: &[Reference],
        mut attribute: impl FnMut(&Block, i64),
    ) {
        let mut difference = self.difference();
        let mut held = 0;
        loop {
            let mut begun = None;
            if entry.can_skim {
                let stop = self.skim(entry, blocks, references, &mut held);
                (blocks, references, begun) =
                    (blocks.split_at(stop.blocks).1, &references[stop.references..], stop.begun);
            }
            let Some(block) = blocks.get(0) else { break };
            held = held.saturating_sub(1);
            blocks = blocks.split_at(1).1;
            let left = usize::from(block.references) - begun.map_or(0, |begun: Begun| begun.references);
            let own;
            (own, references) = references.split_at(left.min(references.len()));
            if let Some(begun) = begun {
                self.rest_of_begun(entry, block, own, begun);
            } else if entry.is_ordered || !self.finds_code(entry, block) {
                self.ahead += u64::from(block.instructions);
                self.block_in_order(entry, block, own);
            } else {
                self.ahead += u64::from(block.instructions);
                self.references(entry, block, own);
            }
            let after = self.difference();
            if after != difference {
                attribute(block, after.wrapping_sub(difference) as i64);
                difference = after;
            }
        }
    }

    /// Loads and stores of a block all of whose code was found.
    #[inline(always)]
    fn references(&mut self, entry: &Entry, block: &Block, references: &[Reference]) {
        for (number, &reference) in references.iter().enumerate() {
            if self.finds(entry, reference) {
                continue;
            }
            if entry.may_lose_code {
                // What was found behind this reference may be gone then: it is looked up again, which is the same where it is not.
                return self.rest_in_order(entry, block, references, number);
            }
            self.data(entry, reference);
        }
    }

    /// Whether all views find all lines and pages of a block, which are the ones used last in their sets then. Where it says
    /// no, nothing is done that a lookup would not do.
    #[inline(always)]
    fn finds_code(&mut self, entry: &Entry, block: &Block) -> bool {
        let last = block.address.saturating_add(u64::from(block.bytes.max(1)) - 1);
        entry.fetch_tlb.is_none_or(|tlb| self.finds_lines(tlb, block.address, last))
            && self.finds_lines(entry.fetch_cache, block.address, last)
    }

    #[inline(always)]
    fn finds_lines(&mut self, at: usize, first: u64, last: u64) -> bool {
        let filter = &self.shortcuts[at].filter;
        let (first, last) = (filter.line_of(first), filter.line_of(last));
        let mut line = first;
        while line < last && self.known(at, line, false) == Known::Hit {
            line += 1;
        }
        line == last && self.known(at, line, false) == Known::Hit
    }

    /// The same of a load or store that needs one line.
    #[inline(always)]
    fn finds(&mut self, entry: &Entry, reference: Reference) -> bool {
        let first = reference.address();
        let last = first.saturating_add(u64::from(reference.bytes()) - 1);
        let is_store = reference.is_store();
        if is_store && entry.passes_stores_on {
            return false;
        }
        let is_found = entry.data_tlb.is_none_or(|tlb| self.finds_line(tlb, first, last, false))
            && self.finds_line(entry.data_cache, first, last, is_store);
        if is_found {
            for at in entry.data_tlb.into_iter().chain([entry.data_cache]) {
                self.charge(at, self.plan.levels[at].hit_cycles, true);
            }
        }
        is_found
    }

    #[inline(always)]
    fn finds_line(&mut self, at: usize, first: u64, last: u64, is_store: bool) -> bool {
        let filter = &self.shortcuts[at].filter;
        let line = filter.line_of(first);
        filter.line_of(last) == line && self.known(at, line, is_store) == Known::Hit
    }

    /// A load or store.
    fn data(&mut self, entry: &Entry, reference: Reference) {
        let first = reference.address();
        let last = first.saturating_add(u64::from(reference.bytes()) - 1);
        let kind = if reference.is_store() { Kind::Store } else { Kind::Load };
        self.reference(entry, kind, first, last);
    }

    /// A block, every lookup in its order.
    #[inline(never)]
    fn block_in_order(&mut self, entry: &Entry, block: &Block, references: &[Reference]) {
        let start = block.address;
        let mut pages = self.ahead_of(entry.fetch_tlb, start);
        let mut lines = self.ahead_of(Some(entry.fetch_cache), start);
        let first_last = start.saturating_add(u64::from(block.first_bytes).saturating_sub(1));
        self.first_instruction(&mut pages, first_last);
        self.first_instruction(&mut lines, first_last);
        self.rest_of_block(entry, block, references, pages, lines);
    }

    /// What [`Views::skim`] has left of a block.
    fn rest_of_begun(&mut self, entry: &Entry, block: &Block, references: &[Reference], begun: Begun) {
        let bits = self.plan.levels[entry.fetch_cache].line_bits;
        // The filters know lines of 48-bit addresses only.
        let done = begun.next_line - ((block.address & VIRTUAL_MASK) >> bits);
        let lines = Ahead { next: (block.address >> bits) + done, bits, level: Some(entry.fetch_cache) };
        self.rest_of_block(entry, block, references, self.ahead_of(None, 0), lines);
    }

    /// What is left of a block from a reference on, of whose code everything before it was fetched.
    #[inline(never)]
    fn rest_in_order(&mut self, entry: &Entry, block: &Block, references: &[Reference], number: usize) {
        let (before, rest) = references.split_at(number);
        let through = before.iter().map(|reference| reference.through()).max().unwrap_or_default();
        let reached = u64::from(through).max(u64::from(block.first_bytes).saturating_sub(1));
        let behind = |level: Option<usize>| {
            let ahead = self.ahead_of(level, block.address.saturating_add(reached));
            Ahead { next: ahead.next.saturating_add(1), ..ahead }
        };
        let (pages, lines) = (behind(entry.fetch_tlb), behind(Some(entry.fetch_cache)));
        self.rest_of_block(entry, block, rest, pages, lines);
    }

    /// All of a block but its first instruction.
    fn rest_of_block(
        &mut self,
        entry: &Entry,
        block: &Block,
        references: &[Reference],
        mut pages: Ahead,
        mut lines: Ahead,
    ) {
        for &reference in references {
            let reached = block.address.saturating_add(u64::from(reference.through()));
            self.fetch(&mut pages, reached);
            self.fetch(&mut lines, reached);
            if !self.finds(entry, reference) {
                self.data(entry, reference);
            }
        }
        let last = block.address.saturating_add(u64::from(block.bytes).saturating_sub(1));
        self.fetch(&mut pages, last);
        self.fetch(&mut lines, last);
    }

    fn ahead_of(&self, level: Option<usize>, address: u64) -> Ahead {
        let bits = level.map_or(0, |level| self.plan.levels[level].line_bits);
        Ahead { next: address >> bits, bits, level }
    }

    /// All lines of the first instruction: at most one miss.
    fn first_instruction(&mut self, ahead: &mut Ahead, last: u64) {
        let Some(level) = ahead.level else { return };
        let mut misses = [false; 3];
        while ahead.next <= last >> ahead.bits {
            join(&mut misses, self.look_up(level, Kind::Fetch, ahead.next << ahead.bits));
            ahead.next += 1;
        }
        self.count_misses(level, Kind::Fetch, misses);
    }

    /// Lines of later instructions up to an address: each one that is not there is a miss.
    fn fetch(&mut self, ahead: &mut Ahead, reached: u64) {
        let Some(level) = ahead.level else { return };
        while ahead.next <= reached >> ahead.bits {
            let misses = self.look_up(level, Kind::Fetch, ahead.next << ahead.bits);
            self.count_misses(level, Kind::Fetch, misses);
            ahead.next += 1;
        }
    }

    /// A load or store, from its first to its last byte: all pages, then all lines.
    fn reference(&mut self, entry: &Entry, kind: Kind, first: u64, last: u64) {
        if let Some(tlb) = entry.data_tlb {
            self.all_lines(tlb, kind, first, last);
        }
        self.all_lines(entry.data_cache, kind, first, last);
    }

    #[inline]
    pub(super) fn all_lines(&mut self, level: usize, kind: Kind, first: u64, last: u64) {
        let bits = self.plan.levels[level].line_bits;
        let (line, last_line) = (first >> bits, last >> bits);
        let mut misses = self.look_up(level, kind, line << bits);
        for line in line + 1..=last_line {
            join(&mut misses, self.look_up(level, kind, line << bits));
        }
        self.count_misses(level, kind, misses);
    }
}

fn join(misses: &mut Misses, more: Misses) {
    misses.iter_mut().zip(more).for_each(|(miss, more)| *miss |= more);
}
