//! The common case, in one tight loop: fetches, loads and stores that every view answers alike.
//!
//! Does what [`super::run`] does by single lookups, as long as the filters know all that is needed, and stops where they
//! do not. Nothing here changes how much longer the shared view takes than the private one.

mod open;

use trace::{Block, BlockRun, Reference};

use super::aside::WriteQueue;
use super::lane::{First, Lane, store};

/// How far the loop came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stop {
    /// Blocks that are done.
    pub(super) blocks: usize,
    /// References that are done, of the block behind them too.
    pub(super) references: usize,
    pub(super) begun: Option<Begun>,
}

/// What is done of the block behind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Begun {
    pub(super) references: usize,
    /// The first line of its code that is not looked up yet.
    pub(super) next_line: u64,
}

/// What one step of the loop did.
struct Passed {
    blocks: usize,
    references: usize,
    /// What comes next has to be looked up by each view.
    is_stuck: bool,
    begun: Option<Begun>,
}

/// What was counted on the way.
#[derive(Default)]
pub(super) struct Sums {
    pub(super) ahead: u64,
    pub(super) stall_cycles: u64,
    pub(super) code_misses: u64,
    pub(super) code_fills: u64,
    pub(super) load_misses: u64,
    pub(super) load_fills: u64,
    /// By view.
    pub(super) store_misses: [u64; 3],
    pub(super) next_stores: u64,
}

/// Everything that the loop touches.
struct Loop<'a> {
    lane: Lane,
    code: First<'a>,
    data: First<'a>,
    /// Of the three views; while they are alike, the first stands for all.
    writes: [&'a mut WriteQueue; 3],
    are_alike: bool,
    /// The views' clocks at the start.
    starts: [u64; 3],
    sums: Sums,
}

impl Loop<'_> {
    fn run(&mut self, blocks: BlockRun<'_>, references: &[Reference], held: &mut usize) -> Stop {
        let mut at = Stop { blocks: 0, references: 0, begun: None };
        while at.blocks < blocks.len() {
            if *held == 0 {
                *held = self.count_held(blocks.split_at(at.blocks).1);
            }
            let passed = if *held == 0 {
                let Some(block) = blocks.get(at.blocks) else { break };
                self.one_with_misses(block, &references[at.references..])
            } else {
                let those = blocks.slice(at.blocks..at.blocks + *held);
                let passed = self.all_held(those, &references[at.references..]);
                *held -= passed.blocks;
                passed
            };
            at.blocks += passed.blocks;
            at.references += passed.references;
            if passed.is_stuck {
                return Stop { begun: passed.begun, ..at };
            }
        }
        at
    }

    /// How many blocks from the first one on are all there.
    #[inline(never)]
    fn count_held(&self, blocks: BlockRun<'_>) -> usize {
        let filter = self.code.filter.as_ref();
        let is_held = |block: &Block| {
            let first = filter.line_of(block.address);
            let last = filter.line_of(block.address.wrapping_add(u64::from(block.bytes)).wrapping_sub(1));
            filter.holds_lines(first, last)
        };
        blocks.iter().take_while(|block| is_held(block)).count()
    }

    /// Loads and stores of blocks whose code is all there.
    #[inline(never)]
    fn all_held(&mut self, blocks: BlockRun<'_>, references: &[Reference]) -> Passed {
        let mut left = references.iter();
        for (index, block) in blocks.iter().enumerate() {
            self.sums.ahead += u64::from(block.instructions);
            for number in 0..usize::from(block.references) {
                let Some(&reference) = left.as_slice().first() else { break };
                if !self.refer(reference) {
                    let last = block.address.wrapping_add(u64::from(block.bytes)).wrapping_sub(1);
                    let begun = Some(Begun { references: number, next_line: self.code.line_of(last) + 1 });
                    return Passed { blocks: index, references: references.len() - left.len(), is_stuck: true, begun };
                }
                left.next();
            }
        }
        Passed { blocks: blocks.len(), references: references.len() - left.len(), is_stuck: false, begun: None }
    }

    /// A block of which some lines have to be brought in.
    #[inline(never)]
    fn one_with_misses(&mut self, block: &Block, references: &[Reference]) -> Passed {
        let stuck = |references, begun| Passed { blocks: 0, references, is_stuck: true, begun };
        let first = self.code.line_of(block.address);
        let last = self.code.line_of(block.address.wrapping_add(u64::from(block.bytes)).wrapping_sub(1));
        if !self.code.can_bring_all(first, last) {
            return stuck(0, None);
        }
        self.sums.ahead += u64::from(block.instructions);
        let mut next_line = self.first_instruction(block);
        let own = &references[..usize::from(block.references).min(references.len())];
        for (number, &reference) in own.iter().enumerate() {
            let reached = self.code.line_of(block.address.wrapping_add(reference.through().into()));
            next_line = self.fetch(next_line, reached.min(last));
            if !self.refer(reference) {
                return stuck(number, Some(Begun { references: number, next_line }));
            }
        }
        self.fetch(next_line, last);
        Passed { blocks: 1, references: own.len(), is_stuck: false, begun: None }
    }

    /// All lines of the first instruction: at most one miss. Gives the line behind them.
    #[inline(never)]
    fn first_instruction(&mut self, block: &Block) -> u64 {
        let (address, bytes) = (block.address, u64::from(block.first_bytes));
        let first = self.code.line_of(address);
        let last = self.code.line_of(address.wrapping_add(bytes.max(1) - 1));
        let before = self.sums.code_misses;
        let behind = self.fetch(first, last);
        self.sums.code_misses = self.sums.code_misses.min(before + 1);
        behind
    }

    /// Fetches lines, each of which is a miss where it is not there. Gives the line behind them.
    fn fetch(&mut self, first: u64, last: u64) -> u64 {
        for line in first..=last {
            if self.code.bring(line) {
                self.sums.code_misses += 1;
                self.sums.code_fills += 1;
                self.sums.ahead += self.lane.code_miss_cycles + self.lane.next_hit_cycles;
            }
        }
        first.max(last + 1)
    }

    /// A load or store; false, with nothing done, where something is not known.
    #[inline(always)]
    fn refer(&mut self, reference: Reference) -> bool {
        let address = reference.address();
        let first = self.data.line_of(address);
        let last = self.data.line_of(address.wrapping_add(u64::from(reference.bytes()) - 1));
        if first != last {
            return self.refer_to_lines(first, last, reference.is_store());
        }
        if reference.is_store() {
            if self.is_kept(first) {
                return true;
            }
            if !self.lane.passes_stores || !self.data.can_pass(&self.lane, first) || !self.has_room() {
                return false;
            }
            let missed = self.pass(first);
            self.count_store(missed);
        } else if !self.data.holds(first) {
            if !self.data.can_replace(first) {
                return false;
            }
            self.load(first);
            self.sums.load_misses += 1;
        }
        true
    }

    #[inline(never)]
    fn refer_to_lines(&mut self, first: u64, last: u64, is_store: bool) -> bool {
        if is_store {
            let passes = self.lane.passes_stores && (self.are_alike || !self.lane.has_buffers);
            let can_pass = |line| self.is_kept(line) || (passes && self.data.can_pass(&self.lane, line));
            if first > last || !(first..=last).all(can_pass) {
                return false;
            }
            let mut missed = [false; 3];
            for line in first..=last {
                if !self.is_kept(line) {
                    let more = self.pass(line);
                    missed.iter_mut().zip(more).for_each(|(one, more)| *one |= more);
                }
            }
            self.count_store(missed);
            return true;
        }
        if !self.data.can_bring_all(first, last) {
            return false;
        }
        let before = self.sums.load_fills;
        (first..=last).for_each(|line| self.load(line));
        self.sums.load_misses += u64::from(self.sums.load_fills != before);
        true
    }

    /// Whether a store to the line changes nothing at all.
    #[inline(always)]
    fn is_kept(&self, line: u64) -> bool {
        self.lane.keeps_stores && self.data.filter.as_ref().holds_stored(line)
    }

    #[inline(always)]
    fn load(&mut self, line: u64) {
        if self.data.bring(line) {
            self.sums.load_fills += 1;
            self.sums.ahead += self.lane.data_miss_cycles + self.lane.next_hit_cycles;
        }
    }

    /// A store to one line goes on; gives the views that it misses in.
    #[inline(always)]
    fn pass(&mut self, line: u64) -> [bool; 3] {
        let missed = self.data.missed_by(line);
        self.sums.next_stores += 1;
        if self.lane.has_buffers && self.are_alike {
            let now = self.starts[0] + self.sums.ahead;
            self.sums.ahead += store(self.writes[0], now, self.lane.next_hit_cycles, &mut self.sums.stall_cycles);
        } else if self.lane.has_buffers {
            self.put_apart();
        }
        missed
    }

    /// Whether a store finds a write buffer in every view without waiting for it, or waits in all views alike.
    #[inline(always)]
    fn has_room(&self) -> bool {
        self.are_alike || !self.lane.has_buffers || self.has_room_apart()
    }

    #[inline(never)]
    fn has_room_apart(&self) -> bool {
        let starts = self.starts.map(|start| start + self.sums.ahead);
        self.writes.iter().zip(starts).all(|(writes, now)| writes.wait(now) == 0)
    }

    /// A store that no view waits for. Where each has written all that came before, they look alike from here on.
    #[inline(never)]
    fn put_apart(&mut self) {
        let mut are_idle = true;
        for (writes, start) in self.writes.iter_mut().zip(self.starts) {
            let now = start + self.sums.ahead;
            are_idle &= writes.is_idle(now);
            writes.put(now, self.lane.next_hit_cycles);
        }
        self.are_alike = are_idle;
    }

    #[inline(always)]
    fn count_store(&mut self, missed: [bool; 3]) {
        self.sums.store_misses.iter_mut().zip(missed).for_each(|(sum, is_missed)| *sum += u64::from(is_missed));
    }
}
