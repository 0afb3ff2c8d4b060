//! Who runs, and why: what the marks of a trace say, and what is kept of each process, the same for every design.

use std::collections::HashMap;

use switchcost_simulation_result::ProcessFacts;
use switchcost_trace::{Cause, Mark, ProcessId, ProcessTable, TaskId};

use crate::causes::{Causes, Why};
use crate::mappings::Mappings;

/// One address space. Its number in the result is its place in the list.
#[derive(Debug)]
struct Process {
    facts: ProcessFacts,
    /// Index of its name.
    program: u32,
    mappings: Mappings,
}

/// The segment that runs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Segment {
    pub(crate) number: u32,
    pub(crate) instructions: u64,
    pub(crate) cause: u32,
}

/// What the processes make of a mark, by their numbers here.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Change {
    /// Parent and child: a new address space with its parent's memory.
    pub(crate) fork: Option<(u32, u32)>,
    /// Nobody is left in it.
    pub(crate) ended: Option<u32>,
    /// The running process is another one.
    pub(crate) is_other: bool,
}

/// The state of the trace.
#[derive(Debug, Default)]
pub(crate) struct Processes {
    table: ProcessTable,
    processes: Vec<Process>,
    numbers: HashMap<ProcessId, u32>,
    programs: Vec<String>,
    program_numbers: HashMap<String, u32>,
    left_because: HashMap<TaskId, u32>,
    pub(crate) causes: Causes,
    running: Option<u32>,
    segment: Option<Segment>,
    segments: u32,
}

impl Processes {
    /// The running process; process 0 before the first switch.
    pub(crate) fn running(&mut self) -> u32 {
        match self.running {
            Some(running) => running,
            None => {
                let running = self.number_of(ProcessId(0), b"");
                self.running = Some(running);
                running
            }
        }
    }

    /// The task that runs.
    pub(crate) fn task(&self) -> TaskId {
        self.table.running
    }

    /// Whether any task has run.
    pub(crate) fn has_begun(&self) -> bool {
        self.segment.is_some()
    }

    pub(crate) fn mappings(&self, process: u32) -> &Mappings {
        &self.processes[process as usize].mappings
    }

    pub(crate) fn mappings_mut(&mut self, process: u32) -> &mut Mappings {
        &mut self.processes[process as usize].mappings
    }

    pub(crate) fn facts(&self, process: u32) -> &ProcessFacts {
        &self.processes[process as usize].facts
    }

    pub(crate) fn program(&self, process: u32) -> u32 {
        self.processes[process as usize].program
    }

    fn number_of(&mut self, process: ProcessId, name: &[u8]) -> u32 {
        if let Some(&number) = self.numbers.get(&process) {
            return number;
        }
        let number = self.processes.len() as u32;
        let name = String::from_utf8_lossy(name).into_owned();
        let program = self.program_number(&name);
        let facts = ProcessFacts { process: process.0, name, instructions: 0, segments: 0 };
        self.processes.push(Process { facts, program, mappings: Mappings::default() });
        self.numbers.insert(process, number);
        number
    }

    fn program_number(&mut self, name: &str) -> u32 {
        if let Some(&number) = self.program_numbers.get(name) {
            return number;
        }
        let number = self.programs.len() as u32;
        self.programs.push(name.to_owned());
        self.program_numbers.insert(name.to_owned(), number);
        number
    }

    /// A task begins, gets another address space, or ends.
    pub(crate) fn follow(&mut self, mark: &Mark) -> Change {
        if let Mark::Birth { process, name, .. } | Mark::Exec { process, name, .. } = mark {
            self.number_of(*process, name);
        }
        let changed = self.table.follow(mark);
        let fork = changed.fork.map(|(parent, child)| (self.numbers[&parent], self.numbers[&child]));
        if let Some((parent, child)) = fork {
            self.processes[child as usize].mappings = self.mappings(parent).clone();
        }
        let ended = changed.ended.map(|process| self.numbers[&process]);
        if let Some(ended) = ended {
            self.processes[ended as usize].mappings = Mappings::default();
        }
        let is_of_running = match mark {
            Mark::Birth { task, .. } | Mark::Exec { task, .. } => *task == self.table.running,
            _ => false,
        };
        Change { fork, ended, is_other: is_of_running && self.take_running() }
    }

    /// Another task runs. Gives the number of the cause, and whether the running process changes.
    pub(crate) fn switch(&mut self, mark: &Mark, is_voluntary: bool, cause: Cause) -> (u32, bool) {
        let end = self.causes.number(Why::Left { is_voluntary, cause });
        self.left_because.insert(self.table.running, end);
        self.table.follow(mark);
        let is_other = self.take_running();
        self.begin_segment();
        (end, is_other)
    }

    /// The process that runs now, and whether it is another one.
    fn take_running(&mut self) -> bool {
        let process = self.number_of(self.table.running_process(), b"");
        self.running.replace(process) != Some(process)
    }

    /// The segment that runs; before the first switch, one without a beginning.
    pub(crate) fn segment(&mut self) -> &mut Segment {
        self.running();
        if self.segment.is_none() {
            self.begin_segment();
        }
        self.segment.get_or_insert(Segment { number: 0, instructions: 0, cause: 0 })
    }

    /// The cause of the segment that runs.
    pub(crate) fn cause(&self) -> u32 {
        self.segment.map_or(0, |segment| segment.cause)
    }

    fn begin_segment(&mut self) {
        let cause = match self.left_because.get(&self.table.running) {
            Some(&cause) => cause,
            None => self.causes.number(Why::Birth),
        };
        let running = self.running();
        self.processes[running as usize].facts.segments += 1;
        self.segment = Some(Segment { number: self.segments, instructions: 0, cause });
        self.segments = self.segments.saturating_add(1);
    }

    /// The first part of the trace begins: what is counted from here on is its own. The segment under way is its first one.
    pub(crate) fn begin_parts(&mut self) {
        for process in &mut self.processes {
            (process.facts.instructions, process.facts.segments) = (0, 0);
        }
        self.segments = 0;
        if let (Some(segment), Some(running)) = (&mut self.segment, self.running) {
            segment.number = 0;
            self.segments = 1;
            self.processes[running as usize].facts.segments = 1;
        }
    }

    /// The segment under way has executed so many instructions, whatever was seen of them.
    pub(crate) fn set_since_switch(&mut self, instructions: u64) {
        if let Some(segment) = &mut self.segment {
            segment.instructions = instructions;
        }
    }

    pub(crate) fn count(&mut self, instructions: u64) {
        let running = self.running();
        self.processes[running as usize].facts.instructions += instructions;
        self.segment().instructions += instructions;
    }

    /// The processes, the causes, and the names of programs by their numbers.
    pub(crate) fn into_facts(self) -> (Vec<ProcessFacts>, Vec<switchcost_simulation_result::SwitchCause>, Vec<String>) {
        let processes = self.processes.into_iter().map(|process| process.facts).collect();
        (processes, self.causes.into_list(), self.programs)
    }
}
