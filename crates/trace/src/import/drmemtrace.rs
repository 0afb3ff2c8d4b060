//! Records of DynamoRIO's drmemtrace, as its post-processing writes them: 12 bytes each, little-endian: type (16 bits),
//! size (16 bits), address (64 bits). Read without its code, from the facts of its public documentation ("Trace
//! Format", "DrCacheSim Offline Trace Debugging") and of the numbering in its public header `trace_entry.h`, versions 1
//! to 7, which only ever grew at its end since there are files. The first record of a file, a header of type 25, proves
//! the numbering up to it: earlier headers, from before there were files, numbered otherwise.

mod threads;

use std::io::{self, BufRead, Read};

use flate2::bufread::MultiGzDecoder;

use crate::BlockFlags;

use super::assembler::Assembler;
use super::{ImportError, Place};
use threads::Threads;

const RECORD_BYTES: u64 = 12;
/// First byte of every gzip file; no record that may stand first begins with it.
const GZIP: u8 = 0x1f;

mod kind {
    pub(super) const READ: u16 = 0;
    pub(super) const WRITE: u16 = 1;
    pub(super) const FIRST_PREFETCH: u16 = 2;
    pub(super) const LAST_PREFETCH: u16 = 9;
    pub(super) const FIRST_INSTRUCTION: u16 = 10;
    pub(super) const LAST_INSTRUCTION: u16 = 16;
    pub(super) const BUNDLE: u16 = 17;
    pub(super) const FIRST_FLUSH: u16 = 18;
    pub(super) const LAST_FLUSH: u16 = 21;
    pub(super) const THREAD: u16 = 22;
    pub(super) const THREAD_EXIT: u16 = 23;
    pub(super) const PROCESS: u16 = 24;
    pub(super) const HEADER: u16 = 25;
    pub(super) const FOOTER: u16 = 26;
    pub(super) const HARDWARE_PREFETCH: u16 = 27;
    pub(super) const MARKER: u16 = 28;
    pub(super) const NOT_FETCHED: u16 = 29;
    pub(super) const SYSENTER: u16 = 31;
    pub(super) const FIRST_LATER_PREFETCH: u16 = 32;
    pub(super) const ENCODING: u16 = 47;
    pub(super) const TAKEN_JUMP: u16 = 48;
    pub(super) const UNTAKEN_JUMP: u16 = 49;
}

mod marker {
    pub(super) const FILE_TYPE: u16 = 9;
    pub(super) const KERNEL_BEGINS: u16 = 27;
    pub(super) const KERNEL_ENDS: u16 = 28;
}

/// Bits of the file type: filtered through a cache, both kinds, instructions, data.
const FILTERED: u64 = 0x1 | 0x80 | 0x100;
const VERSIONS: std::ops::RangeInclusive<u64> = 1..=7;

const NEEDED_RECORD: &str = "one that a trace of a 64-bit program holds, of type 0 to 29 or 31 to 49";
const NEEDED_HEADER: &str =
    "a header (type 25) of version 1 to 7 first, as drmemtrace writes after its post-processing";

enum Input<R> {
    Plain(R),
    Gzip(Box<MultiGzDecoder<R>>),
}

pub(super) struct Drmemtrace<R> {
    from: Input<R>,
    offset: u64,
    threads: Threads,
    /// A footer ended what the last header began.
    is_ended: bool,
}

struct Record {
    kind: u16,
    size: u16,
    address: u64,
}

impl<R: BufRead> Drmemtrace<R> {
    pub(super) fn new(mut from: R) -> Result<Self, ImportError> {
        let place = Place::Byte(0);
        let first = first_byte(&mut from).map_err(|source| ImportError::Io { place, source })?;
        let is_packed = first == Some(GZIP);
        let from = if is_packed { Input::Gzip(Box::new(MultiGzDecoder::new(from))) } else { Input::Plain(from) };
        Ok(Drmemtrace { from, offset: 0, threads: Threads::default(), is_ended: true })
    }

    /// Reads one record; false at the end.
    pub(super) fn step(&mut self, into: &mut Assembler, ignored: &mut u64) -> Result<bool, ImportError> {
        let place = Place::Byte(self.offset);
        let Some(record) = self.next_record()? else {
            if self.is_ended && self.offset > 0 {
                return Ok(false);
            }
            let needed = if self.offset == 0 { NEEDED_HEADER } else { "a footer (type 26) last" };
            return Err(ImportError::Cut { place, needed });
        };
        if self.is_ended && !is_header(&record) {
            return Err(ImportError::Unknown { place, found: described(&record), needed: NEEDED_HEADER });
        }
        self.follow(&record, place, into, ignored)?;
        Ok(true)
    }

    fn follow(
        &mut self,
        record: &Record,
        place: Place,
        into: &mut Assembler,
        ignored: &mut u64,
    ) -> Result<(), ImportError> {
        let Record { kind, size, address } = *record;
        match kind {
            kind::READ | kind::WRITE => into.reference(place, address, size.into(), kind == kind::WRITE)?,
            // An instruction that is not fetched again is the next turn of a repeated string instruction: one more.
            kind::FIRST_INSTRUCTION..=kind::LAST_INSTRUCTION
            | kind::NOT_FETCHED
            | kind::SYSENTER
            | kind::TAKEN_JUMP
            | kind::UNTAKEN_JUMP => {
                self.threads.run(place, into)?;
                into.instruction(place, address, size.into())?;
            }
            kind::BUNDLE => self.bundle(record, place, into)?,
            kind::THREAD => self.threads.thread(address),
            kind::PROCESS => self.threads.process(address),
            kind::THREAD_EXIT => self.threads.exit(address, into),
            kind::HEADER if is_header(record) => self.is_ended = false,
            kind::FOOTER => self.is_ended = true,
            kind::MARKER => mark(record, place, into)?,
            kind::ENCODING => {}
            kind::FIRST_PREFETCH..=kind::LAST_PREFETCH
            | kind::FIRST_FLUSH..=kind::LAST_FLUSH
            | kind::HARDWARE_PREFETCH
            | kind::FIRST_LATER_PREFETCH..kind::ENCODING => *ignored += 1,
            _ => return Err(ImportError::Unknown { place, found: described(record), needed: NEEDED_RECORD }),
        }
        Ok(())
    }

    /// Up to eight instructions that follow the one before; their lengths stand in place of an address.
    fn bundle(&mut self, record: &Record, place: Place, into: &mut Assembler) -> Result<(), ImportError> {
        self.threads.run(place, into)?;
        let lengths = record.address.to_le_bytes();
        let lengths = lengths.get(..record.size.into()).filter(|lengths| !lengths.is_empty()).ok_or_else(|| {
            let needed = "a bundle of 1 to 8 instructions";
            ImportError::Unknown { place, found: described(record), needed }
        })?;
        for &length in lengths {
            let address = into.next_address().ok_or(ImportError::NoInstruction { place })?;
            into.instruction(place, address, length.into())?;
        }
        Ok(())
    }

    fn next_record(&mut self) -> Result<Option<Record>, ImportError> {
        let mut bytes = [0; RECORD_BYTES as usize];
        let place = Place::Byte(self.offset);
        let filled = match &mut self.from {
            Input::Plain(from) => fill(from, &mut bytes),
            Input::Gzip(from) => fill(from.as_mut(), &mut bytes),
        };
        let filled = filled.map_err(|source| ImportError::Io { place, source })?;
        if filled == 0 {
            return Ok(None);
        }
        if filled < bytes.len() {
            return Err(ImportError::Cut { place, needed: "a whole record of 12 bytes" });
        }
        self.offset += RECORD_BYTES;
        let [t0, t1, s0, s1, address @ ..] = bytes;
        let (kind, size) = (u16::from_le_bytes([t0, t1]), u16::from_le_bytes([s0, s1]));
        Ok(Some(Record { kind, size, address: u64::from_le_bytes(address) }))
    }
}

fn mark(record: &Record, place: Place, into: &mut Assembler) -> Result<(), ImportError> {
    match record.size {
        marker::FILE_TYPE if record.address & FILTERED != 0 => return Err(ImportError::Filtered { place }),
        marker::KERNEL_BEGINS => set_flags(into, BlockFlags::KERNEL),
        marker::KERNEL_ENDS => set_flags(into, BlockFlags::USER),
        _ => {}
    }
    Ok(())
}

fn set_flags(into: &mut Assembler, flags: BlockFlags) {
    into.end();
    into.flags = flags;
}

fn is_header(record: &Record) -> bool {
    record.kind == kind::HEADER && VERSIONS.contains(&record.address)
}

fn described(record: &Record) -> String {
    format!("a record of type {}, size {} and address {:#x}", record.kind, record.size, record.address)
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

#[cfg(test)]
mod tests;
