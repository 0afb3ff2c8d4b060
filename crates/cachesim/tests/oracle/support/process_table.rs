//! Follows which process runs, why, and which file the code at an address belongs to, from the
//! marks of a stream.

use std::collections::HashMap;

use switchcost_design::result::{ProcessFacts, SwitchCause};
use switchcost_trace::{Cause, Mapping, Mark};

use super::address::{Address, KERNEL};
use super::mappings::Mappings;

/// File and offset of a piece of code or data; if there is no file, the offset is the address.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct CodePlace {
    pub(crate) object: Option<String>,
    pub(crate) build_id: Option<String>,
    pub(crate) offset: u64,
}

/// A process, with the task if each task has a private hierarchy.
pub(crate) type Who = (u32, Option<u32>);

/// Process and address space that have no task left.
#[derive(Clone, Copy, Default)]
pub(crate) struct Gone {
    pub(crate) process: Option<u32>,
    pub(crate) space: Option<u32>,
}

#[derive(Default)]
pub(crate) struct ProcessTable {
    tells_tasks_apart: bool,
    pub(crate) task: u32,
    /// Number of the running address space.
    pub(crate) process: u32,
    /// The running process or task.
    pub(crate) who: Who,
    tasks: HashMap<u32, u32>,
    left_because: HashMap<u32, SwitchCause>,
    /// Processes in the order of appearance.
    pub(crate) processes: Vec<ProcessFacts>,
    mappings: Mappings,
}

fn involuntary(entry: &str) -> SwitchCause {
    SwitchCause {
        is_voluntary: false,
        entry: entry.to_owned(),
        syscall: None,
    }
}

pub(crate) fn birth() -> SwitchCause {
    involuntary("birth")
}

pub(crate) fn end_of_trace() -> SwitchCause {
    involuntary("unknown")
}

/// Returns the name of a system call number that the random streams use.
pub(crate) fn syscall_name(number: u16) -> String {
    match number {
        0 => "read".to_owned(),
        1 => "write".to_owned(),
        other => format!("syscall {other}"),
    }
}

pub(crate) fn cause_of(is_voluntary: bool, cause: Cause) -> SwitchCause {
    let entry = match cause {
        Cause::Syscall(_) => "syscall",
        Cause::PageFault => "page-fault",
        Cause::Quantum => "quantum",
        Cause::WakeUp => "wake-up",
        Cause::Interrupt => "interrupt",
        Cause::Exit => "exit",
        Cause::Unknown => "unknown",
    };
    let syscall = match cause {
        Cause::Syscall(number) => Some(syscall_name(number)),
        _ => None,
    };
    SwitchCause {
        is_voluntary,
        syscall,
        ..involuntary(entry)
    }
}

impl ProcessTable {
    pub(crate) fn new(tells_tasks_apart: bool) -> ProcessTable {
        let mut table = ProcessTable {
            tells_tasks_apart,
            ..ProcessTable::default()
        };
        table.who = table.who(0, 0);
        table
    }

    pub(crate) fn who(&self, process: u32, task: u32) -> Who {
        (process, self.tells_tasks_apart.then_some(task))
    }

    pub(crate) fn process_of(&self, task: u32) -> u32 {
        self.tasks.get(&task).copied().unwrap_or(0)
    }

    /// Returns the number of a process (or task); `None` if it has neither run nor been named.
    pub(crate) fn known(&self, (process, task): Who) -> Option<u32> {
        let place = self
            .processes
            .iter()
            .position(|facts| facts.process == process && facts.task == task);
        place.map(|place| place as u32)
    }

    /// Returns the number of a process or task; a new number if it is not known yet.
    pub(crate) fn number(&mut self, (process, task): Who, name: &[u8]) -> u32 {
        if let Some(known) = self.known((process, task)) {
            return known;
        }
        let name = String::from_utf8_lossy(name).into_owned();
        self.processes.push(ProcessFacts {
            process,
            task,
            name,
            instructions: 0,
            segments: 0,
        });
        self.processes.len() as u32 - 1
    }

    /// Returns the facts of the running process.
    pub(crate) fn facts(&mut self) -> &mut ProcessFacts {
        let number = self.number(self.who, b"");
        &mut self.processes[number as usize]
    }

    /// Returns why a task last left the CPU; `birth` if the task has never left the CPU.
    pub(crate) fn cause_of_task(&self, task: u32) -> SwitchCause {
        self.left_because.get(&task).cloned().unwrap_or_else(birth)
    }

    pub(crate) fn leave(&mut self, cause: SwitchCause) {
        self.left_because.insert(self.task, cause);
    }

    /// Returns the process whose memory a newborn task's process copies, if that process is new and
    /// the parent lives.
    pub(crate) fn forked_from(&self, process: u32, parent: u32) -> Option<u32> {
        let is_known = self.processes.iter().any(|facts| facts.process == process);
        if is_known {
            None
        } else {
            self.tasks.get(&parent).copied()
        }
    }

    pub(crate) fn fork(&mut self, parent: u32, child: u32) {
        self.mappings.fork(parent, child);
    }

    /// Gives a task another address space.
    pub(crate) fn place_task(&mut self, task: u32, process: u32, name: &[u8]) -> Gone {
        self.number(self.who(process, task), name);
        let old = self.tasks.insert(task, process);
        old.map_or(Gone::default(), |old| self.gone(old, task))
    }

    pub(crate) fn exit(&mut self, task: u32) -> Gone {
        let old = self.tasks.remove(&task);
        old.map_or(Gone::default(), |old| self.gone(old, task))
    }

    /// Returns the process and the address space that end, if any, because a task has left the
    /// address space. Neither ends if the task has entered the same one again.
    fn gone(&self, old: u32, task: u32) -> Gone {
        let space = self.is_empty(old).then_some(old);
        let is_gone = if self.tells_tasks_apart {
            self.tasks.get(&task) != Some(&old)
        } else {
            space.is_some()
        };
        let number = self.known(self.who(old, task));
        Gone {
            process: number.filter(|_| is_gone),
            space,
        }
    }

    pub(crate) fn drop_process(&mut self, process: u32) {
        self.mappings.drop_process(process);
    }

    fn is_empty(&self, process: u32) -> bool {
        !self.tasks.values().any(|&other| other == process)
    }

    pub(crate) fn map(&mut self, mark: &Mark) {
        self.mappings.change(self.process, mark);
    }

    /// Returns the place of data; all program memory without a file is one place.
    pub(crate) fn data_place(&self, address: u64) -> CodePlace {
        let place = self.place(address);
        let is_kernel = Address {
            process: 0,
            virt: address,
            phys: 0,
        }
        .owner()
            == KERNEL;
        if place.object.is_none() && !is_kernel {
            CodePlace { offset: 0, ..place }
        } else {
            place
        }
    }

    pub(crate) fn place(&self, address: u64) -> CodePlace {
        match self.mappings.at(self.process, address) {
            Some(mapping) if !mapping.path.is_empty() => in_file(mapping, address),
            _ => CodePlace {
                object: None,
                build_id: None,
                offset: address,
            },
        }
    }
}

fn in_file(mapping: &Mapping, address: u64) -> CodePlace {
    let hexadecimal: String = mapping
        .build_id
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    CodePlace {
        object: Some(String::from_utf8_lossy(&mapping.path).into_owned()),
        build_id: (!hexadecimal.is_empty()).then_some(hexadecimal),
        offset: mapping.offset + (address - mapping.start),
    }
}
