//! The record of an observation: number and causes of live tasks' switches, the tasks that ran instead, and times off the CPU.
//!
//! The input is sums that an observer has counted; the output is one JSON file (see `docs/formats/json.md`), and the same values read back,
//! so that any report can be made elsewhere and later. This module has no statistics and no printing, and does not know how events are
//! counted.

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

/// Name of the format and the version that this program writes and reads. Version 1 was never
/// released: the record had no checksum. Version 2 is the first.
pub const OBSERVATION_FORM: &str = "switchcost.record.observation/2";

/// All counts of an observation. Times are in nanoseconds. Names are those of other programs' tasks, as the kernel stores them.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Observation {
    /// Name and version of the format, [`OBSERVATION_FORM`].
    pub schema: String,
    /// Version of the program that observed.
    pub program: String,
    /// Start of the observation (RFC 3339).
    pub started_at: String,
    /// The machine that was observed.
    pub host: HostManifest,
    /// The target of the observation.
    pub subject: Subject,
    /// Children of the observed processes that existed before the observation, and so are not
    /// observed; `None` if there are none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub older_children: Option<OlderChildren>,
    /// Length of the window: the time for which the tasks were observed.
    pub window_ns: Nanos,
    /// Whether the record is a snapshot: the observer was killed before the end.
    pub is_unfinished: bool,
    /// Requests that the observed tasks served in the window, if known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub requests: Option<u64>,
    /// Method by which switches were counted; what is known depends on it.
    pub source: Source,
    /// Reasons why sources with more detail were not used, one for each source.
    pub not_counted_by: Vec<String>,
    /// Known-answer tests of the hardware counters to be read at each switch; empty if there is no such counter.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub counter_tests: Vec<SelfTest>,
    /// Activity of each CPU in the window; empty if the source does not show it.
    pub cpus: Vec<CpuTime>,
    /// The observed tasks, by process and thread name; those of processes that ended by name.
    pub tasks: Vec<Tasks>,
    /// Pairs of an observed process and another process that preempted it, woke it, or ran while it waited.
    pub pairs: Vec<Pair>,
    /// Waits of the observed tasks for a CPU while no process in `pairs` had that CPU. Together
    /// with `kept_waiting_ns` of all pairs, the waits add up to `wait_ns`.
    pub waits: Vec<Waits>,
    /// The three longest waits of the observed tasks for a CPU, the longest first.
    pub longest_waits: Vec<LongWait>,
    /// Time in the scheduler at switches of the observed tasks (`--scheduler-time`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub in_scheduler: Option<InScheduler>,
    /// Events that were not counted for lack of room.
    pub lost: Lost,
    /// Cost of the observation itself; `None` if the source does not show it.
    pub own_cost: Option<OwnCost>,
    /// Control groups of the observed tasks whose CPU quota was used up.
    pub throttled: Vec<Throttled>,
    /// Switches and waits over the window, in at most 240 stretches in order.
    pub moments: Vec<Moment>,
    /// Stacks at switches (`--stacks`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stacks: Option<SampledStacks>,
    /// System calls that were traced in slices of the window; null if no call was traced.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub calls: Option<TracedCalls>,
    /// Time slices extended (rseq) on the whole machine; null if the kernel does not count
    /// extensions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub slice_extensions: Option<SliceExtensions>,
    /// Costs of cold caches for the observed programs, as known from other files.
    pub known: Vec<KnownReload>,
    /// Cost of a switch on this machine; `None` if no measurement of the machine was found.
    pub calibration: Option<Calibration>,
}

impl Observation {
    /// Makes an observation in which nothing has been counted.
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
            slice_extensions: None,
            known: Vec::new(),
            calibration: None,
        }
    }
}

/// The target of an observation.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Subject {
    /// A command and all processes that it started.
    Command(Vec<String>),
    /// Given processes, and all processes that these started during the observation.
    Processes(Vec<u32>),
    /// Processes of a control group and of the groups below it.
    ControlGroup(String),
    /// All tasks of the machine.
    Everything,
}

/// Children of the observed processes, and descendants of these, that existed before the
/// observation and are not observed.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct OlderChildren {
    /// Number of existing children that are not observed.
    pub processes: u64,
    /// IDs of the observed processes whose existing children are not observed.
    pub parents: Vec<u32>,
    /// Switches of the unobserved children in the window, by the kernel's own counters; children
    /// that ended in the window are left out.
    pub switches: u64,
}

/// Method of counting switches, from most to least detail.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize, strum::Display)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum Source {
    /// BPF programs on the kernel's tracepoints.
    Bpf,
    /// BPF programs without a clock: counts, causes and waits for a CPU, but no times off the CPU, no other tasks and no CPUs.
    BpfCounts,
    /// The kernel's records of switches (perf), with the time of each switch, and whether the
    /// switch was voluntary; without causes, other tasks and waits for a CPU.
    Perf,
    /// The kernel's counters in /proc, which give only the number of switches.
    Proc,
}

/// Activity of a CPU in the window.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct CpuTime {
    /// The CPU whose activity is given.
    pub cpu: CpuId,
    /// Number of all switches on the CPU, of any task.
    pub switches: u64,
    /// Time in tasks other than the idle task.
    pub busy_ns: Nanos,
    /// Time in the CPU's idle task.
    pub idle_ns: Nanos,
}

/// An observed process, paired with another process that preempted it, woke it, or ran while it
/// waited.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct Pair {
    /// ID of the observed process.
    pub process: u32,
    /// Name of the observed process; hostile text until escaped, empty if there were too many.
    pub process_name: String,
    /// ID of the other process; `None` for kernel threads. If an observed process's own threads
    /// ran, the ID is that of the observed process.
    pub other: Option<u32>,
    /// Name of the other process; hostile text until escaped.
    pub name: String,
    /// Time that the other process ran on the last CPU of an observed task while that task was off the CPU.
    pub ran_ns: Nanos,
    /// Number of runs of the other process while an observed task was off the CPU.
    pub runs: u64,
    /// Number of times that the other process preempted the observed one. 0 without `--wakers`.
    pub preempted: u64,
    /// Number of times that the other process ran when the observed one was woken, either by the
    /// other process or by an interrupt. 0 without `--wakers`.
    pub woke: u64,
    /// Time that the other process ran while an observed task waited for that CPU: a part of the task's `wait_ns`.
    pub kept_waiting_ns: Nanos,
    /// Number of waits of observed tasks for a CPU on which the other process ran.
    pub kept_waiting: u64,
}

/// Time inside the scheduler, from entry to exit, without the time of observing, once for each
/// switch from or to an observed task. The first switch to a new task is left out.
#[derive(Clone, Debug, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct InScheduler {
    /// Total time inside the scheduler.
    pub ns: Nanos,
    /// Histogram of single times inside the scheduler.
    pub times: Histogram,
}

/// Number of events of each kind that were not counted for lack of room.
#[derive(Clone, Debug, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct Lost {
    /// Tasks that were not observed.
    pub tasks: u64,
    /// Switches whose cause was not counted.
    pub causes: u64,
    /// Runs, preemptions and wake-ups whose other process was not counted.
    pub pairs: u64,
    /// Switches and wake-ups missing in the trace (`--events`).
    pub events: u64,
    /// Lost records of perf, each of one switch at most.
    pub records: u64,
    /// Switches that only the kernel's counters show: records were lost, or the task could not be
    /// followed, because it gained rights or ran on a CPU that came online later.
    pub unfollowed: u64,
}

impl Lost {
    /// Whether any tasks, switches, records or events were not counted.
    pub fn any(&self) -> bool {
        *self != Lost::default()
    }
}

/// Activity of the observed tasks in a stretch of the window.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct Moment {
    /// End of the stretch, since the start of the window.
    pub end_ns: Nanos,
    /// Number of switches at which an observed task waited for something.
    pub voluntary: u64,
    /// Involuntary switches, and calls of sched_yield.
    pub involuntary: u64,
    /// Time on a CPU, counted when the run ends.
    pub run_ns: Nanos,
    /// Time ready to run and waiting for a CPU, counted when the task leaves the CPU that it waited for.
    pub wait_ns: Nanos,
}

/// Cost of the observation itself.
#[derive(Clone, Debug, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct OwnCost {
    /// Time of the BPF programs in `measured_ns`.
    pub kernel_ns: Nanos,
    /// Part of the window in which the time of the BPF programs was measured; 0 if there are none.
    pub measured_ns: Nanos,
    /// Number of switches on all CPUs in `measured_ns`.
    pub switches: u64,
    /// CPU time of the observer over the whole window.
    pub user_ns: Nanos,
}

/// A CPU quota that was used up.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct Throttled {
    /// Path of the control group; hostile text until escaped.
    pub group: String,
    /// Number of times that the quota was used up.
    pub times: u64,
    /// Time for which the quota kept the group's tasks from running.
    pub throttled_ns: Nanos,
    /// Time from the start until an observed process was first found in the group; `None` if one was in it from the start.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub joined_after_ns: Option<Nanos>,
}

/// Time slices that were extended because a thread was in a critical section that asked for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct SliceExtensions {
    /// Number of time slices that were extended.
    pub granted: u64,
    /// Number of extended time slices in which the thread released the CPU in time, so that no
    /// preemption fell into the critical section.
    pub yielded: u64,
}
