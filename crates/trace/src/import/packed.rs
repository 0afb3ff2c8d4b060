//! Reads binary files, plain or packed.

use std::io::{self, BufRead, Chain, Cursor, Read};

use flate2::bufread::MultiGzDecoder;
use snap::read::FrameDecoder;

use super::{ImportError, ImportFormat, Imported, Location};

const GZIP: &[u8] = b"\x1f\x8b\x08";
const SNAPPY: &[u8] = b"\xff\x06\x00\x00sNaPpY";
/// First bytes of packings that are not supported, with their names and the commands that unpack
/// them.
const PACKED: [(&[u8], &str, &str); 5] = [
    (
        b"PK\x03\x04",
        "a zip file on standard input or in another file",
        "unzip -p",
    ),
    (b"\x04\x22\x4d\x18", "an lz4 file", "lz4 -dc"),
    (b"\x28\xb5\x2f\xfd", "a zstd file", "zstd -dc"),
    (b"\xfd7zXZ\x00", "an xz file", "xz -dc"),
    (b"BZh", "a bzip2 file", "bzip2 -dc"),
];

/// A file read from its beginning again, after its first bytes were examined.
type Whole<R> = Chain<Cursor<Vec<u8>>, R>;

/// Number of bytes of the content that are examined before reading begins.
const LOOKED_AT: usize = 16 << 10;
/// Offset of the format's name in a tar file, and the name.
const TAR: (usize, &[u8]) = (257, b"ustar");

enum Input<R: BufRead> {
    Plain(Whole<R>),
    Gzip(Box<MultiGzDecoder<Whole<R>>>),
    Snappy(Box<FrameDecoder<Whole<R>>>),
}

impl<R: BufRead> Read for Input<R> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        match self {
            Input::Plain(from) => from.read(bytes),
            Input::Gzip(from) => from.read(bytes),
            Input::Snappy(from) => from.read(bytes),
        }
    }
}

/// Returns the packing of a file that begins with `start`, and the command that unpacks it; `None`
/// if it is plain or packed by gzip or snappy.
fn packing(start: &[u8]) -> Option<(&'static str, &'static str)> {
    let (at, magic) = TAR;
    let is_tar = start.get(at..).is_some_and(|rest| rest.starts_with(magic));
    let known = PACKED
        .into_iter()
        .find(|(magic, ..)| start.starts_with(magic));
    known
        .map(|(_, found, unpack)| (found, unpack))
        .or(is_tar.then_some(("a tar file", "tar -xOf")))
}

/// Refuses a file that is packed although its format is text.
pub(super) fn refuse_packed(start: &[u8], format: ImportFormat) -> Imported {
    let gzip = start
        .starts_with(GZIP)
        .then_some(("a gzip file", "gzip -dc"));
    packing(start).or(gzip).map_or(Ok(()), |(found, unpack)| {
        Err(ImportError::Packed {
            found,
            unpack,
            format,
        })
    })
}

/// The content of a file that may be packed by gzip or snappy.
pub(super) struct Unpacked<R: BufRead> {
    from: Chain<Cursor<Vec<u8>>, Input<R>>,
    /// Error during the examination. The error is reported after the content before it.
    failure: Option<io::Error>,
    offset: u64,
}

impl<R: BufRead> Unpacked<R> {
    /// Opens a file for an import with `--from FORMAT`.
    pub(super) fn new(mut from: R, format: ImportFormat) -> Imported<Self> {
        let mut first = vec![0; SNAPPY.len()];
        let filled = fill(&mut from, &mut first).map_err(|source| ImportError::Io {
            place: Location::Byte(0),
            source,
        })?;
        first.truncate(filled);
        let refuse = |(found, unpack)| {
            Err(ImportError::Packed {
                found,
                unpack,
                format,
            })
        };
        if let Some(other) = packing(&first) {
            return refuse(other);
        }
        let (is_gzip, is_snappy) = (first.starts_with(GZIP), first.starts_with(SNAPPY));
        let whole = Cursor::new(first).chain(from);
        let mut from = match (is_gzip, is_snappy) {
            (true, _) => Input::Gzip(Box::new(MultiGzDecoder::new(whole))),
            (_, true) => Input::Snappy(Box::new(FrameDecoder::new(whole))),
            _ => Input::Plain(whole),
        };
        let mut start = Vec::new();
        let failure = from
            .by_ref()
            .take(LOOKED_AT as u64)
            .read_to_end(&mut start)
            .err();
        if let Some(other) = packing(&start) {
            return refuse(other);
        }
        Ok(Unpacked {
            from: Cursor::new(start).chain(from),
            failure,
            offset: 0,
        })
    }

    /// Returns the first bytes of the content, at most [`LOOKED_AT`].
    pub(super) fn start(&self) -> &[u8] {
        self.from.get_ref().0.get_ref()
    }

    /// Returns the position of the next record.
    pub(super) fn place(&self) -> Location {
        Location::Byte(self.offset)
    }

    /// Whether nothing has been read so far.
    pub(super) fn is_at_start(&self) -> bool {
        self.offset == 0
    }

    /// Fills `record`. Returns the number of bytes, which is smaller only at the end of the file.
    pub(super) fn fill(&mut self, record: &mut [u8]) -> Imported<usize> {
        let place = self.place();
        let looked_at = self.from.get_ref().0;
        let left = looked_at.get_ref().len() as u64 - looked_at.position();
        let filled = match self.failure.take_if(|_| left < record.len() as u64) {
            Some(failure) => Err(failure),
            None => fill(&mut self.from, record),
        };
        let filled = filled.map_err(|source| ImportError::Io { place, source })?;
        self.offset += filled as u64;
        Ok(filled)
    }
}

/// Reads until `bytes` is full or the end is reached. Returns the number of bytes read.
fn fill(from: &mut impl Read, bytes: &mut [u8]) -> io::Result<usize> {
    let mut filled = 0;
    while filled < bytes.len() {
        match from.read(&mut bytes[filled..]) {
            Ok(0) => break,
            Ok(read) => filled += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}
