//! Follows the processes of a trace by its marks: which one runs, and what caused each switch. The
//! result is the same for every design.

use std::collections::HashMap;

use switchcost_design::result::{PrivateBy, ProcessFacts};
use switchcost_trace::{Cause, Mark, ProcessId, ProcessTable, TaskId};

use crate::causes::{Causes, Why};
use crate::mappings::Mappings;

/// A process with a private hierarchy, or a task if each task has one. The index of a process is
/// its number in the result.
#[derive(Debug)]
struct Process {
    facts: ProcessFacts,
    /// Index of the program's name.
    program: u32,
    /// Number of the address space.
    space: u32,
}

/// The process that runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Running {
    /// Index of the private hierarchy.
    pub(crate) process: u32,
    /// Number of the address space. Address spaces are numbered in the order in which they first
    /// occur.
    pub(crate) space: u32,
    /// Whether the preceding process ran in another address space.
    pub(crate) is_other_space: bool,
}

/// The segment of the trace that is being executed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Segment {
    pub(crate) number: u32,
    pub(crate) instructions: u64,
    pub(crate) cause: u32,
}

/// Effect of one mark on the processes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Change {
    /// Parent and child of a fork. The child's memory is a copy of the parent's.
    pub(crate) fork: Option<(u32, u32)>,
    /// Process whose last task ended or moved to another process.
    pub(crate) ended: Option<u32>,
    /// Address space whose last task ended or moved to another address space.
    pub(crate) ended_space: Option<u32>,
    /// Whether another process runs after the mark.
    pub(crate) is_other: bool,
}

/// State of the processes at the current place in the trace.
#[derive(Debug, Default)]
pub(crate) struct Processes {
    private_by: PrivateBy,
    table: ProcessTable,
    processes: Vec<Process>,
    /// Index by process, or by process and task if each task has a private hierarchy.
    numbers: HashMap<(ProcessId, Option<TaskId>), u32>,
    /// Mappings of each address space.
    mappings: Vec<Mappings>,
    spaces: HashMap<ProcessId, u32>,
    programs: Vec<String>,
    program_numbers: HashMap<String, u32>,
    left_because: HashMap<TaskId, u32>,
    pub(crate) causes: Causes,
    running: Option<Running>,
    segment: Option<Segment>,
    segments: u32,
}

impl Processes {
    /// Makes an empty table; `private_by` determines whether each process or each task has a
    /// private hierarchy.
    pub(crate) fn new(private_by: PrivateBy) -> Processes {
        Processes {
            private_by,
            ..Processes::default()
        }
    }

    /// Returns the running process; process 0 before the first switch of the trace.
    pub(crate) fn running(&mut self) -> Running {
        match self.running {
            Some(running) => running,
            None => {
                self.take_running_of(ProcessId(0));
                self.running()
            }
        }
    }

    /// Returns the running task.
    pub(crate) fn task(&self) -> TaskId {
        self.table.running
    }

    /// Whether any task has run.
    pub(crate) fn has_begun(&self) -> bool {
        self.segment.is_some()
    }

    /// Returns the mappings of an address space.
    pub(crate) fn mappings(&self, space: u32) -> &Mappings {
        &self.mappings[space as usize]
    }

    pub(crate) fn mappings_mut(&mut self, space: u32) -> &mut Mappings {
        &mut self.mappings[space as usize]
    }

    pub(crate) fn facts(&self, process: u32) -> &ProcessFacts {
        &self.processes[process as usize].facts
    }

    pub(crate) fn program(&self, process: u32) -> u32 {
        self.processes[process as usize].program
    }

    /// Returns the key of a task in `numbers`.
    fn key(&self, process: ProcessId, task: TaskId) -> (ProcessId, Option<TaskId>) {
        (
            process,
            (self.private_by == PrivateBy::Task).then_some(task),
        )
    }

    fn number_of(&mut self, process: ProcessId, task: TaskId, name: &[u8]) -> u32 {
        let key = self.key(process, task);
        if let Some(&number) = self.numbers.get(&key) {
            return number;
        }
        let number = self.processes.len() as u32;
        let name = String::from_utf8_lossy(name).into_owned();
        let program = self.program_number(&name);
        let task = key.1.map(|task| task.0);
        let facts = ProcessFacts {
            process: process.0,
            task,
            name,
            ..ProcessFacts::default()
        };
        let space = self.space_of(process);
        self.processes.push(Process {
            facts,
            program,
            space,
        });
        self.numbers.insert(key, number);
        number
    }

    fn space_of(&mut self, process: ProcessId) -> u32 {
        let next = self.mappings.len() as u32;
        let space = *self.spaces.entry(process).or_insert(next);
        if space == next {
            self.mappings.push(Mappings::default());
        }
        space
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

    /// Applies a mark by which a task begins, gets another address space, or ends.
    pub(crate) fn follow(&mut self, mark: &Mark) -> Change {
        let (Mark::Birth { task, .. } | Mark::Exec { task, .. } | Mark::Exit { task }) = mark
        else {
            return Change::default();
        };
        if let Mark::Birth { process, name, .. } | Mark::Exec { process, name, .. } = mark {
            self.number_of(*process, *task, name);
        }
        let before = self.process_of(*task);
        let changed = self.table.follow(mark);
        let fork = changed
            .fork
            .map(|(parent, child)| (self.spaces[&parent], self.spaces[&child]));
        if let Some((parent, child)) = fork {
            *self.mappings_mut(child) = self.mappings(parent).clone();
        }
        let ended_space = changed.ended.map(|process| self.spaces[&process]);
        if let Some(ended) = ended_space {
            *self.mappings_mut(ended) = Mappings::default();
        }
        let is_left = before != self.process_of(*task);
        let ended = match self.private_by {
            PrivateBy::Process => changed.ended,
            PrivateBy::Task => before.filter(|_| is_left),
        };
        let ended = ended.map(|process| self.numbers[&self.key(process, *task)]);
        let is_of_running = *task == self.table.running && !matches!(mark, Mark::Exit { .. });
        Change {
            fork,
            ended,
            ended_space,
            is_other: is_of_running && self.take_running(),
        }
    }

    /// Returns the process of a living task.
    fn process_of(&self, task: TaskId) -> Option<ProcessId> {
        self.table
            .tasks
            .get(&task)
            .filter(|task| !task.has_ended)
            .map(|task| task.process)
    }

    /// Applies a switch to another task. Returns the index of the cause, and whether the running
    /// process changes.
    pub(crate) fn switch(&mut self, mark: &Mark, is_voluntary: bool, cause: Cause) -> (u32, bool) {
        let end = self.causes.number(Why::Left {
            is_voluntary,
            cause,
        });
        self.left_because.insert(self.table.running, end);
        self.table.follow(mark);
        let is_other = self.take_running();
        self.begin_segment();
        (end, is_other)
    }

    /// Sets the process of the running task as the running one. Returns whether the process differs
    /// from the one before.
    fn take_running(&mut self) -> bool {
        self.take_running_of(self.table.running_process())
    }

    fn take_running_of(&mut self, process: ProcessId) -> bool {
        let process = self.number_of(process, self.table.running, b"");
        let space = self.processes[process as usize].space;
        let before = self.running;
        let is_other_space = before.is_none_or(|before| before.space != space);
        self.running = Some(Running {
            process,
            space,
            is_other_space,
        });
        before.is_none_or(|before| before.process != process)
    }

    /// Returns the current segment, which begins with this call if no task has run.
    pub(crate) fn segment(&mut self) -> &mut Segment {
        self.running();
        if self.segment.is_none() {
            self.begin_segment();
        }
        self.segment.get_or_insert(Segment {
            number: 0,
            instructions: 0,
            cause: 0,
        })
    }

    /// Returns the index of the cause for which the task left the CPU before the current segment.
    pub(crate) fn cause(&self) -> u32 {
        self.segment.map_or(0, |segment| segment.cause)
    }

    fn begin_segment(&mut self) {
        let cause = match self.left_because.get(&self.table.running) {
            Some(&cause) => cause,
            None => self.causes.number(Why::Birth),
        };
        let running = self.running().process;
        self.processes[running as usize].facts.segments += 1;
        self.segment = Some(Segment {
            number: self.segments,
            instructions: 0,
            cause,
        });
        self.segments = self.segments.saturating_add(1);
    }

    /// Begins the first part of the trace: counts are reset, and the current segment is the first
    /// of the part.
    pub(crate) fn begin_parts(&mut self) {
        for process in &mut self.processes {
            (process.facts.instructions, process.facts.segments) = (0, 0);
        }
        self.segments = 0;
        if let (Some(segment), Some(running)) = (&mut self.segment, self.running) {
            segment.number = 0;
            self.segments = 1;
            self.processes[running.process as usize].facts.segments = 1;
        }
    }

    /// Sets the number of instructions that the current segment has executed. Instructions that
    /// were not simulated count.
    pub(crate) fn set_since_switch(&mut self, instructions: u64) {
        if let Some(segment) = &mut self.segment {
            segment.instructions = instructions;
        }
    }

    pub(crate) fn count(&mut self, instructions: u64) {
        let running = self.running().process;
        self.processes[running as usize].facts.instructions += instructions;
        self.segment().instructions += instructions;
    }

    /// Returns the processes, the causes, and the names of programs by index.
    pub(crate) fn into_facts(
        self,
    ) -> (
        Vec<ProcessFacts>,
        Vec<switchcost_design::result::SwitchCause>,
        Vec<String>,
    ) {
        let processes = self
            .processes
            .into_iter()
            .map(|process| process.facts)
            .collect();
        (processes, self.causes.into_list(), self.programs)
    }
}
