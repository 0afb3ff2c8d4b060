mod chain;

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};

use switchcost_remedies::{for_reading, for_writing};
use switchcost_units::Bytes;

use crate::{
    ANOTHER_PLACE, Cycles, End, Header, Latency, Line, MEASURE_SCHEMA, MEASURE_VERSION, Readers,
    Refusal, RuntimeRun, Sample, SelfTest, Source, as_argument, printable,
};
pub use chain::{BrokenChain, Chain};

/// A line longer than this is damage, not data: the longest that is written stays below 1 MiB.
const LINE_LIMIT: Bytes = Bytes::mib(64);

/// Why a record could not be written. Reads well behind "failed to write the record: ".
#[derive(Debug, thiserror::Error)]
pub enum WriteRecordError {
    /// The file exists.
    #[error(
        "found a file at {0}, need a name that is free (records are never overwritten); choose another name \
             with --record or move the file away"
    )]
    Exists(PathBuf),
    /// The file cannot be created.
    #[error(
        "{path} cannot be created ({source}), {}",
        for_writing(.source, ANOTHER_PLACE)
    )]
    Create {
        /// Where.
        path: PathBuf,
        /// What the kernel said.
        source: io::Error,
    },
    /// A line could not be appended; the lines before it are whole and on disk.
    #[error(
        "{path} took {lines} lines and then no more ({source}), {}. What was written is whole: switchcost report {}",
        for_writing(.source, ANOTHER_PLACE), as_argument(.path)
    )]
    Append {
        /// Where.
        path: PathBuf,
        /// Whole lines in the file.
        lines: u64,
        /// What the kernel said.
        source: io::Error,
    },
}

impl WriteRecordError {
    /// A record that took not even its header was not created.
    fn before_the_first_line(self) -> Self {
        match self {
            WriteRecordError::Append { path, source, .. } => {
                WriteRecordError::Create { path, source }
            }
            other => other,
        }
    }
}

/// Appends lines to a record, each with its checksum. Every line is handed to the kernel at once, so that a crash of this program loses none.
#[derive(Debug)]
pub struct MeasureWriter {
    file: File,
    path: PathBuf,
    lines: u64,
    whole_bytes: u64,
    chain: Chain,
}

impl MeasureWriter {
    /// Creates the record, which must not exist, and writes its header, as one of the newest version.
    pub fn create(path: &Path, header: Header) -> Result<Self, WriteRecordError> {
        Self::create_for(Readers::AsUsual, path, header)
    }

    /// The same, for these readers.
    pub fn create_for(
        readers: Readers,
        path: &Path,
        header: Header,
    ) -> Result<Self, WriteRecordError> {
        let file = readers
            .create_new(path, File::options().append(true))
            .map_err(|source| match source.kind() {
                io::ErrorKind::AlreadyExists => WriteRecordError::Exists(path.to_owned()),
                _ => WriteRecordError::Create {
                    path: path.to_owned(),
                    source,
                },
            })?;
        let header = Header {
            schema: format!("{MEASURE_SCHEMA}/{MEASURE_VERSION}"),
            ..header
        };
        let mut writer = MeasureWriter {
            file,
            path: path.to_owned(),
            lines: 0,
            whole_bytes: 0,
            chain: Chain::default(),
        };
        match writer.append(&Line::Header(Box::new(header))) {
            Ok(()) => Ok(writer),
            Err(error) => {
                // An empty file is no record, and would hold the name.
                let _ = std::fs::remove_file(path);
                Err(error.before_the_first_line())
            }
        }
    }

    /// Appends one line. Where it does not fit, the part of it that was written is taken back.
    pub fn append(&mut self, line: &Line) -> Result<(), WriteRecordError> {
        let outcome = serde_json::to_vec(line)
            .map_err(io::Error::from)
            .and_then(|mut bytes| {
                let chain = self.chain.seal(&mut bytes);
                bytes.push(b'\n');
                self.file
                    .write_all(&bytes)
                    .map(|()| (bytes.len() as u64, chain))
            });
        match outcome {
            Ok((length, chain)) => {
                self.lines += 1;
                self.whole_bytes += length;
                self.chain = chain;
                Ok(())
            }
            Err(source) => {
                // Best effort: a reader drops a cut line by itself.
                let _ = self.file.set_len(self.whole_bytes);
                Err(WriteRecordError::Append {
                    path: self.path.clone(),
                    lines: self.lines,
                    source,
                })
            }
        }
    }

    /// Asks the kernel to put everything on disk, against a crash of the machine.
    pub fn sync(&self) -> Result<(), WriteRecordError> {
        self.file
            .sync_data()
            .map_err(|source| WriteRecordError::Append {
                path: self.path.clone(),
                lines: self.lines,
                source,
            })
    }

    /// Where the record is.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

/// Why a file is not a record that can be read. Reads well behind "failed to read the record: ".
#[derive(Debug, thiserror::Error)]
pub enum ReadRecordError {
    /// The file cannot be read.
    #[error("{path} cannot be read ({source}), {}", for_reading(.source, "a file written by switchcost measure"))]
    Open {
        /// Where.
        path: PathBuf,
        /// What the kernel said.
        source: io::Error,
    },
    /// The file does not begin with a header.
    #[error(
        "{path} does not begin with a header ({why}), need a file written by switchcost measure"
    )]
    NoHeader {
        /// Where.
        path: PathBuf,
        /// What was found.
        why: String,
    },
    /// The file is of a version this program does not know.
    #[error(
        "{path} is of format {found}, need {MEASURE_SCHEMA}/{MEASURE_VERSION}; read it with a version of switchcost \
             that writes that format"
    )]
    Version {
        /// Where.
        path: PathBuf,
        /// The schema in its header.
        found: String,
    },
    /// A line in the middle is not a line of a record.
    #[error(
        "{path} is damaged at line {line} ({why}), need a line as switchcost wrote it; the {whole} lines before \
             it are whole: head -n {whole} {} > rescued.jsonl",
        as_argument(.path)
    )]
    Damaged {
        /// Where.
        path: PathBuf,
        /// Line number, counted from 1.
        line: u64,
        /// Whole lines before it.
        whole: u64,
        /// What is wrong.
        why: String,
    },
}

/// A record read back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MeasureRecord {
    /// Its first line.
    pub header: Header,
    /// Known-answer tests.
    pub self_tests: Vec<SelfTest>,
    /// Load latencies.
    pub latencies: Vec<Latency>,
    /// Every batch that was run for counters or single hand-offs, in the order they were run.
    pub samples: Vec<Sample>,
    /// Every window of cycles, clean or not, in the order they were run.
    pub cycles: Vec<Cycles>,
    /// What runtimes reported of their repetitions.
    pub runtime_runs: Vec<RuntimeRun>,
    /// Repetitions that could not be run.
    pub refusals: Vec<Refusal>,
    /// The last line; `None` where the run was cut off.
    pub end: Option<End>,
    /// Whether the file ends inside a line, which is left out.
    pub has_cut_line: bool,
}

impl MeasureRecord {
    /// A record without samples.
    pub fn new(header: Header) -> Self {
        MeasureRecord {
            header,
            self_tests: Vec::new(),
            latencies: Vec::new(),
            samples: Vec::new(),
            cycles: Vec::new(),
            runtime_runs: Vec::new(),
            refusals: Vec::new(),
            end: None,
            has_cut_line: false,
        }
    }

    /// Reads a record up to its last whole line.
    pub fn read(source: impl Into<Source>) -> Result<Self, ReadRecordError> {
        Self::read_limited(&source.into(), LINE_LIMIT)
    }

    /// Reads its first line alone.
    pub fn read_header(source: impl Into<Source>) -> Result<Header, ReadRecordError> {
        Lines::of(&source.into(), LINE_LIMIT)?.header()
    }

    /// Never holds more than one line of at most `limit` in memory, beside what it has read.
    fn read_limited(source: &Source, limit: Bytes) -> Result<Self, ReadRecordError> {
        let mut lines = Lines::of(source, limit)?;
        let mut record = MeasureRecord::new(lines.header()?);
        while let Some(line) = lines.next_line()? {
            record.add(line, &lines)?;
        }
        record.has_cut_line = lines.has_cut_line;
        Ok(record)
    }

    fn add(&mut self, line: Line, lines: &Lines<'_>) -> Result<(), ReadRecordError> {
        match line {
            _ if self.end.is_some() => return Err(lines.damaged("a line behind the last")),
            Line::Header(_) => return Err(lines.damaged("a second header")),
            Line::Sample(sample) if sample.case as usize >= self.header.plan.cases.len() => {
                return Err(lines.damaged(&format!(
                    "a sample of case {}, which the plan does not hold",
                    sample.case
                )));
            }
            Line::Refusal(refusal) if refusal.case as usize >= self.header.plan.cases.len() => {
                return Err(lines.damaged(&format!(
                    "a refusal of case {}, which the plan does not hold",
                    refusal.case
                )));
            }
            Line::Cycles(cycles) if cycles.case as usize >= self.header.plan.cases.len() => {
                return Err(lines.damaged(&format!(
                    "cycles of case {}, which the plan does not hold",
                    cycles.case
                )));
            }
            Line::Runtime(run) if run.case as usize >= self.header.plan.cases.len() => {
                return Err(lines.damaged(&format!(
                    "a runtime of case {}, which the plan does not hold",
                    run.case
                )));
            }
            Line::SelfTest(test) => self.self_tests.push(test),
            Line::Latency(latency) => self.latencies.push(latency),
            Line::Sample(sample) => self.samples.push(*sample),
            Line::Cycles(cycles) => {
                if let Some(fault) = cycles.batches.fault() {
                    return Err(lines.damaged(&fault));
                }
                self.cycles.push(*cycles);
            }
            Line::Runtime(run) => self.runtime_runs.push(*run),
            Line::Refusal(refusal) => self.refusals.push(refusal),
            Line::End(end) => self.end = Some(end),
        }
        Ok(())
    }
}

struct Lines<'a> {
    reader: BufReader<File>,
    path: &'a Path,
    limit: Bytes,
    number: u64,
    has_cut_line: bool,
    /// Up to the line before.
    chain: Chain,
}

/// What comes next in the file.
enum Piece {
    /// A line, without its newline.
    Line(Vec<u8>),
    /// The beginning of a line that is too long, and is not read to its end.
    TooLong,
    /// The end, or a line that the file ends inside of.
    End,
}

impl<'a> Lines<'a> {
    fn of(source: &'a Source, limit: Bytes) -> Result<Self, ReadRecordError> {
        let path = source.path();
        let file = source.open().map_err(|source| ReadRecordError::Open {
            path: path.to_owned(),
            source,
        })?;
        Ok(Lines {
            reader: BufReader::new(file),
            path,
            limit,
            number: 0,
            has_cut_line: false,
            chain: Chain::default(),
        })
    }

    fn next_piece(&mut self) -> Result<Piece, ReadRecordError> {
        let mut bytes = Vec::new();
        let limited = (&mut self.reader)
            .take(self.limit.0)
            .read_until(b'\n', &mut bytes);
        limited.map_err(|source| ReadRecordError::Open {
            path: self.path.to_owned(),
            source,
        })?;
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

    fn next_line(&mut self) -> Result<Option<Line>, ReadRecordError> {
        match self.next_piece()? {
            Piece::End => Ok(None),
            Piece::TooLong => Err(self.damaged(&too_long(self.limit))),
            Piece::Line(mut bytes) => {
                self.open(&mut bytes).map_err(|why| self.damaged(&why))?;
                serde_json::from_slice(&bytes)
                    .map(Some)
                    .map_err(|error| self.damaged(&in_words(&error)))
            }
        }
    }

    /// Takes the checksum off the line that was just read, or says why it is not the line that was written here.
    fn open(&mut self, line: &mut Vec<u8>) -> Result<(), String> {
        self.chain = self
            .chain
            .open(line)
            .map_err(|broken| self.in_its_place(broken))?;
        Ok(())
    }

    fn in_its_place(&self, broken: BrokenChain) -> String {
        match broken {
            BrokenChain::Changed { .. } if self.number > 1 => {
                format!(
                    "{broken}: it was changed, or a line before it is missing, doubled or out of place"
                )
            }
            BrokenChain::Changed { .. } => format!("{broken}: it was changed"),
            BrokenChain::NoCheck => broken.to_string(),
        }
    }

    fn first_line(&mut self) -> Result<Vec<u8>, ReadRecordError> {
        match self.next_piece()? {
            Piece::Line(bytes) => Ok(bytes),
            Piece::TooLong => Err(self.no_header(&too_long(self.limit))),
            Piece::End if self.has_cut_line => Err(self.no_header("its only line is cut off")),
            Piece::End => Err(self.no_header("it is empty")),
        }
    }

    fn header(&mut self) -> Result<Header, ReadRecordError> {
        let mut line = self.first_line()?;
        self.see_version(&line)?;
        self.open(&mut line)
            .map_err(|why| self.no_header(&format!("line 1: {why}")))?;
        match serde_json::from_slice(&line) {
            Ok(Line::Header(header)) => Ok(*header),
            Ok(_) => Err(self.no_header("its first line is of another kind")),
            Err(error) => Err(self.no_header(&in_words(&error))),
        }
    }

    /// Refuses a first line of another version, however unlike ours it is.
    fn see_version(&self, line: &[u8]) -> Result<(), ReadRecordError> {
        let value: serde_json::Value = serde_json::from_slice(line)
            .map_err(|_| self.no_header("its first line is not JSON"))?;
        let schema = value
            .get("schema")
            .and_then(|schema| schema.as_str())
            .unwrap_or_default();
        match schema
            .strip_prefix(MEASURE_SCHEMA)
            .and_then(|rest| rest.strip_prefix('/'))
        {
            Some(version) if version == MEASURE_VERSION.to_string() => Ok(()),
            Some(_) => Err(ReadRecordError::Version {
                path: self.path.to_owned(),
                found: printable(schema),
            }),
            None => Err(self.no_header(&format!("its schema is {schema:?}, not {MEASURE_SCHEMA}"))),
        }
    }

    fn no_header(&self, why: &str) -> ReadRecordError {
        ReadRecordError::NoHeader {
            path: self.path.to_owned(),
            why: why.to_owned(),
        }
    }

    fn damaged(&self, why: &str) -> ReadRecordError {
        ReadRecordError::Damaged {
            path: self.path.to_owned(),
            line: self.number,
            whole: self.number - 1,
            why: why.to_owned(),
        }
    }
}

fn too_long(limit: Bytes) -> String {
    format!("a line of more than {limit}")
}

/// The parser was given one line and calls it line 1; the number that helps is the one in the record.
fn in_words(error: &serde_json::Error) -> String {
    printable(
        &error
            .to_string()
            .replace(" at line 1 column ", " at column "),
    )
}

#[cfg(test)]
mod tests;
