use super::{Checker, Violation};
use crate::{Mark, ProcessId, TaskId};

impl Checker {
    /// Returns the rule that a mark violates, if any, after all marks before it.
    pub(super) fn trouble_of(&self, mark: &Mark) -> Option<Violation> {
        match *mark {
            Mark::Birth {
                task,
                process,
                parent,
                ..
            } => self.birth(task, process, parent),
            Mark::Exec { task, process, .. } => self.exec(task, process),
            Mark::Exit { task } => self.alive("the end of", task),
            Mark::Switch { from, to, .. } => self.switch(from, to),
            Mark::Map(ref mapping) => range("a mapping", mapping.start, mapping.bytes),
            Mark::Unmap { start, bytes } => range("an unmapping", start, bytes),
            Mark::KernelTouch { address, bytes, .. } => range("a touch", address, bytes),
            Mark::Page {
                virtual_address,
                physical_address,
                bytes,
            } => {
                let is_page = bytes.is_power_of_two()
                    && (virtual_address | physical_address) & (bytes - 1) == 0;
                (!is_page).then_some(Violation::Page {
                    start: virtual_address,
                    bytes,
                })
            }
            Mark::SyscallEnter { .. } | Mark::SyscallExit { .. } | Mark::Fault { .. } => None,
        }
    }

    fn birth(&self, task: TaskId, process: ProcessId, parent: TaskId) -> Option<Violation> {
        let need = self.next_task();
        if task != need {
            return Some(Violation::TaskNumber { found: task, need });
        }
        if parent != TaskId::NONE && !self.table.tasks.contains_key(&parent) {
            return Some(Violation::Parent(parent));
        }
        let is_known = process.0 >= 1 && process <= self.last_process;
        match (is_known, self.table.is_inhabited(process)) {
            (true, true) => None,
            (true, false) => Some(Violation::EndedProcess(process)),
            (false, _) => self.new_process(process),
        }
    }

    fn exec(&self, task: TaskId, process: ProcessId) -> Option<Violation> {
        let running = self.table.running;
        if task != running {
            return Some(Violation::NotRunning {
                what: "an exec",
                task,
                running,
            });
        }
        self.alive("an exec of", task)
            .or_else(|| self.new_process(process))
    }

    fn new_process(&self, found: ProcessId) -> Option<Violation> {
        let need = ProcessId(self.last_process.0.saturating_add(1));
        (found != need).then_some(Violation::ProcessNumber { found, need })
    }

    fn switch(&self, from: TaskId, to: TaskId) -> Option<Violation> {
        let running = self.table.running;
        if from != running {
            return Some(Violation::From { from, running });
        }
        if to == TaskId::NONE {
            None
        } else {
            self.alive("a switch to", to)
        }
    }

    fn alive(&self, what: &'static str, task: TaskId) -> Option<Violation> {
        (!self.table.is_alive(task)).then_some(Violation::NotAlive { what, task })
    }
}

fn range(what: &'static str, start: u64, bytes: u64) -> Option<Violation> {
    let is_sound = bytes > 0 && start.checked_add(bytes - 1).is_some();
    (!is_sound).then_some(Violation::Range { what, start, bytes })
}
