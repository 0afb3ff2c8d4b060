use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use switchcost_units::{Bytes, Nanos};

use crate::observation::{Cause, Histogram};

/// Observed tasks that are not distinguished further: the threads of one name of one process, or all ended processes of a name.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct Tasks {
    /// The process; none for those that ended.
    pub process: Option<u32>,
    /// Its number in its own PID namespace, if that is not the observer's, as in a container.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub process_inside: Option<u32>,
    /// The name of the process, which is that of its first thread, if that is another; hostile text until escaped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub process_name: Option<String>,
    /// The control group of the process at the end; hostile text until escaped.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub control_group: Option<String>,
    /// The name of its threads, as the kernel keeps it; hostile text until escaped.
    pub name: String,
    /// The runtime of a language that is linked into their program and gives its threads no names: `Go`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub runtime: Option<String>,
    /// Whether their process has speculation restricted for itself (prctl, seccomp), so that each of its switches costs more than is priced.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub restricts_speculation: bool,
    /// How many tasks.
    pub count: u64,
    /// Whether they are the kernel's own threads.
    pub is_kernel: bool,
    /// Switches that they asked for by waiting, as the kernel counts them.
    pub voluntary: u64,
    /// Switches that they did not ask for, and calls of sched_yield.
    pub involuntary: u64,
    /// Time on a CPU, by the kernel's own account.
    pub run_ns: Nanos,
    /// Time off the CPU, of switches after which it came back, or waits to come back at the end.
    pub off_ns: Nanos,
    /// Of it, time ready to run and waiting for a CPU.
    pub wait_ns: Nanos,
    /// Time that others ran on its CPU while it was off, if it came back to the same CPU.
    pub others_ns: Nanos,
    /// Moves within a core, within a last-level cache, and further.
    pub moved: [u64; 3],
    /// Tasks that were off the CPU at the end and did not wait for one.
    pub off_at_end: u64,
    /// Time since they had left, which is not in `off_ns`.
    pub off_at_end_ns: Nanos,
    /// Largest resident memory of its process seen; none if it ended before it was read.
    pub resident_bytes: Option<Bytes>,
    /// Why they left their CPUs.
    pub causes: Vec<Cause>,
    /// Time off the CPU, of each switch.
    pub off: Histogram,
    /// Each wait for a CPU.
    pub wait: Histogram,
    /// Time that others ran meanwhile, of each switch after which it came back to the same CPU.
    pub others: Histogram,
    /// Time on a CPU from a switch to the next one.
    pub turns: Histogram,
    /// What hardware counters counted in these turns; none if they were not read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub counted: Option<CountedTurns>,
}

/// What the CPU's own counters counted in the turns of some tasks, the kernel's half included.
#[derive(Clone, Debug, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct CountedTurns {
    /// Time of the turns that were counted.
    pub ran_ns: Nanos,
    /// How often each event was counted, by perf's names; `instructions` is always there.
    pub events: BTreeMap<String, u64>,
    /// The most instructions a microsecond that a single turn had.
    pub most_instructions_per_us: u64,
    /// Instructions of each turn, in the buckets of times with an instruction for a nanosecond.
    pub instructions: Histogram,
}

impl CountedTurns {
    /// Adds those of other tasks.
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

    /// Instructions that a nanosecond of CPU time had on average; none if nothing was counted.
    pub fn instructions_per_ns(&self) -> Option<f64> {
        let instructions = *self.events.get("instructions")? as f64;
        (self.ran_ns > Nanos(0)).then(|| instructions / self.ran_ns.0 as f64)
    }

    /// Takes those of an earlier moment away. The most of a turn stays that of the whole time.
    pub(crate) fn subtract(&mut self, before: &CountedTurns) {
        self.ran_ns.0 = self.ran_ns.0.saturating_sub(before.ran_ns.0);
        for (name, count) in &mut self.events {
            *count = count.saturating_sub(before.events.get(name).copied().unwrap_or(0));
        }
        self.instructions.subtract(&before.instructions);
    }
}

impl Tasks {
    /// None yet, of this process and name.
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

    /// The name of their process.
    pub fn process_name(&self) -> &str {
        self.process_name.as_deref().unwrap_or(&self.name)
    }

    /// All switches, voluntary or not.
    pub fn switches(&self) -> u64 {
        self.voluntary.saturating_add(self.involuntary)
    }
}
