use std::{fmt, io};

use super::ImportFormat;

/// A position in a foreign file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Location {
    /// Number of the line, from 1.
    Line(u64),
    /// Offset of the record in bytes, from 0, in the unpacked contents.
    Byte(u64),
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Location::Line(line) => write!(f, "line {line}"),
            Location::Byte(offset) => write!(f, "byte {offset}"),
        }
    }
}

/// A part of a foreign trace, or why the trace cannot be read further.
pub(crate) type Imported<T = ()> = Result<T, ImportError>;

/// Why a foreign trace cannot be read further.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// A line or record is not valid in the format.
    #[error("{place}: expected {needed}, found {found}; check that it is the right format")]
    Unknown {
        /// Position of the line or record.
        place: Location,
        /// The invalid text, shortened and escaped.
        found: String,
        /// Description of valid input.
        needed: &'static str,
    },
    /// A line is longer than any line of the text formats.
    #[error("{place}: a line is longer than {most} bytes; check that it is the right format")]
    LongLine {
        /// Position of the line.
        place: Location,
        /// Maximum number of bytes of a line that are read.
        most: usize,
    },
    /// References precede the first instruction.
    #[error(
        "{place}: a reference stands before the first instruction; put the instruction that makes it first"
    )]
    NoInstruction {
        /// Position of the first reference.
        place: Location,
    },
    /// A text that does not name processes has events of several.
    #[error(
        "{place}: events of the processes {first} and {number} are in one text, which does not say whose they are; trace again with \
         --log-file=%p.txt, and import the file of one process"
    )]
    Processes {
        /// Position of the first message of another process.
        place: Location,
        /// Process of the first message.
        first: u64,
        /// Process of the message at `place`.
        number: u64,
    },
    /// An instruction or reference has an impossible size.
    #[error("{place}: {bytes} bytes are not 1 to {most}; check that it is the right format")]
    Size {
        /// Position of the instruction or reference.
        place: Location,
        /// Size in the trace, in bytes.
        bytes: u64,
        /// Largest possible size in bytes.
        most: u64,
    },
    /// An address has more bits than a trace can store.
    #[error(
        "{place}: address {address:#x} has more than 48 bits that count; check that it is the right format"
    )]
    Address {
        /// Position of the address.
        place: Location,
        /// The invalid address.
        address: u64,
    },
    /// The trace has more threads than can be read.
    #[error("{place}: there are more than {most} threads; check that it is the right format")]
    Threads {
        /// Position of the first thread beyond the limit.
        place: Location,
        /// Maximum number of threads that are read.
        most: u32,
    },
    /// A cache had filtered the references before they were recorded.
    #[error(
        "{place}: the trace was filtered through a cache {until} it was taken, and every reference is needed; trace again \
         without a filter"
    )]
    Filtered {
        /// Position of the record that shows the error.
        place: Location,
        /// Words for the part of the time in which references were filtered.
        until: &'static str,
    },
    /// The trace is of code other than 64-bit x86.
    #[error("{place}: the trace is of {found}; trace a program for x86_64")]
    Architecture {
        /// Position of the record that shows the error.
        place: Location,
        /// Kind of code that the trace has.
        found: &'static str,
    },
    /// The file has templates of kernel code, which the tracer inserts into other traces.
    #[error(
        "{place}: these are templates of the kernel's code, which drmemtrace puts into other traces; give drmemtrace both, and \
         import what it writes"
    )]
    Templates {
        /// Position of the record that shows the error.
        place: Location,
    },
    /// Parts of the trace have different file types.
    #[error(
        "{place}: file type {found:#x} follows {before:#x}, but parts must be of one kind; import them one by one"
    )]
    Mixed {
        /// Position of the record with the different file type.
        place: Location,
        /// File type of the records from `place` on.
        found: u64,
        /// File type of the records before `place`.
        before: u64,
    },
    /// The file is the trace of one core, but was given together with other files or with a
    /// requested CPU.
    #[error("{place}: this is the trace of one core, and cores run at once; give {needed}")]
    Core {
        /// Position of the record that shows the error.
        place: Location,
        /// Description of valid input.
        needed: &'static str,
    },
    /// No thread ran on the traced core.
    #[error("there is no instruction: this core ran nothing; choose another")]
    Idle,
    /// Nothing ran on the requested CPU.
    #[error("there is no instruction on CPU {cpu}; use one that the trace names: {}", list(.seen))]
    NothingOnCpu {
        /// CPU that was requested.
        cpu: u64,
        /// CPUs in the trace.
        seen: Vec<u64>,
    },
    /// The file is packed in a way that cannot be read here.
    #[error(
        "this is {found}, not a trace; unpack it: {unpack} FILE | switchcost trace import --from {format} - -o TRACE"
    )]
    Packed {
        /// Name of the packing.
        found: &'static str,
        /// Command that unpacks the file to standard output.
        unpack: &'static str,
        /// Format of the import.
        format: ImportFormat,
    },
    /// The file has the tracer's raw records, which were not post-processed.
    #[error(
        "this is a raw file of drmemtrace; post-process it, which makes FOLDER/trace: drrun -t drmemtrace -indir FOLDER -tool \
         basic_counts"
    )]
    Raw,
    /// One of several files cannot be imported.
    #[error("{file}, {source}")]
    OfFile {
        /// Name of the file, escaped.
        file: String,
        /// Error in one of several files.
        source: Box<ImportError>,
    },
    /// A binary file ends inside a record or before its footer.
    #[error(
        "{place}: the file is cut: {needed} should follow, and what came before is whole; copy it again from its source, or trace again"
    )]
    Cut {
        /// Position at which the file ends.
        place: Location,
        /// Description of the record or text that should follow.
        needed: &'static str,
    },
    /// The requested word size is not possible.
    #[error("{0} bytes are no word; name a power of two up to 128 (din's own word has 4 bytes)")]
    Word(u64),
    /// The file cannot be read.
    #[error("it cannot be read at {place}: {source}; {}", switchcost_remedies::read_remedy(.source, "one that can"))]
    Io {
        /// The position up to which the file could be read.
        place: Location,
        /// Error of the operating system.
        source: io::Error,
    },
}

fn list(numbers: &[u64]) -> String {
    let numbers: Vec<String> = numbers.iter().map(u64::to_string).collect();
    if numbers.is_empty() {
        "none".to_owned()
    } else {
        numbers.join(", ")
    }
}
