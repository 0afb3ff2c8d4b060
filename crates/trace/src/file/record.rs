//! Records: a head of fixed size and a body, each with a checksum.

use std::io::{self, ErrorKind, IoSlice, Read, Seek, SeekFrom, Write};

use xxhash_rust::xxh3::{Xxh3Default, xxh3_64};

use crate::codec::Body;

/// First bytes of every trace. The bytes are not valid text, and a transfer that converts line ends
/// damages them (as in PNG's signature).
pub(super) const MAGIC: [u8; 8] = *b"\x89SCT\r\n\x1a\n";

/// First bytes of every record.
const RECORD: [u8; 4] = *b"SCtr";

pub(super) const HEAD_BYTES: usize = 32;

/// Kinds of records, as numbers in the head.
pub(super) mod kind {
    pub(in crate::file) const HEADER: u16 = 1;
    pub(in crate::file) const CHUNK: u16 = 2;
    pub(in crate::file) const INDEX: u16 = 3;
    pub(in crate::file) const FOOTER: u16 = 4;
    pub(in crate::file) const KERNEL_SYMBOLS: u16 = 5;
    pub(in crate::file) const DEPENDENCES: u16 = 6;
}

/// Flag of a record that may be skipped by readers that do not know its kind.
pub(super) const MAY_BE_SKIPPED: u16 = 1;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Head {
    pub(super) kind: u16,
    pub(super) flags: u16,
    /// Number of the record in the file, from 0. A gap reveals a missing record, a repetition a
    /// duplicate.
    pub(super) number: u32,
    pub(super) body_bytes: u32,
    pub(super) checksum: u64,
}

impl Head {
    pub(super) fn new(kind: u16, number: u32, body: &Body<'_>) -> Self {
        let mut checksum = Xxh3Default::new();
        body.parts().iter().for_each(|part| checksum.update(part));
        let flags = if matches!(kind, kind::KERNEL_SYMBOLS | kind::DEPENDENCES) {
            MAY_BE_SKIPPED
        } else {
            0
        };
        Head {
            kind,
            flags,
            number,
            body_bytes: body.length() as u32,
            checksum: checksum.digest(),
        }
    }

    pub(super) fn bytes(&self) -> [u8; HEAD_BYTES] {
        let mut head = [0; HEAD_BYTES];
        head[0..4].copy_from_slice(&RECORD);
        head[4..6].copy_from_slice(&self.kind.to_le_bytes());
        head[6..8].copy_from_slice(&self.flags.to_le_bytes());
        head[8..12].copy_from_slice(&self.number.to_le_bytes());
        head[12..16].copy_from_slice(&self.body_bytes.to_le_bytes());
        head[16..24].copy_from_slice(&self.checksum.to_le_bytes());
        let checksum = xxh3_64(&head[..24]);
        head[24..32].copy_from_slice(&checksum.to_le_bytes());
        head
    }

    /// Reads the head of a record.
    ///
    /// # Errors
    ///
    /// The fault of the head, as text.
    pub(super) fn parse(head: &[u8; HEAD_BYTES]) -> Result<Self, &'static str> {
        let u32_at =
            |at: usize| u32::from_le_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]);
        let u64_at = |at: usize| u64::from(u32_at(at)) | u64::from(u32_at(at + 4)) << 32;
        if head[..4] != RECORD {
            return Err("it does not begin like a record");
        }
        if u64_at(24) != xxh3_64(&head[..24]) {
            return Err("the checksum of its head differs");
        }
        Ok(Head {
            kind: u32_at(4) as u16,
            flags: (u32_at(4) >> 16) as u16,
            number: u32_at(8),
            body_bytes: u32_at(12),
            checksum: u64_at(16),
        })
    }

    pub(super) fn is_of(&self, body: &[u8]) -> bool {
        self.checksum == xxh3_64(body)
    }

    pub(super) fn may_be_skipped(&self) -> bool {
        self.flags & MAY_BE_SKIPPED != 0
    }
}

/// Writer of records, one after the other.
pub(super) struct Records<W> {
    into: W,
    number: u32,
    bytes: u64,
    /// Whether the file may end with an incomplete record. If so, nothing more is written.
    is_broken: bool,
}

impl<W: Write> Records<W> {
    /// Begins a trace without writing yet. The magic number is written together with the first
    /// record, so a trace that ends immediately is empty or has its header.
    pub(super) fn begin(into: W) -> Self {
        Records {
            into,
            number: 0,
            bytes: MAGIC.len() as u64,
            is_broken: false,
        }
    }

    pub(super) fn put(&mut self, kind: u16, body: &Body<'_>) -> io::Result<()> {
        if self.is_broken {
            return Err(io::Error::other("an earlier chunk did not fit"));
        }
        let head = Head::new(kind, self.number, body).bytes();
        let magic: &[u8] = if self.number == 0 { &MAGIC } else { &[] };
        let parts = [magic, &head[..]]
            .into_iter()
            .chain(body.parts().iter().copied());
        self.is_broken = true;
        write_parts(
            &mut self.into,
            &mut parts.map(IoSlice::new).collect::<Vec<_>>(),
        )?;
        self.is_broken = false;
        self.number += 1;
        self.bytes += (head.len() + body.length()) as u64;
        Ok(())
    }

    /// Replaces the first record, whose body must be as long.
    pub(super) fn replace_first(&mut self, kind: u16, body: &Body<'_>) -> io::Result<()>
    where
        W: Seek,
    {
        let record = [
            &Head::new(kind, 0, body).bytes()[..],
            &body.parts().concat(),
        ]
        .concat();
        self.into.seek(SeekFrom::Start(MAGIC.len() as u64))?;
        self.into.write_all(&record)?;
        self.into.seek(SeekFrom::Start(self.bytes)).map(drop)
    }

    /// Returns the number of bytes written so far.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    pub(super) fn get_ref(&self) -> &W {
        &self.into
    }

    pub(super) fn get_mut(&mut self) -> &mut W {
        &mut self.into
    }

    pub(super) fn into_inner(self) -> W {
        self.into
    }
}

/// Writes all parts, in one system call if possible. The standard library's function for this is
/// not stable yet.
fn write_parts(into: &mut impl Write, mut parts: &mut [IoSlice<'_>]) -> io::Result<()> {
    IoSlice::advance_slices(&mut parts, 0);
    while !parts.is_empty() {
        match into.write_vectored(parts) {
            Ok(0) => return Err(ErrorKind::WriteZero.into()),
            Ok(written) => IoSlice::advance_slices(&mut parts, written),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Reads up to `length` bytes, and replaces the content of `into` by them. Memory grows with the
/// bytes that arrive, not with the stated length.
pub(super) fn read_up_to(
    reader: &mut impl Read,
    length: u64,
    into: &mut Vec<u8>,
) -> io::Result<u64> {
    into.clear();
    reader
        .take(length)
        .read_to_end(into)
        .map(|read| read as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Records the length of each write.
    #[derive(Default)]
    struct Pieces(Vec<usize>);

    impl Write for Pieces {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.push(bytes.len());
            Ok(bytes.len())
        }

        fn write_vectored(&mut self, parts: &[IoSlice<'_>]) -> io::Result<usize> {
            self.0.push(parts.iter().map(|part| part.len()).sum());
            Ok(self.0[self.0.len() - 1])
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_trace_begins_with_its_header_in_one_piece() {
        let mut records = Records::begin(Pieces::default());
        records
            .put(kind::HEADER, &Body::whole(b"header"))
            .expect("written");
        assert_eq!(records.get_ref().0, [MAGIC.len() + HEAD_BYTES + 6]);
        assert_eq!(records.bytes(), (MAGIC.len() + HEAD_BYTES + 6) as u64);
    }
}
