//! Common parts of the machine-readable reports: findings as a JSON document, and rows as CSV.

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;
use switchcost_units::{CpuId, format_cpu_list};

use crate::plain::{plain, plain_json};
use crate::quantity::NO_NUMBER;

/// A column of a CSV table: its name, and the JSON pointer (RFC 6901) to its value in a row.
pub(crate) type Column = (&'static str, &'static str);

/// A table of text fields: a row with the names of the columns, then rows of equal length.
pub(crate) type Table = Vec<Vec<String>>;

/// Creates a CSV table with the given columns and a row for each item.
pub(crate) fn table(columns: &[Column], rows: impl IntoIterator<Item = impl Serialize>) -> Table {
    let names = columns.iter().map(|(name, _)| (*name).to_owned()).collect();
    let mut table = vec![names];
    for row in rows {
        let row = value(&row);
        table.push(columns.iter().map(|(_, path)| field(&row, path)).collect());
    }
    table
}

/// Creates a CSV table whose columns are the JSON fields with the given names.
pub(crate) fn table_of_names(
    names: &[&str],
    rows: impl IntoIterator<Item = impl Serialize>,
) -> Table {
    let mut table = vec![names.iter().map(|name| (*name).to_owned()).collect()];
    table.extend(rows.into_iter().map(|row| fields(names, &value(&row))));
    table
}

/// Returns the fields with the given JSON names from a row.
pub(crate) fn fields(names: &[&str], row: &Value) -> Vec<String> {
    let path = |name: &&str| field(row, &format!("/{name}"));
    names.iter().map(path).collect()
}

/// Converts a finding to JSON.
pub(crate) fn value(finding: &impl Serialize) -> Value {
    serde_json::to_value(finding).expect("every key of every map is text")
}

/// Formats the value at a JSON pointer as a CSV field. A missing or null value becomes an empty
/// field. serde_json writes numbers that are not finite as null.
pub(crate) fn field(row: &Value, path: &str) -> String {
    match row.pointer(path) {
        None | Some(Value::Null) => String::new(),
        Some(Value::String(text)) => text.clone(),
        Some(Value::Number(number)) if number.is_f64() => number
            .as_f64()
            .map_or(String::new(), |number| number.to_string()),
        Some(Value::Array(items)) => list(items),
        Some(other) => other.to_string(),
    }
}

/// Formats a list as a CSV field: CPU numbers as the kernel's CPU list, words separated by spaces.
fn list(items: &[Value]) -> String {
    let cpus: Option<Vec<CpuId>> = items
        .iter()
        .map(|item| Some(CpuId(item.as_u64()?.try_into().ok()?)))
        .collect();
    let words = || items.iter().filter_map(Value::as_str).collect::<Vec<_>>();
    cpus.map_or_else(|| words().join(" "), |cpus| format_cpu_list(&cpus))
}

/// Content of a JSON document whose format has a name and a version.
pub(crate) trait OutputFormat: JsonSchema + Serialize {
    /// Name and version of the format. A change of the fields needs a new version.
    const NAME: &'static str;
}

// The schema of this envelope takes its description and name from the content.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "{T}")]
pub(crate) struct Document<T> {
    /// Name and version of this document's format.
    schema: &'static str,
    #[serde(flatten)]
    content: T,
}

impl<T: OutputFormat> Document<T> {
    pub(crate) fn new(content: T) -> Self {
        Document {
            schema: T::NAME,
            content,
        }
    }
}

/// Formats a value as indented JSON without control characters, with a newline at the end. Numbers
/// that are not finite become `null`, as serde_json writes them. `schema.rs` has the schema of
/// every printed type.
pub(crate) fn json(value: &(impl Serialize + JsonSchema)) -> String {
    let json = serde_json::to_string_pretty(value).expect("every key of every map is text");
    plain_json(&json) + "\n"
}

/// Formats a value as JSON on one line, without control characters, with a newline at the end.
pub(crate) fn json_line(value: &(impl Serialize + JsonSchema)) -> String {
    let json = serde_json::to_string(value).expect("every key of every map is text");
    plain_json(&json) + "\n"
}

/// Formats rows of equal length as CSV without control characters and without spreadsheet formulas.
pub(crate) fn csv(rows: impl Iterator<Item = Vec<String>>) -> String {
    let mut writer = csv::Writer::from_writer(Vec::new());
    for row in rows {
        let fields = row.iter().map(|field| inert(plain(field)).into_owned());
        writer
            .write_record(fields)
            .expect("rows of equal length, written to memory");
    }
    let bytes = writer.into_inner().expect("memory takes every write");
    String::from_utf8(bytes).expect("fields are text")
}

/// Puts an apostrophe before a field that a spreadsheet would read as a formula (OWASP, CSV
/// injection). Tabs and line breaks, which can also begin a formula, are replaced by spaces before
/// this call.
fn inert(field: Cow<'_, str>) -> Cow<'_, str> {
    let begins_formula = field.starts_with([
        '=', '+', '-', '@', '\u{ff1d}', '\u{ff0b}', '\u{ff0d}', '\u{ff20}',
    ]);
    if begins_formula && !is_quantity(&field) {
        Cow::Owned(format!("'{field}"))
    } else {
        field
    }
}

/// Returns true if a field is a number, a number followed by words (`-2.0 %`, `-312 to 402 ns`), or
/// the sign for a missing number.
fn is_quantity(field: &str) -> bool {
    let mut words = field.split(' ');
    let is_word = |word: &str| word == "%" || word.bytes().all(|byte| byte.is_ascii_alphabetic());
    field == NO_NUMBER
        || (words.next().is_some_and(is_number)
            && words.all(|word| is_number(word) || is_word(word)))
}

/// Returns true if a word is a number, such as `-12.5`, `-1e-7`, `-10,300`, `-<0.01`.
fn is_number(word: &str) -> bool {
    let digits = word.strip_prefix(['-', '+']).unwrap_or(word);
    let digits = digits.strip_prefix('<').unwrap_or(digits).replace(',', "");
    digits.starts_with(|c: char| c.is_ascii_digit()) && digits.parse::<f64>().is_ok()
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Asserts that every path leads to a field in the schema of the type.
    pub(crate) fn assert_known<T: JsonSchema>(paths: impl IntoIterator<Item = &'static str>) {
        let schemas = schemars::generate::SchemaSettings::draft2020_12().for_serialize();
        let root = schemas.into_generator().into_root_schema_for::<T>();
        let root = root.as_value();
        for path in paths {
            let names: Vec<&str> = path.split('/').skip(1).collect();
            assert!(has(root, root, &names), "no {path} in {root:#}");
        }
    }

    fn has(root: &Value, schema: &Value, names: &[&str]) -> bool {
        let Some((name, rest)) = names.split_first() else {
            return true;
        };
        let referred = schema["$ref"].as_str();
        let referred = referred.and_then(|name| root.pointer(name.strip_prefix('#')?));
        let alternatives = ["anyOf", "oneOf", "allOf"]
            .into_iter()
            .filter_map(|key| schema[key].as_array());
        let mut same = referred.into_iter().chain(alternatives.flatten());
        let place = name.parse::<usize>().ok();
        let items = place.and_then(|at| schema["prefixItems"].get(at).or(schema.get("items")));
        let mut inside = schema["properties"].get(name).into_iter().chain(items);
        same.any(|schema| has(root, schema, names)) || inside.any(|schema| has(root, schema, rest))
    }

    fn as_field(text: &str) -> String {
        let text = csv([vec!["name".to_owned(), text.to_owned()]].into_iter());
        let mut reader = csv::ReaderBuilder::new()
            .has_headers(false)
            .from_reader(text.as_bytes());
        let row = reader.records().next().expect("a row").expect("CSV");
        row[1].to_owned()
    }

    #[test]
    fn a_name_that_begins_as_a_formula_is_text() {
        for name in [
            "=1+1",
            "=HYPERLINK(\"http://x\",\"y\")",
            "+1+1",
            "-1+1",
            "-2+3+cmd|' /C calc'!A0",
            "--1",
            "@SUM(A1)",
            "-SUM(1)",
            "-1 SUM(1)",
            "-x",
            "\u{ff1d}1",
            "\u{ff0b}1",
            "\u{ff0d}1",
            "\u{ff20}1",
        ] {
            assert_eq!(as_field(name), format!("'{name}"));
        }
        // What is taken out uncovers nothing.
        assert_eq!(as_field("\u{1b}=1"), "'=1");
        assert_eq!(["\t=1", "\r=1", "\n=1"].map(as_field), [" =1"; 3]);
    }

    #[test]
    fn numbers_and_other_names_stay_as_they_are() {
        for text in [
            "-5",
            "-0.25",
            "-1e-7",
            "+3",
            "-10,300",
            "-2.0 %",
            "-<0.01 %",
            "-312 to 402 ns",
            "-97 ns to 1.02 us",
            "-",
            "",
            "sort",
            "a=b",
            "1-2",
            "'quoted'",
            "/bin/-x",
            " =1",
            "Größe",
        ] {
            assert_eq!(as_field(text), text);
        }
    }
}
