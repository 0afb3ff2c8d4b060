//! A block of instructions, and the check of its references.

use crate::Reference;

/// Properties of a block's code. One bit is in use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(transparent)]
pub struct BlockFlags(pub u8);

impl BlockFlags {
    /// Flags of code of the user's program.
    pub const USER: BlockFlags = BlockFlags(0);
    /// Flags of code of the kernel.
    pub const KERNEL: BlockFlags = BlockFlags(1);

    /// Whether the code is the kernel's.
    pub const fn is_kernel(self) -> bool {
        self.0 & 1 != 0
    }
}

/// A block: instructions that are adjacent in memory and were all executed once. A block takes 16
/// bytes of memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(C)]
pub struct Block {
    /// Virtual address of the first byte.
    pub address: u64,
    /// Length of all instructions, 1 to [`Block::LONGEST`] bytes.
    pub bytes: u16,
    /// Number of instructions, at least 1.
    pub instructions: u16,
    /// Number of the block's data references.
    pub references: u16,
    /// Length of the first instruction, which decides whether it straddles two lines.
    pub first_bytes: u8,
    /// Properties of the code.
    pub flags: BlockFlags,
}

/// Why a block is invalid. A message prints the reason after "block 12: ".
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UnfitBlock {
    /// The numbers of instructions and bytes are impossible, such as no instruction, or a length
    /// that is 0 or too large.
    #[error(
        "{instructions} instructions in {bytes} bytes, the first of {first_bytes}; a block has 1 to {} bytes",
        Block::LONGEST
    )]
    Shape {
        /// Number of instructions that the block states.
        instructions: u16,
        /// Length of the block in bytes, as the block states it.
        bytes: u16,
        /// Length of the first instruction in bytes, as the block states it.
        first_bytes: u8,
    },
    /// A reference belongs to an instruction outside the block, or is out of the instructions'
    /// order.
    #[error(
        "a reference belongs to an instruction ending at byte {found}, outside {least} to {most}"
    )]
    Reference {
        /// Offset in the block of the last byte of the reference's instruction.
        found: u16,
        /// Least offset that the block and the reference before it allow.
        least: u16,
        /// Largest offset that the block allows.
        most: u16,
    },
}

impl Block {
    /// Greatest length of a block in bytes. Every offset in a block fits a [`Reference`].
    pub const LONGEST: u16 = Reference::LAST_OFFSET + 1;

    /// Checks that the numbers of the block are possible, and that `references` fit the block.
    pub fn check(&self, references: &[Reference]) -> Result<(), UnfitBlock> {
        self.check_ends(references.iter().map(|reference| reference.through()))
    }

    /// Checks the block as [`Block::check`] does. `throughs` are the offsets of the last bytes of
    /// the references' instructions.
    pub(crate) fn check_ends(&self, throughs: impl Iterator<Item = u16>) -> Result<(), UnfitBlock> {
        let shape = (1..=Self::LONGEST).contains(&self.bytes)
            && self.instructions >= 1
            && self.instructions <= self.bytes
            && self.first_bytes >= 1
            && u16::from(self.first_bytes) <= self.bytes
            && (self.instructions > 1 || u16::from(self.first_bytes) == self.bytes);
        if !shape {
            let Block {
                instructions,
                bytes,
                first_bytes,
                ..
            } = *self;
            return Err(UnfitBlock::Shape {
                instructions,
                bytes,
                first_bytes,
            });
        }
        let mut least = u16::from(self.first_bytes) - 1;
        for found in throughs {
            let most = self.bytes - 1;
            if !(least..=most).contains(&found) {
                return Err(UnfitBlock::Reference { found, least, most });
            }
            least = found;
        }
        Ok(())
    }
}
