//! Checks that a stream of trace events obeys the rules of docs/formats/trace.md, and lists
//! violations.
//!
//! The input is chunks in their order, from a file or directly from a source; the output is the
//! first violations, each with chunk, block and byte of the file, and their total number. Data that
//! cannot be decoded are no chunks: a [`CheckReport`] reports them as its loss.

mod marks;
mod problem;

use std::io::Read;

use crate::{
    Chunk, ChunkEntry, ChunkPlace, Life, Mark, ProcessId, ProcessTable, ReadTraceError, TaskId,
    TraceIndex, TraceReader,
};

pub use problem::{Problem, Violation};

/// Maximum number of violations that are listed. Further violations are only counted.
const KEPT: usize = 100;

/// Result of checking a trace.
#[derive(Debug, Default)]
pub struct CheckReport {
    /// Number of chunks read.
    pub chunks: u64,
    /// Number of blocks read.
    pub blocks: u64,
    /// Number of instructions read.
    pub instructions: u64,
    /// Number of data references read.
    pub references: u64,
    /// Number of marks read.
    pub marks: u64,
    /// The first violations, with their positions.
    pub problems: Vec<Problem>,
    /// Number of all violations.
    pub problem_count: u64,
    /// Notes of the trace's header that qualify its numbers.
    pub notes: Vec<String>,
    /// Why reading stopped before the end of the trace; `None` if the whole trace was read.
    pub loss: Option<ReadTraceError>,
}

impl CheckReport {
    /// Whether the trace obeys every rule and is complete.
    pub fn is_sound(&self) -> bool {
        self.problem_count == 0 && self.loss.is_none()
    }
}

/// Checks a whole trace, including its index.
pub fn check<R: Read>(mut reader: TraceReader<R>) -> CheckReport {
    let mut checker = Checker::default();
    let mut chunk = Chunk::default();
    let loss = loop {
        match reader.next_into(&mut chunk) {
            Ok(true) => checker.chunk(&chunk, reader.place()),
            Ok(false) => break None,
            Err(error) => break Some(error),
        }
    };
    if let Some(index) = reader.index() {
        checker.index(index, reader.bytes());
    }
    CheckReport {
        notes: reader.header().notes.clone(),
        loss,
        ..checker.finish()
    }
}

/// Checker of a stream of chunks, which lists violations of the trace's rules.
#[derive(Debug, Default)]
pub struct Checker {
    report: CheckReport,
    table: ProcessTable,
    last_process: ProcessId,
    /// Index that the trace must have, given the chunks read so far.
    seen: TraceIndex,
    place: ChunkPlace,
    /// Index in the chunk of the block that is being checked.
    block: u32,
}

impl Checker {
    /// Checks the next chunk.
    pub fn chunk(&mut self, chunk: &Chunk, place: ChunkPlace) {
        self.place = place;
        self.block = 0;
        self.enter(place);
        if place.running != self.table.running {
            self.note(Violation::Running {
                found: place.running,
                need: self.table.running,
            });
        }
        self.parts(chunk);
        self.count(chunk);
    }

    /// Returns the result of the check.
    pub fn finish(self) -> CheckReport {
        self.report
    }

    fn enter(&mut self, place: ChunkPlace) {
        let ChunkPlace {
            offset,
            first_instruction,
            first_block,
            running,
            ..
        } = place;
        let changes_lives = false;
        let entry = ChunkEntry {
            offset,
            first_instruction,
            first_block,
            running,
            changes_lives,
        };
        self.seen.chunks.push(entry);
    }

    /// Checks the blocks of a chunk and the marks between them.
    fn parts(&mut self, chunk: &Chunk) {
        let mut references = &chunk.references[..];
        let mut marks = &chunk.marks[..];
        for (number, block) in chunk.blocks.iter().enumerate() {
            self.block = number as u32;
            while let [placed, later @ ..] = marks
                && placed.before_block <= self.block
            {
                self.mark(placed.before_block, &placed.mark);
                marks = later;
            }
            let Some((own, later)) = references.split_at_checked(block.references.into()) else {
                break;
            };
            references = later;
            self.run(block, own);
        }
        for placed in marks {
            self.block = chunk.blocks.len() as u32;
            self.mark(placed.before_block, &placed.mark);
        }
        let claimed: u64 = chunk
            .blocks
            .iter()
            .map(|block| u64::from(block.references))
            .sum();
        if claimed != chunk.references.len() as u64 {
            self.note(Violation::References {
                found: chunk.references.len() as u64,
                need: claimed,
            });
        }
    }

    fn run(&mut self, block: &crate::Block, references: &[crate::Reference]) {
        if let Err(why) = block.check(references) {
            self.note(Violation::Unfit(why));
        }
        if block.flags.0 > 1 {
            self.note(Violation::Flags(block.flags.0));
        }
        let has_ended = self.table.running_task().is_some_and(|task| task.has_ended);
        if has_ended && !block.flags.is_kernel() {
            self.note(Violation::RunsEnded(self.table.running));
        }
    }

    fn mark(&mut self, before_block: u32, mark: &Mark) {
        if before_block != self.block {
            self.note(Violation::Order {
                found: before_block,
            });
        }
        if let Some(trouble) = self.trouble_of(mark) {
            self.note(trouble);
        }
        if let Mark::Birth { process, .. } | Mark::Exec { process, .. } = mark {
            self.last_process = self.last_process.max(*process);
        }
        if crate::file::changes_lives(mark)
            && let Some(entry) = self.seen.chunks.last_mut()
        {
            entry.changes_lives = true;
        }
        if crate::file::is_life(mark) {
            let before_block = self.place.first_block + u64::from(before_block);
            self.seen.lives.push(Life {
                chunk: self.place.number,
                before_block,
                mark: mark.clone(),
            });
        }
        self.table.follow(mark);
    }

    fn count(&mut self, chunk: &Chunk) {
        self.report.chunks += 1;
        self.report.blocks += chunk.blocks.len() as u64;
        self.report.instructions += chunk.instructions();
        self.report.references += chunk.references.len() as u64;
        self.report.marks += chunk.marks.len() as u64;
    }

    /// Compares the index read from the trace with the chunks. `bytes` is the end of the trace.
    fn index(&mut self, index: &TraceIndex, bytes: u64) {
        self.seen.instructions = self.report.instructions;
        self.seen.blocks = self.report.blocks;
        self.seen.references = self.report.references;
        self.seen.marks = self.report.marks;
        if *index != self.seen {
            self.place = ChunkPlace {
                number: self.report.chunks,
                offset: bytes,
                ..ChunkPlace::default()
            };
            self.block = 0;
            self.note(Violation::Index);
        }
    }

    fn note(&mut self, trouble: Violation) {
        self.report.problem_count += 1;
        if self.report.problems.len() < KEPT {
            let ChunkPlace { number, offset, .. } = self.place;
            self.report.problems.push(Problem {
                chunk: number,
                offset,
                block: self.block,
                trouble,
            });
        }
    }

    fn next_task(&self) -> TaskId {
        TaskId(
            self.table
                .tasks
                .last_key_value()
                .map_or(1, |(last, _)| last.0.saturating_add(1)),
        )
    }
}
