use std::{fmt, io};

/// A place in a foreign file.
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
    /// A line or record that the format does not have.
    #[error("{place}: expected {needed}, found {found}; check that it is the right format")]
    Unknown {
        /// The line or byte.
        place: Location,
        /// The text found, shortened and escaped.
        found: String,
        /// What would be valid.
        needed: &'static str,
    },
    /// A line with more bytes than any line of these formats.
    #[error("{place}: a line is longer than {most} bytes; check that it is the right format")]
    LongLine {
        /// The line.
        place: Location,
        /// The longest that is read.
        most: usize,
    },
    /// Data without an instruction that touches it.
    #[error(
        "{place}: a reference stands before the first instruction; put the instruction that makes it first"
    )]
    NoInstruction {
        /// The line or byte.
        place: Location,
    },
    /// A size that no instruction or reference has.
    #[error("{place}: {bytes} bytes are not 1 to {most}; check that it is the right format")]
    Size {
        /// The line or byte.
        place: Location,
        /// The number of bytes claimed.
        bytes: u64,
        /// The largest possible number.
        most: u64,
    },
    /// An address that a trace cannot hold.
    #[error(
        "{place}: address {address:#x} has more than 48 bits that count; check that it is the right format"
    )]
    Address {
        /// The line or byte.
        place: Location,
        /// The address.
        address: u64,
    },
    /// Threads without end.
    #[error("{place}: there are more than {most} threads; check that it is the right format")]
    Threads {
        /// The line or byte.
        place: Location,
        /// How many are read at most.
        most: u32,
    },
    /// Records that a cache has left out.
    #[error(
        "{place}: the trace was filtered through a cache {until} it was taken, and every reference is needed; trace again \
         without a filter"
    )]
    Filtered {
        /// The position of the record that says so.
        place: Location,
        /// Whether all of the time.
        until: &'static str,
    },
    /// A trace of other code than that of 64-bit x86.
    #[error("{place}: the trace is of {found}; trace a program for x86_64")]
    Architecture {
        /// The position of the record that says so.
        place: Location,
        /// What kind of trace it is.
        found: &'static str,
    },
    /// Pieces of a kernel that some other trace is completed with.
    #[error(
        "{place}: these are templates of the kernel's code, which drmemtrace puts into other traces; give drmemtrace both, and \
         import what it writes"
    )]
    Templates {
        /// The position of the record that says so.
        place: Location,
    },
    /// Parts that are to be read differently.
    #[error(
        "{place}: file type {found:#x} follows {before:#x}, but parts must be of one kind; import them one by one"
    )]
    Mixed {
        /// The position of the record.
        place: Location,
        /// The type that stands there.
        found: u64,
        /// The type before.
        before: u64,
    },
    /// Several cores, or a CPU of one.
    #[error("{place}: this is the trace of one core, and cores run at once; give {needed}")]
    Core {
        /// The position of the record that says so.
        place: Location,
        /// What would be valid.
        needed: &'static str,
    },
    /// A core that was idle throughout.
    #[error("there is no instruction: this core ran nothing; choose another")]
    Idle,
    /// A CPU on which nothing ran.
    #[error("there is no instruction on CPU {cpu}; use one that the trace names: {}", list(.seen))]
    NothingOnCpu {
        /// The CPU that was asked for.
        cpu: u64,
        /// The CPUs that the trace names.
        seen: Vec<u64>,
    },
    /// Something is packed in a way that is not read, or not from there.
    #[error(
        "this is {found}, not a trace; unpack it: {unpack} FILE | switchcost trace import --from {format} - -o TRACE"
    )]
    Packed {
        /// The packing found.
        found: &'static str,
        /// The command that unpacks it to its standard output.
        unpack: &'static str,
        /// The format inside, by its name on the command line.
        format: &'static str,
    },
    /// Raw records of the tracer, without post-processing.
    #[error(
        "this is a raw file of drmemtrace; post-process it, which makes FOLDER/trace: drrun -t drmemtrace -indir FOLDER -tool \
         basic_counts"
    )]
    Raw,
    /// An error in one of several files.
    #[error("{file}, {source}")]
    OfFile {
        /// The file's name, escaped.
        file: String,
        /// The error.
        source: Box<ImportError>,
    },
    /// A binary file that ends too early.
    #[error(
        "{place}: the file is cut: {needed} should follow, and what came before is whole; copy it again from its source, or trace again"
    )]
    Cut {
        /// The position of the end.
        place: Location,
        /// What should follow.
        needed: &'static str,
    },
    /// An impossible word size.
    #[error("{0} bytes are no word; name a power of two up to 128 (din's own word has 4 bytes)")]
    Word(u64),
    /// The file cannot be read.
    #[error("it cannot be read at {place}: {source}; {}", switchcost_remedies::read_remedy(.source, "one that can"))]
    Io {
        /// The position up to which the file could be read.
        place: Location,
        /// The error of the system.
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
