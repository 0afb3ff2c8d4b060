use std::io::{self, Read, Write};
use std::path::PathBuf;

use crate::{Chain, Source};
use switchcost_remedies::{for_reading, for_writing};
use switchcost_units::Bytes;

use crate::observation::{OBSERVATION_FORM, OBSERVATION_SCHEMA, Observation};

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
    #[error("found {found} in {path}, need {OBSERVATION_FORM}, as switchcost observe writes it")]
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
        OBSERVATION_FORM.to_owned()
    }

    /// Writes it as JSON, with a checksum of all before as its last field.
    ///
    /// # Errors
    /// Where `to` takes no more.
    pub fn write(&self, mut to: impl Write) -> Result<(), WriteObservationError> {
        let mut text = serde_json::to_vec(self).map_err(io::Error::from)?;
        Chain::default().seal(&mut text);
        text.push(b'\n');
        to.write_all(&text)?;
        Ok(to.flush()?)
    }

    /// Reads a record.
    ///
    /// # Errors
    /// Where the file cannot be read, or is no record of an observation that this program knows.
    pub fn read(source: impl Into<Source>) -> Result<Observation, ReadObservationError> {
        let source = source.into();
        let path = source.path();
        let unread = |source| ReadObservationError::Read {
            path: path.to_owned(),
            source,
        };
        let unfit = |found| ReadObservationError::Unfit {
            path: path.to_owned(),
            found,
        };
        let file = source.open().map_err(unread)?;
        let mut text = Vec::new();
        file.take(LIMIT.0 + 1)
            .read_to_end(&mut text)
            .map_err(unread)?;
        if text.len() as u64 > LIMIT.0 {
            return Err(unfit(format!("more than {LIMIT}")));
        }
        let is_ours = text.starts_with(format!("{{\"schema\":\"{OBSERVATION_SCHEMA}/").as_bytes());
        let kind = if is_ours {
            "a damaged record"
        } else {
            "something else"
        };
        let head: Head =
            serde_json::from_slice(&text).map_err(|error| unfit(format!("{kind} ({error})")))?;
        let damaged = |why: String| unfit(format!("a damaged record ({why})"));
        if head.schema != OBSERVATION_FORM {
            return Err(unfit(crate::printable(&head.schema)));
        }
        open_sealed(&mut text).map_err(damaged)?;
        let observation: Observation =
            serde_json::from_slice(&text).map_err(|error| damaged(error.to_string()))?;
        observation
            .contradiction()
            .map_or(Ok(observation), |why| Err(damaged(why)))
    }

    /// Sums that cannot be of one observation: each switch has one cause, and one that the kernel was just counting may be in one sum
    /// and not yet in the other.
    fn contradiction(&self) -> Option<String> {
        self.tasks
            .iter()
            .filter(|tasks| !tasks.causes.is_empty())
            .find_map(|tasks| {
                let causes = tasks
                    .causes
                    .iter()
                    .fold(0u64, |sum, cause| sum.saturating_add(cause.switches));
                let switches = tasks.switches();
                (causes.abs_diff(switches) > tasks.count).then(|| {
                    let name = crate::printable(&tasks.name);
                    format!("{name} has {switches} switches and {causes} causes of switches")
                })
            })
    }
}

fn open_sealed(text: &mut Vec<u8>) -> Result<(), String> {
    if text.last() == Some(&b'\n') {
        text.pop();
    }
    Chain::default()
        .open(text)
        .map(drop)
        .map_err(|broken| broken.to_string())
}

#[derive(serde::Deserialize)]
struct Head {
    schema: String,
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn sample() -> Observation {
        let path = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("../../fuzz/corpus/observation_record/small");
        Observation::read(&path).expect("a record that is read")
    }

    fn written(observation: &Observation) -> Vec<u8> {
        let mut text = Vec::new();
        observation.write(&mut text).expect("memory takes it");
        text
    }

    fn read(text: &[u8]) -> Result<Observation, String> {
        let file = tempfile::NamedTempFile::new().expect("a file");
        std::fs::write(file.path(), text).expect("it can be written");
        Observation::read(file.path()).map_err(|error| error.to_string())
    }

    #[test]
    fn each_changed_digit_is_found() {
        let observation = sample();
        let text = written(&observation);
        assert_eq!(read(&text), Ok(observation));
        assert_eq!(OBSERVATION_FORM, format!("{OBSERVATION_SCHEMA}/2"));
        for at in (0..text.len()).filter(|&at| text[at].is_ascii_digit()) {
            let mut changed = text.clone();
            changed[at] = if changed[at] == b'9' {
                b'8'
            } else {
                changed[at] + 1
            };
            let error = read(&changed).expect_err("it was changed");
            assert!(
                error.contains("checksum")
                    || error.contains("found switchcost.record.observation/"),
                "{error}"
            );
        }
        let at = text.len() - 10;
        assert!(
            read(&text[..at])
                .expect_err("it was cut")
                .contains("a damaged record")
        );
    }

    #[test]
    fn sums_that_contradict_each_other_and_other_versions_are_refused() {
        let mut other = sample();
        other
            .tasks
            .iter_mut()
            .for_each(|tasks| tasks.voluntary += 1000);
        assert!(
            read(&written(&other))
                .expect_err("its sums differ")
                .contains("causes of switches)")
        );
        for version in ["1", "3", "02"] {
            let other = Observation {
                schema: format!("{OBSERVATION_SCHEMA}/{version}"),
                ..sample()
            };
            let error = read(&written(&other)).expect_err("another version");
            assert!(
                error.contains(&format!(
                    "found switchcost.record.observation/{version} in "
                )),
                "{error}"
            );
        }
    }

    #[test]
    fn a_missing_field_is_named() {
        let whole: serde_json::Value = serde_json::to_value(sample()).expect("JSON");
        for field in [
            "is_unfinished",
            "waits",
            "moments",
            "known",
            "throttled",
            "longest_waits",
        ] {
            let mut without = whole.clone();
            without
                .as_object_mut()
                .and_then(|fields| fields.remove(field))
                .expect("a field");
            let mut text = serde_json::to_vec(&without).expect("JSON");
            Chain::default().seal(&mut text);
            let error = read(&text).expect_err("a field is missing");
            assert!(
                error.contains(&format!("a damaged record (missing field `{field}`")),
                "{error}"
            );
        }
    }
}
