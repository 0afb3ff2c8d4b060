use std::io::Cursor;

use switchcost_trace::testing::seeded;
use switchcost_trace::{Chunk, Mark, ProcessTable, TraceFile};

use crate::support::{header, written};

#[test]
fn every_chunk_can_be_reached() {
    let chunks = seeded(21, 4_000);
    let mut file = TraceFile::open(Cursor::new(written(&chunks))).expect("is whole");
    assert_eq!(*file.header(), header());
    assert_eq!(file.index().chunks.len(), chunks.len());
    assert_eq!(
        file.index().instructions,
        chunks.iter().map(Chunk::instructions).sum::<u64>()
    );
    let starts: Vec<_> = file
        .index()
        .chunks
        .iter()
        .map(|entry| entry.first_instruction)
        .collect();
    let mut chunk = Chunk::default();
    let mut table = ProcessTable::default();
    for (number, expected) in chunks.iter().enumerate() {
        if expected.instructions() > 0 {
            let middle = starts[number] + expected.instructions() / 2;
            assert_eq!(
                file.seek(middle).expect("is there").first_instruction,
                starts[number]
            );
            let place = file
                .next_into(&mut chunk)
                .expect("is whole")
                .expect("is there");
            assert_eq!(
                (place.number, place.running),
                (number as u64, table.running)
            );
            assert_eq!(chunk, *expected);
        }
        for placed in &expected.marks {
            table.follow(&placed.mark);
        }
    }
}

#[test]
fn the_index_lists_every_task() {
    let chunks = seeded(22, 2_000);
    let file = TraceFile::open(Cursor::new(written(&chunks))).expect("is whole");
    let is_life = |mark: &&Mark| {
        matches!(
            mark,
            Mark::Birth { .. } | Mark::Exec { .. } | Mark::Exit { .. }
        )
    };
    let placed = chunks.iter().flat_map(|chunk| &chunk.marks);
    let expected: Vec<&Mark> = placed.map(|placed| &placed.mark).filter(is_life).collect();
    assert!(!expected.is_empty());
    let lives = file.index().lives.iter();
    assert!(lives.map(|life| &life.mark).eq(expected));
}

#[test]
fn what_cannot_be_reached_is_said() {
    let chunks = seeded(23, 500);
    let whole = written(&chunks);
    let mut file = TraceFile::open(Cursor::new(&whole)).expect("is whole");
    let instructions = file.index().instructions;
    assert_eq!(
        file.seek(instructions)
            .expect_err("is behind the end")
            .to_string(),
        format!(
            "it has {instructions} instructions, too few to begin at {instructions}; choose an earlier one"
        )
    );
    let cut = TraceFile::open(Cursor::new(&whole[..whole.len() - 1]))
        .err()
        .expect("has no footer");
    assert_eq!(
        cut.to_string(),
        "it has no usable index (the file does not end with a footer), so only the whole trace can be read; leave out \
         --range and --warm-up"
    );
}

#[test]
fn a_damaged_chunk_does_not_hide_the_others() {
    let chunks = seeded(24, 3_000);
    let mut damaged = written(&chunks);
    let second = crate::support::records(&damaged)[2];
    damaged[second + 50] ^= 1;
    let mut file = TraceFile::open(Cursor::new(&damaged)).expect("header and index are whole");
    let mut chunk = Chunk::default();
    assert!(file.next_into(&mut chunk).expect("is whole").is_some());
    let error = file.next_into(&mut chunk).expect_err("is damaged");
    assert_eq!(error.offset(), Some(second as u64));
    assert!(chunk.is_empty());
    let third = file.index().chunks[2].first_instruction;
    file.seek(third).expect("is there");
    assert!(file.next_into(&mut chunk).expect("is whole").is_some());
    assert_eq!(chunk, chunks[2]);
}
