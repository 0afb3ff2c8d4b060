use std::io::Write;

use flate2::{Compression, write::GzEncoder};
use proptest::collection::vec;
use proptest::prelude::*;

use crate::import::tests::{blocks, first, open, touched};
use crate::testing::find_problems;
use crate::{
    Cause, Chunk, ImportError, ImportFormat, Importer, Mark, Placed, ProcessId, ProcessTable,
    TaskId,
};

/// Records from the public page "DrCacheSim Offline Trace Debugging", as type, size and address. By
/// the page they mean: header, thread, process, time stamp, CPU, an instruction of 3 bytes, a load
/// of 4.
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
        [
            &kind.to_le_bytes()[..],
            &size.to_le_bytes(),
            &address.to_le_bytes(),
        ]
        .concat()
    };
    records.iter().flat_map(record).collect()
}

fn read(file: &[u8]) -> (Vec<Chunk>, Option<ImportError>) {
    match open(ImportFormat::Drmemtrace, file) {
        Ok(importer) => crate::import::tests::read(importer),
        Err(error) => (Vec::new(), Some(error)),
    }
}

fn only(records: &[(u16, u16, u64)]) -> Chunk {
    let (chunks, error) = read(&bytes(records));
    assert!(error.is_none(), "{error:?}");
    let [chunk] = <[Chunk; 1]>::try_from(chunks).expect("one chunk");
    chunk
}

fn message(records: &[(u16, u16, u64)]) -> String {
    read(&bytes(records))
        .1
        .expect("not well-formed")
        .to_string()
}

fn whole(records: &[(u16, u16, u64)]) -> Vec<(u16, u16, u64)> {
    [&PUBLISHED[..3], records, &[FOOTER]].concat()
}

#[test]
fn reads_what_its_documentation_shows() {
    let chunk = only(&[PUBLISHED, &[FOOTER]].concat());
    assert_eq!(blocks(&chunk), [(0x5555_c5db_2e40, 3, 1, 1)]);
    assert_eq!(touched(&chunk), [(0x7ffe_d4b5_46ac, 4, false)]);
    assert_eq!(chunk.references[0].through(), 2);
    let name = b"process 211917".to_vec();
    let (task, process, parent) = (TaskId(1), ProcessId(1), TaskId::NONE);
    assert_eq!(
        chunk.marks[0].mark,
        Mark::Birth {
            task,
            process,
            parent,
            name
        }
    );
}

#[test]
fn reads_packed_files_of_several_members_and_frames() {
    let file = bytes(&[PUBLISHED, &[FOOTER]].concat());
    let mut members = Vec::new();
    for part in file.chunks(40) {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(part).expect("memory");
        members.extend(encoder.finish().expect("memory"));
    }
    let mut frames = snap::write::FrameEncoder::new(Vec::new());
    frames.write_all(&file).expect("memory");
    for packed in [members, frames.into_inner().expect("memory")] {
        let (chunks, error) = read(&packed);
        assert!(error.is_none(), "{error:?}");
        assert_eq!(chunks, read(&file).0);
    }
}

/// Returns the switches in order: from, to, whether voluntary, cause.
fn switches(chunk: &Chunk) -> Vec<(u32, u32, bool, Cause)> {
    let switches = chunk.marks.iter().filter_map(|placed| match placed.mark {
        Mark::Switch {
            from,
            to,
            is_voluntary,
            cause,
        } => Some((from.0, to.0, is_voluntary, cause)),
        _ => None,
    });
    switches.collect()
}

fn births(chunk: &Chunk) -> Vec<(u32, u32)> {
    let births = chunk.marks.iter().filter_map(|placed| match placed.mark {
        Mark::Birth { task, process, .. } => Some((task.0, process.0)),
        _ => None,
    });
    births.collect()
}

fn assert_sound(chunk: &Chunk) {
    assert_eq!(find_problems(std::slice::from_ref(chunk)), []);
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
    assert_eq!(births(&chunk), [(1, 1), (2, 1), (3, 2)]);
    let unknown = |from, to| (from, to, false, Cause::Unknown);
    assert_eq!(
        switches(&chunk),
        [
            unknown(0, 1),
            unknown(1, 2),
            unknown(2, 3),
            unknown(3, 2),
            (2, 1, true, Cause::Exit)
        ]
    );
    let is_exit = |placed: &&Placed| matches!(placed.mark, Mark::Exit { .. });
    assert_eq!(chunk.marks.iter().filter(is_exit).count(), 1);
    assert_sound(&chunk);
}

/// A process continues after its last thread in the trace has ended, because its other threads run
/// on other cores. If the process were recorded as ended, its later threads would find its caches
/// empty. DynamoRIO's own simulator finds 130 instruction misses and 258 data misses if a core runs
/// four such threads one after the other. With four processes it finds 295 and 318.
#[test]
fn a_process_does_not_end_with_its_last_thread() {
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
        &exit(4),
        &run(4, 50, 0x1000),
    ]
    .concat();
    let chunk = only(&whole(&records));
    assert_eq!(
        births(&chunk),
        [(1, 1), (2, 1), (3, 1), (4, 1), (5, 2), (6, 1)]
    );
    let mut table = ProcessTable::default();
    chunk.marks.iter().for_each(|placed| {
        table.follow(&placed.mark);
    });
    let alive: Vec<_> = table
        .tasks
        .keys()
        .filter(|task| table.is_alive(**task))
        .map(|task| task.0)
        .collect();
    assert_eq!(alive, [5, 6]);
    assert_sound(&chunk);
}

const CORE: (u16, u16, u64) = (28, 9, 0x1_0e40);
const IDLE: (u16, u16, u64) = (28, 33, 0);

#[test]
fn threads_of_a_core_go_on_behind_footers_and_idle_times() {
    let thread = |thread| [(22, 8, thread), (24, 8, 9)];
    let records = [
        &[(25, 0, 7), CORE][..],
        &thread(10),
        &[(10, 4, 0x1000), (23, 8, 10), FOOTER, IDLE, IDLE],
        &[(25, 0, 7), CORE],
        &thread(11),
        &[(10, 4, 0x2000), (28, 25, 202), (28, 26, 0), IDLE],
        &thread(11),
        &[(10, 4, 0x2004), (28, 25, 39)],
        &thread(12),
        &[(10, 4, 0x3000), (23, 8, 11), FOOTER, IDLE, FOOTER],
    ]
    .concat();
    let chunk = only(&records);
    assert_eq!(
        (chunk.instructions(), births(&chunk)),
        (4, vec![(1, 1), (2, 1), (3, 1)])
    );
    let expected = [
        (0, 1, false, Cause::Unknown),
        (1, 2, true, Cause::Exit),
        // No other task ran, but the core was idle.
        (2, 2, true, Cause::Syscall(202)),
        (2, 3, false, Cause::Syscall(39)),
    ];
    assert_eq!(switches(&chunk), expected);
    assert_sound(&chunk);
    let other = [&PUBLISHED[..3], &[(10, 4, 0), FOOTER, (10, 4, 4), FOOTER]].concat();
    assert!(
        message(&other).contains("expected the end of the file behind a footer"),
        "{}",
        message(&other)
    );
}

#[test]
fn a_core_that_ran_nothing_is_called_so() {
    for records in [
        &[(25, 0, 0), IDLE, FOOTER][..],
        &[(25, 0, 7), CORE, (22, 8, u64::MAX), IDLE, FOOTER],
    ] {
        assert_eq!(
            message(records),
            "there is no instruction: this core ran nothing; choose another"
        );
    }
}

#[test]
fn a_reference_of_no_bytes_is_of_unknown_size() {
    let file = bytes(&whole(&[(10, 4, 0x1000), (1, 0, 0x7000), (0, 0, 0x7000)]));
    let mut importer = open(ImportFormat::Drmemtrace, &file).expect("a trace");
    let chunk = first(&mut importer);
    assert_eq!(touched(&chunk), [(0x7000, 1, true), (0x7000, 1, false)]);
    assert_eq!((chunk.instructions(), importer.unknown_sizes()), (1, 2));
}

#[test]
fn every_kind_of_instruction_counts_and_nothing_else() {
    let instructions: Vec<_> = (10..=16)
        .chain([31, 48, 49])
        .zip(0..)
        .map(|(kind, n)| (kind, 2, n * 64))
        .collect();
    assert_eq!(only(&whole(&instructions)).instructions(), 10);
    let others: Vec<_> = (2..=9)
        .chain(18..=21)
        .chain([27])
        .chain(32..=47)
        .map(|kind| (kind, 4, 0x40))
        .collect();
    let chunk = only(&whole(&[&[(10, 1, 0)], &others[..]].concat()));
    assert_eq!((chunk.instructions(), chunk.references.len()), (1, 0));
}

#[test]
fn a_bundle_follows_the_instruction_before() {
    let chunk = only(&whole(&[
        (10, 3, 0x100),
        (17, 3, u64::from_le_bytes([1, 2, 5, 9, 9, 9, 9, 9])),
        (1, 8, 0x40),
    ]));
    assert_eq!(blocks(&chunk), [(0x100, 11, 4, 1)]);
    assert_eq!(
        message(&whole(&[(10, 3, 0), (17, 9, 0)])),
        "byte 48: expected a bundle of 1 to 8 instructions, found a record of type 17, size 9 and address 0x0; check that it \
         is the right format"
    );
}

#[test]
fn a_repeated_instruction_counts_each_time_as_in_lackey() {
    let turn = [(29, 2, 0x100), (0, 1, 0x41), (1, 1, 0x81)];
    let chunk = only(&whole(
        &[
            &[(10, 2, 0x100), (0, 1, 0x40), (1, 1, 0x80)],
            &turn[..],
            &turn[..],
        ]
        .concat(),
    ));
    assert_eq!(
        (
            chunk.instructions(),
            chunk.references.len(),
            chunk.blocks.len()
        ),
        (3, 6, 3)
    );
}

fn is_kernel(chunk: &Chunk) -> Vec<bool> {
    chunk
        .blocks
        .iter()
        .map(|block| block.flags.is_kernel())
        .collect()
}

#[test]
fn code_between_the_markers_of_a_call_or_a_switch_is_the_kernels() {
    for (begins, ends) in [(27, 28), (34, 35)] {
        let chunk = only(&whole(&[
            (10, 2, 0),
            (28, begins, 0),
            (10, 2, 2),
            (28, ends, 0),
            (10, 2, 4),
        ]));
        assert_eq!(is_kernel(&chunk), [false, true, false], "{begins}");
    }
    let preempted = [
        (28, 27, 1),
        (10, 2, 2),
        (22, 4, 7),
        (10, 2, 8),
        (22, 4, 0x33bcd),
        (10, 2, 4),
        (28, 28, 1),
        (10, 2, 6),
    ];
    assert_eq!(
        is_kernel(&only(&whole(&preempted))),
        [true, false, true, false],
        "only the thread that is in the call"
    );
}

#[test]
fn code_of_the_upper_half_is_the_kernels_with_or_without_markers() {
    let addresses = [
        0xffff_ffff_8100_0000,
        0x40_1000,
        0xffff_ffff_ff60_0000,
        0xffff_ffff_c000_0000,
    ];
    let chunk = only(&whole(&addresses.map(|address| (10, 4, address))));
    assert_eq!(
        is_kernel(&chunk),
        [true, false, false, true],
        "the third is the user's: vsyscall"
    );
}

/// Returns the notes on a trace whose first instruction follows `markers`, and the trace's
/// architecture.
fn said(markers: &[(u16, u16, u64)]) -> (Vec<String>, Option<&'static str>) {
    let file = bytes(&whole(&[markers, &[(10, 4, 0)]].concat()));
    let mut importer = open(ImportFormat::Drmemtrace, &file).expect("a trace");
    first(&mut importer);
    (importer.notes(), importer.arch())
}

#[test]
fn what_a_trace_lacks_is_said_of_all_its_numbers() {
    let of_type = |file_type| said(&[(28, 9, file_type)]);
    assert_eq!(of_type(0xe40), (vec![], Some("x86_64")));
    for (file_type, arch, part) in [
        (0x44, Some("x86_64"), "has only instructions"),
        (
            0x8040,
            Some("x86_64"),
            "the kernel's instructions have no data references",
        ),
        (0x2_0e00, Some("regdeps"), "DynamoRIO's synthetic set"),
        (
            0x8_0040,
            Some("x86_64"),
            "a file type that this version does not know",
        ),
    ] {
        let (notes, found) = of_type(file_type);
        assert!(
            notes.len() == 1 && notes[0].contains(part) && found == arch,
            "{file_type:#x}: {notes:?}, {found:?}"
        );
    }
}

#[test]
fn what_a_marker_says_of_the_trace_is_said_of_all_its_numbers() {
    for (marker, part) in [
        (14, "in windows"),
        (15, "physical addresses, which are ignored"),
        (32, "waits that keep the order"),
        (36, "markers that this version does not know"),
    ] {
        let (notes, _) = said(&[(28, marker, 1)]);
        assert!(notes.len() == 1 && notes[0].contains(part), "{notes:?}");
    }
    let known = [0, 2, 3, 10, 12, 18, 25, 26, 30, 31, 33, 101].map(|marker| (28, marker, 1));
    let (notes, _) = said(&known);
    assert_eq!(notes, <Vec<String>>::new());
    let ends = message(&whole(&[(10, 4, 0x1000), (28, 23, 0)]));
    assert!(
        ends.contains("filtered through a cache for the first part"),
        "{ends}"
    );
}

#[test]
fn what_cannot_be_read_for_what_it_is_is_refused_by_name() {
    let typed = |file_type| whole(&[(28, 9, file_type), (10, 4, 0)]);
    for (records, part) in [
        (
            typed(0x8),
            "byte 36: the trace is of aarch64; trace a program for x86_64",
        ),
        (
            typed(0x10),
            "byte 36: the trace is of 32-bit ARM; trace a program for x86_64",
        ),
        (
            typed(0x20),
            "byte 36: the trace is of 32-bit x86; trace a program for x86_64",
        ),
        (typed(0x41), "filtered through a cache when it was taken"),
        (typed(0xc0), "filtered through a cache when it was taken"),
        (typed(0x140), "filtered through a cache when it was taken"),
        (
            typed(0x2040),
            "filtered through a cache for the first part of the time that it was taken",
        ),
        (typed(0x4240), "these are templates of the kernel's code"),
        (
            vec![(25, 0, 0x16_0000_0002)],
            "the trace is of a 32-bit program",
        ),
        (
            whole(&[(28, 9, 0x40), (10, 4, 0), (28, 9, 0x44)]),
            "byte 60: file type 0x44 follows 0x40, but parts must be of one kind; import them one by one",
        ),
        // It is too late to be said.
        (
            whole(&[(10, 4, 0), (28, 9, 0x44)]),
            "file type 0x44 follows 0x0",
        ),
    ] {
        let found = message(&records);
        assert!(found.contains(part), "{records:x?}: {found}");
    }
}

#[test]
fn other_files_are_named_with_what_makes_a_trace_of_them() {
    for (first, part) in [
        (
            &b"PK\x03\x04"[..],
            "this is a zip file on standard input or in another file, not a trace; unpack it: unzip -p FILE | ",
        ),
        (
            &[0x04, 0x22, 0x4d, 0x18],
            "this is an lz4 file, not a trace; unpack it: lz4 -dc FILE | ",
        ),
        (&[0x28, 0xb5, 0x2f, 0xfd], "this is a zstd file"),
        (
            &[0, 0, 0, 0, 0, 0, 5, 0xc4, 0, 0, 0, 0],
            "this is a raw file of drmemtrace; post-process it",
        ),
    ] {
        let found = read(first).1.expect("no trace").to_string();
        assert!(found.starts_with(part), "{found}");
    }
}

/// Creates a thread's file: each time stamp with the CPU and the address of an instruction.
fn thread_file(thread: u64, runs: &[(u64, u64, u64)]) -> Vec<u8> {
    let head = [(25, 0, 7), (28, 9, 0xe40), (22, 8, thread), (24, 8, 50)];
    let run = |&(now, cpu, address): &(u64, u64, u64)| {
        [
            (28, 2, now),
            (28, 3, cpu),
            (10, 4, address),
            (0, 8, address + 1),
            (28, 25, 202),
            (28, 26, 0),
        ]
    };
    bytes(
        &[
            &head[..],
            &runs.iter().flat_map(run).collect::<Vec<_>>(),
            &[(23, 8, thread), FOOTER],
        ]
        .concat(),
    )
}

fn of_threads(cpu: Option<u64>) -> (Chunk, Vec<String>, Option<ImportError>) {
    let one = thread_file(
        1,
        &[(100, 3, 0x1000), (300, 3, 0x1100), (500, 0x5004, 0x1200)],
    );
    let two = thread_file(2, &[(200, 3, 0x2000), (400, 4, 0x2100), (600, 3, 0x2200)]);
    let files = vec![
        ("one".to_owned(), one.as_slice()),
        ("two".to_owned(), two.as_slice()),
    ];
    let mut importer = Importer::drmemtrace_files(files, cpu).expect("traces");
    let mut chunk = Chunk::default();
    let step = importer.next_into(&mut chunk);
    let error = step
        .err()
        .or_else(|| importer.next_into(&mut Chunk::default()).err());
    (chunk, importer.notes(), error)
}

#[test]
fn threads_with_files_of_their_own_take_turns_as_their_time_stamps_say() {
    let ran = |chunk: &Chunk| {
        chunk
            .blocks
            .iter()
            .map(|block| block.address)
            .collect::<Vec<_>>()
    };
    let (all, notes, error) = of_threads(None);
    assert!(error.is_none(), "{error:?}");
    assert_eq!(ran(&all), [0x1000, 0x2000, 0x1100, 0x2100, 0x1200, 0x2200]);
    assert_eq!(births(&all), [(1, 1), (2, 1)]);
    let causes: Vec<_> = switches(&all).iter().map(|switch| switch.3).collect();
    // No CPU switched between the two threads.
    assert_eq!(causes, [&[Cause::Unknown; 5][..], &[Cause::Exit]].concat());
    assert_sound(&all);
    assert!(
        notes.len() == 1 && notes[0].contains("the switches are not the machine's"),
        "{notes:?}"
    );
    let (third, notes, _) = of_threads(Some(3));
    assert_eq!(
        (ran(&third), notes),
        (vec![0x1000, 0x2000, 0x1100, 0x2200], vec![])
    );
    assert_eq!(third.references.len(), 4);
    assert_eq!(
        switches(&third)[1..],
        [(1, 2), (2, 1), (1, 2)].map(|(from, to)| (from, to, true, Cause::Syscall(202)))
    );
    assert_sound(&third);
    let (fourth, ..) = of_threads(Some(4));
    assert_eq!(ran(&fourth), [0x2100, 0x1200]);
    let (_, _, error) = of_threads(Some(5));
    assert_eq!(
        error.expect("nothing ran there").to_string(),
        "there is no instruction on CPU 5; use one that the trace names: 3, 4"
    );
}

#[test]
fn of_several_files_the_wrong_one_is_named() {
    let (one, core) = (
        thread_file(1, &[(1, 1, 0)]),
        bytes(&[(25, 0, 7), CORE, (10, 4, 0), FOOTER]),
    );
    let error = |files: &[(&str, &[u8])]| {
        let files = files
            .iter()
            .map(|(name, file)| ((*name).to_owned(), *file))
            .collect();
        let failed = |mut importer: Importer<'_>| loop {
            match importer.next_into(&mut Chunk::default()) {
                Ok(true) => {}
                Ok(false) => return String::new(),
                Err(error) => return error.to_string(),
            }
        };
        Importer::drmemtrace_files(files, None).map_or_else(|error| error.to_string(), failed)
    };
    assert!(
        error(&[("one", &one), ("two\u{1b}", &one[..40])])
            .starts_with("two\\u{1b}, byte 36: the file is cut")
    );
    assert!(error(&[("one", &one), ("two", b"PK\x03\x04")]).starts_with("two, this is a zip file"));
    assert!(
        error(&[("one", &one), ("core", &core)])
            .starts_with("core, byte 12: this is the trace of one core, and cores run at once; give the trace of this core \
                          alone")
    );
}

#[test]
fn says_what_is_wrong_and_where() {
    for (file, error) in [
        (
            bytes(&[(10, 4, 0)]),
            "byte 0: expected a header (type 25) of version 0 to 7 first, as drmemtrace writes after its post-processing, found a \
             record of type 10, size 4 and address 0x0; check that it is the right format",
        ),
        (
            bytes(&[(25, 0, 8)]),
            "byte 0: expected a header (type 25) of version 0 to 7 first, as drmemtrace writes after its post-processing, found a \
             record of type 25, size 0 and address 0x8; check that it is the right format",
        ),
        (
            bytes(&whole(&[(30, 4, 0)])),
            "byte 36: expected one that a trace of a 64-bit program holds, of type 0 to 29 or 31 to 49, found a record of type 30, \
             size 4 and address 0x0; check that it is the right format",
        ),
        (
            bytes(PUBLISHED),
            "byte 84: the file is cut: a footer (type 26) last should follow, and what came before is whole; \
             copy it again from its source, or trace again",
        ),
        (
            bytes(PUBLISHED)[..80].to_vec(),
            "byte 72: the file is cut: a whole record of 12 bytes should follow, and what came before is whole; \
             copy it again from its source, or trace again",
        ),
        (
            Vec::new(),
            "byte 0: the file is cut: a header (type 25) of version 0 to 7 first, as drmemtrace writes after its post-processing \
             should follow, and what came before is whole; copy it again from its source, or trace again",
        ),
        (
            bytes(&whole(&[(0, 4, 0)])),
            "byte 36: a reference stands before the first instruction; put the instruction that makes it first",
        ),
    ] {
        assert_eq!(read(&file).1.expect("not well-formed").to_string(), error);
    }
    let error = read(&[0x1f, 0x8b, 8, 0]).1.expect("no gzip").to_string();
    assert!(
        error.starts_with("it cannot be read at byte 0: "),
        "{error}"
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
        prop_assert_eq!(find_problems(&read(&file[..file.len() - cut]).0), []);
    }
}
