//! What the reports for programs share: how a value becomes JSON, and how rows become CSV.

use serde::Serialize;

use crate::plain::{plain, plain_json};

/// A column of a table for programs: its name, and what stands in it.
pub(crate) type Column<T> = (&'static str, fn(&T) -> String);

/// A value as indented JSON that is safe to print, and a newline. Numbers that are not finite become `null`, which is
/// what serde_json makes of them.
pub(crate) fn json(value: &impl Serialize) -> String {
    let json = serde_json::to_string_pretty(value).expect("every key of every map is text");
    plain_json(&json) + "\n"
}

/// Rows of equally many fields as CSV that is safe to print.
pub(crate) fn csv(rows: impl Iterator<Item = Vec<String>>) -> String {
    let mut writer = csv::Writer::from_writer(Vec::new());
    for row in rows {
        let fields = row.iter().map(|field| plain(field).into_owned());
        writer.write_record(fields).expect("rows of equal length, written to memory");
    }
    let bytes = writer.into_inner().expect("memory takes every write");
    String::from_utf8(bytes).expect("fields are text")
}
