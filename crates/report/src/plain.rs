use switchcost_record::is_printable;

pub use switchcost_record::{as_argument, plain};

/// Escapes unsafe characters that JSON leaves unescaped: DEL, C1 controls, and marks that reverse
/// the order of text. Such characters occur only in strings, so a JSON reader sees the same value.
pub(crate) fn plain_json(json: &str) -> String {
    let mut escaped = String::with_capacity(json.len());
    for c in json.chars() {
        if c != '\n' && !is_printable(c) {
            escaped.push_str(&format!("\\u{:04x}", u32::from(c)));
        } else {
            escaped.push(c);
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_keeps_its_value() {
        let hostile = "a\u{9b}2J\u{7f}\u{202e}b";
        let json = plain_json(&serde_json::to_string(hostile).expect("a string"));
        assert_eq!(json, r#""a\u009b2J\u007f\u202eb""#);
        assert_eq!(
            serde_json::from_str::<String>(&json).expect("still JSON"),
            hostile
        );
    }
}
