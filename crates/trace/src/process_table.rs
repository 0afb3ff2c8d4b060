//! Follows tasks, their address spaces and the running task, by the marks of a stream.

use std::collections::BTreeMap;

use crate::{Mark, ProcessId, TaskId};

/// A task, as described by the marks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Task {
    /// Current address space of the task.
    pub process: ProcessId,
    /// Task that created the task.
    pub parent: TaskId,
    /// Current name of the task. Untrusted: escape it before display.
    pub name: Vec<u8>,
    /// Whether the task has ended.
    pub has_ended: bool,
}

/// All tasks so far, and the running one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProcessTable {
    /// Tasks of the trace, by number.
    pub tasks: BTreeMap<TaskId, Task>,
    /// Number of the running task.
    pub running: TaskId,
    /// Number of living tasks of each address space so far.
    living: BTreeMap<ProcessId, u64>,
}

/// Effect of a mark on address spaces.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Change {
    /// Parent and child of a fork; the child's memory is a copy of the parent's.
    pub fork: Option<(ProcessId, ProcessId)>,
    /// Address space whose last task has ended or left; `None` if there is none.
    pub ended: Option<ProcessId>,
}

impl ProcessTable {
    /// Returns the running task, if any.
    pub fn running_task(&self) -> Option<&Task> {
        self.tasks.get(&self.running)
    }

    /// Returns the address space of the running task; number 0 if no task runs.
    pub fn running_process(&self) -> ProcessId {
        self.running_task()
            .map_or(ProcessId(0), |task| task.process)
    }

    /// Whether a task was born and has not ended.
    pub fn is_alive(&self, task: TaskId) -> bool {
        self.tasks.get(&task).is_some_and(|task| !task.has_ended)
    }

    /// Whether an address space has a living task.
    pub fn is_inhabited(&self, process: ProcessId) -> bool {
        self.living.get(&process).is_some_and(|tasks| *tasks > 0)
    }

    /// Applies a mark, and returns its effect on address spaces. An exec or exit of a task that is
    /// not alive has no effect.
    pub fn follow(&mut self, mark: &Mark) -> Change {
        match mark {
            Mark::Birth {
                task,
                process,
                parent,
                name,
            } => self.birth(*task, *process, *parent, name),
            Mark::Exec {
                task,
                process,
                name,
            } => self.exec(*task, *process, name),
            Mark::Exit { task } => self.exit(*task),
            Mark::Switch { to, .. } => {
                self.running = *to;
                Change::default()
            }
            _ => Change::default(),
        }
    }

    fn birth(&mut self, task: TaskId, process: ProcessId, parent: TaskId, name: &[u8]) -> Change {
        let is_new = !self.living.contains_key(&process);
        let parent_task = self
            .tasks
            .get(&parent)
            .filter(|parent| is_new && !parent.has_ended);
        let fork = parent_task.map(|parent| (parent.process, process));
        self.enter(process);
        let born = Task {
            process,
            parent,
            name: name.to_vec(),
            has_ended: false,
        };
        let before = self
            .tasks
            .insert(task, born)
            .filter(|before| !before.has_ended);
        Change {
            fork,
            ended: before.and_then(|before| self.leave(before.process)),
        }
    }

    fn exec(&mut self, task: TaskId, process: ProcessId, name: &[u8]) -> Change {
        let Some(found) = self.tasks.get_mut(&task).filter(|task| !task.has_ended) else {
            return Change::default();
        };
        let before = std::mem::replace(&mut found.process, process);
        found.name = name.to_vec();
        self.enter(process);
        Change {
            fork: None,
            ended: self.leave(before),
        }
    }

    fn exit(&mut self, task: TaskId) -> Change {
        let Some(found) = self.tasks.get_mut(&task).filter(|task| !task.has_ended) else {
            return Change::default();
        };
        found.has_ended = true;
        let process = found.process;
        Change {
            fork: None,
            ended: self.leave(process),
        }
    }

    fn enter(&mut self, process: ProcessId) {
        *self.living.entry(process).or_default() += 1;
    }

    /// Records that a task leaves an address space. Returns the address space if no other task is
    /// left there.
    fn leave(&mut self, process: ProcessId) -> Option<ProcessId> {
        let living = self.living.get_mut(&process)?;
        *living -= 1;
        (*living == 0).then_some(process)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::birth;

    fn exec(task: u32, process: u32) -> Mark {
        Mark::Exec {
            task: TaskId(task),
            process: ProcessId(process),
            name: b"b".to_vec(),
        }
    }

    fn exit(task: u32) -> Mark {
        Mark::Exit { task: TaskId(task) }
    }

    fn ended(process: u32) -> Change {
        Change {
            ended: Some(ProcessId(process)),
            ..Change::default()
        }
    }

    #[test]
    fn a_process_is_forked_from_its_parents_and_ends_with_its_last_task() {
        let mut table = ProcessTable::default();
        assert_eq!(
            table.follow(&birth(1, 1, 0)),
            Change::default(),
            "the child of no known task"
        );
        let fork = Change {
            fork: Some((ProcessId(1), ProcessId(2))),
            ended: None,
        };
        assert_eq!(table.follow(&birth(2, 2, 1)), fork);
        assert_eq!(table.follow(&birth(3, 2, 2)), Change::default(), "a thread");
        assert_eq!(
            table.follow(&exit(2)),
            Change::default(),
            "a thread is left"
        );
        assert!(table.is_inhabited(ProcessId(2)) && !table.is_alive(TaskId(2)));
        assert_eq!(table.follow(&exec(3, 3)), ended(2));
        assert_eq!(table.follow(&exit(3)), ended(3));
        assert_eq!(table.follow(&exit(3)), Change::default(), "it is over");
        assert!(!table.is_inhabited(ProcessId(3)));
    }

    #[test]
    fn what_cannot_be_changes_nothing() {
        let mut table = ProcessTable::default();
        assert_eq!(table.follow(&exec(7, 9)), Change::default());
        assert_eq!(table, ProcessTable::default());
        table.follow(&birth(1, 1, 0));
        table.follow(&exit(1));
        let before = table.clone();
        assert_eq!(
            (table.follow(&exec(1, 2)), table.follow(&birth(2, 3, 1))),
            (Change::default(), Change::default())
        );
        assert_eq!(
            table.tasks[&TaskId(1)],
            before.tasks[&TaskId(1)],
            "an exec of one that has ended, and a child of it"
        );
    }
}
