//! Chains of loads: loads whose addresses depend on other loads, which a core cannot overlap.

use crate::{Chunk, DataFlow, Dependences, Event, Reference};

/// Number of instructions within which a core is assumed to overlap loads: about the size of a
/// reorder buffer (Zen 4 has 320 entries, Golden Cove 512).
pub const CHAIN_WINDOW: u64 = 512;

/// A chain of loads within a window of [`CHAIN_WINDOW`] instructions. A chain is greater than chains
/// of earlier windows and than shorter chains.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Chain {
    /// Number of the window, from 1; 0 for an empty chain.
    window: u32,
    /// Length of the chain, in the unit of the caller.
    pub length: u32,
}

impl Chain {
    /// Returns the part of the chain in the window of instruction number `at`.
    pub fn part_at(self, at: u64) -> Chain {
        let window = (1 + at / CHAIN_WINDOW) as u32;
        self.max(Chain { window, length: 0 })
    }
}

/// Loads and their chains, in windows of [`CHAIN_WINDOW`] instructions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ChainCounts {
    /// Number of loads in blocks with known dependences.
    pub loads: u64,
    /// Number of loads whose address depends on a load in the same window.
    pub dependent: u64,
    /// Number of loads in blocks with unknown dependences.
    pub unknown: u64,
    /// Number of windows of [`CHAIN_WINDOW`] instructions that have a load in a block with known
    /// dependences.
    pub windows: u64,
    /// Sum over all windows of the length of the longest chain, in loads.
    pub longest: u64,
}

/// Counter of the chains of dependent loads in a trace, which is followed from its start.
#[derive(Debug, Default)]
pub struct Chains {
    /// Longest chain that leads to each value, in loads.
    flow: DataFlow<Chain>,
    instructions: u64,
    longest: u32,
    counts: ChainCounts,
}

impl Chains {
    /// Counts the loads of the next chunk of the trace.
    pub fn add(&mut self, chunk: &Chunk, dependences: &Dependences) {
        for event in chunk.events() {
            match event {
                Event::Mark(mark) => self.flow.mark(mark),
                Event::Block(block, references) => {
                    let start = Chain::default().part_at(self.instructions);
                    let (counts, longest) = (&mut self.counts, &mut self.longest);
                    self.flow.follow(
                        dependences,
                        block,
                        references,
                        |reference, address, stored| {
                            counts.load(reference, start, longest, address, stored)
                        },
                    );
                    self.run(block.instructions.into());
                }
            }
        }
    }

    fn run(&mut self, instructions: u64) {
        let before = self.instructions / CHAIN_WINDOW;
        self.instructions += instructions;
        if self.instructions / CHAIN_WINDOW != before {
            self.end_window();
        }
    }

    fn end_window(&mut self) {
        self.counts.windows += u64::from(self.longest > 0);
        self.counts.longest += u64::from(std::mem::take(&mut self.longest));
    }

    /// Returns the counts over all chunks so far.
    pub fn finish(mut self) -> ChainCounts {
        self.end_window();
        self.counts
    }
}

impl ChainCounts {
    /// Counts a load, and returns the chain that leads to the loaded value (none for a store).
    /// `start` is the empty chain of the present window. `address` and `stored` are the chains that
    /// lead to the load's address and to the stored value.
    #[inline]
    fn load(
        &mut self,
        reference: Reference,
        start: Chain,
        longest: &mut u32,
        address: Option<Chain>,
        stored: Chain,
    ) -> Chain {
        if reference.is_store() {
            return Chain::default();
        }
        let Some(address) = address else {
            self.unknown += 1;
            return Chain::default();
        };
        self.loads += 1;
        self.dependent += u64::from(address > start);
        let mut value = address.max(stored).max(start);
        value.length += 1;
        *longest = value.length.max(*longest);
        value
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Block, BlockDependences, ReferenceDependence, Sources};

    const LOOP: Block = Block {
        address: 0x1000,
        bytes: 8,
        instructions: 4,
        references: 1,
        first_bytes: 4,
        flags: crate::BlockFlags::USER,
    };

    /// Counts the chains of a loop that runs `times` times and has four instructions, one of them a
    /// load.
    fn counts(rules: Option<BlockDependences>, times: usize) -> ChainCounts {
        let mut dependences = Dependences::default();
        dependences.learn(&LOOP, b"code", || rules);
        let mut chunk = Chunk::default();
        for _ in 0..times {
            chunk.blocks.push(LOOP);
            chunk.references.push(Reference::new(0x2000, 7, 7, false));
        }
        let mut chains = Chains::default();
        chains.add(&chunk, &dependences);
        chains.finish()
    }

    fn by_register(number: u8) -> Option<BlockDependences> {
        let load = Sources::load(0)?;
        Some(BlockDependences {
            references: vec![ReferenceDependence::Load(Sources::register(number)?)],
            registers: vec![(0, load)],
        })
    }

    #[test]
    fn a_chain_ends_with_its_window() {
        let expected = ChainCounts {
            loads: 1024,
            dependent: 1024 - 8,
            unknown: 0,
            windows: 8,
            longest: 1024,
        };
        assert_eq!(counts(by_register(0), 1024), expected);
    }

    #[test]
    fn loads_by_another_register_are_no_chain() {
        let expected = ChainCounts {
            loads: 1024 + 64,
            dependent: 0,
            unknown: 0,
            windows: 9,
            longest: 9,
        };
        assert_eq!(counts(by_register(1), 1024 + 64), expected);
    }

    #[test]
    fn loads_of_unknown_blocks_are_counted_apart() {
        let expected = ChainCounts {
            unknown: 10,
            ..ChainCounts::default()
        };
        assert_eq!(counts(None, 10), expected);
    }
}
