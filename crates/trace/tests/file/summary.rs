use std::collections::BTreeMap;

use switchcost_trace::testing::seeded;
use switchcost_trace::{
    Chunk, Event, Mark, ProcessId, ProcessTable, TaskId, TraceReader, summarize,
};

use crate::support::{records, written};

/// The counts are compared with a slow count, block by block and mark by mark.
#[test]
fn counts_are_those_of_a_slow_walk() {
    let chunks = seeded(61, 3_000);
    let file = written(&chunks);
    let summary = summarize(TraceReader::new(&file[..]).expect("is whole"));
    let mut table = ProcessTable::default();
    let mut instructions: BTreeMap<ProcessId, u64> = BTreeMap::new();
    let (mut voluntary, mut involuntary, mut stores, mut kernel) = (0, 0, 0, 0);
    for chunk in &chunks {
        for event in chunk.events() {
            let block = match event {
                Event::Block(block, _) => block,
                Event::Mark(mark) => {
                    table.follow(mark);
                    continue;
                }
            };
            let process = table.running_process();
            *instructions.entry(process).or_default() += u64::from(block.instructions);
            if block.flags.is_kernel() {
                kernel += u64::from(block.instructions);
            }
        }
        for placed in &chunk.marks {
            match placed.mark {
                // No task leaves at this switch.
                Mark::Switch {
                    from: TaskId::NONE, ..
                } => {}
                Mark::Switch {
                    is_voluntary: true, ..
                } => voluntary += 1,
                Mark::Switch {
                    is_voluntary: false,
                    ..
                } => involuntary += 1,
                _ => {}
            }
        }
        stores += chunk
            .references
            .iter()
            .filter(|reference| reference.is_store())
            .count() as u64;
    }
    assert!(voluntary > 10 && involuntary > 10 && stores > 10 && kernel > 0);
    let of_summary = summary.processes.iter();
    let of_summary: BTreeMap<_, _> = of_summary
        .map(|(id, process)| (*id, process.instructions))
        .filter(|(_, count)| *count > 0)
        .collect();
    assert_eq!(of_summary, instructions);
    assert_eq!(summary.instructions, instructions.values().sum::<u64>());
    assert_eq!(summary.kernel_instructions, kernel);
    let by_will = |is_voluntary| -> u64 {
        summary
            .switches
            .iter()
            .filter(|((_, will), _)| *will == is_voluntary)
            .map(|(_, count)| count)
            .sum()
    };
    assert_eq!((by_will(true), by_will(false)), (voluntary, involuntary));
    assert_eq!(summary.stores, stores);
    assert_eq!(
        summary.references(),
        chunks
            .iter()
            .map(|chunk| chunk.references.len() as u64)
            .sum::<u64>()
    );
    assert_eq!(summary.bytes, file.len() as u64);
    assert!(summary.loss.is_none());
}

#[test]
fn a_cut_trace_is_counted_up_to_its_last_whole_chunk() {
    let chunks = seeded(62, 3_000);
    let file = written(&chunks);
    let end = records(&file)[3];
    let summary = summarize(TraceReader::new(&file[..end + 5]).expect("has a header"));
    assert_eq!(summary.chunks, 2);
    assert_eq!(summary.bytes, end as u64);
    assert_eq!(
        summary.instructions,
        chunks[..2].iter().map(Chunk::instructions).sum::<u64>()
    );
    assert!(summary.loss.is_some());
}
