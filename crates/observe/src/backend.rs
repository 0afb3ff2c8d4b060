use std::collections::BTreeSet;

use switchcost_record::observation::{Event, Observation};
use switchcost_units::Nanos;

use crate::kernel::NoBpf;
use crate::subject::GroupId;
use crate::totals::Totals;

/// What an observation is driven with: it counts, and time passes by it. [`crate::Observer`] is the real one; tests play others.
pub trait Backend {
    /// The time by CLOCK_MONOTONIC.
    fn now(&self) -> Nanos;

    /// Lets time pass.
    fn pause(&mut self, time: Nanos);

    /// CPU time of this process so far.
    fn own_cpu_time(&self) -> Nanos;

    /// Observes these processes, and what they start from here on. Those observed already stay so.
    ///
    /// # Errors
    /// Where no more can be observed.
    fn add(&mut self, processes: &[u32]) -> Result<(), NoBpf>;

    /// The same of single threads.
    ///
    /// # Errors
    /// Where no more can be observed.
    fn add_threads(&mut self, threads: &[u32]) -> Result<(), NoBpf>;

    /// Observes tasks as soon as they come to a control group or to one below it, where that is known; else they are found by looking.
    fn add_group(&mut self, _: GroupId) {}

    /// Observes all tasks, those of the kernel too.
    fn add_all(&mut self);

    /// Keeps up with tasks that end. To be called several times a second.
    fn tick(&mut self);

    /// Hands over the switches and wake-ups since the last time, where they were asked for: those of one CPU in order. To be called
    /// several times a second; what finds no room meanwhile is lost and counted.
    fn take_events(&mut self, take: &mut dyn FnMut(Event));

    /// The observed processes that have not ended, as far as they are known: some may have meanwhile.
    fn processes(&self) -> BTreeSet<u32>;

    /// Sums over all observed tasks.
    fn totals(&self) -> Totals;

    /// Why calls were not traced to the end, if that was asked for.
    fn calls_refused(&self) -> Option<String> {
        None
    }

    /// What was counted so far; the observation goes on. What the loop knows (the subject, the window, its own CPU time) is not filled in,
    /// and when a wait began is by CLOCK_MONOTONIC.
    ///
    /// # Errors
    /// Where it cannot be read.
    fn snapshot(&mut self) -> Result<Observation, NoBpf>;

    /// Ends the observation: the same, and the stacks, whose functions have no names yet.
    ///
    /// # Errors
    /// Where what was counted cannot be read any more.
    fn finish(self) -> Result<Observation, NoBpf>;
}
