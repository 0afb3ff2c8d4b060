//! Tests that each checksum covers its line and all lines before. A reader that meets a changed,
//! lost, doubled or moved line refuses it by its number.

use std::process::Command;

use proptest::prelude::*;
use proptest::sample::Index;
use switchcost_record::{End, MeasureRecord, ReadRecordError};
use switchcost_units::TickRate;

use crate::arbitrary::record;
use crate::{Folder, SAMPLE, bodies, body, damage, joined, read, sample, sealed, written};

fn lines() -> Vec<&'static str> {
    SAMPLE.lines().collect()
}

/// Returns the number of the line, counted from 1, that a reader refuses; `None` if it accepts all
/// lines.
fn refused_line(bytes: &[u8]) -> Option<u64> {
    refused_line_in(&Folder::new(), bytes)
}

fn refused_line_in(folder: &Folder, bytes: &[u8]) -> Option<u64> {
    match folder.read(bytes) {
        Ok(_) => None,
        Err(ReadRecordError::Damaged { line, .. }) => Some(line),
        Err(ReadRecordError::Foreign { .. } | ReadRecordError::Version { .. }) => Some(1),
        Err(error) => panic!("{error}"),
    }
}

/// Checks that a reader refuses a record whose byte at `at` was replaced. Only the last newline may
/// be missing, in which case the last line is cut off.
fn is_seen(folder: &Folder, original: &[u8], at: usize, byte: u8) -> Result<(), String> {
    let mut bytes = original.to_vec();
    bytes[at] = byte;
    let line = 1 + original[..at].iter().filter(|byte| **byte == b'\n').count() as u64;
    let is_last_newline = at + 1 == original.len();
    let refused = refused_line_in(folder, &bytes);
    if refused == Some(line)
        || (is_last_newline
            && line > 1
            && folder.read(&bytes).is_ok_and(|record| record.has_cut_line))
    {
        return Ok(());
    }
    Err(format!(
        "byte {at} of line {line} as {byte:#x}: {refused:?}"
    ))
}

#[test]
fn what_is_written_is_sealed_as_its_page_says() {
    let (header, lines) = sample();
    assert_eq!(written(&header, &lines), SAMPLE.as_bytes());
}

/// Shows a change that checksums reveal: one more digit makes the clock five times as fast,
/// and each time a fifth.
#[test]
fn a_clock_made_faster_is_refused() {
    let faster = SAMPLE.replacen("\"ticks_per_second\":", "\"ticks_per_second\":1", 1);
    let folder = Folder::new();
    let error = folder
        .read(faster.as_bytes())
        .expect_err("changed")
        .to_string();
    let first = faster.lines().next().expect("a line");
    let right = String::from_utf8(sealed(&[body(first)])).expect("text");
    let [found, right] = [first, &right].map(|line| {
        let (_, check) = line.rsplit_once(":\"").expect("a checksum");
        &check[..16]
    });
    assert_eq!(
        error,
        format!(
            "{} is damaged at line 1 (its checksum is {found}, not {right}: it was changed); name another file",
            folder.file().display()
        )
    );
}

/// Returns the sample with another digit in its first latency, and the number of the changed line.
fn with_another_latency() -> (usize, String) {
    let changed = SAMPLE.replacen(
        "\"latency\",\"size_bytes\":2",
        "\"latency\",\"size_bytes\":3",
        1,
    );
    assert_ne!(changed, SAMPLE);
    (
        1 + lines()
            .iter()
            .position(|line| line.contains("latency"))
            .expect("one"),
        changed,
    )
}

#[test]
fn says_which_line_was_changed_and_how_to_rescue_the_rest() {
    let folder = Folder::new();
    let (number, changed) = with_another_latency();
    let error = folder
        .read(changed.as_bytes())
        .expect_err("changed")
        .to_string();
    let path = folder.file();
    let path = path.display();
    assert!(
        error.starts_with(&format!(
            "{path} is damaged at line {number} (its checksum is "
        )),
        "{error}"
    );
    let rescue = format!(
        ": it was changed, or a line before it is missing, doubled or out of place); keep the {whole} lines before it: head -n \
         {whole} {path} > rescued.jsonl",
        whole = number - 1
    );
    assert!(error.ends_with(&rescue), "{error}");
}

#[test]
fn a_line_without_a_checksum_is_damage() {
    let all = lines();
    let bare = body(all[1]);
    assert_eq!(
        damage(&joined(&[all[0], &bare])),
        (2, "the line has no checksum".to_owned())
    );
    let windows = SAMPLE.replacen("}\n", "}\r\n", 1);
    assert_eq!(
        refused_line(windows.as_bytes()),
        Some(1),
        "not the bytes that were written"
    );
}

#[test]
fn a_line_that_is_lost_doubled_or_out_of_place_is_seen() {
    let all = lines();
    for place in 0..all.len() {
        let number = place as u64 + 1;
        let (mut fewer, mut more) = (all.clone(), all.clone());
        fewer.remove(place);
        more.insert(place, all[place]);
        let is_last = place + 1 == all.len();
        let lost = refused_line(&joined(&fewer));
        assert_eq!(lost, (!is_last).then_some(number), "lost");
        assert_eq!(refused_line(&joined(&more)), Some(number + 1), "doubled");
        for other in place + 1..all.len() {
            let mut moved = all.clone();
            moved.swap(place, other);
            let refused = refused_line(&joined(&moved));
            assert_eq!(refused, Some(number), "exchanged with {}", other + 1);
        }
    }
}

/// Shows that a line of another run is accepted in its own record only.
#[test]
fn a_line_of_another_record_is_seen() {
    let all = lines();
    let mut bodies = bodies();
    bodies[1] = bodies[1].replacen("clock", "another", 1);
    let other = String::from_utf8(sealed(&bodies)).expect("text");
    let other: Vec<&str> = other.lines().collect();
    let mixed = [&all[..2], &other[2..]].concat();
    assert_eq!(refused_line(&joined(&mixed)), Some(3));
    assert_eq!(refused_line(&joined(&other)), None);
}

#[test]
fn the_rescue_that_is_offered_works_at_every_line() {
    for number in 2..=lines().len() {
        let mut changed: Vec<String> = lines().into_iter().map(str::to_owned).collect();
        changed[number - 1] = changed[number - 1].replacen(':', ": ", 1);
        let (line, _) = damage(&joined(&changed));
        assert_eq!(line, number as u64);
        let rescued = read(&joined(&changed[..number - 1])).expect("whole");
        assert!(
            rescued.end.is_none() && !rescued.has_cut_line,
            "line {number}"
        );
    }
}

proptest! {
    #[test]
    fn any_byte_of_any_record_counts((header, lines) in record(), at in any::<Index>(), change in 1_u8..) {
        let bytes = written(&header, &lines);
        let at = at.index(bytes.len());
        prop_assert_eq!(is_seen(&Folder::new(), &bytes, at, bytes[at] ^ change), Ok(()));
    }

}

/// Shows that a record may be changed and sealed again: checksums reveal slips and damage, not
/// forgery.
#[test]
fn a_record_may_be_sealed_anew() {
    let mut bodies = bodies();
    let last = bodies.len() - 1;
    bodies[last] =
        r#"{"line":"end","reason":"complete","elapsed_ns":1,"ticks_per_second":7}"#.to_owned();
    let record = read(&sealed(&bodies)).expect("a record");
    assert!(matches!(
        record.end,
        Some(End {
            ticks_per_second: TickRate(7),
            ..
        })
    ));
}

/// Returns the Python program in docs/formats/measure-record.md that verifies checksums.
fn example() -> String {
    let page = std::fs::read_to_string(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../docs/formats/measure-record.md"
    ));
    let page = page.expect("the page");
    let blocks = page
        .split("```python\n")
        .skip(1)
        .filter_map(|rest| rest.split("```").next());
    blocks
        .filter(|block| block.contains("xxhash"))
        .map(str::to_owned)
        .next()
        .expect("an example")
}

#[test]
fn another_program_checks_a_record_as_the_page_shows() {
    // The system's own has what its packages brought, which another one in the PATH has not.
    let has_xxhash = |python: &&str| {
        Command::new(python)
            .args(["-c", "import xxhash"])
            .output()
            .is_ok_and(|o| o.status.success())
    };
    let Some(python) = ["python3", "/usr/bin/python3"].into_iter().find(has_xxhash) else {
        eprintln!("skipped: python3 has no module xxhash; scripts/setup.sh test installs it");
        return;
    };
    let folder = Folder::new();
    let checks = |text: &str| {
        std::fs::write(folder.file(), text).expect("room");
        let place = folder.file().parent().expect("a folder").to_owned();
        let output = Command::new(python)
            .args(["-c", &example()])
            .current_dir(place)
            .output()
            .expect("python3");
        (
            output.status.success(),
            String::from_utf8_lossy(&output.stderr).into_owned(),
        )
    };
    assert_eq!(checks(SAMPLE), (true, String::new()));
    let (number, changed) = with_another_latency();
    let (is_sound, said) = checks(&changed);
    assert!(
        !is_sound && said.contains(&format!("line {number} ")),
        "{said}"
    );
}

/// Shows that a field may have the checksum's name: the reader removes the checksum before the
/// parser sees the line.
#[test]
fn a_field_named_as_the_checksum_is_no_trouble() {
    let text = r#","check":"0123456789abcdef"}"#;
    let refusal = format!(
        r#"{{"line":"refusal","case":0,"repetition":0,"why":{}}}"#,
        serde_json::json!(text)
    );
    let record = read(&sealed(&[&bodies()[0], &refusal])).expect("a record");
    assert_eq!(record.refusals[0].why, text);
    assert_eq!(
        record,
        MeasureRecord {
            refusals: record.refusals.clone(),
            ..MeasureRecord::new(record.header.clone())
        }
    );
}
