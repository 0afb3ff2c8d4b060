//! Removes the kernel from the trace of a whole system, as if only programs had been traced.

use switchcost_trace::{Chunk, Event};

/// Returns a chunk without the kernel's blocks and their references. Marks stay at their positions.
pub(super) fn remove_kernel(chunk: &Chunk) -> Chunk {
    let mut kept = Chunk::default();
    for event in chunk.events() {
        match event {
            Event::Mark(mark) => kept.mark(mark.clone()),
            Event::Block(block, own) if !block.flags.is_kernel() => {
                kept.blocks.push(*block);
                kept.references.extend_from_slice(own);
            }
            Event::Block(..) => {}
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use switchcost_trace::{Block, BlockFlags, Mark, Reference};

    use super::*;

    fn block(address: u64, flags: BlockFlags) -> Block {
        Block {
            address,
            bytes: 4,
            instructions: 1,
            references: 1,
            first_bytes: 4,
            flags,
        }
    }

    #[test]
    fn only_the_programs_blocks_and_references_stay() {
        let kernel = 0xffff_ffff_8100_0000;
        let mut chunk = Chunk::default();
        for (address, flags) in [
            (0x1000, BlockFlags::USER),
            (kernel, BlockFlags::KERNEL),
            (0x1004, BlockFlags::USER),
        ] {
            chunk.mark(Mark::SyscallEnter {
                number: chunk.blocks.len() as u16,
            });
            chunk.blocks.push(block(address, flags));
            chunk
                .references
                .push(Reference::new(address + 8, 0, 3, false));
        }
        chunk.mark(Mark::SyscallExit { number: 3 });
        let kept = remove_kernel(&chunk);
        let blocks: Vec<u64> = kept.blocks.iter().map(|block| block.address).collect();
        assert_eq!(blocks, [0x1000, 0x1004]);
        let references = kept.references.iter().map(|reference| reference.address());
        assert_eq!(references.collect::<Vec<_>>(), [0x1008, 0x100c]);
        let places = kept.marks.iter().map(|placed| placed.before_block);
        assert_eq!(places.collect::<Vec<_>>(), [0, 1, 1, 2]);
    }
}
