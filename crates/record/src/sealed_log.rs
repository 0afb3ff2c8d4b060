//! Files of JSON lines. The first line names the format. Each line has a checksum that covers the
//! line and all lines before. All formats of this kind share one writer and one reader.

mod chain;
mod document;
mod error;

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::marker::PhantomData;
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde::de::DeserializeOwned;
use switchcost_units::Bytes;

use crate::{Readers, Source};
pub use chain::{BrokenChain, Chain};
pub(crate) use document::{read_document, read_sealed_document, seal_document};
use error::{Origin, describe_json, too_long};
pub use error::{ReadRecordError, WriteRecordError};

/// Longest line that is read, in bytes. Written lines are below 1 MiB, so a longer line means that
/// the file is damaged.
pub(crate) const LINE_LIMIT: Bytes = Bytes::mib(64);

/// Kind of file, with the name and versions of its format, and the command that writes such files.
pub trait Form {
    /// Name of the format and the newest version, separated by a slash.
    const FORM: &'static str;
    /// Older versions of the format that can be read.
    const OLDER: &'static [&'static str] = &[];
    /// Name of the command that writes files of this kind.
    const WRITER: &'static str;
}

/// Type of a line in a sealed file of JSON lines. The first line is a header. The last line may be
/// of a kind that ends the file.
pub trait LogLine: Form + Serialize + DeserializeOwned {
    /// Type of the header's content.
    type Header;

    /// Returns the first line for this header, in the newest version of the format.
    fn from_header(header: Self::Header) -> Self;

    /// Returns the content of a header line; `None` for other lines.
    fn into_header(self) -> Option<Self::Header>;

    /// Returns the place in the file at which this kind of line may be.
    fn place(&self) -> LinePlace;
}

/// Place in the file at which a kind of line may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinePlace {
    /// The line is the first.
    First,
    /// The line is neither the first nor the last.
    Between,
    /// The line is the last.
    Last,
}

/// Writer of a record, which appends lines with checksums. The kernel gets each line at once, so a
/// crash of this program loses no line.
#[derive(Debug)]
pub struct SealedLog<L> {
    file: File,
    path: PathBuf,
    lines: u64,
    whole_bytes: u64,
    chain: Chain,
    kind: PhantomData<fn(&L)>,
}

impl<L: LogLine> SealedLog<L> {
    /// Creates a record with the permissions for `readers`, and writes its header.
    ///
    /// # Errors
    ///
    /// If the file exists, or cannot be written.
    pub fn create(
        readers: Readers,
        path: &Path,
        header: L::Header,
    ) -> Result<Self, WriteRecordError> {
        let file = readers
            .create_new(path, File::options().append(true))
            .map_err(|source| WriteRecordError::new(path, source))?;
        let mut log = SealedLog {
            file,
            path: path.to_owned(),
            lines: 0,
            whole_bytes: 0,
            chain: Chain::default(),
            kind: PhantomData,
        };
        if let Err(source) = log.write(&L::from_header(header)) {
            // An empty file would not be a record, but would occupy the name.
            let _ = std::fs::remove_file(path);
            return Err(WriteRecordError::new(path, source));
        }
        Ok(log)
    }

    /// Appends one line. If the line cannot be written completely, its written part is removed.
    ///
    /// # Errors
    ///
    /// If the line cannot be written.
    pub fn append(&mut self, line: &L) -> Result<(), WriteRecordError> {
        self.write(line).map_err(|source| {
            // Errors are ignored, because the reader leaves out an incomplete line.
            let _ = self.file.set_len(self.whole_bytes);
            self.cut(source)
        })
    }

    fn write(&mut self, line: &L) -> io::Result<()> {
        let mut bytes = serde_json::to_vec(line)?;
        let chain = self.chain.seal(&mut bytes);
        bytes.push(b'\n');
        self.file.write_all(&bytes)?;
        self.lines += 1;
        self.whole_bytes += bytes.len() as u64;
        self.chain = chain;
        Ok(())
    }

    /// Waits until all lines are on the disk (fdatasync), so that a crash of the machine loses
    /// none.
    ///
    /// # Errors
    ///
    /// If the kernel reports an error.
    pub fn sync(&self) -> Result<(), WriteRecordError> {
        self.file.sync_data().map_err(|source| self.cut(source))
    }

    fn cut(&self, source: io::Error) -> WriteRecordError {
        WriteRecordError::Append {
            path: self.path.clone(),
            lines: self.lines,
            source,
        }
    }

    /// Returns the path of the record's file.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

/// Reader of a record, line by line. At most one line is in memory, and a line has at most `limit`
/// bytes.
pub(crate) struct SealedLines<'a, L> {
    reader: BufReader<File>,
    origin: Origin<'a>,
    limit: Bytes,
    number: u64,
    has_cut_line: bool,
    has_ended: bool,
    /// Checksum of all lines read so far.
    chain: Chain,
    kind: PhantomData<fn() -> L>,
}

/// Next part of a record's file.
enum Piece {
    /// A complete line, without its newline.
    Line(Vec<u8>),
    /// The beginning of a line that is too long. The rest of the line is not read.
    TooLong,
    /// The end of the file, possibly after an incomplete line.
    End,
}

impl<'a, L: LogLine> SealedLines<'a, L> {
    /// Opens a record in order to read its lines.
    pub(crate) fn open(source: &'a Source, limit: Bytes) -> Result<Self, ReadRecordError> {
        let origin = Origin::new::<L>(source.path());
        let file = source.open().map_err(|source| origin.unread(source))?;
        Ok(SealedLines {
            reader: BufReader::new(file),
            origin,
            limit,
            number: 0,
            has_cut_line: false,
            has_ended: false,
            chain: Chain::default(),
            kind: PhantomData,
        })
    }

    /// Reads the header. A header of an unknown version is an error that names the version.
    pub(crate) fn header(&mut self) -> Result<L::Header, ReadRecordError> {
        let mut line = match self.next_piece()? {
            Piece::Line(bytes) => bytes,
            Piece::TooLong => return Err(self.origin.foreign(too_long(self.limit))),
            Piece::End if self.has_cut_line => {
                return Err(self.origin.foreign("its only line is cut off"));
            }
            Piece::End => return Err(self.origin.foreign("it is empty")),
        };
        self.origin.check_form(&line)?;
        let line: L = self.opened(&mut line)?;
        line.into_header()
            .ok_or_else(|| self.damaged("it is no header"))
    }

    /// Reads the next line; `None` at the end of the file, possibly after an incomplete line.
    pub(crate) fn next_line(&mut self) -> Result<Option<L>, ReadRecordError> {
        let mut bytes = match self.next_piece()? {
            Piece::End => return Ok(None),
            Piece::TooLong => return Err(self.damaged(too_long(self.limit))),
            Piece::Line(bytes) => bytes,
        };
        let line: L = self.opened(&mut bytes)?;
        match line.place() {
            _ if self.has_ended => return Err(self.damaged("a line behind the last")),
            LinePlace::First => return Err(self.damaged("a second header")),
            LinePlace::Between => {}
            LinePlace::Last => self.has_ended = true,
        }
        Ok(Some(line))
    }

    /// Whether the file ends with an incomplete line.
    pub(crate) fn has_cut_line(&self) -> bool {
        self.has_cut_line
    }

    /// Returns the error that the line read last is damaged, with the reason `why`.
    pub(crate) fn damaged(&self, why: impl Into<String>) -> ReadRecordError {
        self.origin.damaged(self.number, why)
    }

    fn next_piece(&mut self) -> Result<Piece, ReadRecordError> {
        let mut bytes = Vec::new();
        (&mut self.reader)
            .take(self.limit.0)
            .read_until(b'\n', &mut bytes)
            .map_err(|source| self.origin.unread(source))?;
        if bytes.is_empty() {
            return Ok(Piece::End);
        }
        self.number += 1;
        if bytes.pop_if(|last| *last == b'\n').is_some() {
            return Ok(Piece::Line(bytes));
        }
        if bytes.len() as u64 == self.limit.0 {
            return Ok(Piece::TooLong);
        }
        self.has_cut_line = true;
        Ok(Piece::End)
    }

    /// Checks the checksum of a line, and returns the line's content.
    fn opened(&mut self, line: &mut Vec<u8>) -> Result<L, ReadRecordError> {
        self.chain = self
            .chain
            .open(line)
            .map_err(|broken| self.damaged(broken.describe(self.number)))?;
        serde_json::from_slice(line).map_err(|error| self.damaged(describe_json(&error)))
    }
}

#[cfg(test)]
mod tests;
