use std::collections::BTreeSet;

use switchcost_record::observation::{Event, Observation};
use switchcost_units::Nanos;

use crate::kernel::NoBpf;
use crate::subject::GroupId;
use crate::totals::Totals;

/// A source of counts, which also controls the passing of time. [`crate::Observer`] reads the
/// kernel; tests have scripted sources.
pub trait Backend {
    /// Returns the time on CLOCK_MONOTONIC.
    fn now(&self) -> Nanos;

    /// Waits for `time`.
    fn pause(&mut self, time: Nanos);

    /// Returns the CPU time of this process so far.
    fn own_cpu_time(&self) -> Nanos;

    /// Observes `processes` and their future children. Processes that are already observed remain
    /// so.
    ///
    /// # Errors
    ///
    /// If the source can observe no more tasks.
    fn add(&mut self, processes: &[u32]) -> Result<(), NoBpf>;

    /// Observes single threads.
    ///
    /// # Errors
    ///
    /// If the source can observe no more tasks.
    fn add_threads(&mut self, threads: &[u32]) -> Result<(), NoBpf>;

    /// Observes each task as soon as it enters the control group or a descendant of that group.
    /// Sources that cannot do this find the tasks by polling.
    fn add_group(&mut self, _: GroupId) {}

    /// Observes each process as soon as it gets one of these names. Sources that cannot do this
    /// find the processes by polling.
    fn add_names(&mut self, _: &[String]) {}

    /// Observes all tasks, including the kernel's.
    fn add_all(&mut self);

    /// Collects the counts of tasks that have ended. Must be called several times per second.
    fn tick(&mut self);

    /// Passes on the switches and wake-ups since the last call, if they were requested. Events of
    /// one CPU are in order. Must be called several times per second: if a buffer is full, events
    /// are lost and counted.
    fn take_events(&mut self, take: &mut dyn FnMut(Event));

    /// Returns the observed processes that have not ended, as far as the source knows. Some may
    /// have ended already.
    fn processes(&self) -> BTreeSet<u32>;

    /// Returns the sums over all observed tasks.
    fn totals(&self) -> Totals;

    /// Returns the counts so far. The observation continues. Facts that only the caller knows (the
    /// subject, the window, the CPU time of this process) are missing, and starts of waits are
    /// times on CLOCK_MONOTONIC.
    ///
    /// # Errors
    ///
    /// If the counts cannot be read.
    fn snapshot(&mut self) -> Result<Observation, NoBpf>;

    /// Ends the observation, and returns all counts and the stacks. The stacks' functions have no
    /// names yet.
    ///
    /// # Errors
    ///
    /// If the counts can no longer be read.
    fn finish(self) -> Result<Observation, NoBpf>;
}
