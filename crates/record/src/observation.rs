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

/// Name of the format and the version that this program writes and reads. Version 1 was never released: the record had no checksum. Version 2: the
/// first.
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
    /// Existing children of the observed processes, which are not observed; `None` if there are none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub older_children: Option<OlderChildren>,
    /// Length of the window.
    pub window_ns: Nanos,
    /// Whether this is a snapshot: the observer was killed before the end.
    pub is_unfinished: bool,
    /// Requests that the observed tasks served in the window, if known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub requests: Option<u64>,
    /// Method by which switches were counted; it decides what is known.
    pub source: Source,
    /// Reasons why no better source was used, one for each.
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
    /// Waits of the observed tasks for a CPU while no process in `pairs` had it. With `kept_waiting_ns` of the pairs they add up to
    /// `wait_ns`.
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
    /// System calls traced in slices of the window; null if no call was traced.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub calls: Option<TracedCalls>,
    /// Time slices extended (rseq) on the whole machine; null if the kernel does not count them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub slice_extensions: Option<SliceExtensions>,
    /// Costs of cold caches for the observed programs, as known from other files.
    pub known: Vec<KnownReload>,
    /// Cost of a switch on this machine; `None` if it was not measured.
    pub calibration: Option<Calibration>,
}

impl Observation {
    /// An observation in which nothing has been counted.
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
    /// Processes, and those that they started during the observation.
    Processes(Vec<u32>),
    /// The processes of a control group and of those below it.
    ControlGroup(String),
    /// All tasks.
    Everything,
}

/// Children, and their children, that the observed processes had before the observation. They are not observed.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct OlderChildren {
    /// Number of these children.
    pub processes: u64,
    /// IDs of the observed processes that started them.
    pub parents: Vec<u32>,
    /// Switches of these children in the window, by the kernel's own counters; without children that ended in it.
    pub switches: u64,
}

/// Method of counting switches, from most to least detail.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize, strum::Display)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum Source {
    /// Programs on the kernel's tracepoints.
    Bpf,
    /// BPF programs without a clock: counts, causes and waits for a CPU, but no times off the CPU, no other tasks and no CPUs.
    BpfCounts,
    /// The kernel's records of switches (perf): the time, and whether each was voluntary; no causes, other tasks or waits for a CPU.
    Perf,
    /// The kernel's own counters in /proc: only the number of switches.
    Proc,
}

/// Activity of a CPU in the window.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct CpuTime {
    /// The CPU.
    pub cpu: CpuId,
    /// Number of all switches on the CPU, of any task.
    pub switches: u64,
    /// Time in tasks other than the idle task.
    pub busy_ns: Nanos,
    /// Time in the CPU's idle task.
    pub idle_ns: Nanos,
}

/// An observed process and another process.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct Pair {
    /// The observed process.
    pub process: u32,
    /// Name of the observed process; hostile text until escaped, empty if there were too many.
    pub process_name: String,
    /// The other process; `None` for kernel threads. It may be the observed process itself: its own threads.
    pub other: Option<u32>,
    /// Name of the other process; hostile text until escaped.
    pub name: String,
    /// Time that the other process ran on the last CPU of an observed task while that task was off the CPU.
    pub ran_ns: Nanos,
    /// Number of such runs.
    pub runs: u64,
    /// Number of times that the other process ran when the observed one was woken, by the other process or by an interrupt. 0 without
    /// `--wakers`.
    pub preempted: u64,
    /// Number of times that the other process ran when the observed one was woken: it woke it, or an interrupt did. 0 without
    /// `--wakers`.
    pub woke: u64,
    /// Time that the other process ran while an observed task waited for that CPU: a part of the task's `wait_ns`.
    pub kept_waiting_ns: Nanos,
    /// Number of such waits.
    pub kept_waiting: u64,
}

/// Time inside the scheduler, from entry to exit, without the time of observing. It is counted once for each switch from or to an
/// observed task, except the first switch to a new task.
#[derive(Clone, Debug, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct InScheduler {
    /// Total time.
    pub ns: Nanos,
    /// Histogram of the single times.
    pub times: Histogram,
}

/// Events that were not counted because there was no room.
#[derive(Clone, Debug, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct Lost {
    /// Tasks that were not observed.
    pub tasks: u64,
    /// Switches without a cause.
    pub causes: u64,
    /// Runs, preemptions and wake-ups without the other side.
    pub pairs: u64,
    /// Switches and wake-ups missing in the trace (`--events`).
    pub events: u64,
    /// perf's records of switches, each of one switch at most.
    pub records: u64,
    /// Switches known only from the kernel's counters: records were lost, or the task could not be followed because it gained rights or
    /// ran on a CPU that came online later.
    pub unfollowed: u64,
}

impl Lost {
    /// Whether anything was lost.
    pub fn any(&self) -> bool {
        *self != Lost::default()
    }
}

/// Activity of the observed tasks in a stretch of the window.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct Moment {
    /// End of the stretch, since the start of the window.
    pub end_ns: Nanos,
    /// Switches because an observed task waited.
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
    /// Switches on all CPUs in that part.
    pub switches: u64,
    /// CPU time of the observer over the whole window.
    pub user_ns: Nanos,
}

/// A CPU quota that was used up.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct Throttled {
    /// The control group; hostile text until escaped.
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
    /// Number of extended slices.
    pub granted: u64,
    /// Number of extended slices in which the thread gave the CPU back in time, which saved a preemption inside the section.
    pub yielded: u64,
}
