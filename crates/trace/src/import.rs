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

use strum::{Display, EnumIter, EnumString};

use crate::Chunk;

use assembler::Assembler;
use champsim::ChampSim;
use drmemtrace::Drmemtrace;
use gem5::Gem5;
use lines::Text;

pub(crate) use error::Imported;
pub use error::{ImportError, Location};
pub use unzip::Unzipped;

/// Another tool's format, by its name on the command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Display, EnumString, EnumIter)]
#[strum(serialize_all = "lowercase")]
pub enum ImportFormat {
    /// Text output of `valgrind --tool=lackey --trace-mem=yes`.
    Lackey,
    /// Text in the din format of Dinero, which has no sizes.
    Din,
    /// Records of ChampSim's tracer, plain or compressed by gzip.
    ChampSim,
    /// Packets of gem5's CommMonitor or MemTraceProbe, plain or compressed by gzip.
    Gem5,
    /// Records of DynamoRIO's drmemtrace: a post-processed offline trace of a 64-bit program, plain
    /// or compressed by gzip or snappy. Threads become tasks.
    Drmemtrace,
}

/// Reader of one format.
trait Source {
    /// Reads one line or record; returns false at the end.
    fn step(&mut self, into: &mut Assembler) -> Imported<bool>;

    /// Returns notes on results, by the part of the trace read so far.
    fn notes(&self) -> Vec<&'static str> {
        Vec::new()
    }

    /// Returns the architecture of the traced code, if the trace names it.
    fn arch(&self) -> Option<&'static str> {
        None
    }
}

/// Note for text that begins with references, or has nothing else.
const MADE_UP: &str = "the trace begins with references without an instruction, so one instruction was added for each: the \
    number of instructions, the CPI and instruction caches are meaningless";

/// Another tool's trace as a stream of chunks.
pub struct Importer<'a> {
    source: Box<dyn Source + 'a>,
    assembler: Assembler,
    is_over: bool,
    /// Error that ended the reading. The error is reported after all data before it.
    failure: Option<ImportError>,
}

impl<'a> Importer<'a> {
    /// Imports a file. In a format without sizes, every instruction and every reference is
    /// `word_bytes` long.
    ///
    /// # Errors
    ///
    /// If the file cannot be read or is packed in an unsupported way, or (in a format without
    /// sizes) if `word_bytes` is no power of two up to 128.
    pub fn new(format: ImportFormat, from: impl BufRead + 'a, word_bytes: u64) -> Imported<Self> {
        let source: Box<dyn Source + 'a> = match format {
            ImportFormat::Lackey => {
                Box::new(Text::new(from, format, lackey::NEEDED, lackey::parse))
            }
            ImportFormat::Din => Box::new(Text::new(
                from,
                format,
                din::NEEDED,
                din::parser(word_bytes)?,
            )),
            ImportFormat::ChampSim => Box::new(ChampSim::new(from)?),
            ImportFormat::Gem5 => Box::new(Gem5::new(from)?),
            ImportFormat::Drmemtrace => {
                return Importer::drmemtrace_files(vec![(String::new(), from)], None);
            }
        };
        Ok(Importer::start(source, Assembler::with_one_task()))
    }

    /// Imports a post-processed offline trace of drmemtrace from files of one thread each, given
    /// with their names. Threads are interleaved by their time stamps. With `cpu`, only
    /// instructions that ran on that CPU of the traced machine are imported.
    ///
    /// # Errors
    /// If a file cannot be read.
    pub fn drmemtrace_files(
        files: Vec<(String, impl BufRead + 'a)>,
        cpu: Option<u64>,
    ) -> Imported<Self> {
        let source = Box::new(Drmemtrace::new(files, cpu)?);
        Ok(Importer::start(source, Assembler::default()))
    }

    fn start(source: Box<dyn Source + 'a>, assembler: Assembler) -> Self {
        Importer {
            source,
            assembler,
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
    pub fn next_into(&mut self, chunk: &mut Chunk) -> Imported<bool> {
        chunk.clear();
        while !self.is_over && !self.assembler.is_full() {
            let step = self.source.step(&mut self.assembler);
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

    /// Returns the number of lines or records so far that were ignored because they are no part of
    /// the trace.
    pub fn ignored_lines(&self) -> u64 {
        self.assembler.ignored
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

    /// Returns notes on results computed from the trace, as far as the trace has been read.
    pub fn notes(&self) -> Vec<String> {
        let made_up = self.assembler.begins_with_data().then_some(MADE_UP);
        let notes = self.source.notes().into_iter().chain(made_up);
        notes.map(str::to_owned).collect()
    }

    /// Returns the architecture of the traced code, if the source gives it.
    pub fn arch(&self) -> Option<&'static str> {
        self.source.arch()
    }
}

#[cfg(test)]
pub(crate) mod tests;
