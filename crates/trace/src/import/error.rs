use std::{fmt, io};

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

/// Why a foreign trace cannot be read further.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// A line or record does not belong to the format.
    #[error("{place}: expected {needed}, found {found}; check that it is the right format")]
    Unknown {
        /// The line or byte.
        place: Location,
        /// The text found, shortened and escaped.
        found: String,
        /// Description of valid input.
        needed: &'static str,
    },
    /// A line has more bytes than any line of these formats.
    #[error("{place}: a line is longer than {most} bytes; check that it is the right format")]
    LongLine {
        /// Position of the line.
        place: Location,
        /// Maximum number of bytes of a line that are read.
        most: usize,
    },
    /// Data are touched before the first instruction.
    #[error(
        "{place}: a reference stands before the first instruction; put the instruction that makes it first"
    )]
    NoInstruction {
        /// The line or byte.
        place: Location,
    },
    /// A size is impossible for an instruction or reference.
    #[error("{place}: {bytes} bytes are not 1 to {most}; check that it is the right format")]
    Size {
        /// The line or byte.
        place: Location,
        /// The number of bytes claimed.
        bytes: u64,
        /// Largest possible number of bytes.
        most: u64,
    },
    /// An address has more bits than a trace can store.
    #[error(
        "{place}: address {address:#x} has more than 48 bits that count; check that it is the right format"
    )]
    Address {
        /// The line or byte.
        place: Location,
        /// Address that was found.
        address: u64,
    },
    /// The trace has too many threads.
    #[error("{place}: there are more than {most} threads; check that it is the right format")]
    Threads {
        /// The line or byte.
        place: Location,
        /// Maximum number of threads that are read.
        most: u32,
    },
    /// The records were filtered by a cache.
    #[error(
        "{place}: the trace was filtered through a cache {until} it was taken, and every reference is needed; trace again \
         without a filter"
    )]
    Filtered {
        /// Position of the record that shows this.
        place: Location,
        /// Words for the filtered part of the time.
        until: &'static str,
    },
    /// The trace is of code other than 64-bit x86.
    #[error("{place}: the trace is of {found}; trace a program for x86_64")]
    Architecture {
        /// Position of the record that shows this.
        place: Location,
        /// Kind of the trace.
        found: &'static str,
    },
    /// The file has templates of kernel code, with which another trace is completed.
    #[error(
        "{place}: these are templates of the kernel's code, which drmemtrace puts into other traces; give drmemtrace both, and \
         import what it writes"
    )]
    Templates {
        /// Position of the record that shows this.
        place: Location,
    },
    /// Parts of the trace have different file types.
    #[error(
        "{place}: file type {found:#x} follows {before:#x}, but parts must be of one kind; import them one by one"
    )]
    Mixed {
        /// The position of the record.
        place: Location,
        /// File type of this part.
        found: u64,
        /// File type of the part before.
        before: u64,
    },
    /// The file has several cores, or the CPU of a single core was requested.
    #[error("{place}: this is the trace of one core, and cores run at once; give {needed}")]
    Core {
        /// Position of the record that shows this.
        place: Location,
        /// Description of valid input.
        needed: &'static str,
    },
    /// The core was idle throughout.
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
    /// The file is packed in a way that cannot be read, or not in this position.
    #[error(
        "this is {found}, not a trace; unpack it: {unpack} FILE | switchcost trace import --from {format} - -o TRACE"
    )]
    Packed {
        /// Name of the packing.
        found: &'static str,
        /// Command that unpacks the file to standard output.
        unpack: &'static str,
        /// Name of the packed format on the command line.
        format: &'static str,
    },
    /// The file has raw records of the tracer, without post-processing.
    #[error(
        "this is a raw file of drmemtrace; post-process it, which makes FOLDER/trace: drrun -t drmemtrace -indir FOLDER -tool \
         basic_counts"
    )]
    Raw,
    /// One of several files has an error.
    #[error("{file}, {source}")]
    OfFile {
        /// Name of the file, escaped.
        file: String,
        /// Error of the import.
        source: Box<ImportError>,
    },
    /// A binary file ends too early.
    #[error(
        "{place}: the file is cut: {needed} should follow, and what came before is whole; copy it again from its source, or trace again"
    )]
    Cut {
        /// Position of the end.
        place: Location,
        /// Description of what should follow.
        needed: &'static str,
    },
    /// The word size is impossible.
    #[error("{0} bytes are no word; name a power of two up to 128 (din's own word has 4 bytes)")]
    Word(u64),
    /// The file cannot be read.
    #[error("it cannot be read at {place}: {source}; {}", switchcost_remedies::read_remedy(.source, "one that can"))]
    Io {
        /// The position up to which the file could be read.
        place: Location,
        /// Error of the system.
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
