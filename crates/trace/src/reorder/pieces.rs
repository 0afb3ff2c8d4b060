//! Splits a trace into one stream for each task: the pieces of chunks in which the task runs, and
//! why it left the CPU after each.

use std::collections::BTreeMap;
use std::ops::Range;

use crate::{Cause, Chunk, Mark, ProcessId, ReadTraceError, TaskId, TraceFile};

/// Part of a chunk in which one task runs, within one time slice.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Piece {
    /// Number of the time slice in the trace. The pieces of one time slice lie in consecutive
    /// chunks.
    pub(super) turn: u64,
    /// Number of the piece's chunk in the file.
    pub(super) chunk: u32,
    pub(super) blocks: Range<u32>,
    pub(super) marks: Range<u32>,
    /// Number of system calls that the task has entered by the end of the piece.
    pub(super) calls: u64,
    /// Range of the piece in the trace, in instructions.
    pub(super) instructions: Range<u64>,
    /// Whether the task left the CPU voluntarily after the piece, and the cause; `None` if its time
    /// slice continues in the next chunk.
    pub(super) switch: Option<(bool, Cause)>,
}

impl Piece {
    /// Returns the cause if the task left the CPU voluntarily after the piece; otherwise `None`.
    pub(super) fn left(&self) -> Option<Cause> {
        self.switch
            .and_then(|(is_voluntary, cause)| is_voluntary.then_some(cause))
    }
}

/// All pieces of one task, from its birth to its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Stream {
    pub(super) task: TaskId,
    pub(super) pieces: Vec<Piece>,
    /// Whether the trace contains the birth of the task.
    pub(super) has_birth: bool,
    /// Number of the time slice in which the task ends; `None` if the trace does not contain the
    /// end.
    pub(super) ended: Option<u64>,
}

/// Streams of all tasks of a trace. The streams can be executed in any order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Streams {
    pub(super) tasks: Vec<Stream>,
    /// Marks of the births of the user's commands.
    pub(super) commands: Vec<Mark>,
    pub(super) places: BTreeMap<TaskId, usize>,
    /// Whether any task makes system calls.
    pub(super) has_calls: bool,
}

impl Streams {
    /// Returns the number of tasks that execute instructions.
    pub fn tasks(&self) -> usize {
        self.tasks
            .iter()
            .filter(|stream| !stream.pieces.is_empty())
            .count()
    }

    fn stream(&mut self, task: TaskId) -> &mut Stream {
        let next = self.tasks.len();
        let place = *self.places.entry(task).or_insert(next);
        if place == next {
            self.tasks.push(Stream {
                task,
                pieces: Vec::new(),
                has_birth: false,
                ended: None,
            });
        }
        &mut self.tasks[place]
    }
}

/// Whether the reordering places a mark anew: births of the user's commands, ends, and switches.
pub(super) fn is_moved(mark: &Mark) -> bool {
    matches!(
        mark,
        Mark::Birth {
            parent: TaskId::NONE,
            ..
        } | Mark::Exit { .. }
            | Mark::Switch { .. }
    )
}

/// Splitter of a trace into the streams of its tasks, chunk by chunk.
pub struct StreamsReader<'f> {
    file: TraceFile<'f>,
    streams: Streams,
    running: TaskId,
    turn: u64,
    chunks: u32,
    instructions: u64,
    chunk: Chunk,
}

impl<'f> StreamsReader<'f> {
    /// Creates a reader that begins with the first chunk.
    pub fn new(file: TraceFile<'f>) -> Self {
        let (streams, running, chunk) = (Streams::default(), TaskId::NONE, Chunk::default());
        StreamsReader {
            file,
            streams,
            running,
            turn: 0,
            chunks: 0,
            instructions: 0,
            chunk,
        }
    }

    /// Splits the next chunk; returns false after the last.
    ///
    /// # Errors
    ///
    /// If a chunk cannot be read. The streams end before that chunk.
    pub fn next_chunk(&mut self) -> Result<bool, ReadTraceError> {
        let mut chunk = std::mem::take(&mut self.chunk);
        let outcome = self.file.next_into(&mut chunk);
        let is_there = matches!(outcome, Ok(Some(_)));
        if is_there {
            self.take_apart(&chunk);
            self.chunks += 1;
        }
        self.chunk = chunk;
        outcome.map(|_| is_there)
    }

    /// Ends the reading, and returns the streams.
    pub fn finish(mut self) -> Streams {
        if !self.streams.has_calls {
            for stream in &mut self.streams.tasks {
                stream
                    .pieces
                    .iter_mut()
                    .zip(1..)
                    .for_each(|(piece, number)| piece.calls = number);
            }
        }
        self.streams
    }

    fn take_apart(&mut self, chunk: &Chunk) {
        let mut open = (0, 0);
        for (place, placed) in chunk.marks.iter().enumerate() {
            let place = place as u32;
            self.follow(&placed.mark);
            if let Mark::Switch {
                from,
                to,
                is_voluntary,
                cause,
            } = placed.mark
            {
                let switch = (is_voluntary && from != TaskId::NONE, cause);
                self.close(
                    chunk,
                    open.0..placed.before_block,
                    open.1..place,
                    Some(switch),
                );
                self.running = to;
                self.turn += 1;
                open = (placed.before_block, place + 1);
            }
        }
        self.close(
            chunk,
            open.0..chunk.blocks.len() as u32,
            open.1..chunk.marks.len() as u32,
            None,
        );
    }

    fn follow(&mut self, mark: &Mark) {
        match mark {
            Mark::Birth { task, parent, .. } => {
                self.streams.stream(*task).has_birth = true;
                if *parent == TaskId::NONE {
                    self.streams.commands.push(mark.clone());
                }
            }
            Mark::Exit { task } => self.streams.stream(*task).ended = Some(self.turn),
            _ => (),
        }
    }

    fn close(
        &mut self,
        chunk: &Chunk,
        blocks: Range<u32>,
        marks: Range<u32>,
        switch: Option<(bool, Cause)>,
    ) {
        let inside = &chunk.marks[marks.start as usize..marks.end as usize];
        let run = chunk
            .blocks
            .run()
            .slice(blocks.start as usize..blocks.end as usize);
        let count: u64 = run.iter().map(|block| u64::from(block.instructions)).sum();
        let calls = inside
            .iter()
            .filter(|placed| matches!(placed.mark, Mark::SyscallEnter { .. }))
            .count() as u64;
        let is_empty = blocks.is_empty() && inside.iter().all(|placed| is_moved(&placed.mark));
        self.streams.has_calls |= calls > 0;
        let instructions = self.instructions..self.instructions + count;
        self.instructions = instructions.end;
        if is_empty && !switch.is_some_and(|(is_voluntary, _)| is_voluntary) {
            return;
        }
        let (turn, number) = (self.turn, self.chunks);
        let stream = self.streams.stream(self.running);
        let calls = calls + stream.pieces.last().map_or(0, |piece| piece.calls);
        stream.pieces.push(Piece {
            turn,
            chunk: number,
            blocks,
            marks,
            calls,
            instructions,
            switch,
        });
    }
}

/// Returns the task and process of a birth or an exec.
pub(super) fn process_of(mark: &Mark) -> Option<(TaskId, ProcessId)> {
    match mark {
        Mark::Birth { task, process, .. } | Mark::Exec { task, process, .. } => {
            Some((*task, *process))
        }
        _ => None,
    }
}
