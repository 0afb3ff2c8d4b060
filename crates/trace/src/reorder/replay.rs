//! Executes the streams of the tasks in the order of a schedule.

use std::sync::Arc;

use super::decoded::{Decoded, DecodedChunks};
use super::paging::Paging;
use super::pieces::{Piece, Streams, is_moved, process_of};
use super::queue::Queue;
use super::schedule::Schedule;
use super::waits::{TO_ITS_END, Wait};
use crate::{Cause, Chunk, Mark, Preemptions, ProcessId, ReadTraceError, TaskId, TraceFile};

/// Position of a task in its stream.
#[derive(Clone, Debug, Default)]
struct Player {
    process: ProcessId,
    is_born: bool,
    piece: usize,
    /// Index of the next block in the chunk of the current piece; `mark` is the index of the next
    /// mark.
    block: u32,
    mark: u32,
    calls: u64,
}

/// A task that is blocked.
#[derive(Clone, Debug)]
struct Waiting {
    task: usize,
    /// Tasks for whose calls the blocked task waits: the index of each task, and the number of
    /// calls that the task must have made.
    calls: Vec<(usize, u64)>,
    /// Time at which the task wakes without a call, in instructions; `None` if it waits for calls.
    due: Option<u64>,
    /// Number of the time slice in the trace in which the task continued.
    turn: u64,
}

/// Task that had the CPU last, and why it left.
#[derive(Clone, Copy, Debug)]
struct Left {
    task: TaskId,
    is_voluntary: bool,
    cause: Cause,
}

/// A trace in another order, generated while it is read. Tasks and processes keep their numbers, so
/// the numbers are not in order of birth.
pub struct Reordered<'f> {
    chunks: DecodedChunks<'f>,
    streams: Arc<Streams>,
    quantum: Option<u64>,
    preemptions: Option<Preemptions>,
    queue: Queue,
    players: Vec<Player>,
    waiting: Vec<Waiting>,
    /// Number of instructions executed so far.
    clock: u64,
    running: Option<usize>,
    quantum_left: u64,
    left: Option<Left>,
    is_begun: bool,
    /// State of pages of files; `None` if page faults do not wait.
    paging: Option<Paging>,
}

impl<'f> Reordered<'f> {
    /// Creates a reordering of `file` under a schedule. A quantum has `quantum_instructions`
    /// instructions.
    pub fn new(
        file: TraceFile<'f>,
        streams: Arc<Streams>,
        schedule: Schedule,
        quantum_instructions: u64,
    ) -> Self {
        let start = |stream: &super::pieces::Stream| {
            let (block, mark) = stream.pieces.first().map_or((0, 0), start_of);
            Player {
                block,
                mark,
                ..Player::default()
            }
        };
        Reordered {
            chunks: DecodedChunks::new(file),
            players: streams.tasks.iter().map(start).collect(),
            streams,
            quantum: (schedule != Schedule::LongestQuantum).then_some(quantum_instructions.max(1)),
            preemptions: None,
            queue: Queue::new(schedule),
            waiting: Vec::new(),
            clock: 0,
            running: None,
            quantum_left: 0,
            left: None,
            is_begun: false,
            paging: None,
        }
    }

    /// Makes a task wait for the disk when it is the first to use a page of a file. The wait ends
    /// after the others have executed `instructions` instructions; the page is then in memory for
    /// all tasks.
    #[must_use]
    pub fn wait_for_page_faults(self, instructions: u64) -> Self {
        Reordered {
            paging: Some(Paging::new(instructions)),
            ..self
        }
    }

    /// Adds preemptions: time slices also end at the random moments of `preemptions`.
    #[must_use]
    pub fn preempt(self, preemptions: Preemptions) -> Self {
        Reordered {
            quantum: self.quantum.or(Some(u64::MAX)),
            preemptions: Some(preemptions),
            ..self
        }
    }

    /// Returns the length of the next time slice in instructions.
    fn turn_length(&mut self) -> u64 {
        let quantum = self.quantum.unwrap_or(u64::MAX);
        let distance = self.preemptions.as_mut().map(Preemptions::next_distance);
        distance.map_or(quantum, |distance| distance.min(quantum))
    }

    /// Generates the next chunk in `chunk`; returns false, and an empty chunk, at the end.
    ///
    /// # Errors
    ///
    /// If a chunk of the trace cannot be read. No further chunk is generated then.
    pub fn next_into(&mut self, chunk: &mut Chunk) -> Result<bool, ReadTraceError> {
        chunk.clear();
        if !std::mem::replace(&mut self.is_begun, true) {
            self.begin(chunk);
        }
        while chunk.blocks.len() < Chunk::BLOCKS && chunk.marks.len() < Chunk::BLOCKS {
            let Some(task) = self.running else {
                if !self.dispatch(chunk) {
                    break;
                }
                continue;
            };
            if let Err(error) = self.run(task, chunk) {
                chunk.clear();
                return Err(error);
            }
        }
        Ok(!chunk.is_empty())
    }

    /// Starts the user's commands, and the tasks whose birth is not in the trace.
    fn begin(&mut self, chunk: &mut Chunk) {
        let streams = Arc::clone(&self.streams);
        for mark in &streams.commands {
            chunk.mark(mark.clone());
            self.follow(mark);
        }
        for place in (0..streams.tasks.len()).filter(|&place| !streams.tasks[place].has_birth) {
            self.bear(place);
        }
    }

    fn bear(&mut self, task: usize) {
        let is_new = !std::mem::replace(&mut self.players[task].is_born, true);
        if is_new && !self.streams.tasks[task].pieces.is_empty() {
            self.queue.push(task, self.players[task].process);
        }
    }

    /// Applies a mark of a mapping to the files that are mapped in a task's process.
    fn follow_mapping(&mut self, task: usize, mark: &Mark) {
        let process = self.players[task].process;
        match (&mut self.paging, mark) {
            (Some(paging), Mark::Map(mapping)) => paging.map(process, mapping),
            (Some(paging), &Mark::Unmap { start, bytes }) => paging.unmap(process, start, bytes),
            _ => (),
        }
    }

    /// Applies a birth, exec or exit to the list of tasks.
    fn follow(&mut self, mark: &Mark) {
        if let (
            Some(paging),
            Mark::Birth {
                process, parent, ..
            },
        ) = (&mut self.paging, mark)
            && let Some(&place) = self.streams.places.get(parent)
        {
            paging.fork(self.players[place].process, *process);
        }
        if let Some((task, process)) = process_of(mark)
            && let Some(&place) = self.streams.places.get(&task)
        {
            self.players[place].process = process;
            if matches!(mark, Mark::Birth { .. }) {
                self.bear(place);
            }
        }
    }

    /// Continues the running task up to the next mark, the end of its time slice or the end of the
    /// chunk.
    fn run(&mut self, task: usize, chunk: &mut Chunk) -> Result<(), ReadTraceError> {
        let streams = Arc::clone(&self.streams);
        let pieces = &streams.tasks[task].pieces;
        let number = self.players[task].piece;
        let Some(piece) = pieces.get(number) else {
            self.end(task, chunk);
            return Ok(());
        };
        let decoded = self.chunks.get(piece.chunk)?;
        self.marks(task, piece, &decoded, chunk);
        if self.blocks(task, piece, &decoded, chunk) {
            self.wait_for_page(task, piece.turn);
            return Ok(());
        }
        let player = &mut self.players[task];
        if (player.block, player.mark) == (piece.blocks.end, piece.marks.end) {
            player.piece += 1;
            (player.block, player.mark) = pieces.get(number + 1).map_or((0, 0), start_of);
            if !streams.has_calls {
                self.called(task, piece.calls);
            }
            if let Some(cause) = piece.left().filter(|_| number + 1 < pieces.len()) {
                self.block(task, number, cause);
                return Ok(());
            }
        }
        if self.quantum_left == 0 && self.players[task].piece < pieces.len() {
            self.expire(task, chunk);
        }
        Ok(())
    }

    /// Appends the marks at the task's current position to `chunk`.
    fn marks(&mut self, task: usize, piece: &Piece, decoded: &Decoded, chunk: &mut Chunk) {
        while self.players[task].mark < piece.marks.end {
            let placed = &decoded.chunk.marks[self.players[task].mark as usize];
            if placed.before_block > self.players[task].block {
                break;
            }
            self.players[task].mark += 1;
            if is_moved(&placed.mark) {
                continue;
            }
            chunk.mark(placed.mark.clone());
            self.follow(&placed.mark);
            self.follow_mapping(task, &placed.mark);
            if matches!(placed.mark, Mark::SyscallEnter { .. }) {
                self.called(task, self.players[task].calls + 1);
            }
        }
    }

    /// Appends blocks up to the next mark, or to a block that waits for a page. Returns whether a
    /// block waits. The time slice ends with the block that uses the last of its instructions.
    fn blocks(&mut self, task: usize, piece: &Piece, decoded: &Decoded, chunk: &mut Chunk) -> bool {
        let player = &mut self.players[task];
        let from = player.block;
        let next_mark = decoded.chunk.marks[..piece.marks.end as usize].get(player.mark as usize);
        let room = (Chunk::BLOCKS - chunk.blocks.len()) as u32;
        let mut to = next_mark
            .map_or(piece.blocks.end, |placed| placed.before_block)
            .min(from.saturating_add(room));
        let before = &decoded.instructions;
        let executed = |to: u32| u64::from(before[to as usize] - before[from as usize]);
        if self.quantum.is_some() {
            let inside = &before[from as usize + 1..=to as usize];
            let over = inside
                .partition_point(|&sum| u64::from(sum - before[from as usize]) < self.quantum_left);
            to = to.min(from + 1 + over as u32);
        }
        let faulting = self
            .paging
            .as_mut()
            .and_then(|paging| first_fault(paging, player.process, decoded, from..to));
        let to = faulting.unwrap_or(to);
        chunk.blocks.extend(
            decoded
                .chunk
                .blocks
                .run()
                .slice(from as usize..to as usize)
                .iter(),
        );
        let references =
            decoded.references[from as usize] as usize..decoded.references[to as usize] as usize;
        chunk
            .references
            .extend_from_slice(&decoded.chunk.references[references]);
        player.block = to;
        self.clock += executed(to);
        if self.quantum.is_some() {
            self.quantum_left = self.quantum_left.saturating_sub(executed(to));
        }
        faulting.is_some()
    }

    /// Blocks the task until the disk has read a page.
    fn wait_for_page(&mut self, task: usize, turn: u64) {
        self.leave(task, true, Cause::PageFault);
        self.queue.leave(task);
        let delay = self.paging.as_ref().map_or(0, |paging| paging.delay);
        let due = Some(self.clock.saturating_add(delay));
        self.waiting.push(Waiting {
            task,
            calls: Vec::new(),
            due,
            turn,
        });
    }

    /// Records that a task has made `calls` calls in all, and wakes the tasks that waited for them.
    fn called(&mut self, task: usize, calls: u64) {
        self.players[task].calls = calls;
        for waiting in &mut self.waiting {
            waiting
                .calls
                .retain(|&(other, need)| other != task || need > calls);
        }
        self.release(|waiting| waiting.due.is_none() && waiting.calls.is_empty());
    }

    fn release(&mut self, may: impl Fn(&Waiting) -> bool) {
        let (released, rest) = std::mem::take(&mut self.waiting)
            .into_iter()
            .partition::<Vec<_>, _>(|one| may(one));
        self.waiting = rest;
        for Waiting { task, .. } in released {
            self.queue.push(task, self.players[task].process);
        }
    }

    /// Wakes the tasks whose time has come, the earliest first.
    fn release_due(&mut self) {
        let clock = self.clock;
        self.waiting.sort_by_key(|waiting| waiting.due);
        self.release(|waiting| waiting.due.is_some_and(|due| due <= clock));
    }

    /// Blocks the task, which left the CPU voluntarily at the end of piece number `piece` of its
    /// stream.
    fn block(&mut self, task: usize, piece: usize, cause: Cause) {
        self.leave(task, true, cause);
        self.queue.leave(task);
        let Some(wait) = self.streams.wait_behind(task, piece) else {
            return;
        };
        let turn = self.streams.tasks[task].pieces[piece + 1].turn;
        let (mut calls, due) = match wait {
            Wait::Calls(calls) => (calls, None),
            Wait::Instructions(away) => (Vec::new(), Some(self.clock.saturating_add(away))),
        };
        calls.retain(|&(other, need)| need > self.players[other].calls);
        self.waiting.push(Waiting {
            task,
            calls,
            due,
            turn,
        });
        self.release(|waiting| waiting.due.is_none() && waiting.calls.is_empty());
    }

    /// Ends the task, because its stream has no more pieces.
    fn end(&mut self, task: usize, chunk: &mut Chunk) {
        let stream = &self.streams.tasks[task];
        let has_ended = stream.ended.is_some();
        let otherwise = (
            true,
            if has_ended {
                Cause::Exit
            } else {
                Cause::Unknown
            },
        );
        let last = stream
            .pieces
            .last()
            .and_then(|piece| piece.switch)
            .filter(|(will, _)| *will || !has_ended);
        if has_ended {
            chunk.mark(Mark::Exit { task: stream.task });
        }
        let (is_voluntary, cause) = last.unwrap_or(otherwise);
        self.leave(task, is_voluntary, cause);
        self.queue.leave(task);
        self.called(task, TO_ITS_END);
    }

    /// Ends the task's time slice. The task continues if no other task is runnable.
    fn expire(&mut self, task: usize, chunk: &mut Chunk) {
        self.release_due();
        self.queue.push(task, self.players[task].process);
        match self.queue.pick(Some(task)) {
            Some(next) if next != task => {
                self.leave(task, false, Cause::Quantum);
                self.switch(next, chunk);
            }
            _ => self.quantum_left = self.turn_length(),
        }
    }

    fn leave(&mut self, task: usize, is_voluntary: bool, cause: Cause) {
        self.running = None;
        self.left = Some(Left {
            task: self.streams.tasks[task].task,
            is_voluntary,
            cause,
        });
    }

    /// Gives the CPU to the next task. Returns false if all tasks have ended.
    fn dispatch(&mut self, chunk: &mut Chunk) -> bool {
        self.release_due();
        let next = self.queue.pick(None).or_else(|| {
            self.pass_time();
            self.queue.pick(None)
        });
        next.map(|next| self.switch(next, chunk)).is_some()
    }

    /// Advances the time to the moment at which the first blocked task wakes. Called if no task is
    /// runnable. If the trace contradicts itself and none would wake, the task that continued first
    /// in the trace wakes.
    fn pass_time(&mut self) {
        if let Some(due) = self.waiting.iter().filter_map(|waiting| waiting.due).min() {
            self.clock = self.clock.max(due);
            self.release_due();
        } else if let Some(turn) = self.waiting.iter().map(|waiting| waiting.turn).min() {
            self.release(|waiting| waiting.turn == turn);
        }
    }

    fn switch(&mut self, to: usize, chunk: &mut Chunk) {
        let Left {
            task: from,
            is_voluntary,
            cause,
        } = self.left.unwrap_or(Left {
            task: TaskId::NONE,
            is_voluntary: true,
            cause: Cause::Unknown,
        });
        let to_task = self.streams.tasks[to].task;
        if (from, to_task) != (TaskId::NONE, TaskId::NONE) {
            chunk.mark(Mark::Switch {
                from,
                to: to_task,
                is_voluntary,
                cause,
            });
        }
        self.running = Some(to);
        self.quantum_left = self.turn_length();
    }
}

fn start_of(piece: &Piece) -> (u32, u32) {
    (piece.blocks.start, piece.marks.start)
}

/// Returns the index of the first block in a range that uses a page which is not in memory yet.
fn first_fault(
    paging: &mut Paging,
    process: ProcessId,
    decoded: &Decoded,
    blocks: std::ops::Range<u32>,
) -> Option<u32> {
    let (from, to) = (blocks.start as usize, blocks.end as usize);
    let mut numbered = (from..).zip(decoded.chunk.blocks.run().slice(from..to).iter());
    let faulting = numbered.find(|(number, block)| {
        let references =
            decoded.references[*number] as usize..decoded.references[number + 1] as usize;
        paging.faults(process, block, &decoded.chunk.references[references])
    });
    faulting.map(|(number, _)| number as u32)
}
