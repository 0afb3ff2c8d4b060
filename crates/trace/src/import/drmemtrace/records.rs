//! Records of one file, plain or packed. A record has 12 bytes, little-endian: type (16 bits), size
//! (16 bits), address (64 bits).

use std::io::BufRead;

use crate::import::packed::Unpacked;
use crate::import::{ImportError, ImportFormat, Imported, Location};

use super::numbers::kind;

const RECORD_BYTES: usize = 12;
/// Eighth byte of a raw file in an old and in a new version. A raw file begins with the tracer's
/// header of 8 bytes.
const RAW: [u8; 2] = [0xc0, 0xc4];

pub(super) struct Records<R: BufRead>(Unpacked<R>);

pub(super) struct Record {
    pub(super) kind: u16,
    pub(super) size: u16,
    pub(super) address: u64,
}

impl<R: BufRead> Records<R> {
    pub(super) fn new(from: R) -> Imported<Self> {
        Unpacked::new(from, ImportFormat::Drmemtrace).map(Records)
    }

    /// Returns the position of the next record.
    pub(super) fn place(&self) -> Location {
        self.0.place()
    }

    /// Whether nothing has been read so far.
    pub(super) fn is_at_start(&self) -> bool {
        self.0.is_at_start()
    }

    pub(super) fn next(&mut self) -> Imported<Option<Record>> {
        let mut bytes = [0; RECORD_BYTES];
        let (place, is_first) = (self.place(), self.is_at_start());
        match self.0.fill(&mut bytes)? {
            filled if is_first && filled >= 8 && RAW.contains(&bytes[7]) => Err(ImportError::Raw),
            0 => Ok(None),
            RECORD_BYTES => Ok(Some(Record::decode(bytes))),
            _ => Err(ImportError::Cut {
                place,
                needed: "a whole record of 12 bytes",
            }),
        }
    }
}

impl Record {
    fn decode([t0, t1, s0, s1, address @ ..]: [u8; RECORD_BYTES]) -> Record {
        let (kind, size) = (u16::from_le_bytes([t0, t1]), u16::from_le_bytes([s0, s1]));
        Record {
            kind,
            size,
            address: u64::from_le_bytes(address),
        }
    }

    /// Whether this record begins the trace of a 32-bit program. The header of such a trace has 8
    /// bytes, so a marker or a thread follows within the record.
    pub(super) fn is_of_32_bits(&self) -> bool {
        let (version, next) = (self.address as u32, (self.address >> 32) as u16);
        self.kind == kind::HEADER
            && (1..=7).contains(&version)
            && [kind::MARKER, kind::THREAD].contains(&next)
    }

    pub(super) fn described(&self) -> String {
        format!(
            "a record of type {}, size {} and address {:#x}",
            self.kind, self.size, self.address
        )
    }
}
