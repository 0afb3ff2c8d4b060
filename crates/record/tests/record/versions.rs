//! Tests that a reader refuses other versions by name, and accepts no other file as a record.

use switchcost_record::ReadRecordError;

use crate::{Folder, SAMPLE, bodies, damage, joined, read, sealed};

fn with_schema(schema: &str) -> Vec<u8> {
    SAMPLE
        .replacen(
            "\"switchcost.record.measure/2\"",
            &serde_json::to_string(schema).expect("JSON"),
            1,
        )
        .into_bytes()
}

#[test]
fn other_versions_are_refused_by_name() {
    for version in [
        "0",
        "1",
        "3",
        "999",
        "",
        "two",
        "+2",
        "02",
        "2.0",
        "-2",
        "18446744073709551618",
        "2 ",
    ] {
        let schema = format!("switchcost.record.measure/{version}");
        match read(&with_schema(&schema)) {
            Err(ReadRecordError::Version { found, .. }) => assert_eq!(found, schema),
            other => panic!("{version:?}: {other:?}"),
        }
    }
}

#[test]
fn a_newer_version_is_refused_even_where_its_header_is_unlike_ours() {
    let newer = r#"{"line":"start","schema":"switchcost.record.measure/3"}"#;
    assert!(matches!(
        read(&joined(&[newer])),
        Err(ReadRecordError::Version { .. })
    ));
}

#[test]
fn says_which_versions_it_reads() {
    let folder = Folder::new();
    let error = folder
        .read(&with_schema("switchcost.record.measure/\u{1b}[2J3"))
        .expect_err("another version");
    assert_eq!(
        error.to_string(),
        format!(
            "{} is of format switchcost.record.measure/\\u{{1b}}[2J3, and this version reads switchcost.record.measure/2; read \
             it with a version of switchcost that writes that format",
            folder.file().display()
        )
    );
}

fn why_no_header(bytes: &[u8]) -> String {
    match read(bytes) {
        Err(ReadRecordError::Foreign { why, .. }) => why,
        other => panic!("{other:?}"),
    }
}

#[test]
fn other_files_are_no_records() {
    let not_it = |found: &str| format!("its schema is {found}, not switchcost.record.measure");
    assert_eq!(
        why_no_header(&with_schema("switchcost.record.trace/2")),
        not_it("\"switchcost.record.trace/2\"")
    );
    assert_eq!(
        why_no_header(&with_schema("switchcost.record.measure")),
        not_it("\"switchcost.record.measure\"")
    );
    assert_eq!(
        why_no_header(&with_schema("switchcost.record.measurement/2")),
        not_it("\"switchcost.record.measurement/2\"")
    );
    assert_eq!(
        why_no_header(&with_schema("\u{1b}[2J\u{202e}")),
        not_it("\"\\u{1b}[2J\\u{202e}\"")
    );
    for line in [
        "{}",
        "[]",
        "1",
        "null",
        "{\"schema\":1}",
        "{\"schema\":null}",
    ] {
        assert_eq!(why_no_header(&joined(&[line])), not_it("\"\""), "{line}");
    }
    for line in ["", "name,value", "\u{feff}{}", "{} {}"] {
        assert_eq!(
            why_no_header(&joined(&[line])),
            "it does not begin with JSON",
            "{line:?}"
        );
    }
    assert_eq!(why_no_header(b"\xff\xfe\n"), "it does not begin with JSON");
}

#[test]
fn a_first_line_of_another_kind_is_no_header() {
    let end = "{\"schema\":\"switchcost.record.measure/2\",\"line\":\"end\",\"reason\":\"complete\",\"elapsed_ns\":1,\
               \"ticks_per_second\":1}";
    assert_eq!(damage(&sealed(&[end])), (1, "it is no header".to_owned()));
    assert!(why_no_header(&joined(&bodies()[1..])).starts_with("its schema is \"\""));
}
