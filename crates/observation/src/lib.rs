//! The record of an observation: how often live tasks were switched, why, by whom, and how long they were off their CPUs.
//!
//! What comes in: sums that an observer has counted. What goes out: one JSON file (see `docs/formats/observation.md`), and the
//! same values read back, so that any report can be made elsewhere and later. No statistics, no printing, and nothing about how
//! anything is counted.
#![doc = include_str!("../README.md")]

mod cause;
mod event;
mod file;
mod histogram;
mod known;
mod since;
mod stacks;
mod wait;

use record::HostManifest;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Bytes, CpuId, Nanos};

pub use cause::{Entry, FutexWait, Why};
pub use event::{Event, EventKind, Thread};
pub use file::{ReadObservationError, WriteObservationError};
pub use histogram::{Histogram, bucket_of};
pub use known::{KnownBy, KnownPoint, KnownReload};
pub use stacks::{Frame, Module, SampledStacks, UserStack};
pub use wait::{Behind, LongWait, Waits};

/// Name of the format; the file carries it with [`OBSERVATION_VERSION`] behind a slash.
pub const OBSERVATION_SCHEMA: &str = "switchcost.record.observation";

/// The newest version that this program writes and reads. Version 1: the first. Version 2: the record ends in a checksum.
pub const OBSERVATION_VERSION: u32 = 2;

/// What was observed, by whom, and all that was counted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Observation {
    /// [`OBSERVATION_SCHEMA`] and its version.
    pub schema: String,
    /// Version of the program that observed.
    pub program: String,
    /// When it began, RFC 3339.
    pub started_at: String,
    /// The machine.
    pub host: HostManifest,
    /// Who was observed.
    pub subject: Subject,
    /// For how long.
    pub window_ns: Nanos,
    /// Whether it went on: the observer was killed before it could write all of it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_unfinished: bool,
    /// Requests that the observed served in the window, where that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requests: Option<u64>,
    /// How it was counted, and so what is known at all.
    pub source: Source,
    /// Why it was not counted in a way that tells more; one reason for each.
    pub not_counted_by: Vec<String>,
    /// What each CPU did in the window; empty where the source does not tell.
    pub cpus: Vec<CpuTime>,
    /// The observed tasks.
    pub tasks: Vec<Tasks>,
    /// What others did to them.
    pub pairs: Vec<Pair>,
    /// Their waits for a CPU that were behind no process that is remembered.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub waits: Vec<Waits>,
    /// The longest of their waits for a CPU, the longest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub longest_waits: Vec<LongWait>,
    /// How long the scheduler took at switches of the observed; none where that was not asked for, or the kernel does not tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub in_scheduler: Option<InScheduler>,
    /// What was not counted for want of room.
    pub lost: Lost,
    /// What observing cost; none where the source does not tell.
    pub own_cost: Option<OwnCost>,
    /// Limits on CPU time of the control groups of the observed, and what they took.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub throttled: Vec<Throttled>,
    /// How switches and waits are spread over the window, in order; empty in older records.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub moments: Vec<Moment>,
    /// Stacks at switches, where they were asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stacks: Option<SampledStacks>,
    /// Time slices that were extended (rseq) on the whole machine; none where the kernel does not count them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slice_extensions: Option<SliceExtensions>,
    /// What is known from elsewhere of what cold caches cost the observed programs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub known: Vec<KnownReload>,
    /// What a switch costs here; none where it was neither measured nor remembered.
    pub calibration: Option<Calibration>,
}

impl Observation {
    /// One of this machine in which nothing was counted yet.
    pub fn empty(host: HostManifest, started_at: String) -> Observation {
        Observation {
            schema: Observation::schema_now(),
            program: String::new(),
            started_at,
            host,
            subject: Subject::Everything,
            requests: None,
            window_ns: Nanos(0),
            is_unfinished: false,
            source: Source::Proc,
            not_counted_by: Vec::new(),
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
            slice_extensions: None,
            known: Vec::new(),
            calibration: None,
        }
    }
}

/// Who was observed.
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

/// How it was counted, from most to least told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize, strum::Display)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum Source {
    /// Programs on the kernel's tracepoints.
    Bpf,
    /// The same without a clock: counts, causes and waits for a CPU; no times off it, and no neighbours.
    BpfCounts,
    /// The kernel's records of switches (perf): when, and whether voluntary; not why and by whom.
    Perf,
    /// The kernel's own counters in /proc: how many, not why and by whom.
    Proc,
}

/// What a CPU did in the window.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct CpuTime {
    /// Which CPU.
    pub cpu: CpuId,
    /// All switches on it, of whomever.
    pub switches: u64,
    /// Time in tasks.
    pub busy_ns: Nanos,
    /// Time in its idle task.
    pub idle_ns: Nanos,
}

/// Observed tasks that are told apart no further: the threads of one name of one process, or all processes of a name that ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tasks {
    /// The process; none for processes that ended, which are together.
    pub process: Option<u32>,
    /// What its own PID namespace calls the process, where that is another than the observer's, as in a container.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub process_inside: Option<u32>,
    /// The control group of the process, where it was there at the end; hostile text until escaped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub control_group: Option<String>,
    /// The name of its threads, as the kernel keeps it; hostile text until escaped.
    pub name: String,
    /// How many tasks.
    pub count: u64,
    /// Whether they are the kernel's own threads.
    pub is_kernel: bool,
    /// Switches that they asked for by waiting, as the kernel counts them.
    pub voluntary: u64,
    /// Switches that they did not ask for, and calls of sched_yield.
    pub involuntary: u64,
    /// Time on a CPU.
    pub run_ns: Nanos,
    /// Time off the CPU that is over.
    pub off_ns: Nanos,
    /// Of it, time ready to run and waiting for a CPU.
    pub wait_ns: Nanos,
    /// Time that others ran on its CPU while it was off, where it came back to the same CPU.
    pub others_ns: Nanos,
    /// Moves to another thread of the same core, to another core below the same last-level cache, and further.
    pub moved: [u64; 3],
    /// Tasks that were off the CPU at the end ...
    pub off_at_end: u64,
    /// ... and for how long they had been, which `off_ns` does not hold.
    pub off_at_end_ns: Nanos,
    /// Largest resident memory of its process that was seen; none where it was not looked at in time.
    pub resident_bytes: Option<Bytes>,
    /// Most memory that its process touched in a tenth of a second, by pages: the lines touched are at most so many. None where it
    /// was not looked at.
    pub referenced_bytes: Option<Bytes>,
    /// Why they left their CPUs.
    pub causes: Vec<Cause>,
    /// Time off the CPU, of each switch.
    pub off: Histogram,
    /// Wait for a CPU, of each time that it got one again.
    pub wait: Histogram,
    /// Time that others ran meanwhile, of each switch after which it came back to the same CPU.
    pub others: Histogram,
    /// Time on a CPU from a switch to the next one; empty in older records.
    #[serde(default)]
    pub turns: Histogram,
}

impl Tasks {
    /// All switches, voluntary or not.
    pub fn switches(&self) -> u64 {
        self.voluntary.saturating_add(self.involuntary)
    }
}

/// One reason to leave a CPU.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cause {
    /// Why.
    pub why: Why,
    /// Where in the kernel.
    pub entry: Entry,
    /// How often.
    pub switches: u64,
    /// Time off the CPU, together.
    pub off_ns: Nanos,
    /// Of it, time ready to run and waiting for a CPU.
    pub wait_ns: Nanos,
}

/// What another process did to an observed one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pair {
    /// The observed process.
    pub process: u32,
    /// Its name; hostile text until escaped, and empty where there were too many to remember.
    pub process_name: String,
    /// The other process; none for the kernel's threads, which are together. It may be the same: its own threads.
    pub other: Option<u32>,
    /// Name of the other; hostile text until escaped.
    pub name: String,
    /// Time that it ran on the CPU that a task of the observed one had last, while that was off.
    pub ran_ns: Nanos,
    /// How often it did.
    pub runs: u64,
    /// How often it took the CPU from the observed one.
    pub preempted: u64,
    /// How often it ran as the observed one was woken: it woke it, or an interrupt came while it ran. 0 where wakers were not
    /// asked for.
    pub woke: u64,
    /// Time that it ran while a task of the observed one waited for that CPU and could have run: a part of its `wait_ns`.
    #[serde(default)]
    pub kept_waiting_ns: Nanos,
    /// How many runs that were.
    #[serde(default)]
    pub kept_waiting: u64,
}

/// Time inside the scheduler, from its entry to its exit, without what observing took of it: once for each switch from or to an
/// observed task, but for the first one to a new task.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
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
    /// Switches whose cause is not told.
    pub causes: u64,
    /// Runs, preemptions and wake-ups whose other side is not told.
    pub pairs: u64,
    /// Switches and wake-ups that are not in the trace that was asked for.
    #[serde(default)]
    pub events: u64,
    /// Records of switches, of which each is one switch at most; what is left of times before and after is not counted.
    #[serde(default)]
    pub records: u64,
    /// Switches that are in the counts and of which no more is known: the task could not be followed, since it gained rights, or ran
    /// on a CPU that came online later.
    #[serde(default)]
    pub unfollowed: u64,
}

impl Lost {
    /// Whether anything is missing.
    pub fn any(&self) -> bool {
        *self != Lost::default()
    }
}

/// What the observed did together in a stretch of the window, from the end of the one before on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct Moment {
    /// When it ends, from the start of the window on.
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
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct OwnCost {
    /// Time of the programs in the kernel, in the part of the window in which it was measured ...
    pub kernel_ns: Nanos,
    /// ... which is so long ...
    pub measured_ns: Nanos,
    /// ... and saw so many switches on all CPUs.
    pub switches: u64,
    /// CPU time of the observer itself over the whole window.
    pub user_ns: Nanos,
}

/// A limit on CPU time that bound the observed.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct Throttled {
    /// The control group; hostile text until escaped.
    pub group: String,
    /// How often its time was used up.
    pub times: u64,
    /// How long its tasks were kept from running.
    pub throttled_ns: Nanos,
    /// When an observed process was first found in it, from the start on; none where one was in it from the start.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub joined_after_ns: Option<Nanos>,
}

/// Time slices that were extended because a thread was in a critical section that asked for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct SliceExtensions {
    /// How often.
    pub granted: u64,
    /// Of them, how often the thread gave the CPU back in time: a preemption inside of the section less.
    pub yielded: u64,
}

/// A cost in nanoseconds with its interval.
#[derive(Clone, Copy, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Cost {
    /// The centre.
    pub ns: f64,
    /// Lower end.
    pub low_ns: f64,
    /// Upper end.
    pub high_ns: f64,
}

/// What a switch costs on this machine, as `measure` found it.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Calibration {
    /// When it was measured, RFC 3339.
    pub measured_at: String,
    /// A switch to a task that blocks, between processes: the direct cost.
    pub blocked: Option<Cost>,
    /// A switch at sched_yield, which blocks nobody.
    pub yielded: Option<Cost>,
    /// A switch of a preemption out of a timer interrupt, with its half of the interrupt and of all that comes with it; none in older
    /// records, and where it could not be measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preempted: Option<Cost>,
    /// The reload after a switch between tasks that each walk an array in between; smallest array first.
    pub reloads: Vec<Reload>,
    /// What loads take, by size of the memory, smallest first; empty in older records.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub loads: Vec<Load>,
}

/// What a load of one word of a line takes, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Load {
    /// Size of the memory.
    pub size_bytes: Bytes,
    /// One that depends on the one before, in random order.
    pub chase_ns: f64,
    /// The same after all caches were emptied; none where they could not be, or do not hold so much.
    pub emptied_ns: Option<f64>,
    /// The same with one load of each page, which is one of its translation, too.
    pub emptied_by_page_ns: Option<f64>,
    /// One in order that depends on nothing, at the fastest; none in older records.
    pub in_order_ns: Option<f64>,
}

/// What a switch costs a task that walks an array, beyond the direct cost.
#[derive(Clone, Copy, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Reload {
    /// Size of the array.
    pub size_bytes: Bytes,
    /// A walk without a switch before it, in nanoseconds.
    pub walk_ns: f64,
    /// What it takes longer behind a switch, with what the switch itself takes longer for having run cold.
    pub cost: Cost,
}
