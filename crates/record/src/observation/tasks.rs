use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use switchcost_units::{Bytes, Nanos};

use crate::observation::{Cause, Histogram};

/// Observed tasks that are not distinguished further: the threads of one name in one process, or all ended processes of one name.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct Tasks {
    /// Process ID of the tasks; `None` for processes that ended.
    pub process: Option<u32>,
    /// Process ID in the process's own PID namespace, if that differs from the observer's, as in a container.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub process_inside: Option<u32>,
    /// Name of the process, which is that of its first thread, if it differs from `name`; hostile
    /// text until escaped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub process_name: Option<String>,
    /// The control group of the process at the end; hostile text until escaped.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub control_group: Option<String>,
    /// Name of the threads, as the kernel stores it; hostile text until escaped.
    pub name: String,
    /// Language runtime that is linked into the program and gives its threads no names: `Go`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub runtime: Option<String>,
    /// Whether the process has restricted its own speculation (prctl, seccomp), so that each of its switches costs more than is priced.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub restricts_speculation: bool,
    /// Number of tasks in this entry.
    pub count: u64,
    /// Whether the tasks are kernel threads.
    pub is_kernel: bool,
    /// Voluntary switches, as the kernel counts them.
    pub voluntary: u64,
    /// Involuntary switches, and calls of sched_yield.
    pub involuntary: u64,
    /// Time on a CPU, as the kernel counts it.
    pub run_ns: Nanos,
    /// Time off the CPU at switches after which the task returned, or waits for a CPU at the end.
    pub off_ns: Nanos,
    /// Part of `off_ns` in which the task was ready and waited for a CPU.
    pub wait_ns: Nanos,
    /// Time for which other tasks ran on the task's CPU while the task was off it, if the task
    /// returned to the same CPU.
    pub others_ns: Nanos,
    /// Number of moves to another CPU of the same core, of the same last-level cache, and beyond.
    pub moved: [u64; 3],
    /// Number of tasks that were off the CPU at the end and did not wait for one.
    pub off_at_end: u64,
    /// Time since the tasks of `off_at_end` had left the CPU; it is not part of `off_ns`.
    pub off_at_end_ns: Nanos,
    /// Largest resident memory of the process in any reading; `None` if the process ended before
    /// its memory was read.
    pub resident_bytes: Option<Bytes>,
    /// Reasons why the tasks left their CPUs.
    pub causes: Vec<Cause>,
    /// Histogram of times off the CPU.
    pub off: Histogram,
    /// Histogram of waits for a CPU.
    pub wait: Histogram,
    /// Histogram of the times for which other tasks ran while a task was off its CPU, if the task
    /// returned to the same CPU.
    pub others: Histogram,
    /// Histogram of times on a CPU from a switch to the next one.
    pub turns: Histogram,
    /// Counts of hardware counters in the time slices of `turns`; `None` if no counters were read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub counted: Option<CountedTurns>,
}

/// Counts of the CPU's hardware counters in the time slices of some tasks, including the kernel's
/// half of each slice.
#[derive(Clone, Debug, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct CountedTurns {
    /// Total length of the time slices in which events were counted.
    pub ran_ns: Nanos,
    /// Count of each event, by perf's names; `instructions` is always among them.
    pub events: BTreeMap<String, u64>,
    /// Highest rate of instructions per microsecond in any single time slice.
    pub most_instructions_per_us: u64,
    /// Histogram of instructions per time slice, in the same buckets as times: one instruction
    /// stands for a nanosecond.
    pub instructions: Histogram,
}

impl CountedTurns {
    /// Adds the counts of other tasks.
    pub fn add(&mut self, other: &CountedTurns) {
        self.ran_ns.0 = self.ran_ns.0.saturating_add(other.ran_ns.0);
        for (name, count) in &other.events {
            let sum = self.events.entry(name.clone()).or_default();
            *sum = sum.saturating_add(*count);
        }
        self.most_instructions_per_us = self
            .most_instructions_per_us
            .max(other.most_instructions_per_us);
        self.instructions.add(&other.instructions);
    }

    /// Returns the mean number of instructions per nanosecond of CPU time; `None` if nothing was
    /// counted.
    pub fn instructions_per_ns(&self) -> Option<f64> {
        let instructions = *self.events.get("instructions")? as f64;
        (self.ran_ns > Nanos(0)).then(|| instructions / self.ran_ns.0 as f64)
    }

    /// Subtracts the counts of an earlier moment, except for the highest rate of instructions,
    /// which remains that of the whole observation.
    pub(crate) fn subtract(&mut self, before: &CountedTurns) {
        self.ran_ns.0 = self.ran_ns.0.saturating_sub(before.ran_ns.0);
        for (name, count) in &mut self.events {
            *count = count.saturating_sub(before.events.get(name).copied().unwrap_or(0));
        }
        self.instructions.subtract(&before.instructions);
    }
}

impl Tasks {
    /// Makes an entry for tasks of this process and name, with nothing counted yet.
    pub fn empty(process: Option<u32>, name: String) -> Tasks {
        Tasks {
            process,
            process_inside: None,
            process_name: None,
            control_group: None,
            name,
            runtime: None,
            restricts_speculation: false,
            count: 0,
            is_kernel: false,
            voluntary: 0,
            involuntary: 0,
            run_ns: Nanos(0),
            off_ns: Nanos(0),
            wait_ns: Nanos(0),
            others_ns: Nanos(0),
            moved: [0; 3],
            off_at_end: 0,
            off_at_end_ns: Nanos(0),
            resident_bytes: None,
            causes: Vec::new(),
            off: Histogram::default(),
            wait: Histogram::default(),
            others: Histogram::default(),
            turns: Histogram::default(),
            counted: None,
        }
    }

    /// Returns the name of the tasks' process.
    pub fn process_name(&self) -> &str {
        self.process_name.as_deref().unwrap_or(&self.name)
    }

    /// Returns the number of switches, voluntary and involuntary.
    pub fn switches(&self) -> u64 {
        self.voluntary.saturating_add(self.involuntary)
    }
}
