//! Misses by the address of the kernel's blocks, from which the misses of the kernel's functions
//! are computed.

use std::collections::HashMap;

use switchcost_design::result::FunctionUse;

use super::places::Names;
use crate::address::{KERNEL, owner};

/// Process number for the kernel's addresses, which belong to no process.
const NO_OWNER: u32 = 0;

/// Maximum number of functions in the result: those that executed most instructions.
const MOST_FUNCTIONS: usize = 400;

/// Demand fills of the shared hierarchy, attributed to the kernel's blocks.
#[derive(Debug)]
pub(crate) struct KernelCode {
    /// Demand fills since the last block ended, by level.
    pending: Vec<u64>,
    is_pending: bool,
    fills: HashMap<u64, Vec<u64>>,
}

/// Number of instructions executed in each of the kernel's blocks, by the block's address.
pub(crate) type KernelBlocks = HashMap<u64, u64>;

impl KernelCode {
    pub(super) fn new(levels: usize) -> KernelCode {
        KernelCode {
            pending: vec![0; levels],
            is_pending: false,
            fills: HashMap::new(),
        }
    }

    pub(super) fn levels(&self) -> usize {
        self.pending.len()
    }

    #[inline]
    pub(super) fn filled(&mut self, level: usize) {
        self.pending[level] += 1;
        self.is_pending = true;
    }

    /// Attributes the pending fills to the block at `address`, which has been looked up completely,
    /// or drops the fills if the block is not in the kernel.
    #[inline]
    pub(super) fn block_ended(&mut self, address: u64) {
        if self.is_pending {
            self.take(address);
        }
    }

    fn take(&mut self, address: u64) {
        if owner(NO_OWNER, address) == KERNEL {
            let levels = self.pending.len();
            let fills = self.fills.entry(address).or_insert_with(|| vec![0; levels]);
            fills
                .iter_mut()
                .zip(&self.pending)
                .for_each(|(sum, more)| *sum += more);
        }
        self.pending.fill(0);
        self.is_pending = false;
    }

    /// Returns the sums by function, most instructions first. Code that belongs to no function is
    /// named by the address of its page.
    pub(super) fn functions(
        &self,
        blocks: &KernelBlocks,
        names: &mut Names<'_>,
    ) -> Vec<FunctionUse> {
        let mut functions: HashMap<String, FunctionUse> = HashMap::new();
        for (&address, &instructions) in blocks {
            let name =
                names(None, address).unwrap_or_else(|| format!("{:#x}", address >> 12 << 12));
            let function = functions
                .entry(name.clone())
                .or_insert_with(|| FunctionUse {
                    function: name,
                    instructions: 0,
                    misses: vec![0; self.pending.len()],
                });
            function.instructions += instructions;
            let fills = self.fills.get(&address);
            function
                .misses
                .iter_mut()
                .zip(fills.into_iter().flatten())
                .for_each(|(sum, more)| *sum += more);
        }
        let mut functions: Vec<FunctionUse> = functions.into_values().collect();
        functions.sort_by(|a, b| {
            b.instructions
                .cmp(&a.instructions)
                .then_with(|| a.function.cmp(&b.function))
        });
        functions.truncate(MOST_FUNCTIONS);
        functions
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: u64 = 0xffff_ffff_8100_0000;

    #[test]
    fn misses_are_those_of_the_block_for_which_lines_were_filled() {
        let mut code = KernelCode::new(2);
        for (level, block) in [(0, TEXT), (1, TEXT + 64), (0, 0x40_0000), (0, TEXT + 64)] {
            code.filled(level);
            code.block_ended(block);
            code.block_ended(TEXT + 128);
        }
        let blocks = KernelBlocks::from([
            (TEXT, 10),
            (TEXT + 64, 30),
            (TEXT + 128, 5),
            (TEXT + 4096, 1),
        ]);
        let mut name = |_: Option<&crate::Object>, address| {
            (address < TEXT + 4096)
                .then(|| if address == TEXT { "entry" } else { "schedule" }.to_owned())
        };
        let found = code.functions(&blocks, &mut name);
        let found: Vec<(&str, u64, &[u64])> = found
            .iter()
            .map(|one| {
                (
                    one.function.as_str(),
                    one.instructions,
                    one.misses.as_slice(),
                )
            })
            .collect();
        assert_eq!(
            found,
            [
                ("schedule", 35, &[1, 1][..]),
                ("entry", 10, &[1, 0]),
                ("0xffffffff81001000", 1, &[0, 0])
            ]
        );
    }
}
