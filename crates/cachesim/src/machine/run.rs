//! Blocks and references, cut into single lookups, each made in all three views.

use trace::{Block, Reference};

use super::address::Address;
use super::ledger::Bookkeeper;
use super::plan::{Kind, path_of};
use super::watch::Nobody;
use super::{Machine, Scene};

/// How much of one touch of the kernel is simulated.
const LONGEST_TOUCH_BYTES: u64 = 1 << 30;
const TOUCH_BYTES: u64 = 64;

/// Which views missed.
type Misses = [bool; 3];

/// Lines or pages of a block that are still to be looked up.
#[derive(Clone, Copy)]
struct Ahead {
    next: u64,
    bits: u32,
    level: Option<usize>,
}

impl Machine {
    /// Blocks of one process, and their references.
    pub(crate) fn run(&mut self, blocks: &[Block], references: &[Reference], scene: &Scene<'_>) {
        self.ensure_private(scene.process);
        let mut clocks = self.clocks(scene.process);
        self.opened.get_or_insert(clocks);
        let mut references = references;
        for block in blocks {
            let (own, later) = references.split_at(usize::from(block.references).min(references.len()));
            references = later;
            self.pass(block, scene);
            self.block(block, own, scene);
            let after = self.clocks(scene.process);
            let excess = (after[0] - clocks[0]) as i64 - (after[1] - clocks[1]) as i64;
            if excess != 0 {
                self.bill.add(block.address, excess, scene.context, scene.mappings);
            }
            clocks = after;
        }
        self.closed = clocks;
    }

    /// The kernel touches memory of the process.
    pub(crate) fn touch(&mut self, address: u64, bytes: u64, is_store: bool, scene: &Scene<'_>) -> [u64; 2] {
        self.ensure_private(scene.process);
        let kind = if is_store { Kind::Store } else { Kind::Load };
        let last = address.saturating_add(bytes.clamp(1, LONGEST_TOUCH_BYTES) - 1);
        let mut accesses = [0; 2];
        if bytes == 0 {
            return accesses;
        }
        let mut at = address;
        loop {
            let piece_last = (at | (TOUCH_BYTES - 1)).min(last);
            self.reference(kind, at, piece_last, scene);
            accesses[usize::from(is_store)] += 1;
            if piece_last == last {
                break;
            }
            at = piece_last + 1;
        }
        accesses
    }

    /// The cycles of the block's instructions.
    fn pass(&mut self, block: &Block, scene: &Scene<'_>) {
        let instructions = u64::from(block.instructions);
        self.shared.now += instructions;
        self.flushed.now += instructions;
        if let Some(private) = self.privates.get_mut(scene.process) {
            private.now += instructions;
        }
    }

    fn ahead(&self, level: Option<usize>, address: u64) -> Ahead {
        let bits = level.map_or(0, |level| self.plan.levels[level].line_bits);
        Ahead { next: address >> bits, bits, level }
    }

    fn block(&mut self, block: &Block, references: &[Reference], scene: &Scene<'_>) {
        let start = block.address;
        let mut pages = self.ahead(self.plan.first_tlbs[path_of(Kind::Fetch)], start);
        let mut lines = self.ahead(self.plan.first_caches[path_of(Kind::Fetch)], start);
        let first_last = start.saturating_add(u64::from(block.first_bytes).saturating_sub(1));
        self.first_instruction(&mut pages, first_last, scene);
        self.first_instruction(&mut lines, first_last, scene);
        for reference in references {
            let reached = start.saturating_add(u64::from(reference.through()));
            self.fetch(&mut pages, reached, scene);
            self.fetch(&mut lines, reached, scene);
            let kind = if reference.is_store() { Kind::Store } else { Kind::Load };
            let address = reference.address();
            let last = address.saturating_add(u64::from(reference.bytes()) - 1);
            self.reference(kind, address, last, scene);
        }
        let last = start.saturating_add(u64::from(block.bytes).saturating_sub(1));
        self.fetch(&mut pages, last, scene);
        self.fetch(&mut lines, last, scene);
    }

    /// All lines of the first instruction: at most one miss.
    fn first_instruction(&mut self, ahead: &mut Ahead, last: u64, scene: &Scene<'_>) {
        let Some(level) = ahead.level else { return };
        let mut misses = [false; 3];
        while ahead.next <= last >> ahead.bits {
            join(&mut misses, self.look_up(level, Kind::Fetch, ahead.next << ahead.bits, scene));
            ahead.next += 1;
        }
        self.count(level, Kind::Fetch, misses, scene);
    }

    /// Lines of later instructions up to an address: each one that is not there is a miss.
    fn fetch(&mut self, ahead: &mut Ahead, reached: u64, scene: &Scene<'_>) {
        let Some(level) = ahead.level else { return };
        while ahead.next <= reached >> ahead.bits {
            let misses = self.look_up(level, Kind::Fetch, ahead.next << ahead.bits, scene);
            self.count(level, Kind::Fetch, misses, scene);
            ahead.next += 1;
        }
    }

    /// A load or store, from its first to its last byte.
    fn reference(&mut self, kind: Kind, first: u64, last: u64, scene: &Scene<'_>) {
        let levels = [self.plan.first_tlbs[path_of(kind)], self.plan.first_caches[path_of(kind)]];
        for level in levels.into_iter().flatten() {
            let bits = self.plan.levels[level].line_bits;
            let mut misses = [false; 3];
            for line in first >> bits..=last >> bits {
                join(&mut misses, self.look_up(level, kind, line << bits, scene));
            }
            self.count(level, kind, misses, scene);
        }
    }

    /// One lookup, in every view.
    fn look_up(&mut self, level: usize, kind: Kind, address: u64, scene: &Scene<'_>) -> Misses {
        let process = scene.process;
        let is_tlb = self.plan.levels[level].is_tlb;
        let physical = match &mut self.frames {
            Some(frames) if !is_tlb => frames.translate(process, address, kind == Kind::Store, scene.mappings),
            _ => 0,
        };
        let address = Address { process, virtual_address: address, physical };
        let Machine { plan, ledger, privates, .. } = self;
        let mut bookkeeper = Bookkeeper { plan, ledger, privates };
        let shared = self.shared.look_up(plan, &mut bookkeeper, level, kind, &address);
        let private = privates.get_mut(process).map(|own| own.look_up(plan, &mut Nobody, level, kind, &address));
        let flushed = self.flushed.look_up(plan, &mut Nobody, level, kind, &address);
        [shared.is_miss, private.is_some_and(|answer| answer.is_miss), flushed.is_miss]
    }

    fn count(&mut self, level: usize, kind: Kind, misses: Misses, scene: &Scene<'_>) {
        let [shared, private, flushed] = misses.map(u64::from);
        self.shared.levels[level].counts.misses[kind as usize] += shared;
        self.flushed.levels[level].counts.misses[kind as usize] += flushed;
        if let Some(hierarchy) = self.privates.get_mut(scene.process) {
            hierarchy.levels[level].counts.misses[kind as usize] += private;
        }
    }
}

fn join(misses: &mut Misses, more: Misses) {
    misses.iter_mut().zip(more).for_each(|(miss, more)| *miss |= more);
}
