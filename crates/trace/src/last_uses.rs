//! Reduces a run of the event stream to its effect on caches: the last use of each line.
//!
//! The input is chunks in their order. The output is chunks with a small part of the blocks and
//! references, in the same order between the same marks. A cache that sees only the output holds
//! nearly the same lines as one that sees the input, because LRU orders lines by their last uses
//! ("no-state-loss", T. M. Conte, M. A. Hirsch, W. W. Hwu 1998; L. Eeckhout, K. De Bosschere 2006).

use rustc_hash::FxHashSet;

use crate::{Block, Chunk, Mark, Placed, ProcessId, ProcessTable, Reference};

/// Binary logarithm of the smallest page size, for which first uses are kept.
const PAGE_BITS: u32 = 12;
/// Number of recent uses in a cache that is searched before the set of all uses; a power of two.
const RECENT: usize = 1 << 12;
/// Number of the address bit that is set in the kernel's half, which all address spaces share.
const KERNEL_BIT: u32 = 47;

/// Kind of use of a line or page: a fetch, load or store.
#[derive(Clone, Copy, Debug)]
enum Kind {
    Fetch,
    Load,
    Store,
}

/// A use of a line or page: the address space, and the number of the line or page, with the kind of
/// use in the upper bits.
type Use = (ProcessId, u64);

/// All uses of lines or pages seen so far, with a cache of the recent ones.
#[derive(Debug)]
struct Met {
    recent: Vec<Use>,
    all: FxHashSet<Use>,
}

impl Met {
    fn none() -> Met {
        Met {
            recent: vec![(ProcessId(u32::MAX), u64::MAX); RECENT],
            all: FxHashSet::default(),
        }
    }

    fn clear(&mut self) {
        self.recent.fill((ProcessId(u32::MAX), u64::MAX));
        self.all.clear();
    }

    /// Records a use. Returns whether no equal use was seen before.
    #[inline]
    fn is_new(&mut self, process: ProcessId, kind: Kind, number: u64) -> bool {
        let used = (process, number | (kind as u64) << 62);
        let recent = &mut self.recent[(number as usize ^ (kind as usize) << 10) % RECENT];
        if *recent == used {
            return false;
        }
        *recent = used;
        self.all.insert(used)
    }
}

/// Consecutive blocks of one process, which begin at index `start`.
#[derive(Clone, Copy, Debug)]
struct Stretch {
    start: usize,
    process: ProcessId,
}

/// Reducer of a trace's chunks, from the start of the trace: each chunk is reduced to the last uses
/// of lines and the first uses of pages.
#[derive(Debug)]
pub struct LastUses {
    line_bits: u32,
    table: ProcessTable,
    lines: Met,
    pages: Met,
    stretches: Vec<Stretch>,
    /// For each block of the chunk, whether it is kept; `references` has the same for each
    /// reference.
    blocks: Vec<bool>,
    references: Vec<bool>,
}

impl LastUses {
    /// Creates a reduction for caches with lines of at least `bytes` bytes, a power of two.
    pub fn new(bytes: u64) -> LastUses {
        LastUses {
            line_bits: bytes.max(1).trailing_zeros(),
            table: ProcessTable::default(),
            lines: Met::none(),
            pages: Met::none(),
            stretches: Vec::new(),
            blocks: Vec::new(),
            references: Vec::new(),
        }
    }

    /// Reduces the next chunk of the trace to the part that determines the state of caches, and
    /// stores the result in `kept`.
    pub fn keep(&mut self, chunk: &Chunk, kept: &mut Chunk) {
        self.follow(chunk);
        self.blocks.clear();
        self.blocks.resize(chunk.blocks.len(), false);
        self.references.clear();
        self.references.resize(chunk.references.len(), false);
        self.first_pages(chunk);
        self.last_lines(chunk);
        self.copy(chunk, kept);
    }

    /// Reduces the next chunk of the trace to the part that determines the state of caches.
    pub fn kept(&mut self, chunk: &Chunk) -> Chunk {
        let mut kept = Chunk::default();
        self.keep(chunk, &mut kept);
        kept
    }

    /// Skips the next chunk of the trace. Only the states of the tasks are followed.
    pub fn pass(&mut self, chunk: &Chunk) {
        chunk.marks.iter().for_each(|placed| {
            self.table.follow(&placed.mark);
        });
    }

    /// Records the process that runs from each mark of the chunk on.
    fn follow(&mut self, chunk: &Chunk) {
        self.stretches.clear();
        self.stretches.push(Stretch {
            start: 0,
            process: self.table.running_process(),
        });
        for Placed { before_block, mark } in &chunk.marks {
            self.table.follow(mark);
            self.stretches.push(Stretch {
                start: *before_block as usize,
                process: self.table.running_process(),
            });
        }
    }

    /// Keeps the first use of each page, because a page gets its frame at the first use or the
    /// first store.
    fn first_pages(&mut self, chunk: &Chunk) {
        self.pages.clear();
        let mut stretches = self.stretches.iter().peekable();
        let (mut process, mut reference) = (ProcessId(0), 0);
        for (at, block) in chunk.blocks.iter().enumerate() {
            while let Some(stretch) = stretches.next_if(|stretch| stretch.start <= at) {
                process = stretch.process;
            }
            let mut is_kept = is_new(
                &mut self.pages,
                process,
                Kind::Fetch,
                PAGE_BITS,
                bytes_of_code(block),
            );
            for _ in 0..block.references {
                let used = chunk.references[reference];
                let is_new = is_new(
                    &mut self.pages,
                    process,
                    kind_of(used),
                    PAGE_BITS,
                    bytes_of_data(used),
                );
                self.references[reference] = is_new;
                is_kept |= is_new;
                reference += 1;
            }
            self.blocks[at] = is_kept;
        }
    }

    /// Keeps the last use of each line. The chunk is processed backwards, so the use seen first is
    /// the last one.
    fn last_lines(&mut self, chunk: &Chunk) {
        self.lines.clear();
        let mut end = chunk.blocks.len();
        let mut reference = chunk.references.len();
        for place in (0..self.stretches.len()).rev() {
            let Stretch { start, process } = self.stretches[place];
            for at in (start..end).rev() {
                let block = &chunk.blocks[at];
                let mut is_kept = false;
                for _ in 0..block.references {
                    reference -= 1;
                    let used = chunk.references[reference];
                    if is_new(
                        &mut self.lines,
                        process,
                        kind_of(used),
                        self.line_bits,
                        bytes_of_data(used),
                    ) {
                        self.references[reference] = true;
                        is_kept = true;
                    }
                }
                is_kept |= is_new(
                    &mut self.lines,
                    process,
                    Kind::Fetch,
                    self.line_bits,
                    bytes_of_code(block),
                );
                self.blocks[at] |= is_kept;
            }
            end = start.min(end);
        }
    }

    fn copy(&self, chunk: &Chunk, kept: &mut Chunk) {
        kept.clear();
        let mut marks = chunk
            .marks
            .iter()
            .filter(|placed| matters(&placed.mark))
            .peekable();
        let mut references = 0;
        for (at, block) in chunk.blocks.iter().enumerate() {
            let own = references..references + usize::from(block.references);
            references = own.end;
            if !self.blocks[at] {
                continue;
            }
            while let Some(placed) = marks.next_if(|placed| placed.before_block as usize <= at) {
                kept.mark(placed.mark.clone());
            }
            let before = kept.references.len();
            let own = own
                .filter(|&place| self.references[place])
                .map(|place| chunk.references[place]);
            kept.references.extend(own);
            kept.blocks.push(Block {
                references: (kept.references.len() - before) as u16,
                ..*block
            });
        }
        marks.for_each(|placed| kept.mark(placed.mark.clone()));
    }
}

/// Whether a reduced chunk keeps a mark: all but those of system calls and page faults.
fn matters(mark: &Mark) -> bool {
    !matches!(
        mark,
        Mark::SyscallEnter { .. } | Mark::SyscallExit { .. } | Mark::Fault { .. }
    )
}

fn kind_of(reference: Reference) -> Kind {
    if reference.is_store() {
        Kind::Store
    } else {
        Kind::Load
    }
}

fn bytes_of_code(block: &Block) -> (u64, u64) {
    (
        block.address,
        block
            .address
            .saturating_add(u64::from(block.bytes).saturating_sub(1)),
    )
}

fn bytes_of_data(reference: Reference) -> (u64, u64) {
    let first = reference.address();
    (
        first,
        first.saturating_add(u64::from(reference.bytes()) - 1),
    )
}

/// Records the use of all lines or pages of some bytes. Returns whether any of the lines or pages
/// was not yet recorded.
#[inline]
fn is_new(
    met: &mut Met,
    process: ProcessId,
    kind: Kind,
    bits: u32,
    (first, last): (u64, u64),
) -> bool {
    let process = if first >> KERNEL_BIT & 1 == 0 {
        process
    } else {
        ProcessId(u32::MAX)
    };
    let number = |address: u64| (address & ((1 << (KERNEL_BIT + 1)) - 1)) >> bits;
    let mut is_new = met.is_new(process, kind, number(first));
    for line in 1..=(last >> bits) - (first >> bits) {
        is_new |= met.is_new(process, kind, number(first + (line << bits)));
    }
    is_new
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;
    use crate::Event;
    use crate::testing::{self, chunks};

    /// Returns every use of a line or page in order: the address space, whether it is code or a store, and the number.
    fn uses(chunk: &Chunk, table: &mut ProcessTable, bits: u32) -> Vec<(u32, bool, bool, u64)> {
        let mut all = Vec::new();
        for event in chunk.events() {
            let (block, references) = match event {
                Event::Block(block, references) => (block, references),
                Event::Mark(mark) => {
                    table.follow(mark);
                    continue;
                }
            };
            let running = table.running_process().0;
            let mut add = |is_code, is_store, first: u64, bytes: u16| {
                let owner = if first >> 47 & 1 == 0 {
                    running
                } else {
                    u32::MAX
                };
                let last = first + u64::from(bytes) - 1;
                let lines = first >> bits..=last >> bits;
                all.extend(lines.map(|line| (owner, is_code, is_store, line)));
            };
            add(true, false, block.address, block.bytes);
            for used in references {
                add(false, used.is_store(), used.address(), used.bytes());
            }
        }
        all
    }

    /// Returns each item once, at its first occurrence.
    fn once<T: Ord + Copy>(all: impl Iterator<Item = T>) -> Vec<T> {
        let mut met = BTreeSet::new();
        all.filter(|one| met.insert(*one)).collect()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]

        #[test]
        fn lines_have_the_same_last_uses_and_pages_the_same_first_ones(chunks in chunks(60)) {
            for bits in [4, 6] {
                let mut last_uses = LastUses::new(1 << bits);
                let (mut table, mut table_of_kept) = (ProcessTable::default(), ProcessTable::default());
                let mut kept = Chunk::default();
                for chunk in &chunks {
                    last_uses.keep(chunk, &mut kept);
                    let of = |bits| {
                        let (mut all, mut of_kept) = (table.clone(), table_of_kept.clone());
                        let both = (uses(chunk, &mut all, bits), uses(&kept, &mut of_kept, bits));
                        (both, (all, of_kept))
                    };
                    let ((all, of_kept), _) = of(bits);
                    prop_assert_eq!(once(all.into_iter().rev()), once(of_kept.into_iter().rev()));
                    let ((all, of_kept), after) = of(PAGE_BITS);
                    prop_assert_eq!(once(all.into_iter()), once(of_kept.into_iter()));
                    (table, table_of_kept) = after;
                    prop_assert_eq!(&table, &table_of_kept);
                    let claimed: usize = kept.blocks.iter().map(|block| usize::from(block.references)).sum();
                    prop_assert_eq!(claimed, kept.references.len());
                }
            }
        }
    }

    #[test]
    fn of_a_loop_little_is_left() {
        let block = Block {
            references: 1,
            ..testing::block(0x1000)
        };
        let mut chunk = Chunk::default();
        for time in 0..1600 {
            chunk.blocks.push(block);
            chunk
                .references
                .push(Reference::new(0x8000 + 8 * (time % 16), 7, 3, false));
        }
        let mut kept = Chunk::default();
        LastUses::new(64).keep(&chunk, &mut kept);
        let addresses: Vec<u64> = kept.references.iter().map(|used| used.address()).collect();
        assert_eq!(
            addresses,
            [0x8000, 0x8038, 0x8078],
            "the first use of the page, the last ones of two lines"
        );
    }
}
