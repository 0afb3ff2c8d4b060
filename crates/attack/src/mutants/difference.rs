//! Checks that two JSON reports differ only where the record's change may have an effect.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

/// Checks that two JSON texts differ only in the parts `to`, which are paths from the outermost
/// key. Text that is not JSON passes.
pub(super) fn is_confined(whole: &str, found: &str, to: &[String]) -> Result<(), String> {
    let (Ok(whole), Ok(found)) = (
        serde_json::from_str::<Value>(whole),
        serde_json::from_str::<Value>(found),
    ) else {
        return Ok(());
    };
    let mut paths = Vec::new();
    compare(&whole, &found, String::new(), &mut paths);
    match paths
        .iter()
        .find(|path| !to.iter().any(|part| is_in(path, part)))
    {
        Some(path) => Err(format!("{path} of the report, too")),
        None => Ok(()),
    }
}

/// Returns true if a path lies in a part of the report. The last step of the part also matches
/// longer keys with the same beginning.
fn is_in(path: &str, part: &str) -> bool {
    let (mut steps, mut wanted) = (path.split('/'), part.split('/').peekable());
    while let Some(want) = wanted.next() {
        let Some(step) = steps.next() else {
            return false;
        };
        let is_last = wanted.peek().is_none();
        if want != "*" && step != want && !(is_last && step.starts_with(want)) {
            return false;
        }
    }
    true
}

fn compare(one: &Value, other: &Value, path: String, paths: &mut Vec<String>) {
    match (one, other) {
        (Value::Object(one), Value::Object(other)) => {
            let keys: BTreeSet<&String> = one.keys().chain(other.keys()).collect();
            let value = |object: &Map<String, Value>, key: &String| {
                object.get(key).cloned().unwrap_or_default()
            };
            keys.into_iter().for_each(|key| {
                compare(
                    &value(one, key),
                    &value(other, key),
                    format!("{path}/{key}"),
                    paths,
                )
            });
        }
        (Value::Array(one), Value::Array(other)) if one.len() == other.len() => {
            let pairs = one.iter().zip(other).enumerate();
            pairs.for_each(|(number, (one, other))| {
                compare(one, other, format!("{path}/{number}"), paths)
            });
        }
        _ if one == other => {}
        _ => paths.push(path),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_elsewhere_is_found() {
        let (whole, found) = (r#"{"a":{"b":1},"c":[1,2]}"#, r#"{"a":{"b":2},"c":[1,3]}"#);
        let reported = |to: &[&str]| {
            is_confined(
                whole,
                found,
                &to.iter().map(|&part| part.to_owned()).collect::<Vec<_>>(),
            )
        };
        assert_eq!(reported(&["/a/", "/c/1"]), Ok(()));
        assert_eq!(
            reported(&["/a/"]),
            Err("/c/1 of the report, too".to_owned())
        );
        assert_eq!(reported(&["/*/b", "/c/"]), Ok(()));
        assert_eq!(
            reported(&["/*/c", "/c/"]),
            Err("/a/b of the report, too".to_owned())
        );
        assert_eq!(is_confined(whole, whole, &[]), Ok(()));
    }
}
