//! Maps threads and processes of the traced machine to tasks and processes of a trace.

use std::collections::{BTreeMap, BTreeSet};

use crate::import::assembler::Assembler;
use crate::import::{ImportError, Imported, Location};
use crate::{BlockFlags, Cause, Mark, ProcessId, TaskId};

/// Maximum number of threads of a trace, a limit on memory. Traced programs have far fewer.
const MOST_TASKS: u32 = 1 << 20;
/// Addresses of the vsyscall page, the only page in the kernel's half with user code.
const VSYSCALL: std::ops::Range<u64> = 0xffff_ffff_ff60_0000..0xffff_ffff_ff60_1000;

/// Threads and processes, by the numbers of the traced machine. A thread's number may be reused
/// after its end. A process's number stands for one address space, which may live on in other cores
/// or files after its last thread in this file has ended.
#[derive(Default)]
pub(super) struct Threads {
    /// Thread of the records that follow; `process` is its process, if known.
    thread: u64,
    process: Option<u64>,
    /// Task and process number of each thread, by the thread's number.
    tasks: BTreeMap<u64, (TaskId, u64)>,
    processes: BTreeMap<u64, Process>,
    last_task: u32,
    running: TaskId,
    leaving: Leaving,
    /// Threads in a system call whose kernel code is in the trace.
    in_kernel: BTreeSet<u64>,
    is_switching: bool,
}

struct Process {
    id: ProcessId,
    living: u32,
    /// The last task of the process, if that task has ended. The task's end is recorded when the
    /// process gets another task, or at the end of the trace: an address space without tasks would
    /// end.
    ended: Option<TaskId>,
}

/// Events of the running task since its last instruction.
#[derive(Default)]
struct Leaving {
    call: Option<u16>,
    may_block: bool,
    has_ended: bool,
    is_idle: bool,
}

impl Leaving {
    fn cause(&self) -> Cause {
        match self.call {
            _ if self.has_ended => Cause::Exit,
            Some(number) => Cause::Syscall(number),
            None => Cause::Unknown,
        }
    }
}

impl Threads {
    /// Makes `thread` the current thread.
    pub(super) fn thread(&mut self, thread: u64) {
        self.thread = thread;
        self.process = None;
    }

    /// Sets the process of the current thread.
    pub(super) fn process(&mut self, process: u64) {
        self.process = Some(process);
    }

    /// Records that the running task calls the kernel. An impossible number is ignored.
    pub(super) fn call(&mut self, number: u64) {
        self.leaving.call = u16::try_from(number).ok();
    }

    /// Records that the current system call may block.
    pub(super) fn may_block(&mut self) {
        self.leaving.may_block = true;
    }

    /// Records that the core is idle for a time.
    pub(super) fn idle(&mut self) {
        self.leaving.is_idle = true;
    }

    /// Records whether the current thread executes the kernel's code from this record on.
    pub(super) fn set_in_kernel(&mut self, is_in_kernel: bool) {
        if is_in_kernel {
            self.in_kernel.insert(self.thread);
        } else {
            self.in_kernel.remove(&self.thread);
        }
    }

    /// Records whether the trace shows the kernel's code for a switch from this record on.
    pub(super) fn switching(&mut self, is_switching: bool) {
        self.is_switching = is_switching;
    }

    /// Returns the flags of an instruction of the current thread. Addresses in the upper half
    /// belong to the kernel.
    pub(super) fn flags(&self, address: u64) -> BlockFlags {
        let is_above = address >> 47 & 1 == 1 && !VSYSCALL.contains(&address);
        if is_above || self.is_switching || self.in_kernel.contains(&self.thread) {
            BlockFlags::KERNEL
        } else {
            BlockFlags::USER
        }
    }

    /// Records the end of a thread, on this CPU or on another one. A thread that never ran on this
    /// CPU has no task. The exit of a process' last task is recorded later: by the process' next
    /// thread, or by [`end`](Self::end).
    pub(super) fn exit(&mut self, thread: u64, is_here: bool, into: &mut Assembler) {
        self.in_kernel.remove(&thread);
        let Some((task, number)) = self.tasks.remove(&thread) else {
            return;
        };
        self.leaving.has_ended |= is_here && task == self.running;
        let Some(process) = self.processes.get_mut(&number) else {
            return;
        };
        process.living -= 1;
        if process.living == 0 {
            process.ended = Some(task);
        } else {
            into.mark(Mark::Exit { task });
        }
    }

    /// Records the exits of the last threads of processes, which [`exit`](Self::exit) holds back.
    /// Called at the end of the trace.
    pub(super) fn end(&mut self, into: &mut Assembler) {
        for task in self
            .processes
            .values_mut()
            .filter_map(|process| process.ended.take())
        {
            into.mark(Mark::Exit { task });
        }
    }

    /// Switches to the current thread's task, if another task is running or the core was idle.
    pub(super) fn run(&mut self, place: Location, into: &mut Assembler) -> Imported {
        let known = self.tasks.get(&self.thread).copied();
        let task = match known {
            Some((task, process)) if self.process.is_none_or(|reported| reported == process) => {
                task
            }
            _ => self.birth(place, into)?,
        };
        let leaving = std::mem::take(&mut self.leaving);
        if task != self.running || leaving.is_idle {
            let from = std::mem::replace(&mut self.running, task);
            let is_voluntary = leaving.may_block || leaving.has_ended;
            into.mark(Mark::Switch {
                from,
                to: task,
                is_voluntary,
                cause: leaving.cause(),
            });
        }
        Ok(())
    }

    fn birth(&mut self, place: Location, into: &mut Assembler) -> Imported<TaskId> {
        if self.last_task >= MOST_TASKS {
            return Err(ImportError::Threads {
                place,
                most: MOST_TASKS,
            });
        }
        self.last_task += 1;
        let task = TaskId(self.last_task);
        let number = self.process.unwrap_or_default();
        let next = ProcessId(self.processes.len() as u32 + 1);
        let process = self.processes.entry(number).or_insert(Process {
            id: next,
            living: 0,
            ended: None,
        });
        process.living += 1;
        self.tasks.insert(self.thread, (task, number));
        let name = format!("process {number}").into_bytes();
        into.mark(Mark::Birth {
            task,
            process: process.id,
            parent: TaskId::NONE,
            name,
        });
        if let Some(task) = process.ended.take() {
            into.mark(Mark::Exit { task });
        }
        Ok(task)
    }
}
