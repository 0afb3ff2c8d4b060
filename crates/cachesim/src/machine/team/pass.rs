//! One pass over blocks for all members. Only what not all of them hold, and stores, reach each member.

use trace::{Block, BlockRun, Reference};

use super::absorbed::Absorbed;
use super::front::{Found, Open};
use super::member::{Effect, Join, Member};
use super::room::Room;
use crate::machine::filter::all_of;
use crate::machine::plan::Kind;

/// What is known of each kind of block.
#[derive(Clone, Copy, Debug)]
pub(super) struct Code {
    first_line: u64,
    last_line: u64,
    /// The generation of lines in which all of its own were held; they are as long as it lasts.
    held_in: u64,
    instructions: u16,
    references: u16,
}

impl Code {
    /// `line_of` gives the line of an address.
    pub(super) fn new(block: &Block, line_of: impl Fn(u64) -> u64) -> Code {
        Code {
            first_line: line_of(block.address),
            last_line: line_of(block.address.wrapping_add(u64::from(block.bytes)).wrapping_sub(1)),
            held_in: 0,
            instructions: block.instructions,
            references: block.references,
        }
    }
}

pub(super) struct Pass<'a, 'b, const BITS: u32> {
    pub(super) code: Open<'a, BITS>,
    pub(super) data: Open<'a, BITS>,
    pub(super) crew: &'a mut [Member<'b>],
    /// Members for which a store does not end with the write buffers.
    pub(super) behind: &'a [usize],
    /// Lines of data that none of these would do more with.
    pub(super) absorbed: &'a mut Absorbed,
    /// Of each kind of block.
    pub(super) codes: &'a mut [Code],
    /// Becomes another whenever a line of code is brought in; never 0.
    pub(super) generation: u64,
    /// Instructions so far.
    pub(super) time: u64,
    /// Stores to single lines so far.
    pub(super) stores: u64,
    /// Of these, how many are more than one for the same reference.
    pub(super) long_stores: u64,
    /// Whether the views of a member may have moved apart in this block.
    pub(super) is_uneven: bool,
}

impl<const BITS: u32> Pass<'_, '_, BITS> {
    pub(super) fn run(&mut self, blocks: BlockRun<'_>, references: &[Reference]) {
        if self.behind.is_empty() {
            self.all::<false>(blocks, references);
        } else {
            self.all::<true>(blocks, references);
        }
    }

    /// `IS_BEHIND` where `behind` is not empty.
    #[inline(never)]
    fn all<const IS_BEHIND: bool>(&mut self, blocks: BlockRun<'_>, references: &[Reference]) {
        let codes = std::mem::take(&mut self.codes);
        let mut left = references;
        for &number in blocks.numbers() {
            let code = &mut codes[number as usize];
            let (own, later) = left.split_at_checked(usize::from(code.references)).unwrap_or((left, &[]));
            left = later;
            self.time += u64::from(code.instructions);
            let before = self.stores;
            if code.held_in == self.generation || self.look(code) {
                self.refer_all::<IS_BEHIND>(own);
            } else {
                self.block_with_misses(&blocks.kinds()[number as usize], own);
            }
            if self.stores != before {
                let (time, stores) = (self.time, self.stores);
                for member in self.crew.iter_mut() {
                    self.is_uneven |= member.catch_up(time, stores);
                }
            }
            if self.is_uneven {
                self.pay(&blocks.kinds()[number as usize]);
            }
        }
        self.codes = codes;
    }

    /// Loads and stores. Those that need no more than to be counted go by in a loop of their own, which is given all that it
    /// needs at once.
    #[inline(always)]
    fn refer_all<const IS_BEHIND: bool>(&mut self, references: &[Reference]) {
        let mut left = references.iter();
        loop {
            let (sight, bits, mut stores) = (self.data.sight(), self.data.line_bits(), 0);
            let apart = left.find(|&&reference| {
                let line = self.data.line_of(reference.0);
                if !sight.holds(line) || !Room::<BITS>::fits(reference, bits) {
                    return true;
                }
                // One branch: whether it stores is hard to foresee.
                if IS_BEHIND && (reference.is_store() & !self.absorbed.knows(line)) {
                    return true;
                }
                stores += u64::from(reference.is_store());
                false
            });
            self.stores += stores;
            let Some(&reference) = apart else { return };
            self.refer_apart(reference);
        }
    }

    /// The block that has just gone by may have cost the shared view of a member more than the private one.
    #[inline(never)]
    fn pay(&mut self, block: &Block) {
        self.is_uneven = false;
        self.crew.iter_mut().for_each(|member| member.pay(block.address));
    }

    /// Whether all members hold all lines of a block.
    #[inline(always)]
    fn look(&mut self, code: &mut Code) -> bool {
        let is_held = all_of(code.first_line, code.last_line, |line| self.code.holds(line));
        if is_held {
            code.held_in = self.generation;
        }
        is_held
    }

    /// A block of which some lines are not held by all.
    #[inline(never)]
    fn block_with_misses(&mut self, block: &Block, own: &[Reference]) {
        let bits = self.code.line_bits();
        let start = block.address;
        let first_last = start.saturating_add(u64::from(block.first_bytes).saturating_sub(1)) >> bits;
        self.first_instruction(start >> bits, first_last);
        let mut next = (start >> bits).max(first_last + 1);
        for &reference in own {
            let reached = start.saturating_add(u64::from(reference.through())) >> bits;
            self.fetch(&mut next, reached, Join::No);
            self.refer(reference);
        }
        let last = start.saturating_add(u64::from(block.bytes).saturating_sub(1)) >> bits;
        self.fetch(&mut next, last, Join::No);
    }

    /// All lines of the first instruction: at most one miss.
    #[inline(always)]
    fn first_instruction(&mut self, first: u64, last: u64) {
        if first == last {
            return self.fetch(&mut { first }, last, Join::No);
        }
        self.fetch(&mut { first }, last, Join::Yes);
        self.crew.iter_mut().for_each(|member| member.end_join(Kind::Fetch));
    }

    /// Lines of later instructions up to one: each one that is not there is a miss.
    #[inline(always)]
    fn fetch(&mut self, next: &mut u64, reached: u64, join: Join) {
        while *next <= reached {
            let address = *next << self.code.line_bits();
            let line = self.code.line_of(address);
            if !self.code.holds(line) {
                self.generation += 1;
                let now = [self.time, self.stores];
                let effect = bring(&mut self.code, self.crew, now, Kind::Fetch, line, join);
                self.take(effect);
            }
            *next += 1;
        }
    }

    /// A load or store.
    #[inline(always)]
    fn refer(&mut self, reference: Reference) {
        let is_long = !Room::<BITS>::fits(reference, self.data.line_bits());
        // One branch for all that is seldom: whether it stores is hard to foresee.
        if is_long | !self.data.holds(self.data.line_of(reference.0)) {
            self.refer_apart(reference);
        } else if self.behind.is_empty() {
            self.stores += u64::from(reference.is_store());
        } else if reference.is_store() {
            self.pass_store(self.data.line_of(reference.0));
        }
    }

    /// A load or store of more than one line, or of one that not all members hold, or a store that goes further.
    #[inline(never)]
    fn refer_apart(&mut self, reference: Reference) {
        let line = self.data.line_of(reference.0);
        if !Room::<BITS>::fits(reference, self.data.line_bits()) {
            self.refer_to_lines(reference);
        } else if reference.is_store() {
            if !self.data.holds(line) {
                self.miss_stores(line, Join::No);
            }
            self.pass_store(line);
        } else {
            self.load(line, Join::No);
        }
    }

    #[inline(never)]
    fn load(&mut self, line: u64, join: Join) {
        let now = [self.time, self.stores];
        let effect = bring(&mut self.data, self.crew, now, Kind::Load, line, join);
        self.take(effect);
    }

    #[inline(always)]
    fn take(&mut self, effect: Effect) {
        self.is_uneven |= effect.is_uneven;
        if effect.is_behind {
            self.absorbed.forget();
        }
    }

    /// Counts a store to a line that not all members hold.
    #[inline(never)]
    fn miss_stores(&mut self, line: u64, join: Join) {
        for front in self.data.fronts() {
            let found = front.find(line);
            if found == Found::Here {
                break;
            }
            for &member in front.members() {
                self.crew[member].count_store(line, found, join);
            }
        }
    }

    /// A store to one line goes on.
    #[inline(always)]
    fn pass_store(&mut self, line: u64) {
        if !self.behind.is_empty() && !self.absorbed.knows(line) {
            self.pass_store_apart(line);
        }
        self.stores += 1;
    }

    /// A store that may not end with the write buffers of all members.
    #[inline(never)]
    fn pass_store_apart(&mut self, line: u64) {
        let address = line << self.data.line_bits();
        let mut is_absorbed = true;
        for &member in self.behind {
            if !self.crew[member].absorbs(address) {
                self.crew[member].store(self.time, self.stores, address);
                is_absorbed = false;
            }
        }
        if is_absorbed {
            self.absorbed.keep(line);
        } else {
            self.is_uneven = true;
            self.absorbed.forget();
        }
    }

    #[inline(never)]
    fn refer_to_lines(&mut self, reference: Reference) {
        let bits = self.data.line_bits();
        let first = reference.address();
        let last = first.saturating_add(u64::from(reference.bytes()) - 1);
        let kind = if reference.is_store() { Kind::Store } else { Kind::Load };
        if kind == Kind::Store {
            self.long_stores += (last >> bits) - (first >> bits);
        }
        for line in first >> bits..=last >> bits {
            let line = self.data.line_of(line << bits);
            let is_held = self.data.holds(line);
            if kind == Kind::Load {
                if !is_held {
                    self.load(line, Join::Yes);
                }
            } else {
                if !is_held {
                    self.miss_stores(line, Join::Yes);
                }
                self.pass_store(line);
            }
        }
        self.crew.iter_mut().for_each(|member| member.end_join(kind));
    }
}

/// Brings a line that is fetched or loaded into the levels of all members that do not hold it: where those of fewer sets
/// hold it, those of more sets do.
#[inline(always)]
fn bring<const BITS: u32>(
    open: &mut Open<'_, BITS>,
    crew: &mut [Member<'_>],
    [time, stores]: [u64; 2],
    kind: Kind,
    line: u64,
    join: Join,
) -> Effect {
    let mut effect = Effect::default();
    let address = line << open.line_bits();
    for front in open.fronts() {
        let found = front.find(line);
        if found == Found::Here {
            break;
        }
        for &member in front.members() {
            let member = &mut crew[member];
            effect.is_uneven |= member.catch_up(time, stores);
            effect |= match found {
                Found::Nothing => member.look_up(time, kind, address, join),
                _ => member.miss(time, kind, address, join),
            };
        }
        front.keep(line);
    }
    effect
}
