use std::io::Write;

use flate2::{Compression, write::GzEncoder};
use proptest::collection::vec;
use proptest::prelude::*;

use crate::{BlockFlags, Cause, Checker, Chunk, ChunkPlace, ImportError, Importer, Lives, Mark, ProcessId, TaskId};

/// The records that the public page "DrCacheSim Offline Trace Debugging" shows, type, size and address, with what it
/// says that they are: header, thread, process, time stamp, CPU, an instruction of 3 bytes, a load of 4.
const PUBLISHED: &[(u16, u16, u64)] = &[
    (0x19, 0, 1),
    (0x16, 4, 0x33bcd),
    (0x18, 4, 0x33bcd),
    (0x1c, 2, 0x002e_ff22_e155_62f3),
    (0x1c, 3, 0),
    (0x0a, 3, 0x5555_c5db_2e40),
    (0x00, 4, 0x7ffe_d4b5_46ac),
];
const FOOTER: (u16, u16, u64) = (0x1a, 0, 0);

fn bytes(records: &[(u16, u16, u64)]) -> Vec<u8> {
    let record = |&(kind, size, address): &(u16, u16, u64)| {
        [&kind.to_le_bytes()[..], &size.to_le_bytes(), &address.to_le_bytes()].concat()
    };
    records.iter().flat_map(record).collect()
}

fn read(file: &[u8]) -> (Vec<Chunk>, Option<ImportError>) {
    let mut importer = match Importer::drmemtrace(file) {
        Ok(importer) => importer,
        Err(error) => return (Vec::new(), Some(error)),
    };
    let mut chunks = Vec::new();
    loop {
        let mut chunk = Chunk::default();
        match importer.next_into(&mut chunk) {
            Ok(true) => chunks.push(chunk),
            Ok(false) => return (chunks, None),
            Err(error) => return (chunks, Some(error)),
        }
    }
}

fn only(records: &[(u16, u16, u64)]) -> Chunk {
    let (chunks, error) = read(&bytes(records));
    assert!(error.is_none(), "{error:?}");
    let [chunk] = <[Chunk; 1]>::try_from(chunks).expect("one chunk");
    chunk
}

fn message(records: &[(u16, u16, u64)]) -> String {
    read(&bytes(records)).1.expect("not well-formed").to_string()
}

fn whole(records: &[(u16, u16, u64)]) -> Vec<(u16, u16, u64)> {
    [&PUBLISHED[..3], records, &[FOOTER]].concat()
}

#[test]
fn reads_what_its_documentation_shows() {
    let chunk = only(&[PUBLISHED, &[FOOTER]].concat());
    let [block] = chunk.blocks.iter().collect::<Vec<_>>()[..] else { panic!("one block") };
    assert_eq!((block.address, block.bytes, block.instructions), (0x5555_c5db_2e40, 3, 1));
    let [load] = chunk.references.as_slice() else { panic!("one reference") };
    assert_eq!((load.address(), load.bytes(), load.is_store(), load.through()), (0x7ffe_d4b5_46ac, 4, false, 2));
    let name = b"process 211917".to_vec();
    let (task, process, parent) = (TaskId(1), ProcessId(1), TaskId::NONE);
    assert_eq!(chunk.marks[0].mark, Mark::Birth { task, process, parent, name });
}

#[test]
fn reads_a_packed_file_of_several_members() {
    let file = bytes(&[PUBLISHED, &[FOOTER]].concat());
    let mut packed = Vec::new();
    for part in file.chunks(40) {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(part).expect("memory");
        packed.extend(encoder.finish().expect("memory"));
    }
    let (chunks, error) = read(&packed);
    assert!(error.is_none(), "{error:?}");
    assert_eq!(chunks, read(&file).0);
}

#[test]
fn threads_become_tasks_and_switches() {
    let run = |address| (10, 4, address);
    let chunk = only(&whole(&[
        run(0x1000),
        (22, 4, 7),
        (24, 4, 0x33bcd),
        run(0x1004),
        (22, 4, 8),
        (24, 4, 9),
        run(0x1008),
        (22, 4, 7),
        run(0x100c),
        (23, 4, 7),
        (22, 4, 0x33bcd),
        run(0x1010),
    ]));
    assert_eq!(chunk.blocks.len(), 5, "a switch ends a block");
    let mut lives = Lives::default();
    let mut order = Vec::new();
    for placed in &chunk.marks {
        lives.follow(&placed.mark);
        if let Mark::Switch { from, to, is_voluntary, cause } = placed.mark {
            assert_eq!((is_voluntary, cause), (false, Cause::Unknown));
            order.push((placed.before_block, from.0, to.0));
        }
    }
    assert_eq!(order, [(0, 0, 1), (1, 1, 2), (2, 2, 3), (3, 3, 2), (4, 2, 1)]);
    let processes: Vec<_> = lives.tasks.values().map(|task| (task.process.0, task.has_ended)).collect();
    assert_eq!(processes, [(1, false), (1, true), (2, false)]);
}

/// The kernel gives numbers again: what has another address space is another process, and must not be found in its caches.
#[test]
fn a_process_whose_last_thread_has_ended_is_another_one_when_its_number_comes_again() {
    let run = |thread, process, address| [(22, 4, thread), (24, 4, process), (10, 4, address)];
    let exit = |thread| [(23, 4, thread)];
    let records: Vec<_> = [
        &run(1, 50, 0x1000)[..],
        &run(2, 50, 0x1004),
        &exit(1),
        &run(3, 50, 0x1008),
        &exit(2),
        &exit(3),
        &run(4, 50, 0x1000),
        &run(5, 60, 0x1000),
    ]
    .concat();
    let mut births = Vec::new();
    for placed in &only(&whole(&records)).marks {
        if let Mark::Birth { process, .. } = placed.mark {
            births.push(process.0);
        }
    }
    assert_eq!(births, [1, 1, 1, 2, 3]);
}

#[test]
fn every_kind_of_instruction_counts_and_nothing_else() {
    let instructions: Vec<_> = (10..=16).chain([31, 48, 49]).zip(0..).map(|(kind, n)| (kind, 2, n * 64)).collect();
    assert_eq!(only(&whole(&instructions)).instructions(), 10);
    let others: Vec<_> = (2..=9).chain(18..=21).chain([27]).chain(32..=47).map(|kind| (kind, 4, 0x40)).collect();
    let chunk = only(&whole(&[&[(10, 1, 0)], &others[..]].concat()));
    assert_eq!((chunk.instructions(), chunk.references.len()), (1, 0));
}

#[test]
fn a_bundle_follows_the_instruction_before() {
    let chunk = only(&whole(&[(10, 3, 0x100), (17, 3, u64::from_le_bytes([1, 2, 5, 9, 9, 9, 9, 9])), (1, 8, 0x40)]));
    let [block] = chunk.blocks.iter().collect::<Vec<_>>()[..] else { panic!("one block") };
    assert_eq!((block.bytes, block.instructions, block.references), (11, 4, 1));
    assert_eq!(
        message(&whole(&[(10, 3, 0), (17, 9, 0)])),
        "byte 48: found a record of type 17, size 9 and address 0x0, need a bundle of 1 to 8 instructions; is it the \
         right format?"
    );
}

#[test]
fn a_repeated_instruction_counts_each_time_as_in_lackey() {
    let turn = [(29, 2, 0x100), (0, 1, 0x41), (1, 1, 0x81)];
    let chunk = only(&whole(&[&[(10, 2, 0x100), (0, 1, 0x40), (1, 1, 0x80)], &turn[..], &turn[..]].concat()));
    assert_eq!((chunk.instructions(), chunk.references.len(), chunk.blocks.len()), (3, 6, 3));
}

#[test]
fn code_between_the_kernels_markers_is_the_kernels() {
    let chunk = only(&whole(&[(10, 2, 0), (28, 27, 0), (10, 2, 2), (28, 28, 0), (10, 2, 4)]));
    let flags: Vec<_> = chunk.blocks.iter().map(|block| block.flags).collect();
    assert_eq!(flags, [BlockFlags::USER, BlockFlags::KERNEL, BlockFlags::USER]);
}

#[test]
fn says_what_is_wrong_and_where() {
    assert_eq!(
        message(&[(10, 4, 0)]),
        "byte 0: found a record of type 10, size 4 and address 0x0, need a header (type 25) of version 1 to 7 first, as \
         drmemtrace writes after its post-processing; is it the right format?"
    );
    assert_eq!(
        message(&[(25, 0, 0x16_0000_0002)]),
        "byte 0: found a record of type 25, size 0 and address 0x1600000002, need a header (type 25) of version 1 to 7 \
         first, as drmemtrace writes after its post-processing; is it the right format?"
    );
    assert_eq!(
        message(&whole(&[(30, 4, 0)])),
        "byte 36: found a record of type 30, size 4 and address 0x0, need one that a trace of a 64-bit program holds, of \
         type 0 to 29 or 31 to 49; is it the right format?"
    );
    assert_eq!(
        message(&whole(&[(28, 9, 0x40 | 0x100)])),
        "byte 36: found a trace that was filtered through a cache when it was taken, need every reference; trace again \
         without a filter"
    );
    assert_eq!(
        message(PUBLISHED),
        "byte 84: found the end of the file, need a footer (type 26) last; the file is cut. What came before is whole"
    );
    assert_eq!(
        read(&bytes(PUBLISHED)[..80]).1.expect("cut").to_string(),
        "byte 72: found the end of the file, need a whole record of 12 bytes; the file is cut. What came before is whole"
    );
    assert_eq!(
        read(b"").1.expect("empty").to_string(),
        "byte 0: found the end of the file, need a header (type 25) of version 1 to 7 first, as drmemtrace writes after \
         its post-processing; the file is cut. What came before is whole"
    );
    let error = read(&[0x1f, 0x8b, 0, 0]).1.expect("no gzip").to_string();
    assert!(error.starts_with("found a file that cannot be read at byte 0 ("), "{error}");
    assert_eq!(
        message(&whole(&[(0, 4, 0)])),
        "byte 36: found a reference before the first instruction, need the instruction that makes it first"
    );
}

fn records() -> impl Strategy<Value = Vec<(u16, u16, u64)>> {
    let record = prop_oneof![
        4 => (10..17_u16, 1..16_u16, 0..256_u64),
        4 => (0..2_u16, 1..65_u16, any::<u32>().prop_map(u64::from)),
        2 => (22..25_u16, Just(4_u16), 0..4_u64),
        1 => (17..18_u16, 0..9_u16, any::<u64>()),
        1 => (0..50_u16, 0..40_u16, 0..40_u64),
        1 => (any::<u16>(), any::<u16>(), any::<u64>()),
    ];
    vec(record, 0..80)
}

proptest! {
    #[test]
    fn any_records_are_a_sound_trace_or_an_error(records in records(), cut in 0..12_usize) {
        let file = bytes(&[&PUBLISHED[..3], &records[..], &[FOOTER]].concat());
        let mut checker = Checker::default();
        let (mut lives, mut place) = (Lives::default(), ChunkPlace::default());
        for chunk in &read(&file[..file.len() - cut]).0 {
            checker.chunk(chunk, place);
            chunk.marks.iter().for_each(|placed| lives.follow(&placed.mark));
            place.running = lives.running;
        }
        prop_assert_eq!(checker.finish().problems, []);
    }
}
