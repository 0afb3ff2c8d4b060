//! Tests that damage is reported with its line, and never causes a panic or a wrong number.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::Index;
use switchcost_record::ReadRecordError;

use crate::{Folder, SAMPLE, bodies, damage, joined, read, sealed};

/// Checks that a reader names the right line, or accepts it, when a byte of a sample's line is
/// replaced and the record is sealed again. Only the parser can then see the damage.
fn is_named_or_harmless(line: &str, at: usize, byte: u8) -> Result<(), String> {
    let header = bodies().swap_remove(0).into_bytes();
    let mut changed = line.as_bytes().to_vec();
    changed[at] = byte;
    let is_header = header == line.as_bytes();
    let lines = if is_header {
        vec![changed]
    } else {
        vec![header, changed]
    };
    match read(&sealed(&lines)) {
        Ok(_) => Ok(()),
        Err(ReadRecordError::Damaged { line, .. }) if line == 2 - u64::from(is_header) => Ok(()),
        Err(ReadRecordError::Foreign { .. } | ReadRecordError::Version { .. }) if is_header => {
            Ok(())
        }
        Err(error) => Err(format!("byte {at} of {line} as {byte:#x}: {error}")),
    }
}

#[test]
fn a_lost_newline_is_damage_to_the_line_that_it_ended() {
    let lines = bodies();
    let both = format!("{}{}", lines[1], lines[2]);
    let (line, why) = damage(&sealed(&[&lines[0], &both]));
    assert_eq!(
        (line, why.as_str()),
        (
            2,
            format!("trailing characters at column {}", lines[1].len() + 1).as_str()
        )
    );
    let text = SAMPLE.lines().collect::<Vec<_>>();
    assert_eq!(
        damage(format!("{}\n{}{}\n", text[0], text[1], text[2]).as_bytes()).0,
        2
    );
}

#[test]
fn a_line_behind_the_end_is_damage() {
    let mut lines = bodies();
    for extra in lines.clone() {
        lines.push(extra);
        assert_eq!(
            damage(&sealed(&lines)),
            (lines.len() as u64, "a line behind the last".to_owned())
        );
        lines.pop();
    }
}

#[test]
fn a_second_header_is_damage() {
    let lines = bodies();
    assert_eq!(
        damage(&sealed(&[&lines[0], &lines[1], &lines[0]])),
        (3, "a second header".to_owned())
    );
}

#[test]
fn a_case_outside_of_the_plan_is_damage() {
    for (kind, name) in [
        ("\"line\":\"sample\",\"case\":", "sample"),
        ("\"line\":\"refusal\",\"case\":", "refusal"),
    ] {
        let line = bodies()
            .into_iter()
            .find(|line| line.contains(kind))
            .expect("one of each");
        let rest = line
            .split_once(kind)
            .and_then(|(_, rest)| rest.split_once(','))
            .expect("a case")
            .1;
        let with_case = |case: &str| sealed(&[&bodies()[0], &format!("{{{kind}{case},{rest}")]);
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
        ("{\"a\":1}", "missing field `line` at column 7"),
        (
            r#"{"line":"verdict"}"#,
            "unknown variant `verdict`, expected one of ",
        ),
        (
            r#"{"line":"end","reason":"failed","elapsed_ns":1,"ticks_per_second":1}"#,
            "unknown variant `failed`",
        ),
        (
            r#"{"line":"refusal","case":-1,"repetition":0,"why":""}"#,
            "invalid value: integer `-1`, expected u32",
        ),
        (
            r#"{"line":"refusal","case":0.5,"repetition":0,"why":""}"#,
            "invalid type: floating point `0.5`",
        ),
        (
            r#"{"line":"latency","size_bytes":1,"loads":18446744073709551616,"walk_ticks":[]}"#,
            "invalid type: floating",
        ),
    ] {
        let (number, found) = damage(&sealed(&[&bodies()[0], line]));
        assert_eq!(number, 2);
        assert!(found.starts_with(why), "{line}: {found}");
    }
    for line in ["", "[]", "null"] {
        let bytes = [sealed(&bodies()[..1]), joined(&[line])].concat();
        assert_eq!(
            damage(&bytes),
            (2, "the line has no checksum".to_owned()),
            "{line:?}"
        );
    }
}

#[test]
fn says_where_the_damage_is_and_how_to_rescue_the_rest() {
    let folder = Folder::new();
    let lines = bodies();
    let error = folder
        .read(&sealed(&[
            &*lines[0],
            &*lines[1],
            "{\"line\":\"\\u001b[2J\"}",
        ]))
        .expect_err("damaged");
    let path = folder.file();
    let path = path.display();
    let text = error.to_string();
    assert!(
        text.starts_with(&format!(
            "{path} is damaged at line 3 (unknown variant `\\u{{1b}}[2J`, "
        )),
        "{text}"
    );
    let rescue = format!("); keep the 2 lines before it: head -n 2 {path} > rescued.jsonl");
    assert!(text.ends_with(&rescue), "{text}");
}

#[test]
fn nested_without_end_is_damage_and_not_a_full_stack() {
    let deep = format!(
        "{{\"line\":\"latency\",\"walk_ticks\":{}}}",
        "[".repeat(100_000)
    );
    assert!(
        damage(&sealed(&[&bodies()[0], &deep]))
            .1
            .starts_with("recursion limit exceeded")
    );
    assert!(matches!(
        read(&joined(&[&deep])),
        Err(ReadRecordError::Foreign { .. })
    ));
}

proptest! {
    #[test]
    fn garbage_is_no_record(garbage in vec(any::<u8>(), 0..400)) {
        let is_refused = matches!(read(&garbage), Err(ReadRecordError::Foreign { .. }));
        prop_assert!(is_refused);
    }

    #[test]
    fn garbage_behind_a_header_is_damage_to_its_line_or_a_cut_line(garbage in vec(any::<u8>(), 0..400)) {
        let mut bytes = sealed(&bodies()[..1]);
        bytes.extend(&garbage);
        match read(&bytes) {
            Ok(record) => prop_assert_eq!(record.has_cut_line, !garbage.is_empty()),
            Err(ReadRecordError::Damaged { line: 2, .. }) => {}
            Err(error) => prop_assert!(false, "{}", error),
        }
    }

}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn any_byte_may_be_any_other(
        line in any::<Index>(), at in any::<Index>(), byte in prop_oneof![Just(b'\n'), any::<u8>()],
    ) {
        let lines = bodies();
        let line = &lines[line.index(lines.len())];
        // The last closes the object, which is sealed.
        let at = at.index(line.len() - 1);
        prop_assert_eq!(is_named_or_harmless(line, at, byte), Ok(()));
    }
}
