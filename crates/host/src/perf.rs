//! Counters of the kernel and of the CPU, around the tasks of an experiment.
//!
//! What comes in: the events wanted, and the tasks to watch. What goes out: readings by name, of events that have
//! given the known answer to a known workload on this machine first ([`admit`]). A reading that the kernel had to
//! multiplex is left out, never scaled. What the readings mean is not known here.

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

pub use crate::unavailable::Unavailable;
pub use event::Event;
pub use known_answer::{admit, test_cycles};
pub use share::shares;
pub use source::{CounterGroup, CounterSource, Reading, System};
pub use switches::{SwitchKind, SwitchRecord, SwitchRecords};
pub use work::{CallCounter, Called};

/// Groups of counters, one of hardware and one of software events for each task.
pub struct CounterSet {
    groups: Vec<(Vec<String>, Box<dyn CounterGroup>)>,
}

impl CounterSet {
    /// Opens groups of these events on each task, by the kernel's number of its thread.
    pub fn open(
        source: &dyn CounterSource,
        events: &[Event],
        threads: &[i32],
    ) -> Result<CounterSet, Unavailable> {
        let (hardware, software): (Vec<Event>, Vec<Event>) =
            events.iter().partition(|event| event.is_hardware());
        let mut groups = Vec::new();
        for thread in threads {
            for events in [&hardware, &software]
                .into_iter()
                .filter(|events| !events.is_empty())
            {
                let group = source.open(events, *thread)?;
                groups.push((names(events, &*group), group));
            }
        }
        Ok(CounterSet { groups })
    }

    /// Sets all to zero and lets them count.
    pub fn start(&mut self) -> io::Result<()> {
        self.groups
            .iter_mut()
            .try_for_each(|(_, group)| group.start())
    }

    /// Stops all.
    pub fn stop(&mut self) -> io::Result<()> {
        self.groups
            .iter_mut()
            .try_for_each(|(_, group)| group.stop())
    }

    /// What was counted between start and stop, summed over the tasks. A group that did not count all the time on some
    /// task is left out whole.
    pub fn read(&mut self) -> io::Result<BTreeMap<String, u64>> {
        let mut sums = BTreeMap::new();
        let mut partial = Vec::new();
        for (names, group) in &mut self.groups {
            let reading = group.read()?;
            if reading.is_multiplexed() {
                partial.extend(names.iter().cloned());
            }
            for (name, value) in names.iter().zip(&reading.values) {
                *sums.entry(name.clone()).or_insert(0) += value;
            }
        }
        sums.retain(|name, _| !partial.contains(name));
        Ok(sums)
    }
}

/// Names as perf writes them: with `:u` where the kernel's half is not counted.
fn names(events: &[Event], group: &dyn CounterGroup) -> Vec<String> {
    let suffix = if group.counts_kernel() { "" } else { ":u" };
    events
        .iter()
        .map(|event| format!("{event}{suffix}"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::fake::{Script, Scripted};
    use super::*;

    fn set(source: &Scripted, events: &[Event], threads: &[i32]) -> CounterSet {
        CounterSet::open(source, events, threads).expect("the script opens")
    }

    fn count(set: &mut CounterSet) -> io::Result<BTreeMap<String, u64>> {
        set.start()?;
        set.stop()?;
        set.read()
    }

    #[test]
    fn readings_are_summed_over_the_tasks() {
        let source = Scripted::new([
            (Event::Cycles, Script::Counts(100)),
            (Event::PageFaults, Script::Counts(3)),
        ]);
        let sums = count(&mut set(
            &source,
            &[Event::Cycles, Event::PageFaults],
            &[1, 2, 3],
        ))
        .expect("readings");
        assert_eq!(
            sums,
            BTreeMap::from([("cycles".to_owned(), 300), ("page-faults".to_owned(), 9)])
        );
    }

    #[test]
    fn a_multiplexed_group_is_left_out_and_not_scaled() {
        let source = Scripted::new([
            (Event::Cycles, Script::Multiplexed(100)),
            (Event::Instructions, Script::Counts(7)),
            (Event::PageFaults, Script::Counts(3)),
        ]);
        let events = [Event::Cycles, Event::Instructions, Event::PageFaults];
        let sums = count(&mut set(&source, &events, &[1])).expect("readings");
        assert_eq!(sums, BTreeMap::from([("page-faults".to_owned(), 3)]));
    }

    #[test]
    fn without_the_kernels_half_the_name_says_so() {
        let source = Scripted::new([(Event::Cycles, Script::CountsUserOnly(5))]);
        let sums = count(&mut set(&source, &[Event::Cycles], &[1])).expect("readings");
        assert_eq!(sums, BTreeMap::from([("cycles:u".to_owned(), 5)]));
    }

    #[test]
    fn a_counter_that_cannot_be_read_is_an_error_and_one_that_cannot_be_opened_too() {
        let source = Scripted::new([(Event::Cycles, Script::FailsToRead)]);
        assert!(count(&mut set(&source, &[Event::Cycles], &[1])).is_err());
        let source = Scripted::new([(Event::Cycles, Script::Absent)]);
        assert!(CounterSet::open(&source, &[Event::Cycles], &[1]).is_err());
    }

    #[test]
    fn another_threads_switches_are_counted_and_not_ones_own() {
        let (tell, reported) = std::sync::mpsc::channel();
        let (go, gone) = std::sync::mpsc::channel::<()>();
        let sleeper = std::thread::spawn(move || {
            tell.send(crate::task::current_tid())
                .expect("the test waits");
            gone.recv().expect("the test says when");
            workloads::sleep(16);
        });
        let thread = reported.recv().expect("the thread's number");
        let mut set = match CounterSet::open(&System, &[Event::ContextSwitches], &[thread]) {
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
