//! Records of one file, packed or not: 12 bytes each, little-endian: type (16 bits), size (16 bits), address (64 bits).

use std::io::{self, BufRead, Read};

use flate2::bufread::MultiGzDecoder;
use snap::read::FrameDecoder;

use crate::import::{ImportError, Location};

use super::numbers::kind;

const RECORD_BYTES: u64 = 12;
/// First byte of every gzip file, and of every stream of snappy's frames; no record that may stand first begins with either.
const GZIP: u8 = 0x1f;
const SNAPPY: u8 = 0xff;
/// The first bytes of others, and what unpacks them.
const PACKED: [(u8, &str, &str); 5] = [
    (b'P', "a zip file on standard input or in another file", "unzip -p"),
    (0x04, "an lz4 file", "lz4 -dc"),
    (0x28, "a zstd file", "zstd -dc"),
    (0xfd, "an xz file", "xz -dc"),
    (b'B', "a bzip2 file", "bzip2 -dc"),
];
/// The eighth byte of a raw file: the tracer's first entry of 8 bytes is a header, of an old and a new kind.
const RAW: [u8; 2] = [0xc0, 0xc4];

enum Input<R: BufRead> {
    Plain(R),
    Gzip(Box<MultiGzDecoder<R>>),
    Snappy(Box<FrameDecoder<R>>),
}

pub(super) struct Records<R: BufRead> {
    from: Input<R>,
    offset: u64,
}

pub(super) struct Record {
    pub(super) kind: u16,
    pub(super) size: u16,
    pub(super) address: u64,
}

impl<R: BufRead> Records<R> {
    pub(super) fn new(mut from: R) -> Result<Self, ImportError> {
        let first = first_byte(&mut from).map_err(|source| ImportError::Io { place: Location::Byte(0), source })?;
        if let Some((_, format, unpack)) = PACKED.into_iter().find(|(byte, ..)| first == Some(*byte)) {
            return Err(ImportError::Packed { format, unpack });
        }
        let from = match first {
            Some(GZIP) => Input::Gzip(Box::new(MultiGzDecoder::new(from))),
            Some(SNAPPY) => Input::Snappy(Box::new(FrameDecoder::new(from))),
            _ => Input::Plain(from),
        };
        Ok(Records { from, offset: 0 })
    }

    /// Where the next record begins.
    pub(super) fn place(&self) -> Location {
        Location::Byte(self.offset)
    }

    /// Whether nothing was read so far.
    pub(super) fn is_at_start(&self) -> bool {
        self.offset == 0
    }

    pub(super) fn next(&mut self) -> Result<Option<Record>, ImportError> {
        let mut bytes = [0; RECORD_BYTES as usize];
        let place = self.place();
        let filled = match &mut self.from {
            Input::Plain(from) => fill(from, &mut bytes),
            Input::Gzip(from) => fill(from.as_mut(), &mut bytes),
            Input::Snappy(from) => fill(from.as_mut(), &mut bytes),
        };
        let filled = filled.map_err(|source| ImportError::Io { place, source })?;
        if self.is_at_start() && filled >= 8 && RAW.contains(&bytes[7]) {
            return Err(ImportError::Raw);
        }
        if filled == 0 {
            return Ok(None);
        }
        if filled < bytes.len() {
            return Err(ImportError::Cut { place, needed: "a whole record of 12 bytes" });
        }
        self.offset += RECORD_BYTES;
        Ok(Some(Record::of(bytes)))
    }
}

impl Record {
    fn of([t0, t1, s0, s1, address @ ..]: [u8; RECORD_BYTES as usize]) -> Record {
        let (kind, size) = (u16::from_le_bytes([t0, t1]), u16::from_le_bytes([s0, s1]));
        Record { kind, size, address: u64::from_le_bytes(address) }
    }

    /// Whether it begins the trace of a 32-bit program: its header has 8 bytes, and is followed by a marker or a thread.
    pub(super) fn is_of_32_bits(&self) -> bool {
        let (version, next) = (self.address as u32, (self.address >> 32) as u16);
        self.kind == kind::HEADER && (1..=7).contains(&version) && [kind::MARKER, kind::THREAD].contains(&next)
    }

    pub(super) fn described(&self) -> String {
        format!("a record of type {}, size {} and address {:#x}", self.kind, self.size, self.address)
    }
}

fn first_byte(from: &mut impl BufRead) -> io::Result<Option<u8>> {
    loop {
        match from.fill_buf() {
            Ok(bytes) => return Ok(bytes.first().copied()),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

/// Reads until `bytes` is full or the end; how much there was.
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
