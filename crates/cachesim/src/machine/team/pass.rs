//! One pass over blocks for all members. Only what not all of them hold, and stores, reach each member.

use trace::{Block, BlockRun, Reference};

use super::front::Open;
use super::member::Member;
use crate::machine::plan::Kind;

pub(super) struct Pass<'a, 'b, const BITS: u32> {
    pub(super) code: Open<'a, BITS>,
    pub(super) data: Open<'a, BITS>,
    pub(super) crew: &'a mut [Member<'b>],
    /// Instructions so far.
    pub(super) time: u64,
}

impl<const BITS: u32> Pass<'_, '_, BITS> {
    #[inline(never)]
    pub(super) fn run(&mut self, blocks: BlockRun<'_>, references: &[Reference]) {
        let mut left = references;
        for block in blocks.iter() {
            let (own, later) = left.split_at(usize::from(block.references).min(left.len()));
            left = later;
            self.time += u64::from(block.instructions);
            let first = self.code.line_of(block.address);
            let last = self.code.line_of(block.address.wrapping_add(u64::from(block.bytes)).wrapping_sub(1));
            let is_even = if self.code.holds_all(first, last) {
                own.iter().fold(true, |is_even, &reference| is_even & self.refer(reference))
            } else {
                self.block_with_misses(block, own)
            };
            if !is_even {
                self.crew.iter_mut().for_each(|member| member.pay(block.address));
            }
        }
    }

    /// A block of which some lines are not held by all. Gives whether every member's views stay as far apart as they were.
    #[inline(never)]
    fn block_with_misses(&mut self, block: &Block, own: &[Reference]) -> bool {
        let bits = self.code.line_bits();
        let start = block.address;
        let first_last = start.saturating_add(u64::from(block.first_bytes).saturating_sub(1)) >> bits;
        let mut is_even = self.first_instruction(start >> bits, first_last);
        let mut next = (start >> bits).max(first_last + 1);
        for &reference in own {
            let reached = start.saturating_add(u64::from(reference.through())) >> bits;
            is_even &= self.fetch(&mut next, reached);
            is_even &= self.refer(reference);
        }
        let last = start.saturating_add(u64::from(block.bytes).saturating_sub(1)) >> bits;
        is_even & self.fetch(&mut next, last)
    }

    /// All lines of the first instruction: at most one miss.
    #[inline(always)]
    fn first_instruction(&mut self, first: u64, last: u64) -> bool {
        if first == last {
            return self.fetch(&mut { first }, last);
        }
        let (time, bits) = (self.time, self.code.line_bits());
        let mut is_even = true;
        for member in self.crew.iter_mut() {
            is_even &= member.first_instruction(time, first << bits, last << bits);
        }
        (first..=last).for_each(|line| self.code.keep(self.code.line_of(line << bits)));
        is_even
    }

    /// Lines of later instructions up to one: each one that is not there is a miss.
    #[inline(always)]
    fn fetch(&mut self, next: &mut u64, reached: u64) -> bool {
        let (time, bits) = (self.time, self.code.line_bits());
        let mut is_even = true;
        while *next <= reached {
            let address = *next << bits;
            let line = self.code.line_of(address);
            if !self.code.holds(line) {
                for member in self.crew.iter_mut() {
                    is_even &= member.fetch(time, address);
                }
                self.code.keep(line);
            }
            *next += 1;
        }
        is_even
    }

    /// A load or store.
    #[inline(always)]
    fn refer(&mut self, reference: Reference) -> bool {
        let first = reference.address();
        let line = self.data.line_of(first);
        let reach = (first & ((1 << self.data.line_bits()) - 1)) + u64::from(reference.bytes()) - 1;
        if reach >> self.data.line_bits() != 0 {
            return self.refer_to_lines(reference);
        }
        let is_held = self.data.holds(line);
        if reference.is_store() { self.store(first, is_held) } else { is_held || self.load(first, line) }
    }

    #[inline(never)]
    fn load(&mut self, address: u64, line: u64) -> bool {
        let mut is_even = true;
        for member in self.crew.iter_mut() {
            is_even &= member.load(self.time, address);
        }
        self.data.keep(line);
        is_even
    }

    #[inline(always)]
    fn store(&mut self, address: u64, is_held: bool) -> bool {
        let mut is_even = true;
        for member in self.crew.iter_mut() {
            is_even &= member.store(self.time, address, is_held);
        }
        is_even
    }

    #[inline(never)]
    fn refer_to_lines(&mut self, reference: Reference) -> bool {
        let first = reference.address();
        let last = first.saturating_add(u64::from(reference.bytes()) - 1);
        let (first_line, last_line) = (self.data.line_of(first), self.data.line_of(last));
        let kind = if reference.is_store() { Kind::Store } else { Kind::Load };
        if kind == Kind::Load && self.data.holds_all(first_line, last_line) {
            return true;
        }
        let mut is_even = true;
        for member in self.crew.iter_mut() {
            is_even &= member.refer(self.time, kind, first, last);
        }
        if kind == Kind::Load {
            (first_line..=last_line).for_each(|line| self.data.keep(line));
        }
        is_even
    }
}
