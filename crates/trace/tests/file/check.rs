use proptest::prelude::*;
use switchcost_trace::testing::{self, birth, chunks, seeded, switch};
use switchcost_trace::{
    Block, BlockFlags, CheckReport, Chunk, Mapping, Mark, ProcessId, TaskId, TraceHeader,
    TraceOrder, TraceWriter, Violation, check,
};

use crate::support::{reader, records, written};

fn checked(chunks: &[Chunk]) -> CheckReport {
    check(reader(&written(chunks)))
}

fn block(flags: u8) -> Block {
    Block {
        flags: BlockFlags(flags),
        ..testing::block(64)
    }
}

/// Appends `marks` and a block with `flags` to a valid chunk with one running task. Returns the
/// problems of the result.
fn troubles(marks: Vec<Mark>, flags: u8) -> Vec<String> {
    let mut chunk = Chunk::default();
    chunk.mark(birth(1, 1, 0));
    chunk.mark(switch(0, 1));
    chunk.blocks.push(block(0));
    marks.into_iter().for_each(|mark| chunk.mark(mark));
    chunk.blocks.push(block(flags));
    let report = checked(&[chunk]);
    assert!(report.loss.is_none());
    assert_eq!(report.problem_count, report.problems.len() as u64);
    report.problems.iter().map(ToString::to_string).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn valid_streams_are_sound(chunks in chunks(150)) {
        let report = checked(&chunks);
        prop_assert!(report.is_sound(), "{report:?}");
        prop_assert_eq!(report.chunks, chunks.len() as u64);
    }
}

#[test]
fn each_broken_rule_is_named_with_its_place() {
    let chunk = |what: &str| {
        let header = records(&written(&[]))[1];
        vec![format!("chunk 0 at byte {header}, block 1: {what}")]
    };
    let exec = |task, process| Mark::Exec {
        task: TaskId(task),
        process: ProcessId(process),
        name: Vec::new(),
    };
    let range = |start, bytes| Mark::Unmap { start, bytes };
    for (marks, expected) in [
        (vec![birth(3, 2, 1)], "task 3 is born where task 2 is next"),
        (
            vec![birth(2, 5, 1)],
            "address space 5 is used where 2 is next",
        ),
        (vec![birth(2, 2, 7)], "parent 7 was never born"),
        (
            vec![
                birth(2, 2, 1),
                Mark::Exit { task: TaskId(2) },
                birth(3, 2, 1),
            ],
            "a task is born into address space 2, whose tasks have all ended",
        ),
        (vec![exec(1, 1)], "address space 1 is used where 2 is next"),
        (
            vec![birth(2, 2, 1), exec(2, 3)],
            "an exec of task 2, but task 1 is running",
        ),
        (
            vec![Mark::Exit { task: TaskId(9) }],
            "the end of task 9, which was not born or has ended",
        ),
        (
            vec![range(u64::MAX, 2)],
            "an unmapping of 2 bytes at 0xffffffffffffffff is empty or exceeds the address space",
        ),
        (
            vec![Mark::Page {
                virtual_address: 4096,
                physical_address: 100,
                bytes: 4096,
            }],
            "a page of 4096 bytes at 0x1000 is no power of two, or its addresses are not aligned",
        ),
        (
            vec![Mark::Map(Mapping {
                start: 4096,
                bytes: 0,
                offset: 0,
                path: Vec::new(),
                build_id: Vec::new(),
                is_executable: true,
            })],
            "a mapping of 0 bytes at 0x1000 is empty or exceeds the address space",
        ),
        (
            vec![Mark::Exit { task: TaskId(1) }],
            "task 1 runs user code after its end",
        ),
    ] {
        assert_eq!(troubles(marks, 0), chunk(expected));
    }
    assert_eq!(
        troubles(vec![], 6),
        chunk("the block has flags 0x06, not 0 (user) or 1 (kernel)")
    );
    assert_eq!(
        troubles(vec![Mark::Exit { task: TaskId(1) }], 1),
        Vec::<String>::new()
    );
    assert_eq!(
        troubles(vec![birth(2, 2, 1), switch(2, 1)], 0)[..1],
        chunk("a switch leaves task 2, but task 1 is running")
    );
    assert_eq!(
        troubles(vec![switch(1, 4)], 0)[..1],
        chunk("a switch to task 4, which was not born or has ended")
    );
}

#[test]
fn what_a_trace_says_of_its_numbers_is_repeated() {
    let header = TraceHeader {
        notes: vec!["no data".to_owned()],
        ..TraceHeader::new("drmemtrace", TraceOrder::Imported, "x86_64")
    };
    let (file, _) = TraceWriter::create(Vec::new(), &header)
        .expect("memory")
        .finish()
        .expect("memory");
    let report = check(reader(&file));
    assert!(report.is_sound());
    assert_eq!(report.notes, ["no data"]);
    assert_eq!(checked(&[]).notes, [""; 0]);
}

#[test]
fn many_problems_are_counted_and_the_first_are_kept() {
    let mut chunk = Chunk::default();
    chunk.blocks.extend([block(2); 500]);
    let report = checked(&[chunk]);
    assert_eq!((report.problems.len(), report.problem_count), (100, 500));
    assert!(!report.is_sound());
}

#[test]
fn a_loss_is_reported_with_what_came_before() {
    let chunks = seeded(51, 2_000);
    let mut file = written(&chunks);
    file.truncate(records(&file)[5]);
    let report = check(reader(&file));
    assert_eq!(report.chunks, 4);
    assert_eq!(report.problem_count, 0);
    assert!(!report.is_sound());
    assert_eq!(
        report.loss.expect("is cut").offset(),
        Some(file.len() as u64)
    );
}

#[test]
fn an_index_of_another_trace_is_found() {
    let mut chunks = seeded(52, 300);
    let one = written(&chunks);
    let index = |file: &[u8]| records(file)[records(file).len() - 3];
    // Same number of records, so that only the contents of the index distinguish them.
    chunks.swap(0, 1);
    let foreign = written(&chunks);
    assert_eq!(records(&foreign).len(), records(&one).len());
    let mixed = [&one[..index(&one)], &foreign[index(&foreign)..]].concat();
    let report = check(reader(&mixed));
    assert!(report.loss.is_none(), "{:?}", report.loss);
    assert_eq!(report.problems.len(), 1);
    assert_eq!(report.problems[0].trouble, Violation::Index);
}
