//! Imports traces of other tools as a stream of any length, with a few chunks of memory.
//!
//! The input is text of Valgrind's lackey or of Dinero, records of ChampSim, packets of gem5, or
//! records of DynamoRIO's drmemtrace, in one file or in several. The output is chunks, and notes on
//! omitted and invented data. A trace in a format without tasks gets one task, `imported`; its
//! birth and a switch to it come first. `docs/formats/importers.md` describes the content of these
//! formats.

mod assembler;
mod champsim;
mod din;
mod drmemtrace;
mod error;
mod gem5;
mod lackey;
mod lines;
mod packed;
mod unzip;

use std::io::BufRead;

use crate::Chunk;

use assembler::Assembler;
use champsim::ChampSim;
use drmemtrace::Drmemtrace;
use gem5::Gem5;
use lines::{Lines, Parsed, harmless};

pub use error::{ImportError, Location};
pub use unzip::Unzipped;

/// Note for text that begins with references, or has nothing else.
const MADE_UP: &str = "the trace begins with references without an instruction, so one instruction was added for each: the \
    number of instructions, the CPI and instruction caches are meaningless";

enum Format<R: BufRead> {
    Lackey(Lines<R>),
    Din { lines: Lines<R>, word_bytes: u8 },
    ChampSim(ChampSim<R>),
    Gem5(Gem5<R>),
    Drmemtrace(Box<Drmemtrace<R>>),
}

/// Another tool's trace as a stream of chunks.
pub struct Importer<R: BufRead> {
    format: Format<R>,
    assembler: Assembler,
    ignored: u64,
    is_over: bool,
    /// Error that ended the reading. The error is reported after all data before it.
    failure: Option<ImportError>,
}

impl<R: BufRead> Importer<R> {
    /// Imports the text that `valgrind --tool=lackey --trace-mem=yes` writes to stderr.
    pub fn lackey(from: R) -> Self {
        Importer::new(
            Format::Lackey(Lines::new(from, "lackey")),
            Assembler::with_one_task(),
        )
    }

    /// Imports Dinero's `din` text. The text has no sizes, so every instruction and every reference
    /// is `word_bytes` long.
    ///
    /// # Errors
    ///
    /// If `word_bytes` is no power of two up to 128.
    pub fn din(from: R, word_bytes: u64) -> Result<Self, ImportError> {
        let bytes = u8::try_from(word_bytes)
            .ok()
            .filter(|bytes| bytes.is_power_of_two())
            .ok_or(ImportError::Word(word_bytes))?;
        Ok(Importer::new(
            Format::Din {
                lines: Lines::new(from, "din"),
                word_bytes: bytes,
            },
            Assembler::with_one_task(),
        ))
    }

    /// Imports records of ChampSim's tracer, plain or packed by gzip, as one task.
    ///
    /// # Errors
    ///
    /// If the file cannot be read, or is packed in another way.
    pub fn champsim(from: R) -> Result<Self, ImportError> {
        Ok(Importer::new(
            Format::ChampSim(ChampSim::new(from)?),
            Assembler::with_one_task(),
        ))
    }

    /// Imports a packet trace of gem5, plain or packed by gzip, as one task.
    ///
    /// # Errors
    ///
    /// If the file cannot be read, or is packed in another way.
    pub fn gem5(from: R) -> Result<Self, ImportError> {
        Ok(Importer::new(
            Format::Gem5(Gem5::new(from)?),
            Assembler::with_one_task(),
        ))
    }

    /// Imports a post-processed offline trace that drmemtrace made of a 64-bit program. The file
    /// has one thread, several threads or one core; it may be packed by gzip or snappy. Threads
    /// become tasks.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn drmemtrace(from: R) -> Result<Self, ImportError> {
        Importer::drmemtrace_files(vec![(String::new(), from)], None)
    }

    /// Imports a post-processed offline trace of drmemtrace from files of one thread each, given
    /// with their names. Threads are interleaved by their time stamps. With `cpu`, only
    /// instructions that ran on that CPU of the traced machine are imported.
    ///
    /// # Errors
    /// If a file cannot be read.
    pub fn drmemtrace_files(
        files: Vec<(String, R)>,
        cpu: Option<u64>,
    ) -> Result<Self, ImportError> {
        Ok(Importer::new(
            Format::Drmemtrace(Box::new(Drmemtrace::new(files, cpu)?)),
            Assembler::default(),
        ))
    }

    fn new(format: Format<R>, assembler: Assembler) -> Self {
        Importer {
            format,
            assembler,
            ignored: 0,
            is_over: false,
            failure: None,
        }
    }

    /// Reads the next chunk into `chunk`; returns false, and an empty chunk, at the end.
    ///
    /// # Errors
    ///
    /// If the input is invalid or cannot be read, or a reference precedes any instruction. The
    /// error is returned once, after all data before it.
    pub fn next_into(&mut self, chunk: &mut Chunk) -> Result<bool, ImportError> {
        chunk.clear();
        while !self.is_over && !self.assembler.is_full() {
            let step = self.step();
            self.is_over = !matches!(step, Ok(true));
            self.failure = step.err();
        }
        if self.is_over {
            self.assembler.end();
        }
        self.assembler.take(chunk);
        if !chunk.is_empty() {
            return Ok(true);
        }
        self.failure.take().map_or(Ok(false), Err)
    }

    /// Reads one line or record; returns false at the end.
    fn step(&mut self) -> Result<bool, ImportError> {
        let (lines, word_bytes) = match &mut self.format {
            Format::Lackey(lines) => (lines, None),
            Format::Din { lines, word_bytes } => (lines, Some(*word_bytes)),
            Format::ChampSim(records) => return records.step(&mut self.assembler),
            Format::Gem5(packets) => return packets.step(&mut self.assembler, &mut self.ignored),
            Format::Drmemtrace(records) => {
                return records.step(&mut self.assembler, &mut self.ignored);
            }
        };
        let Some((line, text)) = lines.next_line()? else {
            return Ok(false);
        };
        let place = Location::Line(line);
        let (parsed, needed) = match word_bytes {
            None => (lackey::parse(text), lackey::NEEDED),
            Some(bytes) => (din::parse(text, bytes.into()), din::NEEDED),
        };
        match parsed {
            Parsed::Instruction { address, bytes } => {
                self.assembler.instruction(place, address, bytes)?
            }
            Parsed::Data {
                address,
                bytes,
                loads,
                stores,
            } => {
                self.assembler.make_up_instruction();
                for is_store in [loads.then_some(false), stores.then_some(true)]
                    .into_iter()
                    .flatten()
                {
                    self.assembler.reference(place, address, bytes, is_store)?;
                }
            }
            Parsed::Noise => self.ignored += 1,
            Parsed::Unknown => {
                return Err(ImportError::Unknown {
                    place,
                    found: format!("'{}'", harmless(text)),
                    needed,
                });
            }
        }
        Ok(true)
    }

    /// Returns the number of lines or records so far that were ignored because they are no part of
    /// the trace.
    pub fn ignored_lines(&self) -> u64 {
        self.ignored
    }

    /// Returns the number of instructions invented so far: for references before any instruction,
    /// and for each 65,535 references of one instruction.
    pub fn made_up_instructions(&self) -> u64 {
        self.assembler.made_up
    }

    /// Returns the number of references so far whose size the source does not give.
    pub fn unknown_sizes(&self) -> u64 {
        self.assembler.unknown_sizes
    }

    /// Returns sentences that qualify all numbers computed from the trace. The list is complete
    /// once the first chunk has been read.
    pub fn notes(&self) -> Vec<String> {
        let of_format = match &self.format {
            Format::Lackey(_) | Format::Din { .. } => Vec::new(),
            Format::ChampSim(_) => vec![champsim::WITHOUT_SIZES],
            Format::Gem5(packets) => packets.notes(),
            Format::Drmemtrace(records) => records.notes(),
        };
        let made_up = self.assembler.begins_with_data().then_some(MADE_UP);
        of_format
            .into_iter()
            .chain(made_up)
            .map(str::to_owned)
            .collect()
    }

    /// Returns the architecture of the traced code, if the source gives it.
    pub fn arch(&self) -> Option<&'static str> {
        match &self.format {
            Format::Lackey(_) | Format::Din { .. } | Format::ChampSim(_) | Format::Gem5(_) => None,
            Format::Drmemtrace(records) => records.arch(),
        }
    }
}

#[cfg(test)]
pub(crate) mod tests;
