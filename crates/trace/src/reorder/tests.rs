use std::collections::BTreeMap;
use std::io::Cursor;
use std::sync::Arc;

use proptest::prelude::*;

use super::pieces::is_moved;
use super::{Reordered, Schedule, Streams, StreamsReader};
use crate::synthetic::Mixed;
use crate::testing::{self, birth, seeded, written};
use crate::{
    Block, Cause, Chunk, Mapping, Mark, ProcessId, ProcessTable, Reference, TaskId, TraceFile,
};

const SCHEDULES: [Schedule; 6] = [
    Schedule::RoundRobin,
    Schedule::Affinity(0),
    Schedule::Affinity(3),
    Schedule::LongestQuantum,
    Schedule::Batch(1),
    Schedule::Batch(3),
];

fn file(chunks: &[Chunk]) -> TraceFile<'static> {
    TraceFile::open(Cursor::new(written(chunks))).expect("is whole")
}

fn streams(chunks: &[Chunk]) -> Arc<Streams> {
    let mut reader = StreamsReader::new(file(chunks));
    while reader.next_chunk().expect("is whole") {}
    Arc::new(reader.finish())
}

fn reordered(chunks: &[Chunk], schedule: Schedule, quantum: u64) -> Vec<Chunk> {
    read_all(Reordered::new(
        file(chunks),
        streams(chunks),
        schedule,
        quantum,
    ))
}

fn read_all(mut source: Reordered<'_>) -> Vec<Chunk> {
    let (mut all, mut chunk) = (Vec::new(), Chunk::default());
    while source.next_into(&mut chunk).expect("is whole") {
        all.push(chunk.clone());
    }
    assert!(chunk.is_empty());
    all
}

/// An event of a trace.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Event {
    Block(Block, Vec<Reference>),
    Mark(Mark),
}

pub(crate) fn events(chunks: &[Chunk]) -> Vec<Event> {
    let owned = |event: crate::Event<'_>| match event {
        crate::Event::Block(block, own) => Event::Block(*block, own.to_vec()),
        crate::Event::Mark(mark) => Event::Mark(mark.clone()),
    };
    chunks.iter().flat_map(Chunk::events).map(owned).collect()
}

/// Returns the events of each task, except those that a reordering places anew.
fn by_task(events: &[Event]) -> BTreeMap<TaskId, Vec<Event>> {
    let (mut all, mut running) = (BTreeMap::<TaskId, Vec<Event>>::new(), TaskId::NONE);
    for event in events {
        match event {
            Event::Mark(Mark::Switch { to, .. }) => running = *to,
            Event::Mark(mark) if is_moved(mark) => (),
            _ => all.entry(running).or_default().push(event.clone()),
        }
    }
    all
}

/// Returns the instructions and references of each process.
fn by_process(events: &[Event]) -> BTreeMap<ProcessId, (u64, u64)> {
    let (mut all, mut table) = (BTreeMap::<_, (u64, u64)>::new(), ProcessTable::default());
    for event in events {
        match event {
            Event::Mark(mark) => drop(table.follow(mark)),
            Event::Block(block, references) => {
                let counts = all.entry(table.running_process()).or_default();
                counts.0 += u64::from(block.instructions);
                counts.1 += references.len() as u64;
            }
        }
    }
    all
}

/// Voluntary absences and system calls of a stream, by brute force, each by task and number.
#[derive(Default)]
struct History {
    /// System calls that other tasks made during each voluntary absence of a task.
    meanwhile: BTreeMap<(TaskId, usize), Vec<(TaskId, usize)>>,
    /// Positions, in the order of events, of the returns from voluntary absences.
    returned: BTreeMap<(TaskId, usize), usize>,
    called: BTreeMap<(TaskId, usize), usize>,
}

impl History {
    fn new(events: &[Event]) -> History {
        let (mut history, mut away) = (History::default(), BTreeMap::new());
        let (mut left, mut calls) = (BTreeMap::new(), BTreeMap::new());
        let next = |counts: &mut BTreeMap<TaskId, usize>, task| {
            let number = counts.entry(task).or_default();
            *number += 1;
            (task, *number)
        };
        let mut running = TaskId::NONE;
        for (moment, event) in events.iter().enumerate() {
            match *event {
                Event::Mark(Mark::Switch {
                    from,
                    to,
                    is_voluntary,
                    ..
                }) => {
                    if is_voluntary && from != TaskId::NONE {
                        away.insert(from, (next(&mut left, from), Vec::new()));
                    }
                    if let Some((absence, meanwhile)) = away.remove(&to) {
                        history.meanwhile.insert(absence, meanwhile);
                        history.returned.insert(absence, moment);
                    }
                    running = to;
                }
                Event::Mark(Mark::SyscallEnter { .. }) => {
                    let call = next(&mut calls, running);
                    away.values_mut()
                        .for_each(|(_, meanwhile)| meanwhile.push(call));
                    history.called.insert(call, moment);
                }
                _ => (),
            }
        }
        history
    }
}

/// Checks that no task returns before a call that may have woken it. Returns the number of awaited
/// calls.
fn assert_waits(before: &[Event], after: &[Event]) -> usize {
    let (before, after) = (History::new(before), History::new(after));
    let mut waited = 0;
    for (absence, meanwhile) in before.meanwhile {
        // A task that returned without executing anything does not return here.
        let Some(moment) = after.returned.get(&absence) else {
            continue;
        };
        for call in meanwhile {
            assert!(
                after.called[&call] < *moment,
                "{absence:?} came back before the call {call:?}"
            );
            waited += 1;
        }
    }
    waited
}

fn assert_same_work(chunks: &[Chunk], schedule: Schedule, quantum: u64) -> Vec<Event> {
    let (before, after) = (
        events(chunks),
        events(&reordered(chunks, schedule, quantum)),
    );
    assert_eq!(by_task(&after), by_task(&before), "{schedule}, {quantum}");
    assert_eq!(
        by_process(&after),
        by_process(&before),
        "{schedule}, {quantum}"
    );
    let lives = |events: &[Event]| {
        let is_life =
            |event: &&Event| matches!(event, Event::Mark(Mark::Birth { .. } | Mark::Exit { .. }));
        events.iter().filter(is_life).count()
    };
    assert_eq!(lives(&after), lives(&before), "{schedule}, {quantum}");
    after
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn every_task_does_the_same_in_its_own_order(chunks in testing::chunks(120), quantum in 1..200_u64) {
        for schedule in SCHEDULES {
            let after = assert_same_work(&chunks, schedule, quantum);
            assert_waits(&events(&chunks), &after);
        }
        let (before, paged) = (events(&chunks), paged(&chunks, quantum, 50));
        assert_eq!(by_task(&paged), by_task(&before));
    }
}

#[test]
fn no_one_comes_back_before_what_may_have_woken_it() {
    let chunks = seeded(31, 20_000);
    for schedule in SCHEDULES {
        let after = assert_same_work(&chunks, schedule, 500);
        let waited = assert_waits(&events(&chunks), &after);
        assert!(waited > 1000, "{schedule}: {waited} calls waited for");
    }
}

/// Returns a stream whose time slices have 1000 instructions.
fn mixed(processes: u32, switches: u64, seed: u64) -> Vec<Chunk> {
    let mixed = Mixed {
        processes,
        turn_instructions: 1000,
        switches,
        seed,
    };
    mixed.chunks().collect()
}

#[test]
fn the_order_of_the_trace_comes_back_under_its_own_schedule() {
    let chunks = mixed(4, 200, 5);
    assert_eq!(
        but_for_the_beginning(&events(&reordered(&chunks, Schedule::RoundRobin, 1000)), 4),
        but_for_the_beginning(&events(&chunks), 4)
    );
}

/// Returns the events without the first switch after the births, whose kind is invented in
/// different ways.
fn but_for_the_beginning(events: &[Event], births: usize) -> Vec<Event> {
    assert!(matches!(
        events[births],
        Event::Mark(Mark::Switch {
            from: TaskId::NONE,
            to: TaskId(1),
            ..
        })
    ));
    [&events[..births], &events[births + 1..]].concat()
}

/// Returns the lengths of time slices with their tasks.
fn turns(events: &[Event]) -> Vec<(TaskId, u64)> {
    let mut all: Vec<(TaskId, u64)> = Vec::new();
    for event in events {
        match event {
            Event::Mark(Mark::Switch { to, .. }) => all.push((*to, 0)),
            Event::Block(block, _) => {
                if let Some(turn) = all.last_mut() {
                    turn.1 += u64::from(block.instructions);
                }
            }
            Event::Mark(_) => (),
        }
    }
    all
}

#[test]
fn a_turn_ends_with_the_block_that_uses_its_last_instruction() {
    let chunks = mixed(3, 60, 6);
    for quantum in [1, 10, 333, 5000] {
        let mut turns = turns(&events(&reordered(&chunks, Schedule::RoundRobin, quantum)));
        // Each process has 20,000 instructions, and a block at most 8. The last time slice of each
        // process may be short, and the last process continues alone.
        let alone = turns.pop().map(|(task, _)| task);
        assert!(
            alone.is_some_and(|task| turns.iter().any(|turn| turn.0 == task)),
            "{quantum}"
        );
        let (short, whole): (Vec<_>, Vec<_>) =
            turns.iter().partition(|(_, length)| *length < quantum);
        assert!(short.len() <= 3, "{quantum}: {short:?}");
        assert!(
            whole.iter().all(|(_, length)| *length < quantum + 8),
            "{quantum}: {whole:?}"
        );
        assert!(
            whole.len() as u64 >= 60_000 / (quantum + 8) - 3,
            "{quantum}: {} turns",
            whole.len()
        );
    }
    let all = turns(&events(&reordered(&chunks, Schedule::LongestQuantum, 10)));
    assert_eq!(all, [1, 2, 3].map(|task| (TaskId(task), 20_000)));
}

#[test]
fn affinity_prefers_whoever_ran_last_and_passes_no_one_over_for_ever() {
    let chunks = mixed(4, 40, 7);
    let who = |schedule| {
        let turns = turns(&events(&reordered(&chunks, schedule, 1000)));
        turns
            .iter()
            .map(|(task, _)| task.0)
            .take(16)
            .collect::<Vec<_>>()
    };
    assert_eq!(who(Schedule::Affinity(0)), who(Schedule::RoundRobin));
    // Tasks 1 and 2 alternate until 3 and 4 have been passed over four times, and then the other
    // way round.
    assert_eq!(
        who(Schedule::Affinity(4)),
        [1, 2, 1, 2, 1, 2, 3, 4, 3, 4, 3, 4, 1, 2, 1, 2]
    );
    assert_eq!(
        who(Schedule::Batch(2)),
        [1, 2, 1, 2, 1, 2, 1, 2, 1, 2, 1, 2, 1, 2, 1, 2]
    );
}

/// Appends one instruction to a chunk.
fn step(chunk: &mut Chunk, address: u64) {
    chunk.blocks.push(testing::block(address));
}

/// Appends a switch, which is voluntary if it has a system call.
fn switch(chunk: &mut Chunk, from: u32, to: u32, syscall: Option<u16>) {
    chunk.mark(
        syscall.map_or(testing::switch(from, to), |number| Mark::Switch {
            from: TaskId(from),
            to: TaskId(to),
            is_voluntary: true,
            cause: Cause::Syscall(number),
        }),
    );
}

fn born(tasks: u32) -> Chunk {
    let mut chunk = Chunk::default();
    (1..=tasks).for_each(|task| chunk.mark(birth(task, task, 0)));
    chunk
}

#[test]
fn whoever_waits_for_no_one_is_away_for_as_long_as_it_was() {
    // Task 1 waits for a disk, and task 2 executes ten instructions until it returns.
    let mut chunk = born(2);
    switch(&mut chunk, 0, 1, Some(0));
    step(&mut chunk, 0x1000);
    chunk.mark(Mark::SyscallEnter { number: 0 });
    switch(&mut chunk, 1, 2, Some(0));
    (0..10).for_each(|at| step(&mut chunk, 0x2000 + at * 4));
    switch(&mut chunk, 2, 1, None);
    chunk.mark(Mark::SyscallExit { number: 0 });
    step(&mut chunk, 0x1004);
    switch(&mut chunk, 1, 2, Some(0));
    (10..30).for_each(|at| step(&mut chunk, 0x2000 + at * 4));
    let lengths = |quantum| {
        turns(&events(&reordered(
            &[chunk.clone()],
            Schedule::RoundRobin,
            quantum,
        )))
    };
    let task = |(task, length): (u32, u64)| (TaskId(task), length);
    // The time slice of task 2 in which task 1 returns continues to its end.
    assert_eq!(lengths(4), [(1, 1), (2, 12), (1, 1), (2, 18)].map(task));
    assert_eq!(lengths(100), [(1, 1), (2, 30), (1, 1)].map(task));
}

#[test]
fn whole_turns_are_waited_for_where_no_calls_are_traced() {
    let mut chunk = born(2);
    switch(&mut chunk, 0, 1, Some(0));
    step(&mut chunk, 0x1000);
    switch(&mut chunk, 1, 2, Some(0));
    step(&mut chunk, 0x2000);
    switch(&mut chunk, 2, 1, Some(0));
    step(&mut chunk, 0x1004);
    switch(&mut chunk, 1, 2, Some(0));
    step(&mut chunk, 0x2004);
    for schedule in SCHEDULES {
        let after = events(&reordered(std::slice::from_ref(&chunk), schedule, 1));
        let (after, before) = (
            but_for_the_beginning(&after, 2),
            but_for_the_beginning(&events(&[chunk.clone()]), 2),
        );
        assert_eq!(after[..before.len()], before, "{schedule}");
    }
}

fn paged(chunks: &[Chunk], quantum: u64, delay: u64) -> Vec<Event> {
    let source = Reordered::new(file(chunks), streams(chunks), Schedule::RoundRobin, quantum);
    events(&read_all(source.wait_for_page_faults(delay)))
}

/// Two programs use one file with two pages: each page is read once, for the program that uses it
/// first, which waits for ten instructions.
#[test]
fn whoever_uses_a_page_first_waits_for_the_disk() {
    let mut chunk = born(2);
    let map = |chunk: &mut Chunk| {
        let (path, build_id) = (b"/program".to_vec(), Vec::new());
        chunk.mark(Mark::Map(Mapping {
            start: 0x1000,
            bytes: 0x2000,
            offset: 0,
            path,
            build_id,
            is_executable: true,
        }));
    };
    switch(&mut chunk, 0, 1, None);
    map(&mut chunk);
    (0..8).for_each(|at| step(&mut chunk, 0x1000 + at * 4));
    (0..8).for_each(|at| step(&mut chunk, 0x2000 + at * 4));
    switch(&mut chunk, 1, 2, None);
    map(&mut chunk);
    (0..40).for_each(|at| step(&mut chunk, 0x1000 + at * 4));
    let after = paged(std::slice::from_ref(&chunk), 1000, 10);
    let faults = after.iter().filter(|event| {
        matches!(
            event,
            Event::Mark(Mark::Switch {
                is_voluntary: true,
                cause: Cause::PageFault,
                ..
            })
        )
    });
    assert_eq!(faults.count(), 2);
    let task = |(task, length): (u32, u64)| (TaskId(task), length);
    // Task 1 waits for its first page while task 2 runs, for which the page is then present.
    assert_eq!(turns(&after), [(1, 0), (2, 40), (1, 8), (1, 8)].map(task));
    assert_eq!(
        by_task(&after),
        by_task(&events(std::slice::from_ref(&chunk))),
        "each does what it did"
    );
    // With time slices of four instructions, task 1 is away while task 2 executes ten, which ends
    // with a time slice.
    assert_eq!(
        turns(&paged(&[chunk], 4, 10))[..4],
        [(1, 0), (2, 12), (1, 4), (2, 4)].map(task)
    );
}

#[test]
fn a_schedule_is_read_as_it_is_printed() {
    for schedule in SCHEDULES {
        assert_eq!(schedule.to_string().parse(), Ok(schedule));
    }
    for wrong in [
        "",
        "robin",
        "affinity",
        "affinity:x",
        "batch:0",
        "batch:-1",
        "round-robin:2",
    ] {
        let error = wrong.parse::<Schedule>().expect_err(wrong).to_string();
        assert_eq!(
            error,
            format!(
                "'{wrong}' is not a schedule; use round-robin, affinity:N (the process that ran last continues, \
                 but a task passed over N times comes first), longest-quantum, or batch:K (at most K tasks alternate)"
            )
        );
    }
}
