use std::io::{BufReader, Read, Seek, SeekFrom};

use super::error::{Before, ReadTraceError};
use super::header::TraceHeader;
use super::index::{ChunkEntry, TraceIndex};
use super::reader::{ChunkPlace, TraceReader};
use super::record::{HEAD_BYTES, Head, kind, read_up_to};
use crate::codec::{ChunkDecoder, ChunkHead, limits};
use crate::{Chunk, Dependences, KernelSymbols};

const FOOTER_BYTES: u64 = HEAD_BYTES as u64 + 8;

/// A file of a trace that can be read from any position.
trait Source: Read + Seek {}

impl<F: Read + Seek> Source for F {}

/// A trace that can be read from any chunk with the help of its index. The type hides the kind of
/// file, so that replaying code is compiled only once, in this crate.
pub struct TraceFile<'f> {
    file: BufReader<Box<dyn Source + Send + 'f>>,
    header: TraceHeader,
    index: TraceIndex,
    decoder: ChunkDecoder,
    body: Vec<u8>,
    next: usize,
}

impl<'f> TraceFile<'f> {
    /// Opens a trace: reads its header and index.
    pub fn open(file: impl Read + Seek + Send + 'f) -> Result<Self, ReadTraceError> {
        let mut file: Box<dyn Source + Send + 'f> = Box::new(file);
        let header = TraceReader::new(&mut file)?.header().clone();
        let mut body = Vec::new();
        let index = read_index(&mut file, &mut body)?;
        let decoder = ChunkDecoder::new().map_err(ReadTraceError::Resources)?;
        Ok(TraceFile {
            file: BufReader::new(file),
            header,
            index,
            decoder,
            body,
            next: 0,
        })
    }

    /// Returns the header of the trace.
    pub fn header(&self) -> &TraceHeader {
        &self.header
    }

    /// Returns the index of the trace.
    pub fn index(&self) -> &TraceIndex {
        &self.index
    }

    /// Seeks to the chunk that contains an instruction, counted from 0; [`next_into`](Self::next_into) reads it next.
    pub fn seek(&mut self, instruction: u64) -> Result<ChunkEntry, ReadTraceError> {
        let beyond = ReadTraceError::Beyond {
            wanted: instruction,
            instructions: self.index.instructions,
        };
        let number = self.index.chunk_of(instruction).ok_or(beyond)?;
        self.next = number;
        Ok(self.index.chunks[number])
    }

    /// Seeks to a chunk by its number in the file; [`next_into`](Self::next_into) reads it next, or nothing after the last chunk.
    pub fn go_to(&mut self, number: usize) {
        self.next = number;
    }

    /// Reads the next chunk into `chunk`. Returns the chunk's position; `None` after the last
    /// chunk. After the last chunk and after errors, `chunk` is empty.
    pub fn next_into(&mut self, chunk: &mut Chunk) -> Result<Option<ChunkPlace>, ReadTraceError> {
        chunk.clear();
        let number = self.next;
        let Some(&entry) = self.index.chunks.get(number) else {
            return Ok(None);
        };
        self.record(number)?;
        let head = self
            .decoder
            .decode(&self.body, chunk)
            .map_err(|why| self.damaged(number, &why.to_string()))?;
        if let Err(error) = self.check(number, &head) {
            chunk.clear();
            return Err(error);
        }
        self.next += 1;
        let ChunkEntry {
            offset,
            first_instruction,
            first_block,
            running,
            ..
        } = entry;
        Ok(Some(ChunkPlace {
            number: number as u64,
            offset,
            first_instruction,
            first_block,
            running,
        }))
    }

    /// Reads the record of a chunk into `body`.
    fn record(&mut self, number: usize) -> Result<(), ReadTraceError> {
        let offset = self.index.chunks[number].offset;
        let failed = |source| ReadTraceError::Io {
            offset,
            source,
            before: Before::default(),
        };
        self.file.seek(SeekFrom::Start(offset)).map_err(failed)?;
        let outcome = read_record(
            &mut self.file,
            |head| head.kind == kind::CHUNK,
            limits::BODY_BYTES,
            &mut self.body,
        )
        .map_err(failed)?;
        outcome.map_err(|what| self.damaged(number, what))
    }

    fn check(&self, number: usize, head: &ChunkHead) -> Result<(), ReadTraceError> {
        let entry = &self.index.chunks[number];
        let claimed = (entry.first_instruction, entry.first_block, entry.running);
        if (head.first_instruction, head.first_block, head.running) != claimed {
            return Err(self.damaged(number, "the index says something else of it"));
        }
        Ok(())
    }

    fn damaged(&self, number: usize, what: &str) -> ReadTraceError {
        let entry = &self.index.chunks[number];
        let before = Before {
            chunks: number as u64,
            instructions: entry.first_instruction,
        };
        ReadTraceError::Damaged {
            offset: entry.offset,
            what: what.to_owned(),
            before,
        }
    }
}

/// Reads the kernel's symbols of a complete trace. The result is empty if the trace has no symbols.
///
/// # Errors
///
/// If the trace does not end with an index, or the symbols are damaged.
pub fn kernel_symbols(file: &mut (impl Read + Seek)) -> Result<KernelSymbols, ReadTraceError> {
    let damaged = |what: &str| ReadTraceError::Symbols(what.to_owned());
    let body = read_after_index(file, kind::KERNEL_SYMBOLS, &damaged)?;
    body.map_or(Ok(KernelSymbols::default()), |body| {
        KernelSymbols::decode(&body).map_err(damaged)
    })
}

/// Reads the dependences of the blocks of a complete trace. The result is empty if the trace has no
/// dependences.
///
/// # Errors
///
/// If the trace does not end with an index, or the dependences are damaged.
pub fn dependences(file: &mut (impl Read + Seek)) -> Result<Dependences, ReadTraceError> {
    let damaged = |what: &str| ReadTraceError::Dependences(what.to_owned());
    let body = read_after_index(file, kind::DEPENDENCES, &damaged)?;
    body.map_or(Ok(Dependences::default()), |body| {
        Dependences::decode(&body).map_err(damaged)
    })
}

/// Reads the body of the record of a given kind between index and footer; `None` if there is no
/// such record.
fn read_after_index(
    file: &mut (impl Read + Seek),
    kind: u16,
    damaged: &impl Fn(&str) -> ReadTraceError,
) -> Result<Option<Vec<u8>>, ReadTraceError> {
    let mut body = Vec::new();
    read_index(file, &mut body)?;
    loop {
        let mut found = 0;
        let is_wanted = |head: &Head| {
            found = head.kind;
            head.kind == kind || head.may_be_skipped()
        };
        let read = read_record(file, is_wanted, limits::BODY_BYTES, &mut body)
            .map_err(|source| damaged(&source.to_string()))?;
        match read {
            Ok(()) if found == kind => return Ok(Some(body)),
            Ok(()) => {}
            Err(ANOTHER) => return Ok(None),
            Err(what) => return Err(damaged(what)),
        }
    }
}

fn read_index(
    file: &mut (impl Read + Seek),
    body: &mut Vec<u8>,
) -> Result<TraceIndex, ReadTraceError> {
    let refuse = |what: &str| ReadTraceError::NoIndex(what.to_owned());
    let failed = |source: std::io::Error| ReadTraceError::NoIndex(source.to_string());
    let end = file.seek(SeekFrom::End(0)).map_err(failed)?;
    let footer = end
        .checked_sub(FOOTER_BYTES)
        .ok_or_else(|| refuse("the file is too short"))?;
    file.seek(SeekFrom::Start(footer)).map_err(failed)?;
    let is_footer = read_record(file, |head| head.kind == kind::FOOTER, 8, body).map_err(failed)?;
    is_footer.map_err(|_| refuse("the file does not end with a footer"))?;
    let at = body
        .first_chunk::<8>()
        .ok_or_else(|| refuse("the footer is too short"))?;
    let offset = u64::from_le_bytes(*at);
    if offset > footer {
        return Err(refuse("the footer points behind itself"));
    }
    file.seek(SeekFrom::Start(offset)).map_err(failed)?;
    read_record(
        file,
        |head| head.kind == kind::INDEX,
        u32::MAX as usize,
        body,
    )
    .map_err(failed)?
    .map_err(refuse)?;
    let index = TraceIndex::decode(body).map_err(refuse)?;
    let is_ascending = index
        .chunks
        .is_sorted_by_key(|entry| (entry.first_instruction, entry.offset));
    if is_ascending {
        Ok(index)
    } else {
        Err(refuse("its chunks are not in order"))
    }
}

const ANOTHER: &str = "it is of another kind or too long";

/// Reads a record of a wanted kind into `body`.
///
/// # Errors
///
/// If the record is damaged: its fault, as text.
fn read_record(
    from: &mut impl Read,
    mut is_wanted: impl FnMut(&Head) -> bool,
    most: usize,
    body: &mut Vec<u8>,
) -> std::io::Result<Result<(), &'static str>> {
    read_up_to(from, HEAD_BYTES as u64, body)?;
    let Some(head) = body.first_chunk::<HEAD_BYTES>() else {
        return Ok(Err("it is cut"));
    };
    let head = match Head::parse(head) {
        Ok(head) if is_wanted(&head) && head.body_bytes as usize <= most => head,
        Ok(_) => return Ok(Err(ANOTHER)),
        Err(what) => return Ok(Err(what)),
    };
    let read = read_up_to(from, head.body_bytes.into(), body)?;
    if read < u64::from(head.body_bytes) {
        return Ok(Err("it is cut"));
    }
    Ok(if head.is_of(body) {
        Ok(())
    } else {
        Err("its checksum differs")
    })
}
