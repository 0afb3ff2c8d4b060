//! Damage is named with its line, and never a panic or a wrong number.

use proptest::collection::vec;
use proptest::prelude::*;
use switchcost_record::{MeasureRecord, ReadRecordError};

use crate::{Folder, SAMPLE, damage, joined, read, sample_lines};

/// The line that a byte is on, counted from 1; a newline is on the line that it ends.
fn line_of(at: usize) -> u64 {
    1 + SAMPLE.as_bytes()[..at].iter().filter(|byte| **byte == b'\n').count() as u64
}

/// Whether a reader says the right thing of the sample with this byte for another.
fn is_named_or_harmless(folder: &Folder, at: usize, byte: u8) -> Result<(), String> {
    let mut bytes = SAMPLE.as_bytes().to_vec();
    bytes[at] = byte;
    let line = line_of(at);
    match folder.read(&bytes) {
        Ok(_) => Ok(()),
        Err(ReadRecordError::Damaged { line: found, whole, .. }) if found == line && whole == line - 1 && line > 1 => {
            Ok(())
        }
        Err(ReadRecordError::NoHeader { .. } | ReadRecordError::Version { .. }) if line == 1 => Ok(()),
        Err(error) => Err(format!("byte {at} as {byte:#x}: {error}")),
    }
}

#[test]
fn any_single_byte_may_be_wrong() {
    let folder = Folder::new();
    for (at, was) in SAMPLE.bytes().enumerate() {
        for byte in [b'\n', was ^ 1] {
            is_named_or_harmless(&folder, at, byte).unwrap_or_else(|error| panic!("{error}"));
        }
    }
}

#[test]
fn a_lost_newline_is_damage_to_the_line_that_it_ended() {
    let lines = sample_lines();
    let text = format!("{}\n{}{}\n", lines[0], lines[1], lines[2]);
    let (line, why) = damage(text.as_bytes());
    assert_eq!((line, why.as_str()), (2, format!("trailing characters at column {}", lines[1].len() + 1).as_str()));
}

#[test]
fn a_line_behind_the_end_is_damage() {
    let mut lines = sample_lines();
    for extra in lines.clone() {
        lines.push(extra);
        assert_eq!(damage(&joined(&lines)), (lines.len() as u64, "a line behind the last".to_owned()));
        lines.pop();
    }
}

#[test]
fn a_second_header_is_damage() {
    let lines = sample_lines();
    assert_eq!(damage(&joined(&[lines[0], lines[1], lines[0]])), (3, "a second header".to_owned()));
}

#[test]
fn a_case_outside_of_the_plan_is_damage() {
    for (kind, name) in [("\"line\":\"sample\",\"case\":", "sample"), ("\"line\":\"refusal\",\"case\":", "refusal")] {
        let line = sample_lines().into_iter().find(|line| line.contains(kind)).expect("one of each");
        let rest = line.split_once(kind).and_then(|(_, rest)| rest.split_once(',')).expect("a case").1;
        let with_case = |case: &str| joined(&[sample_lines()[0], &format!("{{{kind}{case},{rest}")]);
        assert!(read(&with_case("3")).is_ok(), "the plan has four cases");
        for case in ["4", "4294967295"] {
            let why = format!("a {name} of case {case}, which the plan does not hold");
            assert_eq!(damage(&with_case(case)), (2, why));
        }
        assert!(damage(&with_case("4294967296")).1.contains("u32"));
    }
}

#[test]
fn a_line_of_no_kind_is_damage() {
    for (line, why) in [
        ("", "EOF while parsing a value at column 0"),
        ("{}", "missing field `line` at column 2"),
        ("[]", "missing field `line` at column 2"),
        ("null", "invalid type: null, expected internally tagged enum Line at column 4"),
        (r#"{"line":"verdict"}"#, "unknown variant `verdict`, expected one of "),
        (r#"{"line":"end","reason":"failed","elapsed_ns":1,"ticks_per_second":1}"#, "unknown variant `failed`"),
        (r#"{"line":"refusal","case":-1,"repetition":0,"why":""}"#, "invalid value: integer `-1`, expected u32"),
        (r#"{"line":"refusal","case":0.5,"repetition":0,"why":""}"#, "invalid type: floating point `0.5`"),
        (r#"{"line":"latency","size_bytes":1,"loads":18446744073709551616,"walk_ticks":[]}"#, "invalid type: floating"),
    ] {
        let (number, found) = damage(&joined(&[sample_lines()[0], line]));
        assert_eq!(number, 2);
        assert!(found.starts_with(why), "{line}: {found}");
    }
}

#[test]
fn says_where_the_damage_is_and_how_to_rescue_the_rest() {
    let folder = Folder::new();
    let lines = sample_lines();
    let error = folder.read(&joined(&[lines[0], lines[1], "{\"line\":\"\\u001b[2J\"}"])).expect_err("damaged");
    let path = folder.file();
    let path = path.display();
    let text = error.to_string();
    assert!(text.starts_with(&format!("{path} is damaged at line 3 (unknown variant `\\u{{1b}}[2J`, ")), "{text}");
    let rescue = format!(
        "), need a line as switchcost wrote it; the 2 lines before it are whole: head -n 2 {path} > rescued.jsonl"
    );
    assert!(text.ends_with(&rescue), "{text}");
}

#[test]
fn the_rescue_that_is_offered_works() {
    let lines = sample_lines();
    let rescued = read(&joined(&lines[..2])).expect("a record");
    assert_eq!(rescued.self_tests.len(), 1);
}

#[test]
fn nested_without_end_is_damage_and_not_a_full_stack() {
    let deep = format!("{{\"line\":\"latency\",\"walk_ticks\":{}", "[".repeat(100_000));
    assert!(damage(&joined(&[sample_lines()[0], &deep])).1.starts_with("recursion limit exceeded"));
    assert!(matches!(read(&joined(&[&deep])), Err(ReadRecordError::NoHeader { .. })));
}

#[test]
fn what_is_no_file_cannot_be_read() {
    let folder = Folder::new();
    let missing = folder.read(b"").expect_err("empty");
    let path = folder.file();
    assert_eq!(
        missing.to_string(),
        format!(
            "{} does not begin with a header (it is empty), need a file written by switchcost measure",
            path.display()
        )
    );
    std::fs::remove_file(&path).expect("there");
    assert_eq!(
        MeasureRecord::read(&path).expect_err("gone").to_string(),
        format!(
            "{} cannot be read (No such file or directory (os error 2)), need a file written by switchcost measure",
            path.display()
        )
    );
    let folder = path.parent().expect("a folder");
    assert_eq!(
        MeasureRecord::read(folder).expect_err("a folder").to_string(),
        format!(
            "{} cannot be read (Is a directory (os error 21)), need a file written by switchcost measure",
            folder.display()
        )
    );
}

proptest! {
    #[test]
    fn garbage_is_no_record(garbage in vec(any::<u8>(), 0..400)) {
        let is_refused = matches!(read(&garbage), Err(ReadRecordError::NoHeader { .. }));
        prop_assert!(is_refused);
    }

    #[test]
    fn garbage_behind_a_header_is_damage_to_its_line_or_a_cut_line(garbage in vec(any::<u8>(), 0..400)) {
        let mut bytes = joined(&sample_lines()[..1]);
        bytes.extend(&garbage);
        match read(&bytes) {
            Ok(record) => prop_assert_eq!(record.has_cut_line, !garbage.is_empty()),
            Err(ReadRecordError::Damaged { line: 2, whole: 1, .. }) => {}
            Err(error) => prop_assert!(false, "{}", error),
        }
    }

    #[test]
    fn any_byte_may_be_any_other(at in 0..SAMPLE.len(), byte: u8) {
        prop_assert_eq!(is_named_or_harmless(&Folder::new(), at, byte), Ok(()));
    }
}
