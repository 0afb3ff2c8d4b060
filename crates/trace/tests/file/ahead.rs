use std::io::Cursor;

use switchcost_trace::testing::seeded;
use switchcost_trace::{Chunk, ReadAhead, ReadTraceError, TraceReader, read_ahead};

use crate::support::{header, records, written};

fn ahead(file: Vec<u8>) -> ReadAhead {
    let reader = TraceReader::new(Cursor::new(file)).expect("has a header");
    read_ahead(reader).expect("there are threads")
}

#[test]
fn another_thread_gives_the_same_chunks() {
    let chunks = seeded(31, 5_000);
    let mut ahead = ahead(written(&chunks));
    assert_eq!(*ahead.header(), header());
    let mut chunk = Chunk::default();
    for expected in &chunks {
        assert!(ahead.next_into(&mut chunk).expect("is whole"));
        assert_eq!(chunk, *expected);
    }
    assert!(!ahead.next_into(&mut chunk).expect("is whole"));
    assert!(chunk.is_empty());
    assert!(!ahead.next_into(&mut chunk).expect("stays at the end"));
}

#[test]
fn a_loss_comes_behind_the_whole_chunks() {
    let chunks = seeded(32, 5_000);
    let mut file = written(&chunks);
    file.truncate(records(&file)[4] + 7);
    let mut ahead = ahead(file);
    let mut chunk = Chunk::default();
    for _ in 0..3 {
        assert!(ahead.next_into(&mut chunk).expect("is whole"));
    }
    let error = ahead.next_into(&mut chunk).expect_err("is cut");
    assert!(matches!(error, ReadTraceError::Cut { .. }), "{error}");
    assert!(chunk.is_empty());
}

#[test]
fn whoever_stops_early_does_not_wait() {
    let mut ahead = ahead(written(&seeded(33, 20_000)));
    let mut chunk = Chunk::default();
    assert!(ahead.next_into(&mut chunk).expect("is whole"));
    drop(ahead);
}
