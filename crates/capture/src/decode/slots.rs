//! Tasks and address spaces by slot, and their numbers in the trace.
//!
//! A reader of a trace uses `switchcost_trace::ProcessTable`. This module assigns the numbers that
//! a trace has, from words that any program may have sent. Unlike in a trace, slots are reused,
//! tasks are expected before they are created, and shapes are inherited.

use std::collections::BTreeMap;
use std::sync::Arc;

use switchcost_trace::{ProcessId, TaskId};

use super::shapes::Shapes;
use super::{Problem, Take};
use crate::protocol::NO_SLOT;
use crate::ring::SLOTS;

/// An address space, with the number of tasks that use it.
#[derive(Clone, Debug, Default)]
struct Space {
    process: ProcessId,
    shapes: Arc<Shapes>,
    users: u32,
}

/// The task that has a slot, or had it last.
#[derive(Clone, Debug)]
struct Task {
    task: TaskId,
    space: usize,
    name: Vec<u8>,
    is_alive: bool,
    /// System call that the task is in; `None` outside system calls.
    syscall: Option<u16>,
}

/// State that a task will inherit when it is created.
#[derive(Clone, Debug)]
struct Expected {
    parent: TaskId,
    name: Vec<u8>,
    shapes: Arc<Shapes>,
}

/// All tasks by slot, and their address spaces.
#[derive(Debug)]
pub(super) struct Slots {
    tasks: Vec<Option<Task>>,
    spaces: Vec<Space>,
    running: Option<usize>,
    /// Tasks that are about to be created, by slot.
    expected: BTreeMap<u64, Expected>,
    names: std::vec::IntoIter<Vec<u8>>,
    next_task: u32,
    next_process: u32,
    has_shared_shapes: bool,
}

/// A new task, its process, its parent and its name.
#[derive(Debug)]
pub(super) struct Born {
    pub(super) task: TaskId,
    pub(super) process: ProcessId,
    pub(super) parent: TaskId,
    pub(super) name: Vec<u8>,
}

impl Slots {
    pub(super) fn new(names: Vec<Vec<u8>>) -> Slots {
        Slots {
            tasks: vec![None; SLOTS],
            // The first address space is for code that runs before the first switch.
            spaces: vec![Space {
                users: 1,
                ..Space::default()
            }],
            running: None,
            expected: BTreeMap::new(),
            names: names.into_iter(),
            next_task: 1,
            next_process: 1,
            has_shared_shapes: false,
        }
    }

    fn task(&self, slot: u64) -> Result<&Task, Problem> {
        usize::try_from(slot)
            .ok()
            .and_then(|slot| self.tasks.get(slot)?.as_ref())
            .ok_or(Problem::Slot(slot))
    }

    /// Makes [`Shapes`] common to all address spaces from now on.
    pub(super) fn share_shapes(&mut self) {
        self.has_shared_shapes = true;
    }

    fn running_space(&self) -> usize {
        self.running
            .filter(|_| !self.has_shared_shapes)
            .and_then(|slot| self.tasks[slot].as_ref())
            .map_or(0, |task| task.space)
    }

    /// Returns the shapes of the running task.
    pub(super) fn running(&self) -> &Shapes {
        &self.spaces[self.running_space()].shapes
    }

    /// Defines a shape for the running task.
    pub(super) fn define<T: Take>(
        &mut self,
        head: u64,
        words: &[u64],
        take: &mut T,
    ) -> Result<(), Problem> {
        let space = self.running_space();
        Arc::make_mut(&mut self.spaces[space].shapes).define(head, words, take)
    }

    /// Returns the task in a slot; [`TaskId::NONE`] for [`NO_SLOT`](crate::protocol::NO_SLOT).
    pub(super) fn id(&self, slot: u64) -> Result<TaskId, Problem> {
        if slot == u64::from(NO_SLOT) {
            Ok(TaskId::NONE)
        } else {
            Ok(self.task(slot)?.task)
        }
    }

    /// Makes the task in `slot` the running task.
    pub(super) fn run(&mut self, slot: u64) -> Result<TaskId, Problem> {
        let task = self.task(slot)?.task;
        self.running = Some(slot as usize);
        Ok(task)
    }

    /// Records that all tasks sleep from now on.
    pub(super) fn run_idle(&mut self) -> TaskId {
        self.running = None;
        TaskId::NONE
    }

    fn new_space(&mut self, shapes: Arc<Shapes>) -> usize {
        let space = Space {
            process: ProcessId(self.next_process),
            shapes,
            users: 0,
        };
        self.next_process += 1;
        match self.spaces.iter().position(|space| space.users == 0) {
            Some(free) => {
                self.spaces[free] = space;
                free
            }
            None => {
                self.spaces.push(space);
                self.spaces.len() - 1
            }
        }
    }

    /// Puts a task into a slot, in place of the previous one.
    fn assign(&mut self, slot: usize, task: Task) {
        self.spaces[task.space].users += 1;
        if let Some(before) = self.tasks[slot].replace(task) {
            self.leave(before.space);
        }
    }

    fn leave(&mut self, space: usize) {
        self.spaces[space].users -= 1;
        if self.spaces[space].users == 0 {
            self.spaces[space].shapes = Arc::default();
        }
    }

    /// Returns what a child of the task in slot `parent` inherits.
    fn inherited(&self, parent: u64) -> Result<Expected, Problem> {
        let Task {
            task,
            ref name,
            space,
            ..
        } = *self.task(parent)?;
        Ok(Expected {
            parent: task,
            name: name.clone(),
            shapes: Arc::clone(&self.spaces[space].shapes),
        })
    }

    /// Records that a task will be created in `slot`. The task is a process with the present state
    /// of its parent, or a thread of the process in `process_slot`.
    pub(super) fn expect(
        &mut self,
        slot: u64,
        parent: u64,
        process_slot: u64,
    ) -> Result<(), Problem> {
        slot_index(slot)?;
        let mut expected = self.inherited(parent)?;
        if process_slot != slot {
            expected.shapes = Arc::default();
        }
        self.expected.insert(slot, expected);
        Ok(())
    }

    /// Records that the running task enters a system call, or (`None`) leaves it.
    pub(super) fn set_syscall(&mut self, number: Option<u16>) {
        if let Some(task) = self.running.and_then(|slot| self.tasks[slot].as_mut()) {
            task.syscall = number;
        }
    }

    /// Returns the system call that the running task is in; `None` outside system calls.
    pub(super) fn syscall(&self) -> Option<u16> {
        self.running
            .and_then(|slot| self.tasks[slot].as_ref()?.syscall)
    }

    /// Creates the task in `slot`, whose parent is in slot `parent`. The task runs in the address
    /// space of `process_slot`, or in a copy of its parent's if `process_slot` is `slot`. The
    /// task's name is `reported`, or else its parent's. A command gets the next name of the list.
    pub(super) fn born(
        &mut self,
        slot: u64,
        parent: u64,
        process_slot: u64,
        reported: Option<Vec<u8>>,
    ) -> Result<Born, Problem> {
        let index = slot_index(slot)?;
        let (parent_task, name, copied) = if parent == u64::from(NO_SLOT) {
            (
                TaskId::NONE,
                reported.or_else(|| self.names.next()).unwrap_or_default(),
                Arc::default(),
            )
        } else {
            let Expected {
                parent,
                name,
                shapes,
            } = self
                .expected
                .remove(&slot)
                .map_or_else(|| self.inherited(parent), Ok)?;
            (parent, reported.unwrap_or(name), shapes)
        };
        let space = if process_slot == slot {
            self.new_space(copied)
        } else {
            self.task(process_slot)?.space
        };
        let task = TaskId(self.next_task);
        self.next_task += 1;
        self.assign(
            index,
            Task {
                task,
                space,
                name: name.clone(),
                is_alive: true,
                syscall: None,
            },
        );
        Ok(Born {
            task,
            process: self.spaces[space].process,
            parent: parent_task,
            name,
        })
    }

    /// Gives the task in `slot` a new address space without shapes, and the name `name`.
    pub(super) fn exec(&mut self, slot: u64, name: &[u8]) -> Result<(TaskId, ProcessId), Problem> {
        let Task { task, is_alive, .. } = *self.task(slot)?;
        let space = self.new_space(Arc::default());
        self.assign(
            slot as usize,
            Task {
                task,
                space,
                name: name.to_vec(),
                is_alive,
                syscall: None,
            },
        );
        Ok((task, self.spaces[space].process))
    }

    /// Ends the task in `slot`. Returns `None` if the task's end was recorded before, or if the
    /// task was never created.
    pub(super) fn exit(&mut self, slot: u64) -> Result<Option<TaskId>, Problem> {
        if self.expected.remove(&slot).is_some() {
            return Ok(None);
        }
        self.task(slot)?;
        let task = self.tasks[slot as usize]
            .as_mut()
            .filter(|task| task.is_alive);
        Ok(task.map(|task| {
            task.is_alive = false;
            task.task
        }))
    }
}

fn slot_index(slot: u64) -> Result<usize, Problem> {
    usize::try_from(slot)
        .ok()
        .filter(|&slot| slot < SLOTS)
        .ok_or(Problem::Slot(slot))
}
