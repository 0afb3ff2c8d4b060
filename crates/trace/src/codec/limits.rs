//! What a chunk of a file may hold at most. A writer cuts below these, a reader refuses what is above.

/// Blocks of a chunk.
pub(crate) const BLOCKS: usize = 512 << 10;

/// References of a chunk: what a writer cuts at, and one block of as many as a block can have. 33 MiB of memory.
pub(crate) const REFERENCES: usize = CUT_REFERENCES + (64 << 10);

/// Marks of a chunk.
pub(crate) const MARKS: usize = 512 << 10;

/// Bytes of all marks of a chunk, encoded.
pub(crate) const MARK_BYTES: usize = 32 << 20;

/// Bytes of one column, unpacked. The largest that a chunk can need is what is left to say of addresses: 11 bytes each.
pub(crate) const COLUMN_BYTES: usize = 11 * REFERENCES;

/// Bytes of a chunk's record, packed.
pub(crate) const BODY_BYTES: usize = 128 << 20;

/// A writer begins a new chunk if the references of the open one would be more than this.
pub(crate) const CUT_REFERENCES: usize = 4 << 20;

/// A writer that is given one block after the other begins a new chunk after this many bytes of residuals.
pub(crate) const CUT_RESIDUAL_BYTES: usize = 4 << 20;

/// A writer begins a new chunk after this many marks.
pub(crate) const CUT_MARKS: usize = 64 << 10;

/// A writer begins a new chunk if the names and paths of the open one's marks would be more bytes than this.
pub(crate) const CUT_MARK_BYTES: usize = 4 << 20;

/// The longest name, path or build ID that a writer takes.
pub(crate) const TEXT_BYTES: usize = 64 << 10;
