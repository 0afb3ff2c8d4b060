//! Tests hostile files, with correct checksums and wrong contents.

use proptest::prelude::*;
use switchcost_trace::testing::seeded;
use switchcost_trace::{Chunk, Dependences, TraceFile, TraceReader, check, summarize};
use xxhash_rust::xxh3::xxh3_64;

use crate::shapes::Recorded;
use crate::support::{read, read_whole, records, u32_at, written};

/// Reads a file in every way; reading must end without a panic.
fn read_all(file: &[u8]) {
    if let Ok(reader) = TraceReader::new(file) {
        let report = check(reader);
        let _ = report
            .problems
            .iter()
            .map(ToString::to_string)
            .collect::<Vec<_>>();
    }
    if let Ok(reader) = TraceReader::new(file) {
        let _ = summarize(reader, &Dependences::default())
            .loss
            .map(|loss| loss.to_string());
    }
    if let Ok(mut opened) = TraceFile::open(std::io::Cursor::new(file)) {
        let mut chunk = Chunk::default();
        for instruction in [0, 1, 100, u64::MAX] {
            if opened.seek(instruction).is_ok() {
                let _ = opened.next_into(&mut chunk);
            }
        }
    }
}

/// Corrects the checksums of a record.
fn seal(file: &mut [u8], record: usize) {
    let length = u32_at(file, record + 12) as usize;
    let body = xxh3_64(&file[record + 32..record + 32 + length]);
    file[record + 16..record + 24].copy_from_slice(&body.to_le_bytes());
    let head = xxh3_64(&file[record..record + 24]);
    file[record + 24..record + 32].copy_from_slice(&head.to_le_bytes());
}

#[test]
fn counts_and_lengths_that_claim_gigabytes_are_refused() {
    let chunks = seeded(4, 300);
    let file = written(&chunks);
    let record = records(&file)[1];
    // The counts of the chunk's head, then the lengths in its directory of columns.
    let places = (0..12)
        .map(|word| word * 4)
        .chain((0..8).flat_map(|column| [52 + column * 12, 56 + column * 12]));
    for place in places {
        for value in [u32::MAX, 1 << 31, 1 << 24, 0x0700_0000] {
            let mut hostile = file.clone();
            hostile[record + 32 + place..][..4].copy_from_slice(&value.to_le_bytes());
            seal(&mut hostile, record);
            let (back, error) = read(&hostile);
            // The decoder ignores the running task, which the check examines.
            if place != 20 {
                assert!(back.is_empty() && error.is_some(), "{value:#x} at {place}");
            }
            read_all(&hostile);
        }
    }
}

#[test]
fn a_record_that_claims_gigabytes_is_refused_before_it_is_read() {
    let file = written(&seeded(4, 300));
    let record = records(&file)[1];
    let mut hostile = file[..record + 32].to_vec();
    hostile[record + 12..record + 16].copy_from_slice(&u32::MAX.to_le_bytes());
    let head = xxh3_64(&hostile[record..record + 24]);
    hostile[record + 24..record + 32].copy_from_slice(&head.to_le_bytes());
    let (_, error) = read(&hostile);
    let text = error.expect("is damaged").to_string();
    assert!(
        text.contains("it claims 4294967295 bytes, more than 134217728"),
        "{text}"
    );
}

#[test]
fn unknown_records_are_skipped_only_where_they_may_be() {
    let chunks = seeded(4, 300);
    let file = written(&chunks);
    let record = records(&file)[1];
    for (flags, is_read) in [(1_u16, true), (0, false)] {
        // An unknown kind in place of the first chunk would leave a gap, so one is inserted; the
        // following records get new numbers.
        let mut unknown = Vec::from(*b"SCtr");
        unknown.extend([77_u16.to_le_bytes(), flags.to_le_bytes()].concat());
        unknown.extend([1_u32.to_le_bytes(), 5_u32.to_le_bytes()].concat());
        unknown.extend([0; 16]);
        unknown.extend(b"hello");
        let mut mixed = [&file[..record], &unknown, &file[record..]].concat();
        seal(&mut mixed, record);
        for old in &records(&file)[1..] {
            let at = old + unknown.len();
            if at < mixed.len() {
                let number = u32_at(&mixed, at + 8) + 1;
                mixed[at + 8..at + 12].copy_from_slice(&number.to_le_bytes());
                seal(&mut mixed, at);
            }
        }
        if is_read {
            assert_eq!(read_whole(&mixed), chunks);
        } else {
            let (back, error) = read(&mixed);
            let text = error.expect("may not be skipped").to_string();
            assert!(
                text.contains("a record of kind 77 does not belong there"),
                "{text}"
            );
            assert!(back.is_empty());
        }
    }
}

fn sealed_damage() -> impl Strategy<Value = Vec<u8>> {
    let edit = (any::<prop::sample::Index>(), any::<u8>());
    (0..1000_u64, prop::collection::vec(edit, 1..6)).prop_map(|(seed, edits)| {
        let blocks_or_shapes = [
            |seed| written(&seeded(seed, 200)),
            |seed| Recorded::seeded(seed, 20, 100).file,
        ];
        let mut file = blocks_or_shapes[seed as usize % 2](seed);
        let records = records(&file);
        for (place, value) in edits {
            let at = place.index(file.len());
            let number = records.partition_point(|&record| record <= at);
            // Heads do not change; only data after them is changed, which a checksum can no longer
            // protect.
            if number > 0 && at >= records[number - 1] + 32 {
                file[at] = value;
                seal(&mut file, records[number - 1]);
            }
        }
        file
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn random_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..500)) {
        read_all(&bytes);
        let with_magic = [b"\x89SCT\r\n\x1a\n".as_slice(), &bytes].concat();
        read_all(&with_magic);
    }

    #[test]
    fn damage_behind_right_checksums_never_panics(file in sealed_damage()) {
        read_all(&file);
    }
}
