//! Blocks and references, cut into single lookups.

use record::Inclusion;
use trace::{Block, BlockRun, Reference};

use super::address::{Address, VIRTUAL_MASK};
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

/// Where lookups begin.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry {
    /// Of fetches: the first TLB, and the first cache.
    fetch_tlb: Option<usize>,
    pub(super) fetch_cache: usize,
    data_tlb: Option<usize>,
    pub(super) data_cache: usize,
    /// Fetches that are hits can be told from loads and stores of the same block only in their order.
    is_ordered: bool,
    /// Loads and stores ask no TLB first, and a line that is found takes no time.
    is_direct: bool,
    passes_stores_on: bool,
    /// Fetches ask other first levels than loads and stores do, and what they find there takes no time.
    are_hits_free: bool,
    /// Blocks may be taken by [`Views::skim`].
    pub(super) can_skim: bool,
    pub(super) lane: Lane,
}

impl Entry {
    pub(super) fn new(plan: &Plan, shortcuts: &[Shortcut]) -> Entry {
        let [fetch_cache, data_cache] = plan.first_caches.map(Option::unwrap_or_default);
        let [fetch_tlb, data_tlb] = plan.first_tlbs;
        let shares_a_level =
            [Some(fetch_cache), fetch_tlb].into_iter().flatten().any(|level| plan.levels[level].is_on[1]);
        let is_invaded = plan.levels.iter().any(|level| level.inclusion == Inclusion::Inclusive);
        let first = [Some(fetch_cache), fetch_tlb].into_iter().flatten();
        let takes_time = first.into_iter().any(|level| plan.levels[level].hit_cycles != 0);
        let data = &plan.levels[data_cache];
        let is_ordered = shares_a_level || is_invaded || takes_time;
        let is_direct = data_tlb.is_none() && data.hit_cycles == 0 && plan.pages.is_none() && !plan.is_timed;
        Entry {
            fetch_tlb,
            fetch_cache,
            data_tlb,
            data_cache,
            is_ordered,
            is_direct,
            passes_stores_on: data.is_write_through,
            are_hits_free: !shares_a_level
                && !takes_time
                && !plan.is_timed
                && [Some(data_cache), data_tlb].into_iter().flatten().all(|level| plan.levels[level].hit_cycles == 0),
            can_skim: !is_ordered && is_direct && fetch_tlb.is_none(),
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
        run_blocks(&mut views, &entry, blocks, references, |block, excess| {
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

fn run_blocks(
    views: &mut Views<'_>,
    entry: &Entry,
    mut blocks: BlockRun<'_>,
    mut references: &[Reference],
    mut attribute: impl FnMut(&Block, i64),
) {
    let mut difference = views.difference();
    let mut held = 0;
    loop {
        let mut begun = None;
        if entry.can_skim {
            let stop = views.skim(entry, blocks, references, &mut held);
            (blocks, references, begun) = (blocks.split_at(stop.blocks).1, &references[stop.references..], stop.begun);
        }
        let Some(block) = blocks.get(0) else { break };
        held = held.saturating_sub(1);
        blocks = blocks.split_at(1).1;
        let left = usize::from(block.references) - begun.map_or(0, |begun: Begun| begun.references);
        let own = references.split_off(..left.min(references.len())).unwrap_or_default();
        views.one_block(entry, block, own, begun);
        let after = views.difference();
        if after != difference {
            attribute(block, after.wrapping_sub(difference) as i64);
            difference = after;
        }
    }
}

impl Views<'_> {
    /// A block, or the rest of one that has begun.
    fn one_block(&mut self, entry: &Entry, block: &Block, references: &[Reference], begun: Option<Begun>) {
        if let Some(begun) = begun {
            let bits = self.plan.levels[entry.fetch_cache].line_bits;
            // The filters know lines of 48-bit addresses only.
            let done = begun.next_line - ((block.address & VIRTUAL_MASK) >> bits);
            let next = (block.address >> bits) + done;
            let lines = Ahead { next, bits, level: Some(entry.fetch_cache) };
            self.rest_of_block(entry, block, references, self.ahead_of(None, 0), lines);
            return;
        }
        self.ahead += u64::from(block.instructions);
        let holds_code = self.holds_code(entry, block);
        let mut references = references;
        if holds_code && entry.are_hits_free {
            let is_found = |views: &mut Self, reference| views.finds(entry, reference);
            let found = references.iter().take_while(|&&reference| is_found(self, reference)).count();
            references = &references[found..];
            if references.is_empty() {
                return;
            }
        }
        if !entry.is_ordered && holds_code && self.leaves_code(block, references) {
            references.iter().for_each(|&reference| self.data(entry, reference));
        } else {
            self.block(entry, block, references);
        }
    }

    /// Whether all views find what a load or store asks for, so that no more changes than which line was used last. Where
    /// it says no, nothing is done that a lookup would not do.
    #[inline]
    fn finds(&mut self, entry: &Entry, reference: Reference) -> bool {
        let first = reference.address();
        let last = first.saturating_add(u64::from(reference.bytes()) - 1);
        let is_store = reference.is_store();
        if is_store && entry.passes_stores_on {
            return false;
        }
        entry.data_tlb.is_none_or(|tlb| self.finds_line(tlb, first, last, false))
            && self.finds_line(entry.data_cache, first, last, is_store)
    }

    #[inline]
    fn finds_line(&mut self, at: usize, first: u64, last: u64, is_store: bool) -> bool {
        let filter = &self.shortcuts[at].filter;
        let line = filter.line_of(first);
        filter.line_of(last) == line && self.known(at, line, is_store) == Known::Hit
    }

    /// Whether to fetch the block changes nothing.
    #[inline]
    fn holds_code(&self, entry: &Entry, block: &Block) -> bool {
        let last = block.address.saturating_add(u64::from(block.bytes.max(1)) - 1);
        let filter = self.shortcuts[entry.fetch_cache].filter.as_ref();
        filter.holds_all(block.address, last)
            && entry.fetch_tlb.is_none_or(|tlb| self.holds_page(tlb, block.address, last))
    }

    /// Whether no store can give the block's own code another frame, where what comes behind it would be looked up.
    #[inline]
    fn leaves_code(&self, block: &Block, references: &[Reference]) -> bool {
        self.plan.pages.is_none_or(|pages| {
            let page = |address: u64| address >> pages.size.0.trailing_zeros();
            let (first, last) = (page(block.address), page(block.address.saturating_add(block.bytes.into())));
            let is_apart = |reference: &Reference| {
                let address = reference.address();
                page(address) > last || page(address.saturating_add(reference.bytes().into())) < first
            };
            references.iter().all(|reference| !reference.is_store() || is_apart(reference))
        })
    }

    fn holds_page(&self, tlb: usize, first: u64, last: u64) -> bool {
        let filter = self.shortcuts[tlb].filter.as_ref();
        filter.holds(filter.line_of(first)) && filter.holds(filter.line_of(last))
    }

    /// A load or store.
    #[inline(always)]
    fn data(&mut self, entry: &Entry, reference: Reference) {
        let first = reference.address();
        let last = first.saturating_add(u64::from(reference.bytes()) - 1);
        let kind = if reference.is_store() { Kind::Store } else { Kind::Load };
        let filter = self.shortcuts[entry.data_cache].filter.as_ref();
        let line = filter.line_of(first);
        if entry.is_direct && filter.line_of(last) == line {
            match reference.is_store() {
                false if filter.holds(line) => {}
                true if filter.holds_stored(line) && !entry.passes_stores_on => {}
                _ => self.one_line(entry.data_cache, kind, first),
            }
        } else {
            self.reference(entry, kind, first, last);
        }
    }

    /// A load or store within one line, where no frames and no hit times matter.
    #[inline]
    pub(super) fn one_line(&mut self, at: usize, kind: Kind, address: u64) {
        let shortcut = &mut self.shortcuts[at];
        let known = shortcut.filter.known(shortcut.filter.line_of(address), kind == Kind::Store);
        let target = Address { process: self.scene.process, virtual_address: address, physical: 0 };
        if known == Known::Hit && kind == Kind::Store {
            self.go_on_together(at, &target);
        } else if known == Known::Conflict && shortcut.goes_together(known, kind == Kind::Store) {
            shortcut.count_misses(kind, 1);
            self.miss_together(at, kind, &target, true);
        } else {
            let misses = self.look_up(at, kind, address);
            self.count_misses(at, kind, misses);
        }
    }

    /// A block, every lookup in its order.
    #[inline(never)]
    fn block(&mut self, entry: &Entry, block: &Block, references: &[Reference]) {
        let start = block.address;
        let mut pages = self.ahead_of(entry.fetch_tlb, start);
        let mut lines = self.ahead_of(Some(entry.fetch_cache), start);
        let first_last = start.saturating_add(u64::from(block.first_bytes).saturating_sub(1));
        self.first_instruction(&mut pages, first_last);
        self.first_instruction(&mut lines, first_last);
        self.rest_of_block(entry, block, references, pages, lines);
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
            self.data(entry, reference);
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
