//! The record of an observation: numbers and causes of the switches of running tasks, the tasks
//! that ran instead, and times off the CPU.
//!
//! The observer counts these sums. The writer stores them in one JSON file (see
//! `docs/formats/json.md`). The reader returns the same values, so that reports can be made later
//! and on other machines. This module counts no events, computes no statistics and prints nothing.

mod calibration;
mod calls;
mod cause;
mod event;
mod file;
mod histogram;
mod known;
mod since;
mod stacks;
mod tasks;
mod wait;

use crate::{HostManifest, SelfTest};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use switchcost_units::{CpuId, Nanos};

pub use calibration::{Calibration, Cost, Load, Reload};
pub use calls::{CALL_COST, CallSite, CallSlice, OffCpu, ThreadCalls, TracedCalls};
pub use cause::{Cause, Entry, FutexWait, RESUMED_CALL, Why};
pub use event::{Event, EventKind, Thread};
pub use histogram::{Histogram, bucket_of};
pub use known::{KnownBy, KnownPoint, KnownReload};
pub use stacks::{Frame, Module, SampledStacks, UserStack};
pub use tasks::{CountedTurns, Tasks};
pub use wait::{Behind, LongWait, Waits};

/// Name of the format of observation records, with the version that this program writes and reads.
/// Version 1 was never released: the record had no checksum. Version 2 is the first released one.
pub const OBSERVATION_FORM: &str = "switchcost.record.observation/2";

/// Results of an observation. All times are in nanoseconds. Names of tasks are as the kernel stores
/// them, and are untrusted text.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Observation {
    /// Name and version of the format, [`OBSERVATION_FORM`].
    pub schema: String,
    /// Version of the program that wrote the record.
    pub program: String,
    /// Start of the observation (RFC 3339, UTC).
    pub started_at: String,
    /// Facts about the observed machine.
    pub host: HostManifest,
    /// Target of the observation: which tasks were observed.
    pub subject: Subject,
    /// Child processes of the observed processes that had existed before the observation, and are
    /// not observed; `None` if there are none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub older_children: Option<OlderChildren>,
    /// Length of the observed window in nanoseconds.
    pub window_ns: Nanos,
    /// Whether this is an intermediate record, because the observer was killed before the end.
    pub is_unfinished: bool,
    /// Number of requests that the observed tasks served in the window; `None` if unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub requests: Option<u64>,
    /// Method by which switches were counted. Less detailed methods leave some fields empty.
    pub source: Source,
    /// Reasons why more detailed methods were not used, one for each.
    pub not_counted_by: Vec<String>,
    /// Known-answer tests of the hardware counters that were read at each switch; empty without
    /// counters.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub counter_tests: Vec<SelfTest>,
    /// Switches and busy time of each CPU in the window; empty if the method does not show them.
    pub cpus: Vec<CpuTime>,
    /// The observed tasks, grouped by process and thread name. Tasks of ended processes are grouped
    /// by name only.
    pub tasks: Vec<Tasks>,
    /// Pairs of an observed process and another process that preempted it, woke it, or ran while
    /// the first waited.
    pub pairs: Vec<Pair>,
    /// Times for which observed tasks waited for a CPU while no process of `pairs` had that CPU.
    /// Together with `kept_waiting_ns` of all pairs, the sum is `wait_ns`.
    pub waits: Vec<Waits>,
    /// The three longest waits of observed tasks for a CPU, longest first.
    pub longest_waits: Vec<LongWait>,
    /// Time inside the scheduler at switches of the observed tasks (`--scheduler-time`); `None` if
    /// not requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub in_scheduler: Option<InScheduler>,
    /// Numbers of events that were not counted for lack of memory.
    pub lost: Lost,
    /// Cost of the observation itself; `None` if the method does not show it.
    pub own_cost: Option<OwnCost>,
    /// Control groups of the observed tasks that used up their CPU quota.
    pub throttled: Vec<Throttled>,
    /// Switches and waits in consecutive intervals of the observation, at most 240.
    pub moments: Vec<Moment>,
    /// Stacks at switches, sampled (`--stacks`); `None` if not requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stacks: Option<SampledStacks>,
    /// System calls that were traced in parts of the window; null if no call was traced.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub calls: Option<TracedCalls>,
    /// Reason why no system call was traced; `None` if calls were traced, or in older records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub no_calls_because: Option<String>,
    /// Number of time slices that the kernel extended (rseq) on the whole machine; null if the
    /// kernel does not count them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub slice_extensions: Option<SliceExtensions>,
    /// Costs of cold caches for the observed programs, from sources other than the observation's
    /// own counts.
    pub known: Vec<KnownReload>,
    /// Costs of a switch on this machine; `None` if no measurement of the machine was found.
    pub calibration: Option<Calibration>,
}

impl Observation {
    /// Returns an observation without any counts.
    pub fn empty(host: HostManifest, started_at: String) -> Observation {
        Observation {
            schema: OBSERVATION_FORM.to_owned(),
            program: String::new(),
            started_at,
            host,
            subject: Subject::Everything,
            older_children: None,
            requests: None,
            window_ns: Nanos(0),
            is_unfinished: false,
            source: Source::Proc,
            not_counted_by: Vec::new(),
            counter_tests: Vec::new(),
            cpus: Vec::new(),
            tasks: Vec::new(),
            pairs: Vec::new(),
            waits: Vec::new(),
            longest_waits: Vec::new(),
            in_scheduler: None,
            lost: Lost::default(),
            own_cost: None,
            throttled: Vec::new(),
            moments: Vec::new(),
            stacks: None,
            calls: None,
            no_calls_because: None,
            slice_extensions: None,
            known: Vec::new(),
            calibration: None,
        }
    }
}

/// Target of an observation.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Subject {
    /// A command and all processes that it started.
    Command(Vec<String>),
    /// The processes with these IDs, and all processes that they started during the observation.
    Processes(Vec<u32>),
    /// The processes of this control group and of the groups below.
    ControlGroup(String),
    /// All tasks that run on the machine.
    Everything,
}

/// Children of the observed processes, with their descendants, that had existed before the
/// observation and are not observed.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct OlderChildren {
    /// Number of unobserved children and their descendants.
    pub processes: u64,
    /// IDs of the observed processes that have such children.
    pub parents: Vec<u32>,
    /// Number of switches of the unobserved children in the window, from the kernel's counters.
    /// Children that ended in the window are left out.
    pub switches: u64,
}

/// Method by which switches are counted, most detailed first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize, strum::Display)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum Source {
    /// BPF programs on the kernel's tracepoints.
    Bpf,
    /// BPF programs without a clock, which count switches, causes and waits for a CPU, but no times
    /// off the CPU, no other tasks and no CPUs.
    BpfCounts,
    /// Records of switches from perf, with the time of each switch, and whether the switch was
    /// voluntary. These records have no causes, no other tasks and no waits for a CPU.
    Perf,
    /// The kernel's counters in /proc, which have only the number of switches.
    Proc,
}

/// Number of switches, busy time and idle time of a CPU in the window.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct CpuTime {
    /// The CPU whose switches and times are given.
    pub cpu: CpuId,
    /// Number of all switches on the CPU, of any task.
    pub switches: u64,
    /// Time in tasks other than the idle task, in nanoseconds.
    pub busy_ns: Nanos,
    /// Time in the CPU's idle task, in nanoseconds.
    pub idle_ns: Nanos,
}

/// An observed process and another process that preempted it, woke it, or ran while the first
/// waited.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct Pair {
    /// Process ID of the observed process.
    pub process: u32,
    /// Name of the observed process; untrusted text that must be escaped before it is shown. Empty
    /// if there were too many processes.
    pub process_name: String,
    /// ID of the other process; `None` for kernel threads. The ID of the observed process itself if
    /// its own threads ran.
    pub other: Option<u32>,
    /// Name of the other process; untrusted text that must be escaped before it is shown.
    pub name: String,
    /// Time for which the other process ran on the last CPU of an observed task while that task was
    /// off the CPU, in nanoseconds.
    pub ran_ns: Nanos,
    /// Number of times that the other process ran while an observed task was off the CPU.
    pub runs: u64,
    /// Number of times that the other process preempted the observed one; 0 without `--wakers`.
    pub preempted: u64,
    /// Number of wake-ups of the observed process while the other process ran, by that process or
    /// by an interrupt; 0 without `--wakers`.
    pub woke: u64,
    /// Time for which the other process ran while an observed task waited for that CPU, in
    /// nanoseconds. This time is a part of the task's `wait_ns`.
    pub kept_waiting_ns: Nanos,
    /// Number of waits of observed tasks for a CPU on which the other process ran in the meantime.
    pub kept_waiting: u64,
}

/// Time inside the scheduler, from entry to exit without the time of observing, for each switch
/// from or to an observed task. The first switch to a new task is left out.
#[derive(Clone, Debug, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct InScheduler {
    /// Total time inside the scheduler in nanoseconds.
    pub ns: Nanos,
    /// Histogram of the time inside the scheduler per switch.
    pub times: Histogram,
}

/// Numbers of events that were not counted for lack of memory, by kind.
#[derive(Clone, Debug, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct Lost {
    /// Number of tasks that were not observed.
    pub tasks: u64,
    /// Number of switches whose cause was not counted.
    pub causes: u64,
    /// Number of runs, preemptions and wake-ups for which the other process was not counted.
    pub pairs: u64,
    /// Number of switches and wake-ups that are missing in the trace (`--events`).
    pub events: u64,
    /// Number of lost perf records, each of at most one switch.
    pub records: u64,
    /// Number of switches that only the kernel's counters show. Either records were lost, or the
    /// task could not be followed, because it gained rights or ran on a CPU that came online later.
    pub unfollowed: u64,
}

impl Lost {
    /// Whether any number is above 0.
    pub fn any(&self) -> bool {
        *self != Lost::default()
    }
}

/// Switches and times of the observed tasks in one interval of the observation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct Moment {
    /// End of the interval in nanoseconds since the start of the observation.
    pub end_ns: Nanos,
    /// Number of switches at which an observed task waited for something.
    pub voluntary: u64,
    /// Number of involuntary switches, and of calls of sched_yield.
    pub involuntary: u64,
    /// Time on a CPU in nanoseconds. A run counts in the interval in which it ends.
    pub run_ns: Nanos,
    /// Time for which tasks were ready and waited for a CPU, in nanoseconds. A wait counts in the
    /// interval in which the task leaves the CPU again.
    pub wait_ns: Nanos,
}

/// CPU time that the observation itself used.
#[derive(Clone, Debug, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct OwnCost {
    /// CPU time of the BPF programs within `measured_ns`, in nanoseconds.
    pub kernel_ns: Nanos,
    /// Length of the part of the window in which the time of the BPF programs was measured, in
    /// nanoseconds; 0 without BPF programs.
    pub measured_ns: Nanos,
    /// Number of switches on all CPUs within `measured_ns`.
    pub switches: u64,
    /// CPU time of the observer's process over the whole window, in nanoseconds.
    pub user_ns: Nanos,
}

/// A control group whose CPU quota was used up.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct Throttled {
    /// Path of the control group; untrusted text that must be escaped before it is shown.
    pub group: String,
    /// Number of periods in which the quota was used up.
    pub times: u64,
    /// Time for which the quota kept the group's tasks from running, in nanoseconds.
    pub throttled_ns: Nanos,
    /// Time from the start until the first observed process joined the group, in nanoseconds;
    /// `None` if one was in the group from the start.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub joined_after_ns: Option<Nanos>,
}

/// Number of time slices that the kernel extended because a thread in a critical section had
/// requested it (rseq).
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct SliceExtensions {
    /// Number of extended time slices.
    pub granted: u64,
    /// Number of extended time slices in which the thread released the CPU in time. No preemption
    /// then interrupted the critical section.
    pub yielded: u64,
}
