//! One file of a trace, and the reader's position in it.

use std::io::BufRead;

use super::numbers::kind;
use super::records::{Record, Records};
use crate::import::{ImportError, Imported};

const VERSIONS: std::ops::RangeInclusive<u64> = 0..=7;

const NEEDED_HEADER: &str =
    "a header (type 25) of version 0 to 7 first, as drmemtrace writes after its post-processing";
const NOTHING: &str = "the end of the file behind a footer (type 26), which more follows only in the trace of one core";

pub(super) struct File<R: BufRead> {
    pub(super) name: String,
    pub(super) records: Records<R>,
    /// Thread of the records that follow, if known; `process` is its process.
    pub(super) thread: Option<u64>,
    pub(super) process: Option<u64>,
    /// Time of the records that follow, in microseconds; 0 before the first time stamp. `cpu` is
    /// the CPU of the same records.
    pub(super) now: u64,
    pub(super) cpu: Option<u64>,
    pub(super) is_read: bool,
    /// Whether the last record read was a footer.
    is_ended: bool,
}

impl<R: BufRead> File<R> {
    pub(super) fn new(name: String, from: R) -> Imported<Self> {
        Ok(File {
            name,
            records: Records::new(from)?,
            thread: None,
            process: None,
            now: 0,
            cpu: None,
            is_read: false,
            is_ended: false,
        })
    }

    /// Returns the next record; `None` at a valid end of the file. An error means that the record
    /// is not valid at this position. In the trace of a core, each thread that ends has a footer,
    /// and records of other threads may follow.
    pub(super) fn next_record(&mut self, is_core: bool) -> Imported<Option<Record>> {
        let (place, is_first) = (self.records.place(), self.records.is_at_start());
        let Some(record) = self.records.next()? else {
            let needed = if is_first {
                NEEDED_HEADER
            } else {
                "a footer (type 26) last"
            };
            return if self.is_ended {
                Ok(None)
            } else {
                Err(ImportError::Cut { place, needed })
            };
        };
        if is_first && record.is_of_32_bits() {
            return Err(ImportError::Architecture {
                place,
                found: "a 32-bit program",
            });
        }
        let is_header = record.kind == kind::HEADER;
        let is_known = is_header && VERSIONS.contains(&record.address);
        let unknown = |needed| {
            Err(ImportError::Unknown {
                place,
                found: record.described(),
                needed,
            })
        };
        if (is_first || is_header) && !is_known {
            return unknown(NEEDED_HEADER);
        }
        if self.is_ended && !is_core {
            return unknown(NOTHING);
        }
        self.is_ended = record.kind == kind::FOOTER;
        Ok(Some(record))
    }
}
