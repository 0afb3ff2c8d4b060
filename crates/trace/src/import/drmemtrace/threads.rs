//! Threads and processes of the traced machine, as tasks and processes of a trace.

use std::collections::BTreeMap;

use crate::import::assembler::Assembler;
use crate::import::{ImportError, Place};
use crate::{Cause, Mark, ProcessId, TaskId};

/// Far more threads than traced programs have; what is kept of each is bounded by this.
const MOST_TASKS: u32 = 1 << 20;

/// Who runs, by the numbers of the traced machine; a number may be given again after the end of its thread.
#[derive(Default)]
pub(super) struct Threads {
    /// The thread of the records that come, and its process where it is told.
    thread: u64,
    process: Option<u64>,
    /// The task of a thread and the number of its process.
    tasks: BTreeMap<u64, (TaskId, u64)>,
    /// Processes that have threads, and how many.
    processes: BTreeMap<u64, (ProcessId, u32)>,
    last_process: u32,
    last_task: u32,
    running: TaskId,
}

impl Threads {
    /// The records that come are this thread's.
    pub(super) fn thread(&mut self, thread: u64) {
        self.thread = thread;
        self.process = None;
    }

    /// The present thread belongs to this process.
    pub(super) fn process(&mut self, process: u64) {
        self.process = Some(process);
    }

    /// The thread has ended; one that never ran was never born. With the last of a process its address space ends: the number may
    /// come again, for another one.
    pub(super) fn exit(&mut self, thread: u64, into: &mut Assembler) {
        let Some((task, process)) = self.tasks.remove(&thread) else { return };
        into.mark(Mark::Exit { task });
        self.leave(process);
    }

    fn leave(&mut self, process: u64) {
        if let Some((_, threads)) = self.processes.get_mut(&process) {
            *threads -= 1;
            if *threads == 0 {
                self.processes.remove(&process);
            }
        }
    }

    /// Makes the present thread's task run.
    pub(super) fn run(&mut self, place: Place, into: &mut Assembler) -> Result<(), ImportError> {
        let known = self.tasks.get(&self.thread).copied();
        let task = match known {
            Some((task, process)) if self.process.is_none_or(|told| told == process) => task,
            _ => self.birth(place, into)?,
        };
        if task != self.running {
            let from = std::mem::replace(&mut self.running, task);
            into.mark(Mark::Switch { from, to: task, is_voluntary: false, cause: Cause::Unknown });
        }
        Ok(())
    }

    fn birth(&mut self, place: Place, into: &mut Assembler) -> Result<TaskId, ImportError> {
        if self.last_task >= MOST_TASKS {
            return Err(ImportError::Threads { place, most: MOST_TASKS });
        }
        self.last_task += 1;
        let task = TaskId(self.last_task);
        let number = self.process.unwrap_or_default();
        let (process, threads) = self.processes.entry(number).or_insert_with(|| {
            self.last_process += 1;
            (ProcessId(self.last_process), 0)
        });
        *threads += 1;
        let process = *process;
        if let Some((_, left)) = self.tasks.insert(self.thread, (task, number)) {
            self.leave(left);
        }
        into.mark(Mark::Birth { task, process, parent: TaskId::NONE, name: format!("process {number}").into_bytes() });
        Ok(task)
    }
}
