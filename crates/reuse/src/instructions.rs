//! Kinds of requests for lines, by the instruction that makes the request.
//!
//! A simulation knows which lines are lost, but neither the requests around them nor on which loads
//! an address depends. Therefore this module follows some of the chunks.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;
use switchcost_record::prices::Kind;
use switchcost_trace::{
    Block, Chain, Chunk, DataFlow, Dependences, Event, Mark, ProcessTable, Reference,
};

use crate::LINE_BITS;
use crate::classifier::{Access, Arrival, Classifier, extend};
use crate::recency::Recency;
use crate::streams::HOT;

/// Number of chunks at the start of a trace that are all followed.
const ALL: u64 = 3;
/// After the first [`ALL`] chunks, one chunk in 256 is followed, because following a chunk takes
/// four times as long as simulating it.
const ONE_IN: u64 = 256;
/// Number of lines that are tracked (1 MiB). This number is small because an age only has to tell
/// whether a first level holds the line.
const LINES: usize = 1 << 14;
/// Number of instructions in which further uses of a line make no request. A core executes this
/// number in less than a microsecond.
const INTERVAL: u64 = 1024;

/// Number of bits of a line's number, for addresses of 48 bits. The number of the address space is
/// stored above the line's number.
const NUMBER_BITS: u32 = 48 - LINE_BITS;
/// Number of the address bit that is set in the kernel's half, which all address spaces share.
const KERNEL_BIT: u32 = 47;
/// Maximum number of bytes that are counted for one touch by the kernel.
const MOST_TOUCHED: u64 = 1 << 20;

/// Counts the requests of each instruction by kind, for lines that no first level holds.
#[derive(Debug, Default)]
pub struct KindsByInstruction {
    table: ProcessTable,
    flow: DataFlow<Chain>,
    lines: Lines,
    chunks: u64,
}

/// State of the lines that the traced programs use, and the counted requests.
#[derive(Debug)]
struct Lines {
    recency: Recency,
    classifier: Classifier,
    instructions: u64,
    /// Numbers of requests by instruction and kind.
    counts: FxHashMap<u64, BTreeMap<Kind, u64>>,
}

impl Default for Lines {
    fn default() -> Lines {
        Lines {
            recency: Recency::new(LINES),
            classifier: Classifier::default(),
            instructions: 0,
            counts: FxHashMap::default(),
        }
    }
}

/// A range of bytes that an instruction accesses, with the kind of access.
#[derive(Clone, Copy)]
struct Touched {
    space: u64,
    first: u64,
    bytes: u64,
    instruction: u64,
    access: Access,
}

impl KindsByInstruction {
    /// Follows the next chunk of the trace, or only its marks. `dependences` are the known
    /// dependences of the chunk's blocks.
    pub fn add(&mut self, chunk: &Chunk, dependences: &Dependences) {
        let number = self.chunks;
        self.chunks += 1;
        if number < ALL {
            self.follow(chunk, dependences);
        } else if number.is_multiple_of(ONE_IN) {
            self.forget();
            self.follow(chunk, dependences);
        } else {
            let marks = chunk.marks.iter();
            marks.for_each(|placed| self.mark(&placed.mark));
        }
    }

    /// Divides lines that an instruction requested, in proportion to the kinds of its followed
    /// requests. `None` if no request of the instruction was followed.
    pub fn divide(&self, instruction: u64, lines: u64) -> Option<Vec<(Kind, u64)>> {
        let counts = self.lines.counts.get(&instruction)?;
        let all: u64 = counts.values().sum();
        let (mut requests, mut given, mut parts) = (0, 0, Vec::new());
        for (kind, count) in counts {
            requests += count;
            let until = (u128::from(lines) * u128::from(requests) / u128::from(all)) as u64;
            parts.push((*kind, until - given));
            given = until;
        }
        Some(parts)
    }

    /// Forgets lines and values, but not the counts. After skipped chunks, ages and chains would
    /// join requests that were far apart.
    fn forget(&mut self) {
        self.flow = DataFlow::default();
        let counts = std::mem::take(&mut self.lines.counts);
        self.lines = Lines {
            counts,
            ..Lines::default()
        };
    }

    fn follow(&mut self, chunk: &Chunk, dependences: &Dependences) {
        let mut space = self.space();
        for event in chunk.events() {
            match event {
                Event::Mark(mark) => {
                    self.mark(mark);
                    space = self.space();
                }
                Event::Block(block, own) => self.block(space, block, own, dependences),
            }
        }
    }

    /// Returns the number of the running address space, shifted left so that the number of a line
    /// can be added.
    fn space(&self) -> u64 {
        u64::from(self.table.running_process().0) << NUMBER_BITS
    }

    fn block(
        &mut self,
        space: u64,
        block: &Block,
        references: &[Reference],
        dependences: &Dependences,
    ) {
        let KindsByInstruction { flow, lines, .. } = self;
        let code = Touched {
            space,
            first: block.address,
            bytes: block.bytes.into(),
            instruction: block.address,
            access: Access::Fetch,
        };
        lines.touch(code, None);
        flow.follow(
            dependences,
            block,
            references,
            |reference, address, stored| {
                let touched = Touched {
                    space,
                    first: reference.address(),
                    bytes: reference.bytes().into(),
                    instruction: block.address.wrapping_add(u64::from(reference.through())),
                    access: data_access(reference.is_store()),
                };
                let own = lines.touch(touched, address);
                own.max(address.unwrap_or_default()).max(stored)
            },
        );
        lines.run(block.instructions.into());
    }

    fn mark(&mut self, mark: &Mark) {
        self.table.follow(mark);
        self.flow.mark(mark);
        if let Mark::KernelTouch {
            address,
            bytes,
            is_store,
        } = mark
            && *bytes > 0
        {
            let touched = Touched {
                space: self.space(),
                first: *address,
                bytes: *bytes.min(&MOST_TOUCHED),
                instruction: 0,
                access: data_access(*is_store),
            };
            self.lines.touch(touched, None);
        }
    }
}

impl Lines {
    fn run(&mut self, instructions: u64) {
        let before = self.instructions / INTERVAL;
        self.instructions += instructions;
        for _ in before..self.instructions / INTERVAL {
            self.recency.end_interval();
        }
    }

    /// Counts the use of all lines of a range. `address` is the chain of lines that its address
    /// depends on, if known. Returns the longest chain that ends with one of the lines.
    fn touch(&mut self, touched: Touched, address: Option<Chain>) -> Chain {
        let Touched {
            space,
            first,
            bytes,
            instruction,
            access,
        } = touched;
        let space = if first >> KERNEL_BIT & 1 == 0 {
            space
        } else {
            0
        };
        let number = |address: u64| (address & ((1 << (KERNEL_BIT + 1)) - 1)) >> LINE_BITS;
        let last = first.saturating_add(bytes.saturating_sub(1));
        let mut loaded = Chain::default();
        for line in number(first)..=number(last).max(number(first)) {
            let Some(age) = self.recency.touch(space | line) else {
                continue;
            };
            let arrival = Arrival {
                line: space | line,
                at: self.instructions,
                instruction,
                access,
                age,
                chain: address,
            };
            let kind = self.classifier.kind(&arrival);
            if age >= HOT && access != Access::Fetch {
                let kinds = self.counts.entry(instruction).or_default();
                *kinds.entry(kind).or_default() += 1;
            }
            // Lines of other kinds are prefetched, or not waited for.
            if matches!(
                kind.unspaced(),
                Kind::Gathered | Kind::Dependent | Kind::Chained
            ) {
                let chain = address.unwrap_or_default();
                loaded = loaded.max(extend(chain, self.instructions, age));
            }
        }
        loaded
    }
}

fn data_access(is_store: bool) -> Access {
    if is_store {
        Access::Store
    } else {
        Access::Load
    }
}

#[cfg(test)]
mod tests;
