//! The columns of a chunk: packing, unpacking and their directory.

use zstd::bulk::{Compressor, Decompressor};

use super::limits;
use crate::UnfitShape;

/// A part of the body of a chunk, or why it cannot be decoded.
pub(crate) type Unpacked<T = ()> = Result<T, BadBody>;

/// Why the body of a chunk cannot be decoded although its checksum is right. A message prints the
/// reason after "the chunk cannot be decoded: ".
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum BadBody {
    #[error("it ends inside its head")]
    Head,
    #[error("{found} {what}, more than {most}")]
    Large {
        what: &'static str,
        found: u64,
        most: u64,
    },
    #[error("column {column} ends too early")]
    Short { column: &'static str },
    #[error("column {column} has {bytes} bytes too many")]
    Long { column: &'static str, bytes: usize },
    #[error("column {0} cannot be unpacked")]
    Packed(&'static str),
    #[error("the columns have {found} bytes instead of {need}")]
    Lengths { found: u64, need: u64 },
    #[error("column {found} stands where column {need} belongs")]
    Order { found: u8, need: u8 },
    #[error("shape {shape}: {why}")]
    Unfit { shape: usize, why: UnfitShape },
    #[error("there is no shape {found} of {shapes} in the sequence")]
    Shape { found: u64, shapes: usize },
    #[error("a misprediction is at number {found} of what ran, not before number {need}")]
    Misprediction { found: u64, need: u64 },
    #[error("{found} {what} instead of {need}")]
    Count {
        what: &'static str,
        found: u64,
        need: u64,
    },
    #[error("mark {0} is none that is known")]
    Mark(usize),
    #[error("mark {mark} stands before block {found}, need one up to {most}")]
    Place { mark: usize, found: u64, most: u64 },
}

/// Columns of a chunk, in the order in which they are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Column {
    ShapeAddresses,
    Shapes,
    ShapeReferences,
    /// For each executed shape, its index among the four successors predicted for the shape before;
    /// two bits each.
    SuccessorIndices,
    Mispredictions,
    /// Width code of the residual of each explicit reference; two bits each.
    Widths,
    Residuals,
    Marks,
}

pub(super) const NAMES: [&str; COLUMNS] = [
    "shape addresses",
    "shapes",
    "shape references",
    "successor indices",
    "mispredictions",
    "widths",
    "residuals",
    "marks",
];

pub(super) const COLUMNS: usize = 8;

/// Size of a directory entry in bytes: column number, packing, two bytes of 0, unpacked length,
/// packed length.
const ENTRY_BYTES: usize = 12;

const PLAIN: u8 = 0;
const ZSTD: u8 = 1;

/// Compression level of zstd. Prediction leaves little to compress: level 3 made the files of gzip
/// and cc1 3 to 6 % smaller, and writing took an eighth longer.
const ZSTD_LEVEL: i32 = 1;

/// Packer of columns with zstd, which reuses its memory.
pub(super) struct Packer {
    compressor: Compressor<'static>,
    packed: Vec<u8>,
    made: Vec<u8>,
}

/// Body of a record as consecutive slices. Columns that are not packed are most of a capture and
/// are not copied, because a copy takes as long as the write.
pub(crate) struct Body<'a>(Vec<&'a [u8]>);

impl<'a> Body<'a> {
    /// Makes a body of a single slice.
    pub(crate) fn whole(part: &'a [u8]) -> Self {
        Body(vec![part])
    }

    pub(crate) fn parts(&self) -> &[&'a [u8]] {
        &self.0
    }

    pub(crate) fn length(&self) -> usize {
        self.0.iter().map(|part| part.len()).sum()
    }
}

impl Packer {
    pub(super) fn new() -> std::io::Result<Self> {
        Ok(Packer {
            compressor: Compressor::new(ZSTD_LEVEL)?,
            packed: Vec::new(),
            made: Vec::new(),
        })
    }

    /// Returns the body of a chunk: its head, the directory and the columns. A column, given with a
    /// flag, is packed if the flag is set and packing makes the column shorter.
    pub(super) fn body<'a>(
        &'a mut self,
        head: &[u8],
        columns: [(&'a [u8], bool); COLUMNS],
    ) -> std::io::Result<Body<'a>> {
        let Packer {
            compressor,
            packed,
            made,
        } = self;
        made.clear();
        made.extend_from_slice(head);
        made.resize(head.len() + COLUMNS * ENTRY_BYTES, 0);
        let first = made.len();
        let mut lengths = [None; COLUMNS];
        for (number, (column, is_packed)) in columns.into_iter().enumerate() {
            let mut entry = (PLAIN, column.len());
            if is_packed {
                packed.clear();
                packed.reserve(zstd::zstd_safe::compress_bound(column.len()));
                compressor.compress_to_buffer(column, packed)?;
                if packed.len() < column.len() {
                    made.extend_from_slice(packed);
                    entry = (ZSTD, packed.len());
                    lengths[number] = Some(packed.len());
                }
            }
            let (packing, bytes) = entry;
            let entry = &mut made[head.len() + number * ENTRY_BYTES..][..ENTRY_BYTES];
            entry[0] = number as u8;
            entry[1] = packing;
            entry[4..8].copy_from_slice(&(column.len() as u32).to_le_bytes());
            entry[8..12].copy_from_slice(&(bytes as u32).to_le_bytes());
        }
        let (begin, mut rest) = made.split_at(first);
        let columns = columns
            .into_iter()
            .zip(lengths)
            .map(|((column, _), length)| match length {
                Some(length) => rest.split_off(..length).unwrap_or_default(),
                None => column,
            });
        Ok(Body(std::iter::once(begin).chain(columns).collect()))
    }
}

#[derive(Clone, Copy)]
struct Packed<'a> {
    packing: u8,
    length: usize,
    bytes: &'a [u8],
}

/// The columns of a body, still packed.
pub(super) struct Directory<'a>([Packed<'a>; COLUMNS]);

impl<'a> Directory<'a> {
    pub(super) fn read(body: &'a [u8]) -> Unpacked<Self> {
        let (entries, mut rest) = body
            .split_at_checked(COLUMNS * ENTRY_BYTES)
            .ok_or(BadBody::Head)?;
        let mut columns = [Packed {
            packing: PLAIN,
            length: 0,
            bytes: &[],
        }; COLUMNS];
        for (number, entry) in entries.chunks_exact(ENTRY_BYTES).enumerate() {
            if usize::from(entry[0]) != number {
                return Err(BadBody::Order {
                    found: entry[0],
                    need: number as u8,
                });
            }
            let u32_at = |at: usize| {
                u32::from_le_bytes([entry[at], entry[at + 1], entry[at + 2], entry[at + 3]])
            };
            let (length, packed) = (u32_at(4) as usize, u32_at(8) as usize);
            if length > limits::COLUMN_BYTES {
                let most = limits::COLUMN_BYTES as u64;
                return Err(BadBody::Large {
                    what: "bytes in a column",
                    found: length as u64,
                    most,
                });
            }
            let (bytes, behind) = rest.split_at_checked(packed).ok_or(BadBody::Lengths {
                found: (rest.len() + body.len()) as u64,
                need: (packed + body.len()) as u64,
            })?;
            rest = behind;
            columns[number] = Packed {
                packing: entry[1],
                length,
                bytes,
            };
        }
        if !rest.is_empty() {
            let need = (body.len() - rest.len()) as u64;
            return Err(BadBody::Lengths {
                found: body.len() as u64,
                need,
            });
        }
        Ok(Directory(columns))
    }

    /// Returns the unpacked length of a column, in bytes.
    pub(super) fn length(&self, column: usize) -> usize {
        self.0[column].length
    }
}

/// Unpacker of columns, which reuses its memory.
pub(super) struct Unpacker(Decompressor<'static>);

impl Unpacker {
    pub(super) fn new() -> std::io::Result<Self> {
        Ok(Unpacker(Decompressor::new()?))
    }

    /// Unpacks a whole column into `into`, and replaces the previous content.
    pub(super) fn column(
        &mut self,
        directory: &Directory<'_>,
        column: Column,
        into: &mut Vec<u8>,
    ) -> Unpacked {
        let length = directory.length(column as usize);
        into.clear();
        into.resize(length, 0);
        self.slice(directory, column as usize, into)
    }

    /// Unpacks a whole column into a slice of exactly the column's length.
    pub(super) fn slice(
        &mut self,
        directory: &Directory<'_>,
        column: usize,
        into: &mut [u8],
    ) -> Unpacked {
        let packed = directory.0[column];
        let is_whole = match packed.packing {
            PLAIN if packed.bytes.len() == into.len() => {
                into.copy_from_slice(packed.bytes);
                true
            }
            ZSTD => self
                .0
                .decompress_to_buffer(packed.bytes, into)
                .is_ok_and(|length| length == into.len()),
            _ => false,
        };
        if is_whole {
            Ok(())
        } else {
            Err(BadBody::Packed(NAMES[column]))
        }
    }
}
