use crate::{
    Block, Cause, Checker, Chunk, ChunkPlace, Mark, Problem, ProcessId, ProcessTable, TaskId,
    TraceHeader, TraceOrder, TraceWriter,
};

/// Creates a block of one instruction of four bytes, without references.
pub fn block(address: u64) -> Block {
    Block {
        address,
        bytes: 4,
        instructions: 1,
        first_bytes: 4,
        ..Block::default()
    }
}

/// Creates the birth of a task, whose name is `a`.
pub fn birth(task: u32, process: u32, parent: u32) -> Mark {
    Mark::Birth {
        task: TaskId(task),
        process: ProcessId(process),
        parent: TaskId(parent),
        name: b"a".to_vec(),
    }
}

/// Creates a switch at the end of a quantum.
pub fn switch(from: u32, to: u32) -> Mark {
    Mark::Switch {
        from: TaskId(from),
        to: TaskId(to),
        is_voluntary: false,
        cause: Cause::Quantum,
    }
}

/// Writes chunks into the bytes of a trace.
///
/// # Panics
///
/// Panics if a chunk is not well-formed.
pub fn written(chunks: &[Chunk]) -> Vec<u8> {
    let header = TraceHeader::new("synthetic", TraceOrder::Synthetic, "x86_64");
    let mut writer = TraceWriter::create(Vec::new(), &header).expect("memory takes it");
    for chunk in chunks {
        writer.write(chunk).expect("a well-formed chunk");
    }
    writer.finish().expect("memory takes it").0
}

/// Finds the broken rules of a whole trace.
pub fn find_problems(chunks: &[Chunk]) -> Vec<Problem> {
    let mut checker = Checker::default();
    let (mut table, mut place) = (ProcessTable::default(), ChunkPlace::default());
    for chunk in chunks {
        checker.chunk(chunk, place);
        for placed in &chunk.marks {
            table.follow(&placed.mark);
        }
        place.running = table.running;
    }
    checker.finish().problems
}
