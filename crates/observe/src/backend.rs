use std::collections::BTreeSet;

use switchcost_record::observation::{Event, Observation};
use switchcost_units::Nanos;

use crate::kernel::NoBpf;
use crate::subject::GroupId;
use crate::totals::Totals;

/// A source of counts that also controls the passing of time. [`crate::Observer`] is the real one;
/// tests have others.
pub trait Backend {
    /// Returns the time by CLOCK_MONOTONIC.
    fn now(&self) -> Nanos;

    /// Waits for this long.
    fn pause(&mut self, time: Nanos);

    /// Returns the CPU time of this process so far.
    fn own_cpu_time(&self) -> Nanos;

    /// Observes these processes, and their future children. Processes that are already observed
    /// remain so.
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

    /// Collects the counts of tasks that have ended. Must be called several times per second.
    fn tick(&mut self);

    /// Passes on the switches and wake-ups since the last call, if requested; events of one CPU are
    /// in order. Must be called several times per second, because events for which there is no room
    /// are lost and counted.
    fn take_events(&mut self, take: &mut dyn FnMut(Event));

    /// Returns the observed processes that have not ended as far as is known; some may have ended
    /// already.
    fn processes(&self) -> BTreeSet<u32>;

    /// Returns the sums over all observed tasks.
    fn totals(&self) -> Totals;

    /// Returns why the tracing of calls ended early, if it was requested.
    fn calls_refused(&self) -> Option<String> {
        None
    }

    /// Returns the counts so far; the observation continues. Facts that only the loop knows (the
    /// subject, the window, its CPU time) are missing, and starts of waits are by CLOCK_MONOTONIC.
    ///
    /// # Errors
    /// If the counts cannot be read.
    fn snapshot(&mut self) -> Result<Observation, NoBpf>;

    /// Ends the observation, and returns all counts and the stacks, whose functions have no names
    /// yet.
    ///
    /// # Errors
    /// If the counts cannot be read any more.
    fn finish(self) -> Result<Observation, NoBpf>;
}
