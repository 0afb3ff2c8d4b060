use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use remedies::{for_reading, for_writing};
use units::Bytes;

use crate::{OBSERVATION_SCHEMA, OBSERVATION_VERSION, Observation};

/// A longer file is no record: ten thousand tasks take less.
const LIMIT: Bytes = Bytes::mib(256);

/// Why a record could not be written. Reads well behind "failed to write the record: ".
#[derive(Debug, thiserror::Error)]
#[error("{source}, {remedy}", remedy = for_writing(.source, "another place with --record"))]
pub struct WriteObservationError {
    /// What the kernel said.
    #[from]
    source: io::Error,
}

/// Why a record could not be read. Reads well behind "failed to read the record: ".
#[derive(Debug, thiserror::Error)]
pub enum ReadObservationError {
    /// The file cannot be read.
    #[error("{path}: {source}, {}", for_reading(.source, "a record of switchcost observe"))]
    Read {
        /// Where.
        path: PathBuf,
        /// What the kernel said.
        source: io::Error,
    },
    /// It is something else.
    #[error(
        "found {found} in {path}, need {OBSERVATION_SCHEMA}/{OBSERVATION_VERSION}, as switchcost observe writes it"
    )]
    Unfit {
        /// Where.
        path: PathBuf,
        /// What is in it.
        found: String,
    },
}

impl Observation {
    /// The schema and version that this program writes.
    pub fn schema_now() -> String {
        format!("{OBSERVATION_SCHEMA}/{OBSERVATION_VERSION}")
    }

    /// Writes it as JSON, one value a line where that is short.
    ///
    /// # Errors
    /// Where `to` takes no more.
    pub fn write(&self, mut to: impl Write) -> Result<(), WriteObservationError> {
        serde_json::to_writer(&mut to, self).map_err(io::Error::from)?;
        to.write_all(b"\n")?;
        Ok(to.flush()?)
    }

    /// Reads a record.
    ///
    /// # Errors
    /// Where the file cannot be read, or is no record of an observation that this program knows.
    pub fn read(path: &Path) -> Result<Observation, ReadObservationError> {
        let unread = |source| ReadObservationError::Read { path: path.to_owned(), source };
        let unfit = |found| ReadObservationError::Unfit { path: path.to_owned(), found };
        let file = std::fs::File::open(path).map_err(unread)?;
        let mut text = Vec::new();
        file.take(LIMIT.0 + 1).read_to_end(&mut text).map_err(unread)?;
        if text.len() as u64 > LIMIT.0 {
            return Err(unfit(format!("more than {LIMIT}")));
        }
        let is_ours = text.starts_with(format!("{{\"schema\":\"{OBSERVATION_SCHEMA}/").as_bytes());
        let kind = if is_ours { "a damaged record" } else { "something else" };
        let head: Head = serde_json::from_slice(&text).map_err(|error| unfit(format!("{kind} ({error})")))?;
        if head.schema != Observation::schema_now() {
            return Err(unfit(record::printable(&head.schema)));
        }
        serde_json::from_slice(&text).map_err(|error| unfit(format!("a damaged record ({error})")))
    }
}

#[derive(serde::Deserialize)]
struct Head {
    schema: String,
}
