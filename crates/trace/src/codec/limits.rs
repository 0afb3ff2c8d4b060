//! Limits of a chunk in a file. A writer stays below the limits, and a reader refuses chunks beyond
//! them.

/// Maximum number of blocks of a chunk.
pub(crate) const BLOCKS: usize = 512 << 10;

/// Maximum number of references of a chunk: [`CUT_REFERENCES`] plus the most references that one
/// block can have. The references of a chunk take 33 MiB of memory at most.
pub(crate) const REFERENCES: usize = CUT_REFERENCES + (64 << 10);

/// Maximum number of marks of a chunk.
pub(crate) const MARKS: usize = 512 << 10;

/// Maximum number of bytes of all encoded marks of a chunk.
pub(crate) const MARK_BYTES: usize = 32 << 20;

/// Maximum number of bytes of an unpacked column. The largest column that a chunk can need has the
/// residuals, with 11 bytes per reference.
pub(crate) const COLUMN_BYTES: usize = 11 * REFERENCES;

/// Maximum number of bytes of a packed chunk record.
pub(crate) const BODY_BYTES: usize = 128 << 20;

/// Number of references in the open chunk at which a writer begins a new chunk.
pub(crate) const CUT_REFERENCES: usize = 4 << 20;

/// Number of bytes of residuals in the open chunk at which a [`Recorder`](crate::Recorder) begins a
/// new chunk.
pub(crate) const CUT_RESIDUAL_BYTES: usize = 4 << 20;

/// Number of marks at which a writer begins a new chunk.
pub(crate) const CUT_MARKS: usize = 64 << 10;

/// Number of bytes of names and paths in marks at which a writer begins a new chunk.
pub(crate) const CUT_MARK_BYTES: usize = 4 << 20;

/// Longest name, path or build ID that a writer accepts, in bytes.
pub(crate) const TEXT_BYTES: usize = 64 << 10;
