//! The record of an observation: how often live tasks switched, why, to which neighbours, and how long they were off their CPUs.
//!
//! What comes in: sums that an observer has counted. What goes out: one JSON file (see `docs/formats/json.md`), and the
//! same values read back, so that any report can be made elsewhere and later. No statistics, no printing, and nothing about how
//! anything is counted.

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
pub use calls::{CallSite, CallSlice, OffCpu, ThreadCalls, TracedCalls};
pub use cause::{Cause, Entry, FutexWait, RESUMED_CALL, Why};
pub use event::{Event, EventKind, Thread};
pub use histogram::{Histogram, bucket_of};
pub use known::{KnownBy, KnownLines, KnownPoint, KnownReload};
pub use stacks::{Frame, Module, SampledStacks, UserStack};
pub use tasks::{CountedTurns, Tasks};
pub use wait::{Behind, LongWait, Waits};

/// Name of the format and the version that this program writes and reads. Version 1 was never released: the record had no checksum. Version 2: the
/// first.
pub const OBSERVATION_FORM: &str = "switchcost.record.observation/2";

/// What was observed and all that was counted. Times are in nanoseconds; names are those of other programs' tasks, as the kernel keeps them.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Observation {
    /// [`OBSERVATION_FORM`].
    pub schema: String,
    /// Version of the program that observed.
    pub program: String,
    /// When it began, RFC 3339.
    pub started_at: String,
    /// The machine.
    pub host: HostManifest,
    /// What was observed.
    pub subject: Subject,
    /// Processes that the observed ones had started before, and which were not observed; none if there were none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub older_children: Option<OlderChildren>,
    /// Length of the window.
    pub window_ns: Nanos,
    /// Whether this is a snapshot: the observer was killed before the end.
    pub is_unfinished: bool,
    /// Requests that the observed tasks served in the window, if known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub requests: Option<u64>,
    /// How switches were counted, which decides what is known.
    pub source: Source,
    /// Why no better source was used, one reason for each.
    pub not_counted_by: Vec<String>,
    /// The known-answer tests of the hardware counters that were to be read at each switch; none if there is no such counter.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub counter_tests: Vec<SelfTest>,
    /// What each CPU did in the window; empty if the source does not show it.
    pub cpus: Vec<CpuTime>,
    /// The observed tasks, by process and thread name; those of processes that ended by name.
    pub tasks: Vec<Tasks>,
    /// Observed processes and others that preempted them, woke them, or ran while they waited.
    pub pairs: Vec<Pair>,
    /// Their waits for a CPU that were behind none of the processes in `pairs`. With `kept_waiting_ns` they add up to `wait_ns`.
    pub waits: Vec<Waits>,
    /// Their three longest waits for a CPU, the longest first.
    pub longest_waits: Vec<LongWait>,
    /// Time that the scheduler took at their switches (`--scheduler-time`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub in_scheduler: Option<InScheduler>,
    /// What was not counted for lack of room.
    pub lost: Lost,
    /// What observing cost; none if the source does not show it.
    pub own_cost: Option<OwnCost>,
    /// Control groups of the observed tasks whose CPU quota was used up.
    pub throttled: Vec<Throttled>,
    /// Switches and waits over the window, in at most 240 stretches in order.
    pub moments: Vec<Moment>,
    /// Stacks at switches (`--stacks`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stacks: Option<SampledStacks>,
    /// System calls traced in slices of the window (`--calls`); none if no call was traced.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub calls: Option<TracedCalls>,
    /// Time slices extended (rseq) on the whole machine; none if the kernel does not count them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub slice_extensions: Option<SliceExtensions>,
    /// What is known from other files of what cold caches cost the observed programs.
    pub known: Vec<KnownReload>,
    /// What a switch costs on this machine; none if there is no measurement of it.
    pub calibration: Option<Calibration>,
}

impl Observation {
    /// One in which nothing has been counted yet.
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

/// What was observed.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Subject {
    /// A command and all that it started.
    Command(Vec<String>),
    /// Processes, and what they started meanwhile.
    Processes(Vec<u32>),
    /// The processes of a control group and of those below it.
    ControlGroup(String),
    /// All tasks.
    Everything,
}

/// Children of observed processes that were there before them, and theirs in turn: they were not observed.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct OlderChildren {
    /// How many.
    pub processes: u64,
    /// Who started them.
    pub parents: Vec<u32>,
    /// Their switches in the window, by the kernel's own counters; without those of processes that ended in it.
    pub switches: u64,
}

/// How switches were counted, from most to least detail.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize, strum::Display)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum Source {
    /// Programs on the kernel's tracepoints.
    Bpf,
    /// The same without a clock: counts, causes and waits for a CPU; no times off it, neighbours or CPUs.
    BpfCounts,
    /// The kernel's records of switches (perf): when, and whether voluntary; no causes, neighbours or waits for a CPU.
    Perf,
    /// The kernel's own counters in /proc: how many; no times off the CPU either.
    Proc,
}

/// What a CPU did in the window.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct CpuTime {
    /// Which CPU.
    pub cpu: CpuId,
    /// All switches on it, of any task.
    pub switches: u64,
    /// Time in tasks.
    pub busy_ns: Nanos,
    /// Time in its idle task.
    pub idle_ns: Nanos,
}

/// An observed process and another one.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct Pair {
    /// The observed process.
    pub process: u32,
    /// Its name; hostile text until escaped, empty if there were too many.
    pub process_name: String,
    /// The other process; none for kernel threads. It may be the same: its own threads.
    pub other: Option<u32>,
    /// Name of the other; hostile text until escaped.
    pub name: String,
    /// Time that it ran on the last CPU of a task of the observed process while that was off.
    pub ran_ns: Nanos,
    /// Number of such runs.
    pub runs: u64,
    /// How often it took the CPU from the observed one.
    pub preempted: u64,
    /// How often it ran as the observed one was woken: it woke it, or an interrupt did while it ran. 0 without `--wakers`.
    pub woke: u64,
    /// Time that it ran while a task of the observed process waited for that CPU: a part of its `wait_ns`.
    pub kept_waiting_ns: Nanos,
    /// Number of such waits.
    pub kept_waiting: u64,
}

/// Time inside the scheduler, from entry to exit, without that of observing: once for each switch from or to an observed task,
/// except the first one to a new task.
#[derive(Clone, Debug, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct InScheduler {
    /// All of it.
    pub ns: Nanos,
    /// Each time.
    pub times: Histogram,
}

/// What found no room and is missing.
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
    /// Switches known from the kernel's counters alone: records were lost, or the task could not be followed, since it gained rights, or
    /// ran on a CPU that came online later.
    pub unfollowed: u64,
}

impl Lost {
    /// Whether anything is missing.
    pub fn any(&self) -> bool {
        *self != Lost::default()
    }
}

/// What the observed tasks did in a stretch of the window.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct Moment {
    /// Its end, from the start of the window.
    pub end_ns: Nanos,
    /// Switches that they asked for by waiting.
    pub voluntary: u64,
    /// Switches that they did not ask for, and calls of sched_yield.
    pub involuntary: u64,
    /// Time on a CPU, counted as it ends.
    pub run_ns: Nanos,
    /// Time ready to run and waiting for a CPU, counted when the task leaves the CPU that it waited for.
    pub wait_ns: Nanos,
}

/// What observing cost.
#[derive(Clone, Debug, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct OwnCost {
    /// Time of the BPF programs in `measured_ns`.
    pub kernel_ns: Nanos,
    /// The part of the window in which it was measured; 0 if there are none.
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
    /// How often its time was used up.
    pub times: u64,
    /// How long its tasks were kept from running.
    pub throttled_ns: Nanos,
    /// When an observed process was first found in it, from the start; none if one was in it from the start.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub joined_after_ns: Option<Nanos>,
}

/// Time slices that were extended because a thread was in a critical section that asked for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct SliceExtensions {
    /// How often.
    pub granted: u64,
    /// Of these, how often the thread gave the CPU back in time: a preemption inside the section less.
    pub yielded: u64,
}
