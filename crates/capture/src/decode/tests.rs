use std::sync::atomic::AtomicU64;

use proptest::prelude::*;
use switchcost_trace::{
    Block, BlockFlags, Cause, Chunk, Dependences, Event, Followed, Mark, ProcessId, Recorder,
    Reference, TaskId, TraceHeader, TraceOrder, TraceReader,
};

use super::*;
use crate::protocol::{NO_SLOT, head, how};

fn decode_all(words: &[u64]) -> Result<(Vec<Chunk>, u64, u64), DecodeError> {
    let mut chunks = Vec::new();
    let mut sink = |chunk: &mut Chunk, _: &Dependences| {
        chunks.push(std::mem::take(chunk));
        Ok(())
    };
    let mut take = Chunks::new(&mut sink);
    let mut decoder = Decoder::new(names(), &mut take);
    match decoder.buffer(7, &atomics(words)) {
        Ok(()) => {}
        Err(Stopped::Damaged(error)) => return Err(error),
        Err(Stopped::Refused(Refused)) => unreachable!("all are wanted"),
    }
    decoder.flush().expect("all are wanted");
    let (switches, instructions) = (decoder.switches(), decoder.instructions());
    Ok((chunks, switches, instructions))
}

fn decode(words: &[u64]) -> Result<Vec<Chunk>, DecodeError> {
    decode_all(words).map(|(chunks, _, _)| chunks)
}

/// Records the words directly into a trace and reads the trace back.
fn recorded(words: &[u64]) -> Result<Vec<Chunk>, DecodeError> {
    let file = recorded_file(words)?;
    let mut reader = TraceReader::new(&file[..]).expect("a trace");
    let (mut chunks, mut chunk) = (Vec::new(), Chunk::default());
    while reader.next_into(&mut chunk).expect("a whole trace") {
        chunks.push(chunk.clone());
    }
    Ok(chunks)
}

fn atomics(words: &[u64]) -> Vec<AtomicU64> {
    words.iter().map(|&word| AtomicU64::new(word)).collect()
}

fn names() -> Vec<Vec<u8>> {
    vec![b"first".to_vec(), b"second".to_vec()]
}

fn recorded_file(words: &[u64]) -> Result<Vec<u8>, DecodeError> {
    let header = TraceHeader::new("valgrind", TraceOrder::Scheduled, "x86_64");
    let mut recorder = Recorder::create(Vec::new(), &header).expect("memory takes it");
    let mut decoder = Decoder::new(names(), &mut recorder);
    match decoder.buffer(7, &atomics(words)) {
        Ok(()) => {}
        Err(Stopped::Damaged(error)) => return Err(error),
        Err(Stopped::Refused(error)) => panic!("memory takes it: {error}"),
    }
    let (file, _) = recorder.finish().expect("memory takes it");
    Ok(file)
}

fn born(slot: u64, parent: u32, process_slot: u64) -> [u64; 3] {
    [
        head(tag::BORN, 2, slot),
        u64::from(parent) << 32 | process_slot,
        0,
    ]
}

fn switch(from: u32, to: u64, reason: u64) -> [u64; 3] {
    [head(tag::SWITCH, 2, 0), u64::from(from) << 32 | to, reason]
}

fn birth_mark(task: u32, process: u32, parent: u32, name: &[u8]) -> Mark {
    Mark::Birth {
        task: TaskId(task),
        process: ProcessId(process),
        parent: TaskId(parent),
        name: name.to_vec(),
    }
}

fn exec_mark(task: u32, process: u32, name: &[u8]) -> Mark {
    Mark::Exec {
        task: TaskId(task),
        process: ProcessId(process),
        name: name.to_vec(),
    }
}

fn switch_mark(from: u32, to: u32, is_voluntary: bool, cause: Cause) -> Mark {
    Mark::Switch {
        from: TaskId(from),
        to: TaskId(to),
        is_voluntary,
        cause,
    }
}

/// Returns a stream in which a task is born and begins to run, followed by `parts`.
fn stream(parts: &[&[u64]]) -> Vec<u64> {
    let start = [born(0, NO_SLOT, 0), switch(NO_SLOT, 0, 1 | 6 << 8)];
    [start.concat(), parts.concat()].concat()
}

/// Returns the addresses of a chunk's references.
fn addresses(chunk: &Chunk) -> Vec<u64> {
    let references = chunk.references.iter();
    references.map(|reference| reference.address()).collect()
}

/// Decodes valid words to chunks, and asserts that a trace recorded directly from the words has
/// equal chunks.
fn decode_well(words: &[u64]) -> Vec<Chunk> {
    decode_all_well(words).0
}

fn decode_all_well(words: &[u64]) -> (Vec<Chunk>, u64, u64) {
    let all = decode_all(words).expect("a good stream");
    let is_same = recorded(words).expect("a good stream") == all.0;
    assert!(is_same, "both ways give the same chunks: {:?}", all.0);
    all
}

fn define(words: u64, id: u64, blocks: u64) -> u64 {
    head(tag::DEFINE, words, id | blocks << 32)
}

/// Defines a shape at 0x1000 of two instructions of 3 and 4 bytes: a load of 8 bytes by the first,
/// a store of 4 by the second.
fn shape_with(id: u64, how: u64) -> [u64; 5] {
    let form = 7 | 2 << 16 | 3 << 32 | 2 << 48;
    [
        define(4, id, 1),
        0x1000,
        form,
        2 | 8 << 16 | how << 34,
        6 | 4 << 16 | 1 << 32 | how << 34,
    ]
}

fn shape(id: u64) -> [u64; 5] {
    shape_with(id, how::EXPLICIT)
}

fn block(id: u64) -> u64 {
    tag::BLOCK << 56 | 2 << 32 | id
}

#[test]
fn blocks_carry_their_references_and_leave_out_what_did_not_happen() {
    let guarded = shape_with(5, how::GUARDED);
    let mut words = stream(&[&guarded]);
    words.extend([block(5), 0x7fff_0000, 0x8000, block(5), NOT_DONE, 0x9000]);
    let chunks = decode_well(&words);
    let [chunk] = &chunks[..] else {
        panic!("one chunk")
    };
    let whole = Block {
        address: 0x1000,
        bytes: 7,
        instructions: 2,
        references: 2,
        first_bytes: 3,
        flags: BlockFlags::USER,
    };
    assert!(
        chunk.blocks.iter().eq(&[
            whole,
            Block {
                references: 1,
                ..whole
            }
        ]),
        "{:?}",
        chunk.blocks
    );
    let code = |bytes| Reference::size_code(bytes).expect("a size");
    let load = Reference::new(0x7fff_0000, code(8), 2, false);
    let store = |address| Reference::new(address, code(4), 6, true);
    assert_eq!(chunk.references, [load, store(0x8000), store(0x9000)]);
}

/// Asserts that the record from word `at` on is no block.
fn assert_no_block(words: &[u64], at: usize) {
    let error = recorded(words).expect_err("no block");
    assert_eq!((error.word, error.problem), (at, Problem::Short));
}

#[test]
fn no_word_is_taken_for_a_block_that_has_no_head() {
    let start = stream(&[&shape_with(5, how::GUARDED)]);
    let run = [block(5), NOT_DONE, 0x9000].repeat(4);
    for meaning in 0..16 {
        let none = NOT_DONE ^ meaning << 40;
        let words = [&start[..], &run, &[none; 9]].concat();
        assert_no_block(&words, start.len() + run.len());
    }
}

#[test]
fn no_word_is_taken_for_a_block_of_another_process() {
    let run = [block(5), 0x8000, 0x9000].repeat(4);
    let start = [
        &born(0, NO_SLOT, 0)[..],
        &born(1, NO_SLOT, 1),
        &switch(NO_SLOT, 0, 1 | 6 << 8),
        &shape(5),
        &run,
    ]
    .concat();
    let words = [
        &start[..],
        &switch(0, 1, 1),
        &shape(5),
        &run,
        &switch(1, 0, 1),
    ]
    .concat();
    for meanings in 1..16 {
        let words = [&words[..], &[block(5) ^ meanings << 40; 9]].concat();
        assert_no_block(&words, words.len() - 9);
    }
}

#[test]
fn no_word_is_taken_for_more_addresses_than_a_buffer_has() {
    // The first instruction has five loads, which is more than are encoded at a time.
    let form = 7 | 2 << 16 | 3 << 32 | 5 << 48;
    let define = [&[define(7, 5, 1), 0x1000, form][..], &[2 | 8 << 16; 5]].concat();
    let run = [5 << 32 | 5, 1, 2, 3, 4, 5].repeat(4);
    let words = stream(&[&define, &run]);
    let more = [&words[..], &[u64::from(u32::MAX) << 32 | 5; 9]].concat();
    assert_no_block(&more, words.len());
}

#[test]
fn derived_addresses_are_worked_out() {
    // The references are a load with an explicit address, a store 16 bytes after it, and one that
    // is always at 0x4000.
    let form = 7 | 2 << 16 | 3 << 32 | 3 << 48;
    let store = 6 | 4 << 16 | 1 << 32;
    let define = [
        define(7, 5, 1),
        0x1000,
        form,
        2 | 8 << 16,
        store | how::RELATIVE << 34,
        store | how::FIXED << 34,
        16_u64.wrapping_neg(),
        0x4000,
    ];
    let once = tag::BLOCK << 56 | 1 << 32 | 5;
    let start = stream(&[]);
    let words = [&start[..], &define, &[once, 0x7000, once, 0x10]].concat();
    let chunks = decode_well(&words);
    assert_eq!(
        addresses(&chunks[0]),
        [0x7000, 0x6ff0, 0x4000, 0x10, 0, 0x4000]
    );
    let mut backwards = define;
    (backwards[3], backwards[4]) = (2 | 8 << 16 | how::RELATIVE << 34, store);
    let error = decode(&[&start[..], &backwards].concat()).expect_err("nothing explicit before it");
    assert_eq!(
        error.to_string(),
        "buffer 7, word 6: found an impossible shape: reference 0 is relative to reference 0, which is not an earlier one \
         with an explicit address"
    );
}

/// Defines a shape of `blocks` blocks at 0x1000, 0x1100, ...: each loads 8 bytes, the first from an
/// explicit address, each further one 8 bytes after the one before; the last block also stores to
/// another explicit address.
fn long_shape(id: u64, blocks: u64, how: u64) -> Vec<u64> {
    let form = |references: u64| 7 | 2 << 16 | 3 << 32 | references << 48;
    let heads = (0..blocks).flat_map(|block| {
        [
            0x1000 + 0x100 * block,
            form(if block + 1 == blocks { 2 } else { 1 }),
        ]
    });
    let load = |block: u64| 2 | 8 << 16 | if block == 0 { how } else { how::RELATIVE } << 34;
    let words: Vec<u64> = heads
        .chain((0..blocks).map(load))
        .chain([6 | 4 << 16 | 1 << 32 | how << 34])
        .chain((1..blocks).map(|block| 8 * block))
        .collect();
    [&[define(words.len() as u64, id, blocks)], &words[..]].concat()
}

#[test]
fn a_shape_may_have_blocks_that_run_one_after_the_other() {
    let start = stream(&[&long_shape(5, 3, how::EXPLICIT)]);
    let words = [
        &start[..],
        &shape(6),
        &[
            block(5),
            0x7000,
            0x9000,
            block(6),
            1,
            2,
            block(5),
            0x8000,
            0x9004,
        ],
    ]
    .concat();
    let chunks = decode_well(&words);
    let ran: Vec<(u64, u16)> = chunks[0]
        .blocks
        .iter()
        .map(|block| (block.address, block.references))
        .collect();
    let once = [(0x1000, 1), (0x1100, 1), (0x1200, 2)];
    assert_eq!(ran, [&once[..], &[(0x1000, 2)], &once].concat());
    assert_eq!(
        addresses(&chunks[0]),
        [
            0x7000, 0x7008, 0x7010, 0x9000, 1, 2, 0x8000, 0x8008, 0x8010, 0x9004
        ]
    );
}

#[test]
fn what_did_not_happen_is_missing_in_its_own_block() {
    let start = stream(&[]);
    let words = [
        &start[..],
        &long_shape(5, 2, how::GUARDED),
        &[block(5), 0x7000, NOT_DONE, block(5), 0x7000, 1],
    ]
    .concat();
    let chunks = decode_well(&words);
    let references: Vec<u16> = chunks[0]
        .blocks
        .iter()
        .map(|block| block.references)
        .collect();
    assert_eq!(references, [1, 1, 1, 2]);
    let nothing_to_stand_behind = [&words[..], &[block(5), NOT_DONE, 1]].concat();
    let error =
        decode(&nothing_to_stand_behind).expect_err("the second load stands behind the first");
    assert!(
        error.to_string().ends_with(
            "found an impossible shape: a reference relative to one that did not happen"
        )
    );
}

#[test]
fn larger_shapes_may_be_defined_while_a_chunk_grows() {
    let start = stream(&[&shape(0)]);
    let words = [
        start,
        [block(0), 1, 2].repeat(30_000),
        long_shape(1, 20, how::EXPLICIT),
        [block(1), 1, 2].repeat(10_000),
    ]
    .concat();
    let (_, _, instructions) = decode_all_well(&words);
    assert_eq!(instructions, 2 * (30_000 + 20 * 10_000));
}

#[test]
fn a_child_has_the_shapes_of_the_fork_and_an_exec_has_none() {
    let start = stream(&[&shape(5)]);
    // The parent execs before the child first runs.
    let exec = [
        head(tag::EXEC, 2, 0),
        2,
        u64::from(u16::from_le_bytes(*b"ls")),
    ];
    let child_runs = [block(5), 1, 2];
    let words = [
        &start[..],
        &born(1, 0, 1),
        &exec,
        &switch(0, 1, 61 << 16 | 1),
        &child_runs,
    ]
    .concat();
    let chunks = decode(&words).expect("the child has its parent's shapes");
    let marks: Vec<_> = chunks[0]
        .marks
        .iter()
        .map(|placed| placed.mark.clone())
        .collect();
    let expected = [
        birth_mark(1, 1, 0, b"first"),
        switch_mark(0, 1, true, Cause::Unknown),
        birth_mark(2, 2, 1, b"first"),
        exec_mark(1, 3, b"ls"),
        switch_mark(1, 2, true, Cause::Syscall(61)),
    ];
    assert_eq!(marks, expected);
    let words = [&start[..], &exec, &child_runs].concat();
    let error = decode(&words).expect_err("no shape after an exec");
    assert_eq!(
        error.to_string(),
        "buffer 7, word 14: found a block of the undefined shape 5"
    );
}

#[test]
fn a_number_means_another_shape_in_another_process_and_where_it_is_defined_anew() {
    let start = [
        &born(0, NO_SLOT, 0)[..],
        &born(1, NO_SLOT, 1),
        &switch(NO_SLOT, 0, 1 | 6 << 8),
        &shape(5),
    ]
    .concat();
    let mut elsewhere = shape(5);
    elsewhere[1] = 0x5000;
    let run: Vec<u64> = (0..40)
        .flat_map(|address| [block(5), address, 2 * address])
        .collect();
    let there = [&switch(0, 1, 1)[..], &elsewhere, &run].concat();
    let back = [
        &switch(1, 0, 1)[..],
        &run,
        &shape_with(5, how::GUARDED),
        &run,
        &elsewhere,
        &run,
    ]
    .concat();
    let words = [&start[..], &run, &there, &back, &switch(0, 1, 1), &run].concat();
    let chunks = decode_well(&words);
    let ran: Vec<u64> = chunks[0].blocks.iter().map(|block| block.address).collect();
    let addresses = [0x1000, 0x5000, 0x1000, 0x1000, 0x5000, 0x5000];
    assert_eq!(ran, addresses.map(|address| [address; 40]).concat());
}

#[test]
fn threads_share_shapes_and_ends_are_reported_once() {
    let words = stream(&[
        &born(1, 0, 0),
        &switch(0, 1, 1),
        &shape(9),
        &[head(tag::EXIT, 0, 1), head(tag::EXIT, 0, 1)],
        &switch(1, 0, 1 | 5 << 8),
        &[block(9), 1, 2],
    ]);
    let chunks = decode(&words).expect("the first thread knows the shape of the second");
    let count = |mark: Mark| {
        let marks = chunks[0].marks.iter();
        marks.filter(|placed| placed.mark == mark).count()
    };
    assert_eq!(count(Mark::Exit { task: TaskId(2) }), 1);
    assert_eq!(count(birth_mark(2, 1, 1, b"first")), 1);
}

/// Decodes two buffers of an as-run capture: `words` and `then`. Returns the marks, the reason for
/// the end of the first run, and the slots of the tasks that ended.
fn as_run(words: &[u64], then: &[u64]) -> (Vec<Mark>, Option<Left>, Vec<u32>) {
    let mut marks = Vec::new();
    let mut sink = |chunk: &mut Chunk, _: &Dependences| {
        marks.extend(chunk.marks.drain(..).map(|placed| placed.mark));
        Ok(())
    };
    let mut take = Chunks::new(&mut sink);
    let mut decoder = Decoder::new(Vec::new(), &mut take).ordered_as_run();
    let birth = atomics(&birth(0, NO_SLOT, 0));
    assert_eq!(
        decoder.birth_at(0, &birth, 0).expect("a birth"),
        birth.len()
    );
    decoder
        .run_in(TaskId::NONE, 0, Some((true, Cause::Unknown)))
        .expect("it is born");
    decoder.buffer(0, &atomics(words)).expect("a good stream");
    let (left, from) = (decoder.take_left(), decoder.task(0));
    let at = decoder
        .birth_at(1, &atomics(then), 0)
        .expect("a birth, if any");
    if at > 0 {
        decoder
            .run_in(from, 1, Some((false, Cause::Quantum)))
            .expect("it is born");
    }
    decoder
        .buffer_from(1, &atomics(then), at)
        .expect("a good stream");
    let ended = decoder.take_ended();
    decoder.flush().expect("all are wanted");
    (marks, left, ended)
}

fn birth(slot: u64, parent: u32, process_slot: u64) -> Vec<u64> {
    let name = u64::from(u16::from_le_bytes(*b"sh"));
    vec![
        head(tag::BIRTH, 4, slot),
        u64::from(parent) << 32 | process_slot,
        7 << 32 | 7,
        2,
        name,
    ]
}

#[test]
fn who_is_expected_has_what_its_parent_had_then_and_may_not_come() {
    let fork = [head(tag::FORK, 1, 1), 1];
    let leave = [head(tag::LEAVE, 1, 1), 1 << 32];
    let exec = [
        head(tag::EXEC, 2, 0),
        2,
        u64::from(u16::from_le_bytes(*b"ls")),
    ];
    let child_runs = [
        &birth(1, 0, 1)[..],
        &[block(5), 1, 2],
        &[head(tag::EXIT, 0, 1)],
    ]
    .concat();
    let (marks, left, ended) = as_run(&[&shape(5)[..], &fork, &exec, &leave].concat(), &child_runs);
    let expected = [
        birth_mark(1, 1, 0, b"sh"),
        switch_mark(0, 1, true, Cause::Unknown),
        exec_mark(1, 2, b"ls"),
        birth_mark(2, 3, 1, b"sh"),
        switch_mark(1, 2, false, Cause::Quantum),
        Mark::Exit { task: TaskId(2) },
    ];
    assert_eq!(marks, expected);
    assert_eq!(left, Left::read(1, 1 << 32));
    assert_eq!(ended, [1]);
    let (marks, _, ended) = as_run(&fork, &[head(tag::EXIT, 0, 1)]);
    assert_eq!(
        marks[..],
        expected[..2],
        "a fork that failed leaves no task"
    );
    assert_eq!(ended, [1], "and its slot is free");
}

#[test]
fn chunks_are_cut_at_their_number_of_blocks() {
    let start = stream(&[&shape(0)]);
    let words = [start, [block(0), 1, 2].repeat(Chunk::BLOCKS + 10)].concat();
    let (chunks, switches, instructions) = decode_all_well(&words);
    let lengths: Vec<_> = chunks
        .iter()
        .map(|chunk| (chunk.blocks.len(), chunk.references.len()))
        .collect();
    assert_eq!(lengths, [(Chunk::BLOCKS, 2 * Chunk::BLOCKS), (10, 20)]);
    assert_eq!(
        (switches, instructions),
        (0, 2 * (Chunk::BLOCKS as u64 + 10))
    );
}

#[test]
fn damage_is_named_with_its_place() {
    let born = born(0, NO_SLOT, 0);
    let changed = |at: usize, word| {
        let mut shape = shape(0);
        shape[at] = word;
        shape.to_vec()
    };
    for (words, message) in [
        (
            [&born[..], &shape(0), &[tag::BLOCK << 56, 0]].concat(),
            "word 8: found a record cut short",
        ),
        (vec![0], "word 0: found a block of the undefined shape 0"),
        (vec![head(0x11, 0, 0)], "word 0: found the unknown tag 0x11"),
        (
            vec![head(tag::PAGE, 2, 0), 0, 0],
            "word 0: found a record cut short",
        ),
        (
            vec![head(tag::MAP, 9, 0)],
            "word 0: found a record cut short",
        ),
        (
            vec![head(tag::EXIT, 0, 3)],
            "word 0: found slot 3, which has no task",
        ),
        (
            [born, switch(NO_SLOT, 0, 9 << 8)].concat(),
            "word 3: found the unknown cause 9",
        ),
        (
            changed(0, define(4, 1 << 30, 1)),
            "word 0: found more shapes than fit into memory",
        ),
        (
            changed(0, define(4, 0, 0)),
            "word 0: found an impossible shape: 0 references claimed, 4 words there",
        ),
        (
            vec![define(0, 0, 0)],
            "word 0: found an impossible shape: 0 blocks, not 1 to 255",
        ),
        (
            changed(0, define(4, 0, 3)),
            "word 0: found a record cut short",
        ),
        (
            changed(2, shape(0)[2] & !0xffff_0000),
            "word 0: found an impossible shape: 0 instructions in 7 bytes, the first of 3; a block has 1 to 1024 bytes",
        ),
        (
            [&shape(0)[..], &[block(0), 1]].concat(),
            "word 5: found a record cut short",
        ),
    ] {
        let error = decode(&words).expect_err("damage").to_string();
        assert_eq!(error, format!("buffer 7, {message}"));
    }
}

/// Generates a word, mostly with a known tag.
fn word() -> impl Strategy<Value = u64> {
    prop_oneof![
        any::<u64>(),
        0_u64..64,
        (0_u64..17, 0_u64..6, 0_u64..4)
            .prop_map(|(tag, words, immediate)| head(tag, words, immediate)),
        (0_u64..4).prop_map(block),
    ]
}

fn record() -> impl Strategy<Value = Vec<u64>> {
    prop_oneof![
        (0_u64..4, prop_oneof![Just(NO_SLOT), 0_u32..4], 0_u64..4)
            .prop_map(|(a, b, c)| born(a, b, c).to_vec()),
        (0_u32..4, 0_u64..4, any::<u64>()).prop_map(|(from, to, reason)| switch(
            from,
            to,
            reason & 0xffff_07ff
        )
        .to_vec()),
        (0_u64..4, 0_u64..4).prop_map(|(id, how)| shape_with(id, how).to_vec()),
        (0_u64..4, 1_u64..5, 0_u64..4).prop_map(|(id, blocks, how)| long_shape(id, blocks, how)),
        (0_u64..4, any::<u64>(), any::<u64>()).prop_map(|(id, a, b)| vec![block(id), a, b]),
        (0_u64..4).prop_map(|slot| vec![head(tag::EXIT, 0, slot)]),
        (0_u64..4).prop_map(|slot| vec![head(tag::EXEC, 1, slot), 0]),
    ]
}

fn check_chunks(chunks: &[Chunk]) {
    for chunk in chunks {
        let mut references = 0;
        for event in chunk.events() {
            if let Event::Block(block, own) = event {
                block.check(own).expect("a block as it should be");
                references += own.len();
            }
        }
        assert_eq!(references, chunk.references.len());
        assert!(chunk.marks.is_sorted_by_key(|placed| placed.before_block));
    }
}

proptest! {
    #[test]
    fn any_words_give_sound_chunks_or_an_error(words in proptest::collection::vec(word(), 0..200)) {
        if let Ok(chunks) = decode(&words) {
            check_chunks(&chunks);
            prop_assert!(recorded(&words).expect("as good as chunks") == chunks);
        }
    }

    #[test]
    fn any_records_give_sound_chunks_or_an_error(records in proptest::collection::vec(record(), 0..60)) {
        let start = [born(0, NO_SLOT, 0), switch(NO_SLOT, 0, 1)].concat();
        let words = [&[start], &records[..]].concat().concat();
        if let Ok(chunks) = decode(&words) {
            check_chunks(&chunks);
            prop_assert!(recorded(&words).expect("as good as chunks") == chunks);
        }
    }
}

#[test]
fn a_trace_ends_with_the_dependences_of_blocks_whose_code_is_known() {
    // mov rax,[rax]; mov [rbx],eax; nop
    let code = u64::from_le_bytes([0x48, 0x8b, 0x00, 0x89, 0x03, 0x90, 0, 0]);
    let form = 6 | 3 << 16 | 3 << 32 | 2 << 48;
    let references = [2 | 8 << 16, 4 | 4 << 16 | 1 << 32];
    let shape = |address: u64, code: &[u64]| {
        let words = [&[address, form][..], &references, code].concat();
        [&[define(words.len() as u64, address, 1)], &words[..]].concat()
    };
    let words = [shape(0x1000, &[code]), shape(0x2000, &[])].concat();
    let file = recorded_file(&words).expect("shapes");
    let found = switchcost_trace::dependences(&mut std::io::Cursor::new(file)).expect("whole");
    let block = |address| Block {
        address,
        bytes: 6,
        references: 2,
        ..Block::default()
    };
    assert!(
        found.rules(&block(0x2000)).is_none(),
        "it came without code"
    );
    let mut values = switchcost_trace::Values::default();
    values.set_register(0, 10);
    values.set_register(3, 20);
    let accesses = [false, true].map(|is_store| Reference::new(0, 7, 2, is_store));
    let mut seen = Vec::new();
    let rules = found.rules(&block(0x1000)).expect("known");
    rules.follow(&mut values, &accesses, |followed| {
        seen.push(followed);
        15
    });
    let [load, store] = accesses;
    assert_eq!(
        seen,
        [Followed::Load(load, 10), Followed::Store(store, 20, 15)]
    );
    let wrong = shape(0x1000, &[code, code]);
    assert!(recorded_file(&wrong).is_err(), "more words than code");
}
