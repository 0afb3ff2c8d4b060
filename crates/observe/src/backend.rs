use std::collections::BTreeSet;

use switchcost_record::observation::{Event, Observation};
use switchcost_units::Nanos;

use crate::kernel::NoBpf;
use crate::subject::GroupId;
use crate::totals::Totals;

/// Drives an observation: counts, and lets time pass. [`crate::Observer`] is the real one; tests have others.
pub trait Backend {
    /// The time by CLOCK_MONOTONIC.
    fn now(&self) -> Nanos;

    /// Lets time pass.
    fn pause(&mut self, time: Nanos);

    /// CPU time of this process so far.
    fn own_cpu_time(&self) -> Nanos;

    /// Observes these processes, and their future children. Processes already observed stay so.
    ///
    /// # Errors
    /// If no more can be observed.
    fn add(&mut self, processes: &[u32]) -> Result<(), NoBpf>;

    /// Observes single threads.
    ///
    /// # Errors
    /// If no more can be observed.
    fn add_threads(&mut self, threads: &[u32]) -> Result<(), NoBpf>;

    /// Observes tasks as soon as they enter a control group or one below it, if the source can; otherwise they are found by polling.
    fn add_group(&mut self, _: GroupId) {}

    /// Observes all tasks, including the kernel's.
    fn add_all(&mut self);

    /// Takes over tasks that have ended. Must be called several times a second.
    fn tick(&mut self);

    /// Hands over the switches and wake-ups since the last call, if requested; those of one CPU are in order. Must be called several times
    /// a second; events that find no room meanwhile are lost and counted.
    fn take_events(&mut self, take: &mut dyn FnMut(Event));

    /// Observed processes that have not ended, as far as known: some may have ended meanwhile.
    fn processes(&self) -> BTreeSet<u32>;

    /// Sums over all observed tasks.
    fn totals(&self) -> Totals;

    /// Why the tracing of calls ended early, if it was requested.
    fn calls_refused(&self) -> Option<String> {
        None
    }

    /// Returns the counts so far; the observation continues. The loop's own facts (the subject, the window, its CPU time) are missing,
    /// and when a wait began is by CLOCK_MONOTONIC.
    ///
    /// # Errors
    /// Where it cannot be read.
    fn snapshot(&mut self) -> Result<Observation, NoBpf>;

    /// Ends the observation, and returns all counts and the stacks, whose functions have no names yet.
    ///
    /// # Errors
    /// Where what was counted cannot be read any more.
    fn finish(self) -> Result<Observation, NoBpf>;
}
