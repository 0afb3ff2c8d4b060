//! Reads designs from TOML text (`docs/formats/design.md`), with the position of each mistake, and
//! writes designs as TOML text.

use std::fmt;
use std::ops::Range;

use crate::error::quoted;
use crate::{DESIGN_SCHEMA, Design, UnrealisableDesign};
use switchcost_record::printable;
use switchcost_units::Bytes;

/// Longest file of a design that is read. Typical designs have about one page of text.
const LONGEST_FILE: Bytes = Bytes::mib(1);
/// Largest number of characters of a faulty line that an error message shows.
const SHOWN_CHARACTERS: usize = 60;

/// Error of reading a design from text.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DesignError {
    /// The text is longer than 1 MiB, the limit for a design file.
    #[error(
        "{source_name} has {found}, more than the {LONGEST_FILE} of a design file; check its name"
    )]
    TooLong {
        /// Name of the text's source for messages, such as a path.
        source_name: String,
        /// Length of the text in bytes.
        found: Bytes,
    },
    /// The text is not TOML, or a field is missing, unknown, or of the wrong type.
    #[error("{source_name}:{at}: {message}; docs/formats/design.md lists the fields")]
    Text {
        /// Name of the text's source for messages, such as a path.
        source_name: String,
        /// Line and column of the mistake, with the line's text.
        at: Location,
        /// Description of the mistake for the message.
        message: String,
    },
    /// The text describes a design that cannot exist in hardware.
    #[error("{source_name}: {unrealisable}")]
    Unrealisable {
        /// Name of the text's source for messages, such as a path.
        source_name: String,
        /// Impossible field, with the reason and the remedy.
        unrealisable: Box<UnrealisableDesign>,
    },
}

/// A line and column of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Location {
    /// Line number, from 1.
    pub line: usize,
    /// Column number in characters, from 1.
    pub column: usize,
    /// Text of the line, escaped, and shortened if it is long.
    pub text: String,
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.line, self.column)?;
        match self.text.is_empty() {
            true => Ok(()),
            false => write!(f, " ({})", self.text),
        }
    }
}

/// Reads and checks a design from TOML text. `source_name` names the source of the text in errors.
///
/// # Errors
///
/// The first mistake: with line and column if the text does not have the format; with level and
/// field if the design cannot exist in hardware.
pub fn read_design(text: &str, source_name: &str) -> Result<Design, DesignError> {
    let source_name = || printable(source_name);
    let found = Bytes(text.len() as u64);
    if found > LONGEST_FILE {
        return Err(DesignError::TooLong {
            source_name: source_name(),
            found,
        });
    }
    let design = parse(text).map_err(|(at, message)| DesignError::Text {
        source_name: source_name(),
        at,
        message,
    })?;
    match design.check() {
        Ok(()) => Ok(design),
        Err(unrealisable) => Err(DesignError::Unrealisable {
            source_name: source_name(),
            unrealisable: Box::new(unrealisable),
        }),
    }
}

/// Formats the design as a file that [`read_design`] reads.
///
/// # Errors
///
/// If the design cannot exist in hardware.
pub fn write_design(design: &Design) -> Result<String, DesignError> {
    let source_name = || printable(&design.name);
    design.check().map_err(|error| DesignError::Unrealisable {
        source_name: source_name(),
        unrealisable: Box::new(error),
    })?;
    toml::to_string(design).map_err(|error| DesignError::Text {
        source_name: source_name(),
        at: Location {
            line: 1,
            column: 1,
            text: String::new(),
        },
        message: error.to_string(),
    })
}

/// Parses a design from TOML text, without checking whether the design can exist in hardware.
fn parse(text: &str) -> Result<Design, (Location, String)> {
    // TOML keeps line ends of Windows in texts of several lines.
    let text = &text.replace("\r\n", "\n");
    toml::from_str(text).map_err(|error: toml::de::Error| {
        let message = other_schema(text).unwrap_or_else(|| describe(&error));
        (location(text, error.span()), message)
    })
}

/// Describes the schema of a text that has another one than this version reads. Its fields may
/// differ, too.
fn other_schema(text: &str) -> Option<String> {
    let table: toml::Table = toml::from_str(text).ok()?;
    let schema = table.get("schema")?.as_str()?;
    let problem = || {
        let found = quoted(schema);
        format!("schema is {found}, and this version reads only {DESIGN_SCHEMA:?}")
    };
    (schema != DESIGN_SCHEMA).then(problem)
}

/// Returns the message of the TOML reader on one line, with words instead of Rust's types.
pub(crate) fn describe(error: &toml::de::Error) -> String {
    let message = error.message().trim().replace('\n', ", ");
    let (found, expected) = message.rsplit_once(", expected ").unwrap_or((&message, ""));
    let expected = match expected {
        "" => return printable(&message),
        "u32" => "a whole number from 0 to 4294967295",
        "u64" => "a whole number, at least 0",
        "f64" => "a number",
        _ if expected.starts_with("struct ") => "a table",
        _ => expected,
    };
    printable(&format!("{found}, expected {expected}"))
}

fn location(text: &str, span: Option<Range<usize>>) -> Location {
    let start = span.map_or(0, |span| span.start.min(text.len()));
    let offset = (0..=start)
        .rev()
        .find(|offset| text.is_char_boundary(*offset))
        .unwrap_or(0);
    let (before, after) = text.split_at(offset);
    let start = before.rfind('\n').map_or(0, |end| end + 1);
    let end = after
        .find('\n')
        .map_or(text.len(), |length| offset + length);
    let shown: String = text[start..end]
        .trim()
        .chars()
        .take(SHOWN_CHARACTERS)
        .collect();
    Location {
        line: before.matches('\n').count() + 1,
        column: text[start..offset].chars().count() + 1,
        text: printable(&shown),
    }
}

#[cfg(test)]
mod tests;
