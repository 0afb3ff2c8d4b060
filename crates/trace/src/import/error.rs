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

/// Why a foreign trace cannot be read further. Follows "failed to import the trace: " in a message.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// A line or record that the format does not have.
    #[error("{place}: found {found}, need {needed}; is it the right format?")]
    Unknown {
        /// The line or byte.
        place: Location,
        /// The text found, shortened and escaped.
        found: String,
        /// What would be valid.
        needed: &'static str,
    },
    /// A line with more bytes than any line of these formats.
    #[error("{place}: found more than {most} bytes, need a shorter line; is it the right format?")]
    LongLine {
        /// The line.
        place: Location,
        /// The longest that is read.
        most: usize,
    },
    /// Data without an instruction that touches it.
    #[error(
        "{place}: found a reference before the first instruction, need the instruction that makes it first"
    )]
    NoInstruction {
        /// The line or byte.
        place: Location,
    },
    /// A size that no instruction or reference has.
    #[error("{place}: found {bytes} bytes, need 1 to {most}; is it the right format?")]
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
        "{place}: found address {address:#x}, need one of 48 bits, whose higher bits repeat the highest of them"
    )]
    Address {
        /// The line or byte.
        place: Location,
        /// The address.
        address: u64,
    },
    /// Threads without end.
    #[error("{place}: found more than {most} threads, need fewer; is it the right format?")]
    Threads {
        /// The line or byte.
        place: Location,
        /// How many are read at most.
        most: u32,
    },
    /// Records that a cache has left out.
    #[error(
        "{place}: found a trace that was filtered through a cache {until} it was taken, need every reference; \
         trace again without a filter"
    )]
    Filtered {
        /// The position of the record that says so.
        place: Location,
        /// Whether all of the time.
        until: &'static str,
    },
    /// A trace of other code than that of 64-bit x86.
    #[error("{place}: found a trace of {found}, need one of x86_64: no other is read")]
    Architecture {
        /// The position of the record that says so.
        place: Location,
        /// What kind of trace it is.
        found: &'static str,
    },
    /// Pieces of a kernel that some other trace is completed with.
    #[error(
        "{place}: found templates of the kernel's code, which drmemtrace puts into other traces, need the trace of a \
         program; give drmemtrace both, and import what it writes"
    )]
    Templates {
        /// The position of the record that says so.
        place: Location,
    },
    /// Parts that are to be read differently.
    #[error(
        "{place}: found file type {found:#x} behind {before:#x}, need parts of one kind; import them one by one"
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
    #[error(
        "{place}: found the trace of one core, need {needed}: cores run at once, and a trace here is what one CPU ran"
    )]
    Core {
        /// The position of the record that says so.
        place: Location,
        /// What would be valid.
        needed: &'static str,
    },
    /// A core that was idle throughout.
    #[error("found no instruction, need one: this core ran nothing")]
    Idle,
    /// A CPU on which nothing ran.
    #[error("found no instruction on CPU {cpu}, need one of the CPUs that the trace names: {}", list(.seen))]
    NothingOnCpu {
        /// The CPU that was asked for.
        cpu: u64,
        /// The CPUs that the trace names.
        seen: Vec<u64>,
    },
    /// Something is packed in a way that is not read, or not from there.
    #[error(
        "found {found}, need what is in it: {unpack} FILE | switchcost trace import --from {format} - -o TRACE"
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
        "found a raw file of drmemtrace, need one after its post-processing: drrun -t drmemtrace -indir FOLDER -tool \
         basic_counts makes them beside it, in FOLDER/trace"
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
        "{place}: found the end of the file, need {needed}; the file is cut. What came before is whole"
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
    #[error("found a file that cannot be read at {place} ({source}), {}", switchcost_remedies::read_remedy(.source, "one that can"))]
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
