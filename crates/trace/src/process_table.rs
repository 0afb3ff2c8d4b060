//! Who lives and who runs, followed along the marks of a stream.

use std::collections::BTreeMap;

use crate::{Mark, ProcessId, TaskId};

/// A task as the marks describe it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Task {
    /// Its present address space.
    pub process: ProcessId,
    /// Who started it.
    pub parent: TaskId,
    /// Its present name; hostile data.
    pub name: Vec<u8>,
    /// Whether it has ended.
    pub has_ended: bool,
}

/// All tasks so far, and the one that runs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lives {
    /// The tasks.
    pub tasks: BTreeMap<TaskId, Task>,
    /// Who runs.
    pub running: TaskId,
}

impl Lives {
    /// The task that runs, unless none does.
    pub fn running_task(&self) -> Option<&Task> {
        self.tasks.get(&self.running)
    }

    /// Whether a task was born and has not ended.
    pub fn is_alive(&self, task: TaskId) -> bool {
        self.tasks.get(&task).is_some_and(|task| !task.has_ended)
    }

    /// Follows a mark. One that cannot be (an exec without a task) changes nothing.
    pub fn follow(&mut self, mark: &Mark) {
        match mark {
            Mark::Birth { task, process, parent, name } => {
                let born = Task { process: *process, parent: *parent, name: name.clone(), has_ended: false };
                self.tasks.insert(*task, born);
            }
            Mark::Exec { task, process, name } => {
                if let Some(task) = self.tasks.get_mut(task) {
                    task.process = *process;
                    task.name.clone_from(name);
                }
            }
            Mark::Exit { task } => {
                if let Some(task) = self.tasks.get_mut(task) {
                    task.has_ended = true;
                }
            }
            Mark::Switch { to, .. } => self.running = *to,
            _ => {}
        }
    }
}
