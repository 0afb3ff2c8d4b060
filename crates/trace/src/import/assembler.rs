//! Single instructions and references, put together into blocks.

use crate::{Block, BlockFlags, Cause, Chunk, Mark, ProcessId, Reference, SIZES, TaskId};

use super::{ImportError, Place};

const LARGEST_REFERENCE: u64 = SIZES[SIZES.len() - 1] as u64;
/// Dirty helpers of Valgrind touch up to some KiB; more is no reference.
const LARGEST_DATA: u64 = 1 << 20;
/// A block with more references takes no further instruction.
const MANY_REFERENCES: u16 = u16::MAX / 2;
/// Marks that a chunk holds, as blocks: a trace of nothing but switches is cut, too.
const CHUNK_MARKS: usize = Chunk::BLOCKS;
/// References of a chunk's closed blocks, more than one block can have.
const CHUNK_REFERENCES: usize = 4 * Chunk::BLOCKS;

#[derive(Default)]
pub(super) struct Assembler {
    chunk: Chunk,
    /// The block that the next instruction may still belong to.
    open: Option<Block>,
    /// What kind of code comes next.
    pub(super) flags: BlockFlags,
}

impl Assembler {
    /// For a format without tasks.
    pub(super) fn with_one_task() -> Self {
        let (task, process) = (TaskId(1), ProcessId(1));
        let mut assembler = Assembler::default();
        assembler.mark(Mark::Birth { task, process, parent: TaskId::NONE, name: b"imported".to_vec() });
        assembler.mark(Mark::Switch { from: TaskId::NONE, to: task, is_voluntary: false, cause: Cause::Unknown });
        assembler
    }

    /// Puts a mark behind everything so far.
    pub(super) fn mark(&mut self, mark: Mark) {
        self.end();
        self.chunk.mark(mark);
    }

    pub(super) fn instruction(&mut self, place: Place, address: u64, bytes: u64) -> Result<(), ImportError> {
        let most = u64::from(u8::MAX);
        let length = u8::try_from(bytes).ok().filter(|&bytes| bytes > 0);
        let length = length.ok_or(ImportError::Size { place, bytes, most })?;
        check_address(place, address)?;
        if let Some(block) = &mut self.open {
            let follows = block.address.checked_add(u64::from(block.bytes)) == Some(address);
            if follows && block.bytes + u16::from(length) <= Block::LONGEST && block.references < MANY_REFERENCES {
                block.bytes += u16::from(length);
                block.instructions += 1;
                return Ok(());
            }
        }
        self.end();
        let flags = self.flags;
        let bytes = u16::from(length);
        self.open = Some(Block { address, bytes, instructions: 1, references: 0, first_bytes: length, flags });
        Ok(())
    }

    /// Where the next instruction lies if none was jumped over.
    pub(super) fn next_address(&self) -> Option<u64> {
        self.open.as_ref()?.address.checked_add(self.open.as_ref()?.bytes.into())
    }

    pub(super) fn reference(
        &mut self,
        place: Place,
        address: u64,
        bytes: u64,
        is_store: bool,
    ) -> Result<(), ImportError> {
        if !(1..=LARGEST_DATA).contains(&bytes) {
            return Err(ImportError::Size { place, bytes, most: LARGEST_DATA });
        }
        check_address(place, address)?;
        let block = self.open.as_mut().ok_or(ImportError::NoInstruction { place })?;
        let mut start = 0;
        while start < bytes {
            let piece = (bytes - start).min(LARGEST_REFERENCE);
            let code = Reference::size_code(piece).ok_or(ImportError::Size { place, bytes, most: LARGEST_DATA })?;
            block.references = block.references.checked_add(1).ok_or(ImportError::References { place })?;
            let reference = Reference::new(address.wrapping_add(start), code, block.bytes - 1, is_store);
            self.chunk.references.push(reference);
            start += piece;
        }
        Ok(())
    }

    /// Nothing follows the last block.
    pub(super) fn end(&mut self) {
        self.chunk.blocks.extend(self.open.take());
    }

    pub(super) fn is_full(&self) -> bool {
        self.chunk.blocks.len() >= Chunk::BLOCKS
            || self.chunk.marks.len() >= CHUNK_MARKS
            || self.chunk.references.len() >= CHUNK_REFERENCES
    }

    /// Moves the closed blocks to `chunk`, which is empty; references of an open block stay.
    pub(super) fn take(&mut self, chunk: &mut Chunk) {
        let open = self.open.as_ref().map_or(0, |block| usize::from(block.references));
        let staying = self.chunk.references.split_off(self.chunk.references.len() - open);
        std::mem::swap(chunk, &mut self.chunk);
        self.chunk.references.extend(staying);
    }
}

/// A trace keeps 48 bits of an address; another address than it was would be worse than none.
fn check_address(place: Place, address: u64) -> Result<(), ImportError> {
    let kept = ((address << 16) as i64 >> 16) as u64;
    if kept == address { Ok(()) } else { Err(ImportError::Address { place, address }) }
}
