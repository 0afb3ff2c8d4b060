//! Chains of loads: loads whose addresses depend on other loads, which a core cannot overlap.

use crate::{Chunk, DataFlow, Dependences, Event, Reference};

/// Number of instructions within which a core is assumed to overlap loads: about the size of a
/// reorder buffer (Zen 4 has 320 entries, Golden Cove 512).
pub const CHAIN_WINDOW: u64 = 512;

const LENGTH_BITS: u32 = 16;

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
    /// Chain that leads to each value: the number of the window in the upper bits, and the number
    /// of loads in the longest chain in the lower bits.
    flow: DataFlow<u64>,
    instructions: u64,
    longest: u64,
    counts: ChainCounts,
}

impl Chains {
    /// Counts the loads of the next chunk of the trace.
    pub fn add(&mut self, chunk: &Chunk, dependences: &Dependences) {
        for event in chunk.events() {
            match event {
                Event::Mark(mark) => self.flow.mark(mark),
                Event::Block(block, references) => {
                    let window = (1 + self.instructions / CHAIN_WINDOW) << LENGTH_BITS;
                    let (counts, longest) = (&mut self.counts, &mut self.longest);
                    self.flow.follow(
                        dependences,
                        block,
                        references,
                        |reference, address, stored| {
                            counts.load(reference, window, longest, address, stored)
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
        self.counts.longest += std::mem::take(&mut self.longest);
    }

    /// Returns the counts over all chunks so far.
    pub fn finish(mut self) -> ChainCounts {
        self.end_window();
        self.counts
    }
}

impl ChainCounts {
    /// Counts a load, and returns the chain that leads to the loaded value (0 for a store).
    /// `address` and `stored` are the chains that lead to the load's address and to the stored
    /// value.
    #[inline]
    fn load(
        &mut self,
        reference: Reference,
        window: u64,
        longest: &mut u64,
        address: Option<u64>,
        stored: u64,
    ) -> u64 {
        if reference.is_store() {
            return 0;
        }
        let Some(address) = address else {
            self.unknown += 1;
            return 0;
        };
        self.loads += 1;
        self.dependent += u64::from(address > window);
        let value = address.max(stored).max(window) + 1;
        *longest = (*longest).max(value - window);
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
