//! What is counted, whatever the way.

use switchcost_observation::{
    CpuTime, InScheduler, LongWait, Lost, OwnCost, Pair, SampledStacks, Source, Tasks, Waits,
};
use switchcost_units::Nanos;

/// What is counted besides switches.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    /// Which task woke which: it makes a switch dearer by a third more.
    pub wants_wakers: bool,
    /// Each switch and wake-up of the observed, one by one: see [`Backend::take_events`].
    pub wants_events: bool,
    /// How long the scheduler takes at each switch, where the kernel has tracepoints at its entry and exit.
    pub wants_scheduler_time: bool,
    /// Counts and causes alone, without a clock: no times off the CPU, no neighbours, no memory.
    pub counts_only: bool,
    /// How much memory is touched, for which the kernel's marks of pages are cleared now and then.
    pub may_mark_pages: bool,
    /// So many switches a second have the user's stack sampled.
    pub stacks_per_second: Option<u32>,
    /// Whether to do without programs in the kernel, even where it would take them.
    pub without_bpf: bool,
}

/// What was counted.
#[derive(Clone, Debug)]
pub struct Counted {
    /// How.
    pub source: Source,
    /// Why not in a way that tells more.
    pub not_counted_by: Vec<String>,
    /// What each CPU did.
    pub cpus: Vec<CpuTime>,
    /// The observed tasks.
    pub tasks: Vec<Tasks>,
    /// What others did to them.
    pub pairs: Vec<Pair>,
    /// Their waits for a CPU behind no process that is remembered.
    pub waits: Vec<Waits>,
    /// The longest of their waits for a CPU; when each began is by CLOCK_MONOTONIC.
    pub longest_waits: Vec<LongWait>,
    /// How long the scheduler took at switches of the observed; none where that was not asked for, or the kernel does not show it.
    pub in_scheduler: Option<InScheduler>,
    /// What found no room.
    pub lost: Lost,
    /// What counting cost in the kernel; the user's side is left at 0. None where it is not known.
    pub own_cost: Option<OwnCost>,
    /// Stacks, where they were asked for and it is over; without functions.
    pub stacks: Option<SampledStacks>,
}

/// Sums over all observed tasks, those that have ended included.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Switches that they asked for by waiting.
    pub voluntary: u64,
    /// Switches that they did not ask for, and calls of sched_yield.
    pub involuntary: u64,
    /// Time on a CPU, by the kernel's own account.
    pub run: Nanos,
    /// Time ready to run and waiting for a CPU that is over.
    pub wait: Nanos,
}

impl Totals {
    pub(crate) fn add(&mut self, other: Totals) {
        self.voluntary += other.voluntary;
        self.involuntary += other.involuntary;
        self.run.0 += other.run.0;
        self.wait.0 += other.wait.0;
    }
}
