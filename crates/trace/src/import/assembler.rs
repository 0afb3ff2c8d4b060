//! Assembles blocks from single instructions and references.

use crate::{Block, BlockFlags, Cause, Chunk, Mark, ProcessId, Reference, SIZES, TaskId};

use super::{ImportError, Imported, Location};

const LARGEST_REFERENCE: u64 = SIZES[SIZES.len() - 1] as u64;
/// Largest size of a reference in bytes. Dirty helpers of Valgrind touch up to some KiB.
const LARGEST_DATA: u64 = 1 << 20;
/// Address of invented instructions: the last page of the user's half, in which Linux maps nothing.
const MADE_UP: u64 = 0x7fff_ffff_f000;
/// Number of references at which a block takes no further instruction.
const MANY_REFERENCES: u16 = u16::MAX / 2;
/// Number of marks from which a chunk ends, so that a trace of only switches is divided, too.
const CHUNK_MARKS: usize = Chunk::BLOCKS;
/// Number of references at which a chunk ends. One block cannot have as many.
const CHUNK_REFERENCES: usize = 4 * Chunk::BLOCKS;

#[derive(Default)]
pub(super) struct Assembler {
    chunk: Chunk,
    /// Block that the next instruction may extend.
    open: Option<Block>,
    /// Length of the open block's last instruction.
    last_bytes: u8,
    /// Flags of the code that follows.
    flags: BlockFlags,
    has_instructions: bool,
    /// Number of invented instructions so far.
    pub(super) made_up: u64,
    begins_with_data: bool,
    /// Number of lines or records so far that are no part of the trace.
    pub(super) ignored: u64,
    /// Number of references so far whose size the source does not give.
    pub(super) unknown_sizes: u64,
}

impl Assembler {
    /// Creates an assembler for a format without tasks: the trace has one task in one process.
    pub(super) fn with_one_task() -> Self {
        let (task, process) = (TaskId(1), ProcessId(1));
        let mut assembler = Assembler::default();
        assembler.mark(Mark::Birth {
            task,
            process,
            parent: TaskId::NONE,
            name: b"imported".to_vec(),
        });
        assembler.mark(Mark::Switch {
            from: TaskId::NONE,
            to: task,
            is_voluntary: false,
            cause: Cause::Unknown,
        });
        assembler
    }

    /// Ends the open block, and appends a mark to the chunk.
    pub(super) fn mark(&mut self, mark: Mark) {
        self.end();
        self.chunk.mark(mark);
    }

    pub(super) fn instruction(&mut self, place: Location, address: u64, bytes: u64) -> Imported {
        let most = u64::from(u8::MAX);
        let length = u8::try_from(bytes).ok().filter(|&bytes| bytes > 0);
        let length = length.ok_or(ImportError::Size { place, bytes, most })?;
        check_address(place, address)?;
        self.has_instructions = true;
        if let Some(block) = &mut self.open {
            let follows = block.address.checked_add(u64::from(block.bytes)) == Some(address);
            if follows
                && block.bytes + u16::from(length) <= Block::LONGEST
                && block.references < MANY_REFERENCES
            {
                block.bytes += u16::from(length);
                block.instructions += 1;
                self.last_bytes = length;
                return Ok(());
            }
        }
        self.begin(address, length);
        Ok(())
    }

    fn begin(&mut self, address: u64, length: u8) {
        self.end();
        self.last_bytes = length;
        let (bytes, flags) = (u16::from(length), self.flags);
        self.open = Some(Block {
            address,
            bytes,
            instructions: 1,
            references: 0,
            first_bytes: length,
            flags,
        });
    }

    /// Invents an instruction for the next references, if there has been no instruction yet.
    pub(super) fn make_up_instruction(&mut self) {
        if !self.has_instructions {
            self.begins_with_data = true;
            self.begin(MADE_UP, 1);
            self.made_up += 1;
        }
    }

    /// Whether an instruction was invented because data came first.
    pub(super) fn begins_with_data(&self) -> bool {
        self.begins_with_data
    }

    /// Repeats the last instruction of the open block in a new block, if the open block can hold no
    /// more references.
    fn repeat_instruction(&mut self, place: Location) -> Imported {
        let block = self
            .open
            .as_ref()
            .ok_or(ImportError::NoInstruction { place })?;
        if block.references == u16::MAX {
            let end = block.address.wrapping_add(block.bytes.into());
            self.begin(end.wrapping_sub(self.last_bytes.into()), self.last_bytes);
            self.made_up += 1;
        }
        Ok(())
    }

    /// Sets the flags of the following code. If they change, the open block ends.
    pub(super) fn set_flags(&mut self, flags: BlockFlags) {
        if flags != self.flags {
            self.end();
            self.flags = flags;
        }
    }

    /// Returns the address after the open block's last instruction, at which the next instruction
    /// lies unless the last one jumps; `None` without an open block.
    pub(super) fn next_address(&self) -> Option<u64> {
        self.open
            .as_ref()?
            .address
            .checked_add(self.open.as_ref()?.bytes.into())
    }

    /// Adds a reference whose size the source does not give. The reference counts as one byte at
    /// `address`.
    pub(super) fn reference_of_unknown_size(
        &mut self,
        place: Location,
        address: u64,
        is_store: bool,
    ) -> Imported {
        self.unknown_sizes += 1;
        self.reference(place, address, 1, is_store)
    }

    pub(super) fn reference(
        &mut self,
        place: Location,
        address: u64,
        bytes: u64,
        is_store: bool,
    ) -> Imported {
        if !(1..=LARGEST_DATA).contains(&bytes) {
            return Err(ImportError::Size {
                place,
                bytes,
                most: LARGEST_DATA,
            });
        }
        check_address(place, address)?;
        let mut start = 0;
        while start < bytes {
            self.repeat_instruction(place)?;
            let block = self
                .open
                .as_mut()
                .ok_or(ImportError::NoInstruction { place })?;
            let piece = (bytes - start).min(LARGEST_REFERENCE);
            let code = Reference::size_code(piece).ok_or(ImportError::Size {
                place,
                bytes,
                most: LARGEST_DATA,
            })?;
            block.references += 1;
            let reference =
                Reference::new(address.wrapping_add(start), code, block.bytes - 1, is_store);
            self.chunk.references.push(reference);
            start += piece;
        }
        Ok(())
    }

    /// Closes the open block.
    pub(super) fn end(&mut self) {
        self.chunk.blocks.extend(self.open.take());
    }

    pub(super) fn is_full(&self) -> bool {
        self.chunk.blocks.len() >= Chunk::BLOCKS
            || self.chunk.marks.len() >= CHUNK_MARKS
            || self.chunk.references.len() >= CHUNK_REFERENCES
    }

    /// Moves all closed blocks with their references to the empty `chunk`. The open block stays.
    pub(super) fn take(&mut self, chunk: &mut Chunk) {
        let open = self
            .open
            .as_ref()
            .map_or(0, |block| usize::from(block.references));
        let staying = self
            .chunk
            .references
            .split_off(self.chunk.references.len() - open);
        std::mem::swap(chunk, &mut self.chunk);
        self.chunk.references.extend(staying);
    }
}

/// Checks that an address fits 48 bits. A trace stores no more bits, and a wrong address is worse
/// than an error.
fn check_address(place: Location, address: u64) -> Imported {
    let kept = ((address << 16) as i64 >> 16) as u64;
    if kept == address {
        Ok(())
    } else {
        Err(ImportError::Address { place, address })
    }
}
