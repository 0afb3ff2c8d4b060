//! Makes one random change to the content of a file.

mod json;
mod parquet_file;

use std::ops::Range;

use rand::Rng;
use rand::seq::IndexedRandom;
use rand_chacha::ChaCha8Rng;
use serde_json::Value;

use crate::form::{self, Columns, Records};
use crate::table::{Change, Form};

/// Limits of number types, numbers next to these limits, and fractions.
const NUMBERS: [&str; 24] = [
    "0",
    "1",
    "-1",
    "2",
    "127",
    "128",
    "255",
    "256",
    "65535",
    "65536",
    "2147483647",
    "2147483648",
    "4294967295",
    "4294967296",
    "9007199254740993",
    "9223372036854775807",
    "9223372036854775808",
    "18446744073709551615",
    "18446744073709551616",
    "0.5",
    "-0.0",
    "1e-308",
    "1e308",
    "-9223372036854775808",
];
/// Texts with a meaning for a terminal, a page or a file system, and ordinary texts.
const WORDS: [&str; 12] = [
    "",
    "\\u001b[31m",
    "\\u0000",
    "\\u202e",
    "../../../etc/passwd",
    "<script>alert(1)</script>",
    "null",
    "\\ud800",
    "\\t",
    "-1",
    "\\n\\n\\n",
    "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
];
const VALUES: [&str; 8] = [
    "null",
    "true",
    "[]",
    "{}",
    "\"x\"",
    "0",
    "[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]",
    "{\"unknown\":\"x\"}",
];
/// Length in bytes of the longest piece that a change deletes or doubles.
const LONGEST_PIECE: usize = 64;

/// A copy of a file with one change.
pub(crate) struct Changed {
    pub(crate) file: Vec<u8>,
    /// Path of the changed value, from the kind of the line and its case to keys and list indices;
    /// `None` if unknown.
    pub(crate) at: Option<String>,
}

/// Returns a file with one change, and with corrected checksums except for [`Change::Cut`]; `None`
/// if this kind of change is impossible in the file.
pub(crate) fn changed(
    form: Form,
    change: Change,
    file: &[u8],
    random: &mut ChaCha8Rng,
) -> Option<Changed> {
    let unknown = |file| Changed { file, at: None };
    if change == Change::Cut {
        return Some(unknown(file[..random.random_range(0..file.len())].to_vec()));
    }
    match form {
        Form::Text => raw(change, file, random).map(unknown),
        Form::Lines | Form::Document => lines(change, file, random),
        Form::Parquet => parquet(change, file, random),
        Form::Trace => trace(change, file, random).map(unknown),
    }
}

fn lines(change: Change, file: &[u8], random: &mut ChaCha8Rng) -> Option<Changed> {
    let mut bodies = form::bodies(file);
    // A deleted or doubled piece may be a whole line.
    if change == Change::Piece && bodies.len() > 1 && random.random_bool(0.5) {
        let at = random.random_range(0..bodies.len());
        if random.random_bool(0.5) {
            drop(bodies.remove(at))
        } else {
            bodies.insert(at, bodies[at].clone())
        }
        return Some(Changed {
            file: form::sealed_lines(&bodies),
            at: None,
        });
    }
    let line = random.random_range(0..bodies.len());
    let body = std::mem::take(&mut bodies[line]);
    let at = match change {
        Change::Byte | Change::Piece => {
            bodies[line] = raw(change, &body, random)?;
            None
        }
        _ => {
            let title = title(&body);
            let (changed, path) = object(change, body, random)?;
            bodies[line] = changed;
            Some(format!("{title}{path}"))
        }
    };
    Some(Changed {
        file: form::sealed_lines(&bodies),
        at,
    })
}

/// Returns the kind of a record's line and its case; empty if the record is a single object.
fn title(body: &[u8]) -> String {
    let line: Value = serde_json::from_slice(&[body, b"}"].concat()).unwrap_or_default();
    let kind = line["line"].as_str().unwrap_or_default();
    line["case"]
        .as_u64()
        .map_or_else(|| kind.to_owned(), |case| format!("{kind} {case}"))
}

/// Changes a JSON object. Returns its text without the closing bracket, and the path of the change;
/// `None` if the change is impossible.
fn object(change: Change, mut body: Vec<u8>, random: &mut ChaCha8Rng) -> Option<(Vec<u8>, String)> {
    body.push(b'}');
    let (mut changed, path) = change_json(change, &body, random)?;
    changed.pop();
    Some((changed, path))
}

fn change_json(change: Change, text: &[u8], random: &mut ChaCha8Rng) -> Option<(Vec<u8>, String)> {
    let found = json::values(text);
    let is_wanted = |value: &&json::Found| match change {
        Change::Number => value.kind == json::Kind::Number,
        Change::Word => value.kind == json::Kind::Word,
        _ => value.member.start > 0,
    };
    let wanted: Vec<&json::Found> = found.iter().filter(is_wanted).collect();
    let value = wanted.choose(random)?;
    let by = match change {
        Change::Number => another_number(&text[value.span.clone()], random),
        Change::Word => format!("\"{}\"", WORDS.choose(random)?),
        Change::Kind => (*VALUES.choose(random)?).to_owned(),
        _ => {
            return Some((
                delete_or_double(text, &value.member, random),
                value.path.clone(),
            ));
        }
    };
    Some((
        replaced(text, value.span.clone(), by.as_bytes()),
        value.path.clone(),
    ))
}

/// Deletes or doubles a field or list element, with a comma before or after it.
fn delete_or_double(text: &[u8], member: &Range<usize>, random: &mut ChaCha8Rng) -> Vec<u8> {
    if random.random_bool(0.5) {
        let twice = [&text[member.clone()], b",", &text[member.clone()]].concat();
        return replaced(text, member.clone(), &twice);
    }
    let before = text[..member.start].ends_with(b",");
    let behind = text[member.end..].starts_with(b",");
    let range = member.start - usize::from(before)..member.end + usize::from(behind && !before);
    replaced(text, range, b"")
}

fn another_number(number: &[u8], random: &mut ChaCha8Rng) -> String {
    let text = String::from_utf8_lossy(number);
    let near = text
        .parse::<i128>()
        .ok()
        .filter(|_| random.random_bool(0.4));
    match near {
        Some(number) => [
            number + 1,
            number - 1,
            number * 2,
            number / 2,
            number * 1000,
            -number,
        ]
        .choose(random)
        .expect("six")
        .to_string(),
        None => (*NUMBERS.choose(random).expect("many")).to_owned(),
    }
}

fn replaced(text: &[u8], range: Range<usize>, by: &[u8]) -> Vec<u8> {
    [&text[..range.start], by, &text[range.end..]].concat()
}

fn raw(change: Change, bytes: &[u8], random: &mut ChaCha8Rng) -> Option<Vec<u8>> {
    if bytes.is_empty() {
        return None;
    }
    let at = random.random_range(0..bytes.len());
    match change {
        Change::Byte => Some(replaced(
            bytes,
            at..at + 1,
            &[another_byte(bytes[at], random)],
        )),
        Change::Piece => {
            let piece = at..(at + random.random_range(1..=LONGEST_PIECE)).min(bytes.len());
            let twice = [&bytes[piece.clone()], &bytes[piece.clone()]].concat();
            Some(replaced(
                bytes,
                piece,
                if random.random_bool(0.5) { b"" } else { &twice },
            ))
        }
        Change::Number => {
            let numbers = numbers(bytes);
            let range = numbers.choose(random)?.clone();
            Some(replaced(
                bytes,
                range.clone(),
                another_number(&bytes[range], random).as_bytes(),
            ))
        }
        _ => None,
    }
}

fn another_byte(byte: u8, random: &mut ChaCha8Rng) -> u8 {
    *[
        byte ^ (1 << random.random_range(0..8)),
        0,
        0xff,
        0x7f,
        0x80,
        byte.wrapping_add(1),
        random.random(),
    ]
    .choose(random)
    .expect("seven")
}

/// Returns the ranges of the decimal numbers in a text.
fn numbers(bytes: &[u8]) -> Vec<Range<usize>> {
    let is_digit = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_digit);
    let starts = (0..bytes.len()).filter(|&at| is_digit(at) && (at == 0 || !is_digit(at - 1)));
    starts
        .map(|start| start..(start..).find(|&at| !is_digit(at)).expect("an end"))
        .collect()
}

fn parquet(change: Change, file: &[u8], random: &mut ChaCha8Rng) -> Option<Changed> {
    let mut at = None;
    let changed = match change {
        Change::Byte | Change::Piece => raw(change, file, random)?,
        Change::Cell => parquet_file::with_another_cell(file, random)?,
        _ => parquet_file::with_another_head(file, |head| {
            let (changed, path) = change_json(change, head, random)?;
            at = Some(path);
            Some(changed)
        })?,
    };
    Some(Changed {
        file: form::sealed_simulation(changed),
        at,
    })
}

/// Changes a trace file: changes a byte of a record's head or body or of an unpacked column of a
/// chunk, or deletes or doubles a piece, which may be a whole record. Returns `None` if this kind
/// of change is impossible in the chosen place.
fn trace(change: Change, file: &[u8], random: &mut ChaCha8Rng) -> Option<Vec<u8>> {
    let mut trace = Records::parse(file);
    let at = random.random_range(0..trace.records.len());
    if change == Change::Piece && random.random_bool(0.2) {
        let record = trace.records.remove(at);
        if random.random_bool(0.5) {
            trace.records.insert(at, record.clone());
            trace.records.insert(at, record);
        }
        return Some(trace.sealed());
    }
    let (kind, body) = &mut trace.records[at];
    match Columns::new(*kind, body).filter(|_| random.random_bool(0.7)) {
        Some(mut columns) => {
            let filled: Vec<usize> = (0..columns.columns.len())
                .filter(|&column| !columns.columns[column].is_empty())
                .collect();
            let column = *filled.choose(random)?;
            columns.columns[column] = raw(change, &columns.columns[column], random)?;
            *body = columns.body();
        }
        None if random.random_bool(0.1) => {
            kind[random.random_range(0..4)] ^= 1 << random.random_range(0..8)
        }
        None => *body = raw(change, body, random)?,
    }
    Some(trace.sealed())
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;

    #[test]
    fn the_same_chance_makes_the_same_change() {
        let file = b"{\"a\":[1,2,{\"b\":\"text\"}],\"check\":\"0000000000000000\"}\n";
        for change in [
            Change::Number,
            Change::Word,
            Change::Field,
            Change::Kind,
            Change::Byte,
        ] {
            let draw = || {
                changed(
                    Form::Document,
                    change,
                    file,
                    &mut ChaCha8Rng::seed_from_u64(4),
                )
                .map(|changed| changed.file)
            };
            assert!(draw().is_some_and(|changed| changed != file), "{change:?}");
            assert_eq!(draw(), draw());
        }
    }

    #[test]
    fn a_field_goes_with_its_comma() {
        let text = b"{\"a\":1,\"b\":2,\"c\":3}";
        for value in json::values(text)
            .iter()
            .filter(|value| value.member.start > 0)
        {
            for seed in 0..8 {
                let changed =
                    delete_or_double(text, &value.member, &mut ChaCha8Rng::seed_from_u64(seed));
                let changed = String::from_utf8(changed).expect("text");
                assert!(
                    serde_json::from_str::<serde_json::Value>(&changed).is_ok(),
                    "{changed}"
                );
            }
        }
    }
}
