use switchcost_trace::testing::seeded;
use switchcost_trace::{Chunk, ReadTraceError};

use crate::support::{read, records, written};

#[test]
fn cut_anywhere_it_gives_all_whole_chunks_and_says_where() {
    let chunks: Vec<_> = seeded(5, 400);
    let file = written(&chunks);
    let records = records(&file);
    for end in 0..file.len() {
        let (back, error) = read(&file[..end]);
        let error = error.expect("a cut trace is never whole");
        let whole_records = records[1..].iter().filter(|&&record| record <= end).count();
        if whole_records == 0 {
            assert!(back.is_empty());
            continue;
        }
        let whole_chunks = (whole_records - 1).min(chunks.len());
        assert_eq!(back, chunks[..whole_chunks], "cut at {end}");
        assert!(error.is_loss(), "{error}");
        assert_eq!(error.offset(), Some(records[whole_records] as u64));
        match error {
            ReadTraceError::Unfinished { before, .. } => {
                assert!(records.contains(&end));
                assert_eq!(before.chunks, whole_chunks as u64);
            }
            ReadTraceError::Cut {
                end: found, before, ..
            } => {
                assert_eq!(found, end as u64);
                assert_eq!(before.chunks, whole_chunks as u64);
                assert_eq!(
                    before.instructions,
                    back.iter().map(Chunk::instructions).sum::<u64>()
                );
            }
            other => panic!("{other}"),
        }
    }
}

#[test]
fn every_flipped_bit_is_found_and_nothing_before_it_is_lost() {
    let chunks = seeded(11, 60);
    let file = written(&chunks);
    let records = records(&file);
    for bit in 0..file.len() * 8 {
        let mut damaged = file.clone();
        damaged[bit / 8] ^= 1 << (bit % 8);
        let (back, error) = read(&damaged);
        assert!(error.is_some(), "bit {bit} of byte {} was missed", bit / 8);
        let whole = records[1..]
            .iter()
            .filter(|&&end| end <= bit / 8)
            .count()
            .saturating_sub(1);
        assert_eq!(back, chunks[..whole.min(chunks.len())], "bit {bit}");
    }
}

#[test]
fn a_record_that_is_missing_or_doubled_is_found() {
    let chunks = seeded(3, 3_000);
    let file = written(&chunks);
    let records = records(&file);
    let (first, second) = (records[1]..records[2], records[2]..records[3]);
    let without = [&file[..first.start], &file[first.end..]].concat();
    let (back, error) = read(&without);
    assert!(back.is_empty());
    assert!(
        error
            .expect("is damaged")
            .to_string()
            .contains("it is record 2, record 1 comes next")
    );
    let doubled = [&file[..second.end], &file[second.start..]].concat();
    let (back, error) = read(&doubled);
    assert_eq!(back, chunks[..2]);
    assert!(
        error
            .expect("is damaged")
            .to_string()
            .contains("it is record 2, record 3 comes next")
    );
}
