//! Counters of the kernel and of the CPU, around the tasks of an experiment.
//!
//! The input is events and tasks; the output is readings by name. An event is used only if it
//! counts a known workload on this machine right ([`admit`]). A reading that the kernel multiplexed
//! is left out, never scaled. This module does not interpret the readings.

mod cpu_counters;
mod event;
pub mod fake;
mod known_answer;
mod share;
mod source;
mod switches;
mod work;
pub(crate) mod workloads;

use std::collections::BTreeMap;
use std::io;

use switchcost_units::CpuId;

pub use crate::unavailable::Unavailable;
pub use cpu_counters::CpuCounters;
pub use event::Event;
pub use known_answer::{admit, prove};
pub use share::shares;
pub use source::{CounterGroup, CounterSource, CounterTarget, Reading, System};
pub use switches::{AddedThread, SwitchKind, SwitchRecord, SwitchRecords};
pub use work::{CallCounter, Called};

/// Tasks and CPUs to count.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Scope {
    /// Thread IDs of the tasks.
    pub threads: Vec<i32>,
    /// CPUs on which the tasks may run; empty if the tasks are not pinned.
    pub cpus: Vec<CpuId>,
}

impl Scope {
    /// Returns the scope of the calling thread. `cpu` is the CPU to which the thread is pinned, if
    /// any.
    fn own(cpu: Option<CpuId>) -> Scope {
        Scope {
            threads: vec![crate::task::current_tid()],
            cpus: cpu.into_iter().collect(),
        }
    }

    /// Returns the possible targets for counting `events`, the best first. Hardware events are best
    /// counted on the CPU: a counter of a task also counts the kernel's switching of counters, and
    /// misses the rest of the switch.
    fn targets(&self, events: &[Event]) -> Vec<Vec<CounterTarget>> {
        let cpus: Vec<_> = self.cpus.iter().copied().map(CounterTarget::Cpu).collect();
        let threads = self.threads.iter().copied().map(CounterTarget::Thread);
        let is_hardware = events.iter().any(|event| event.is_hardware());
        let cpus = Some(cpus).filter(|cpus| is_hardware && !cpus.is_empty());
        cpus.into_iter().chain([threads.collect()]).collect()
    }
}

/// Groups of counters of the same events: one group for each CPU or for each task.
pub struct CounterSet {
    names: Vec<String>,
    groups: Vec<Box<dyn CounterGroup>>,
}

impl CounterSet {
    /// Opens groups of `events`. All events must be of the CPU, or all of the kernel, as [`shares`]
    /// returns them.
    pub fn open(
        source: &dyn CounterSource,
        events: &[Event],
        scope: &Scope,
    ) -> Result<CounterSet, Unavailable> {
        let mut refusal = Unavailable("there is no task to count on".to_owned());
        for targets in scope.targets(events) {
            let groups = targets
                .into_iter()
                .map(|target| source.open(events, target))
                .collect::<Result<Vec<_>, _>>();
            match groups {
                Ok(groups) => {
                    let names = names(events, &groups);
                    return Ok(CounterSet { names, groups });
                }
                Err(why) => refusal = why,
            }
        }
        Err(refusal)
    }

    /// Whether the counters include kernel mode.
    fn counts_kernel(&self) -> bool {
        self.groups.iter().all(|group| group.counts_kernel())
    }

    /// Resets and starts all counters.
    pub fn start(&mut self) -> io::Result<()> {
        self.groups.iter_mut().try_for_each(|group| group.start())
    }

    /// Stops all counters of the set.
    pub fn stop(&mut self) -> io::Result<()> {
        self.groups.iter_mut().try_for_each(|group| group.stop())
    }

    /// Returns the counts between start and stop by event name, summed over tasks or CPUs. Empty if
    /// a group did not count all the time.
    pub fn read(&mut self) -> io::Result<BTreeMap<String, u64>> {
        let mut sums = BTreeMap::new();
        for group in &mut self.groups {
            let reading = group.read()?;
            if reading.is_multiplexed() {
                return Ok(BTreeMap::new());
            }
            for (name, value) in self.names.iter().zip(&reading.values) {
                *sums.entry(name.clone()).or_insert(0) += value;
            }
        }
        Ok(sums)
    }
}

/// Returns the names of the events as perf writes them, with `:u` if kernel mode is not counted.
fn names(events: &[Event], groups: &[Box<dyn CounterGroup>]) -> Vec<String> {
    let suffix = match groups.iter().all(|group| group.counts_kernel()) {
        true => "",
        false => ":u",
    };
    events
        .iter()
        .map(|event| format!("{event}{suffix}"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::fake::{Script, Scripted};
    use super::*;

    fn scope(threads: &[i32], cpus: &[u32]) -> Scope {
        Scope {
            threads: threads.to_vec(),
            cpus: cpus.iter().copied().map(CpuId).collect(),
        }
    }

    /// Returns the counts of scripted counters of `events` after one start and stop.
    fn count(
        events: &[(Event, Script)],
        threads: &[i32],
        cpus: &[u32],
    ) -> io::Result<Vec<(String, u64)>> {
        let source = Scripted::new(events.iter().copied());
        let events: Vec<Event> = events.iter().map(|(event, _)| *event).collect();
        let mut set = CounterSet::open(&source, &events, &scope(threads, cpus))
            .map_err(|error| io::Error::other(error.0))?;
        set.start()?;
        set.stop()?;
        Ok(set.read()?.into_iter().collect())
    }

    #[test]
    fn readings_are_summed_over_the_tasks() {
        let events = [
            (Event::Cycles, Script::Counts(100)),
            (Event::Instructions, Script::Counts(30)),
        ];
        let sums = count(&events, &[1, 2, 3], &[]).expect("readings");
        assert_eq!(
            sums,
            [("cycles".to_owned(), 300), ("instructions".to_owned(), 90)]
        );
    }

    /// A task's counter of hardware events also counts, at each switch, the kernel's work for the
    /// counters. So hardware events of pinned tasks are counted on the CPUs.
    #[test]
    fn the_cpus_events_are_counted_on_the_cpu_and_the_kernels_on_tasks() {
        for (event, each, cpus, expected) in [
            (Event::Instructions, 100, &[0][..], 100),
            (Event::Instructions, 100, &[0, 1], 200),
            (Event::PageFaults, 3, &[0], 9),
            // Tasks that may run anywhere.
            (Event::Instructions, 100, &[], 300),
        ] {
            let sums = count(&[(event, Script::Counts(each))], &[1, 2, 3], cpus);
            let sums = sums.expect("readings");
            assert_eq!(sums, [(event.to_string(), expected)], "{cpus:?}");
        }
    }

    #[test]
    fn a_multiplexed_group_is_left_out_and_not_scaled() {
        let events = [
            (Event::Cycles, Script::Multiplexed(100)),
            (Event::Instructions, Script::Counts(7)),
        ];
        assert_eq!(count(&events, &[1], &[]).expect("readings"), []);
    }

    #[test]
    fn where_the_cpu_may_not_be_counted_the_name_says_so() {
        let events = [(Event::Cycles, Script::CountsUserOnly(5))];
        let sums = count(&events, &[1, 2], &[0]).expect("of the tasks");
        assert_eq!(sums, [("cycles:u".to_owned(), 10)]);
    }

    #[test]
    fn a_counter_that_cannot_be_read_is_an_error_and_one_that_cannot_be_opened_too() {
        for script in [Script::FailsToRead, Script::Absent] {
            assert!(count(&[(Event::Cycles, script)], &[1], &[]).is_err());
        }
    }

    #[test]
    fn another_threads_switches_are_counted_and_not_ones_own() {
        let (thread, go, sleeper) = crate::task::tests::waiting_thread(|| workloads::sleep(16));
        let mut set =
            match CounterSet::open(&System, &[Event::ContextSwitches], &scope(&[thread], &[])) {
                Ok(set) => set,
                Err(why) => return eprintln!("skipped: {why}"),
            };
        set.start().expect("a counter");
        go.send(()).expect("the thread waits");
        sleeper.join().expect("it only sleeps");
        set.stop().expect("a counter");
        let counts = set.read().expect("a counter");
        match counts.get("context-switches") {
            Some(switches) => assert!((16..40).contains(switches), "{switches}"),
            None => eprintln!("skipped: only the user's half is counted here: {counts:?}"),
        }
    }
}
