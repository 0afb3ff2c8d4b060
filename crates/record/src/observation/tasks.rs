use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use switchcost_units::{Bytes, Nanos};

use super::histogram::cancel;
use crate::observation::{Cause, Histogram};

/// Counts of a group of observed tasks: the threads of one name in one process, or all ended
/// processes of one name.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct Tasks {
    /// Process ID of the tasks; `None` for ended processes.
    pub process: Option<u32>,
    /// Process ID in the process's own PID namespace, such as a container's, if it differs from the
    /// ID that the observer sees.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub process_inside: Option<u32>,
    /// Name of the process, which is the name of its first thread, if it differs from `name`.
    /// Untrusted text that must be escaped before it is shown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub process_name: Option<String>,
    /// Path of the process's control group at the end; untrusted text that must be escaped before
    /// it is shown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub control_group: Option<String>,
    /// Name of the threads, as the kernel stores it; untrusted text that must be escaped before it
    /// is shown.
    pub name: String,
    /// Language runtime of the program, such as `Go`, if the runtime does not name its threads.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub runtime: Option<String>,
    /// Whether the process has restricted its own speculation (prctl, seccomp). Each of its
    /// switches then costs more than estimated.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub restricts_speculation: bool,
    /// Number of tasks in this group.
    pub count: u64,
    /// Whether the tasks are kernel threads.
    pub is_kernel: bool,
    /// Number of voluntary switches, as the kernel counts them.
    pub voluntary: u64,
    /// Number of involuntary switches, and of calls of sched_yield.
    pub involuntary: u64,
    /// Time on a CPU in nanoseconds, as the kernel counts it.
    pub run_ns: Nanos,
    /// Time off the CPU in nanoseconds, for switches after which the task returned, or is waiting
    /// for a CPU at the end.
    pub off_ns: Nanos,
    /// Part of `off_ns` in which a task was ready and waited for a CPU, in nanoseconds.
    pub wait_ns: Nanos,
    /// Time for which other tasks ran on a task's CPU while the task was off the CPU, in
    /// nanoseconds. Only times after which the task returned to the same CPU count.
    pub others_ns: Nanos,
    /// Numbers of migrations to another CPU of the same core, to another core with the same
    /// last-level cache, and to other CPUs.
    pub moved: [u64; 3],
    /// Number of tasks that were off the CPU at the end, without waiting for a CPU.
    pub off_at_end: u64,
    /// Total time for which the tasks of `off_at_end` have been off the CPU, in nanoseconds. This
    /// time is not part of `off_ns`.
    pub off_at_end_ns: Nanos,
    /// Largest resident memory of the process in bytes, among several readings; `None` if the
    /// process ended before the first reading.
    pub resident_bytes: Option<Bytes>,
    /// Reasons why the tasks left their CPUs, with counts and times.
    pub causes: Vec<Cause>,
    /// Histogram of the times off the CPU.
    pub off: Histogram,
    /// Histogram of the waits for a CPU.
    pub wait: Histogram,
    /// Histogram of the times for which other tasks ran while a task was off its CPU. Only times
    /// after which the task returned to the same CPU count.
    pub others: Histogram,
    /// Histogram of the time slices: times on a CPU from one switch to the next.
    pub turns: Histogram,
    /// Readings of hardware counters over the time slices of `turns`; `None` if no counters were
    /// read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub counted: Option<CountedTurns>,
}

/// Readings of the CPU's hardware counters over time slices of some tasks, including the part of
/// each slice in the kernel.
#[derive(Clone, Debug, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct CountedTurns {
    /// Total length of the time slices over which counters were read, in nanoseconds.
    pub ran_ns: Nanos,
    /// Number of events of each counter, by perf's name of the counter. The counter `instructions`
    /// is always included.
    pub events: BTreeMap<String, u64>,
    /// Highest rate of instructions per microsecond in any single time slice.
    pub most_instructions_per_us: u64,
    /// Histogram of the number of instructions per time slice. The buckets are those for durations,
    /// with one instruction in place of a nanosecond.
    pub instructions: Histogram,
}

impl CountedTurns {
    /// Adds the readings for other tasks.
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

    /// Returns the mean number of instructions per nanosecond of CPU time; `None` if no time was
    /// counted.
    pub fn instructions_per_ns(&self) -> Option<f64> {
        let instructions = *self.events.get("instructions")? as f64;
        (self.ran_ns > Nanos(0)).then(|| instructions / self.ran_ns.0 as f64)
    }

    /// Subtracts as much of earlier readings as there is, also from those. The highest rate of
    /// instructions remains that of the whole observation.
    pub(crate) fn subtract(&mut self, earlier: &mut CountedTurns) {
        cancel((&mut self.ran_ns.0, &mut earlier.ran_ns.0));
        for (name, count) in &mut self.events {
            if let Some(earlier) = earlier.events.get_mut(name) {
                cancel((count, earlier));
            }
        }
        self.instructions.subtract(&mut earlier.instructions);
    }
}

impl Tasks {
    /// Returns an entry for tasks of this process and name, without any counts.
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

    /// Returns the name of the tasks' process, which is `name` unless it was recorded separately.
    pub fn process_name(&self) -> &str {
        self.process_name.as_deref().unwrap_or(&self.name)
    }

    /// Returns the sum of voluntary and involuntary switches.
    pub fn switches(&self) -> u64 {
        self.voluntary.saturating_add(self.involuntary)
    }
}
