//! Tests of text reports and pages through the public interface. All tests are in one program,
//! which is linked only once.

mod conformity;
mod observe;
mod pages;
mod report;
mod simulate;
mod text;

use switchcost_report::Style;
use switchcost_report::schema::schemas;

/// Returns the paths of all fields of a JSON value, one per line; `[]` stands for the items of a
/// list.
fn field_paths(value: &serde_json::Value) -> String {
    fn add(value: &serde_json::Value, path: &str, paths: &mut std::collections::BTreeSet<String>) {
        for item in value.as_array().into_iter().flatten() {
            add(item, &format!("{path}[]"), paths);
        }
        for (name, field) in value.as_object().into_iter().flatten() {
            let path = format!("{path}.{name}");
            add(field, &path, paths);
            paths.insert(path);
        }
    }
    let mut paths = Default::default();
    add(value, "", &mut paths);
    paths.into_iter().collect::<Vec<_>>().join("\n")
}

/// Asserts that CSV has `rows` rows after the names of the columns, and the `expected` values, each
/// given with its row and column; returns the names.
fn check_csv(text: &str, rows: usize, expected: &[(usize, &str, &str)]) -> csv::StringRecord {
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let names = reader.headers().expect("names").clone();
    let found: Result<Vec<_>, _> = reader.records().collect();
    let found = found.expect("rows as long as the names");
    assert_eq!(found.len(), rows);
    for (row, name, value) in expected {
        let column = names.iter().position(|found| found == *name);
        let column = column.expect(name);
        assert_eq!(&found[*row][column], *value, "{name} of row {row}");
    }
    names
}
