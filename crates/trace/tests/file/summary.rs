use std::collections::BTreeMap;

use switchcost_trace::testing::seeded;
use switchcost_trace::{
    Chunk, Dependences, Event, Mark, ProcessId, ProcessTable, TaskId, summarize,
};

use crate::support::{reader, records, written};

/// The counts are compared with a slow count, block by block and mark by mark.
#[test]
fn counts_are_those_of_a_slow_walk() {
    let chunks = seeded(61, 3_000);
    let file = written(&chunks);
    let summary = summarize(reader(&file), &Dependences::default());
    let mut table = ProcessTable::default();
    let mut instructions: BTreeMap<ProcessId, u64> = BTreeMap::new();
    let (mut switches, mut references, mut stores, mut kernel) = ([0; 2], 0, 0, 0);
    for event in chunks.iter().flat_map(Chunk::events) {
        match event {
            Event::Block(block, own) => {
                let executed = u64::from(block.instructions);
                *instructions.entry(table.running_process()).or_default() += executed;
                kernel += executed * u64::from(block.flags.is_kernel());
                references += own.len() as u64;
                stores += own.iter().filter(|one| one.is_store()).count() as u64;
            }
            Event::Mark(mark) => {
                table.follow(mark);
                match *mark {
                    Mark::Switch {
                        from, is_voluntary, ..
                    } if from != TaskId::NONE => switches[usize::from(is_voluntary)] += 1,
                    _ => {}
                }
            }
        }
    }
    let [involuntary, voluntary] = switches;
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
    assert_eq!((summary.stores, summary.references()), (stores, references));
    assert_eq!(summary.bytes, file.len() as u64);
    assert!(summary.loss.is_none());
}

#[test]
fn a_cut_trace_is_counted_up_to_its_last_whole_chunk() {
    let chunks = seeded(62, 3_000);
    let file = written(&chunks);
    let end = records(&file)[3];
    let summary = summarize(reader(&file[..end + 5]), &Dependences::default());
    assert_eq!(summary.chunks, 2);
    assert_eq!(summary.bytes, end as u64);
    assert_eq!(
        summary.instructions,
        chunks[..2].iter().map(Chunk::instructions).sum::<u64>()
    );
    assert!(summary.loss.is_some());
}
