use super::*;
use crate::{Line, MeasureRecord};

const SAMPLE: &str = include_str!("../../tests/samples/measure-2.jsonl");

fn sample_lines() -> Vec<&'static str> {
    SAMPLE.lines().collect()
}

fn record_of(text: &[u8]) -> tempfile::NamedTempFile {
    let mut file = tempfile::NamedTempFile::new().expect("a file");
    file.write_all(text).expect("room");
    file
}

fn limit_of(bytes: usize) -> Bytes {
    Bytes(bytes as u64)
}

/// Reads all lines of a file, each of at most `limit` bytes, and returns their number.
fn read_limited(file: &tempfile::NamedTempFile, limit: Bytes) -> Result<u64, ReadRecordError> {
    let source = Source::named(file.path());
    let mut lines = SealedLines::<Line>::open(&source, limit)?;
    lines.header()?;
    while lines.next_line()?.is_some() {}
    Ok(lines.number)
}

#[test]
fn a_line_as_long_as_the_limit_is_read() {
    let longest = sample_lines()
        .iter()
        .map(|line| line.len() + 1)
        .max()
        .expect("lines");
    let file = record_of(SAMPLE.as_bytes());
    assert!(read_limited(&file, limit_of(longest)).is_ok());
    assert!(read_limited(&file, limit_of(longest - 1)).is_err());
}

#[test]
fn a_line_above_the_limit_is_refused_without_being_read_to_its_end() {
    let limit = limit_of(sample_lines()[0].len() + 1)
        .0
        .next_multiple_of(1024);
    let file = record_of(format!("{}\n", sample_lines()[0]).as_bytes());
    // A gibibyte of nothing, which takes no room on disk.
    file.as_file().set_len(1 << 30).expect("a hole");
    let error = read_limited(&file, Bytes(limit)).expect_err("too long");
    let path = file.path().display();
    assert_eq!(
        error.to_string(),
        format!(
            "{path} is damaged at line 2 (a line of more than {}); keep the 1 lines before it: head -n 1 {path} > rescued.jsonl",
            Bytes(limit)
        )
    );
}

#[test]
fn a_first_line_above_the_limit_is_no_header() {
    let error = MeasureRecord::read(Path::new("/dev/zero")).expect_err("no end of it");
    assert_eq!(
        error.to_string(),
        "/dev/zero is not a record of switchcost (a line of more than 64 MiB); name a file written by switchcost"
    );
}

#[test]
fn no_piece_holds_more_than_the_limit() {
    let file = record_of(&[b'x'; 10_000]);
    let source = Source::named(file.path());
    let mut lines = SealedLines::<Line>::open(&source, Bytes(100)).expect("open");
    assert!(matches!(lines.next_piece(), Ok(Piece::TooLong)));
    let left = lines.reader.fill_buf().expect("more").len();
    assert!(left > 0, "the rest of the line was not read");
}

#[test]
fn says_how_many_lines_a_full_disk_took() {
    let path = PathBuf::from("run.jsonl");
    let file = std::fs::OpenOptions::new()
        .append(true)
        .open("/dev/full")
        .expect("the full device");
    let chain = Chain::default();
    let mut writer = SealedLog::<Line> {
        file,
        path,
        lines: 41,
        whole_bytes: 4_100,
        chain,
        kind: PhantomData,
    };
    let line: Line = serde_json::from_str(sample_lines()[1]).expect("a line");
    let error = writer.append(&line).expect_err("full");
    assert_eq!(
        error.to_string(),
        "cannot write to run.jsonl after 41 complete lines: No space left on device (os error 28); free some space, or \
         choose another place with --record"
    );
    writer.path = PathBuf::from("my run.jsonl");
    let error = writer.append(&line).expect_err("full").to_string();
    assert!(
        error.starts_with("cannot write to my run.jsonl after 41 complete lines"),
        "{error}"
    );
    assert_eq!(
        (writer.lines, writer.whole_bytes, writer.chain),
        (41, 4_100, chain),
        "what did not fit does not count"
    );
}
