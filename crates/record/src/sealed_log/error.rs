//! Errors of writing and reading records.

use std::io;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde::de::IgnoredAny;
use switchcost_remedies::{read_remedy, write_remedy};
use switchcost_units::Bytes;

use super::Form;
use crate::{as_argument, bind_semicolons, printable};

/// Advice in errors for a record that cannot be written.
const ANOTHER_PLACE: &str = "another place with --record";

/// Error of writing a record.
#[derive(Debug, thiserror::Error)]
pub enum WriteRecordError {
    /// A file with this name exists already.
    #[error(
        "{0} already exists, and records are never overwritten; choose another name with --record, or move the file away"
    )]
    Exists(PathBuf),
    /// The record's file cannot be created.
    #[error(
        "cannot create {path}: {source}; {}",
        write_remedy(.source, ANOTHER_PLACE)
    )]
    Create {
        /// Path of the record that cannot be created.
        path: PathBuf,
        /// Error of the operating system from creating the file.
        source: io::Error,
    },
    /// A line cannot be written, or the lines cannot be synchronized with the disk. All complete
    /// lines are in the file.
    #[error(
        "cannot write to {path} after {lines} complete lines: {source}; {}",
        write_remedy(.source, ANOTHER_PLACE)
    )]
    Append {
        /// Path of the record that cannot be written.
        path: PathBuf,
        /// Number of complete lines in the record.
        lines: u64,
        /// Error of the operating system from writing or synchronizing the file.
        source: io::Error,
    },
}

impl WriteRecordError {
    /// Returns the error that the file at `path` cannot be created.
    pub fn new(path: &Path, source: io::Error) -> Self {
        let path = path.to_owned();
        match source.kind() {
            io::ErrorKind::AlreadyExists => WriteRecordError::Exists(path),
            _ => WriteRecordError::Create { path, source },
        }
    }
}

/// Error of reading a record.
#[derive(Debug, thiserror::Error)]
pub enum ReadRecordError {
    /// The record's file cannot be read.
    #[error("cannot read {path}: {source}; {}", read_remedy(.source, &format!("a file written by {writer}")))]
    Open {
        /// Path of the record that cannot be read.
        path: PathBuf,
        /// Error of the operating system from reading the file.
        source: io::Error,
        /// Name of the command that writes files of this kind.
        writer: &'static str,
    },
    /// The file does not begin like a record.
    #[error("{path} is not a record of {writer} ({why}); name a file written by {writer}")]
    Foreign {
        /// Path of the file that is not a record.
        path: PathBuf,
        /// Description of the file's beginning, or another reason.
        why: String,
        /// Name of the command that writes files of this kind.
        writer: &'static str,
    },
    /// The record has a format version that this program does not know.
    #[error(
        "{path} is of format {found}, and this version reads {form}; read it with a version of switchcost that writes that \
         format"
    )]
    Version {
        /// Path of the record with the unknown version.
        path: PathBuf,
        /// Name and version of the format, as found in the record.
        found: String,
        /// Name and version of the format that this program reads.
        form: &'static str,
    },
    /// A line of the record is damaged.
    #[error("{path} is damaged at line {line} ({why}){}", rescue(.path, *.line))]
    Damaged {
        /// Path of the damaged record.
        path: PathBuf,
        /// Number of the damaged line, from 1. All lines before it are intact.
        line: u64,
        /// Description of the damage in the line.
        why: String,
    },
}

fn rescue(path: &Path, line: u64) -> String {
    match line.saturating_sub(1) {
        0 => "; name another file".to_owned(),
        whole => format!(
            "; keep the {whole} lines before it: head -n {whole} {} > rescued.jsonl",
            bind_semicolons(as_argument(path))
        ),
    }
}

/// The fields that all versions of a format have.
#[derive(Deserialize)]
struct Head {
    schema: String,
}

/// A file to be read, and the expected kind of file, for error messages.
pub(super) struct Origin<'a> {
    path: &'a Path,
    form: &'static str,
    older: &'static [&'static str],
    writer: &'static str,
}

impl<'a> Origin<'a> {
    pub(super) fn new<F: Form>(path: &'a Path) -> Self {
        Origin {
            path,
            form: F::FORM,
            older: F::OLDER,
            writer: F::WRITER,
        }
    }

    pub(super) fn unread(&self, source: io::Error) -> ReadRecordError {
        ReadRecordError::Open {
            path: self.path.to_owned(),
            source,
            writer: self.writer,
        }
    }

    pub(super) fn foreign(&self, why: impl Into<String>) -> ReadRecordError {
        ReadRecordError::Foreign {
            path: self.path.to_owned(),
            why: why.into(),
            writer: self.writer,
        }
    }

    pub(super) fn damaged(&self, line: u64, why: impl Into<String>) -> ReadRecordError {
        ReadRecordError::Damaged {
            path: self.path.to_owned(),
            line,
            why: why.into(),
        }
    }

    /// Checks that the field `schema` names the expected format. Other fields are ignored, so that
    /// an unknown version is reported as such.
    pub(super) fn check_form(&self, text: &[u8]) -> Result<(), ReadRecordError> {
        let (name, _) = self.form.split_once('/').unwrap_or((self.form, ""));
        let found = match serde_json::from_slice::<Head>(text) {
            Ok(head) => head.schema,
            Err(_) if serde_json::from_slice::<IgnoredAny>(text).is_ok() => String::new(),
            Err(error) if text.starts_with(format!("{{\"schema\":\"{name}/").as_bytes()) => {
                return Err(self.damaged(error.line() as u64, describe_json(&error)));
            }
            Err(_) => return Err(self.foreign("it does not begin with JSON")),
        };
        match found.split_once('/') {
            _ if found == self.form || self.older.iter().any(|older| *older == found) => Ok(()),
            Some((found_name, _)) if found_name == name => Err(ReadRecordError::Version {
                path: self.path.to_owned(),
                found: printable(&found),
                form: self.form,
            }),
            _ => Err(self.foreign(format!("its schema is {found:?}, not {name}"))),
        }
    }
}

pub(super) fn too_long(limit: Bytes) -> String {
    format!("a line of more than {limit}")
}

/// Returns the message of a JSON error without its line number, because the record's error has the
/// line number in the file.
pub(super) fn describe_json(error: &serde_json::Error) -> String {
    let place = format!(" at line {} column ", error.line());
    printable(&error.to_string().replace(&place, " at column "))
}
