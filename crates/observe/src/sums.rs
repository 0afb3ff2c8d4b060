//! Adds up the counts of tasks. Live threads of one process that have the same name are a group,
//! and so are all ended tasks with the same name.

use std::collections::BTreeMap;

use switchcost_record::observation::{
    Cause, CountedTurns, Entry, FutexWait, Histogram, Pair, Tasks, Waits, Why,
};
use switchcost_units::Nanos;
use syscalls::Sysno;

use crate::layout::{self, KERNEL_THREAD, Neighbour, Task, process, task_state};
use crate::memory::Memory;

/// Maximum number of groups of tasks. All others are one more group, because names are arbitrary
/// and there may be any number of them.
const GROUPS: usize = 8192;

/// Name of the group of all remaining tasks.
const OTHERS: &str = "(others)";

/// Name that the record uses for the Go runtime.
const GO: &str = "Go";

/// Identity of a group of tasks.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Key {
    pub(crate) process: Option<u32>,
    pub(crate) process_name: String,
    pub(crate) name: String,
    pub(crate) is_kernel: bool,
}

/// Counts of live tasks by process and name, and of ended tasks by name.
#[derive(Clone, Default)]
pub(crate) struct Sums {
    groups: BTreeMap<Key, Tasks>,
    names: BTreeMap<u32, String>,
    pairs: BTreeMap<(u32, u32), Pair>,
    waits: BTreeMap<u32, Waits>,
    pub(crate) lost_pairs: u64,
    /// Number of switches for reasons that this program does not know.
    pub(crate) lost_causes: u64,
}

impl Sums {
    /// Adds the counts of a task and of its hardware counters, as of time `now`.
    pub(crate) fn add(
        &mut self,
        task: &Task,
        counted: Option<&CountedTurns>,
        now: Nanos,
        memory: &Memory,
    ) {
        let text = |name| String::from_utf8_lossy(trim_at_zero(name)).into_owned();
        let (name, process_name) = (text(&task.name), text(&task.process_name));
        self.add_waits(task);
        let has_ended = task.state == task_state::ENDED;
        self.keep_name(task.tgid, has_ended, &process_name);
        let mut key = Key {
            process: (!has_ended).then_some(task.tgid),
            process_name,
            name,
            is_kernel: task.flags & KERNEL_THREAD != 0,
        };
        if self.groups.len() >= GROUPS && !self.groups.contains_key(&key) {
            key = Key {
                process: None,
                process_name: OTHERS.to_owned(),
                name: OTHERS.to_owned(),
                is_kernel: key.is_kernel,
            };
        }
        let sum = self.groups.entry(key.clone()).or_insert_with(|| empty(key));
        if memory.is_of_go(task.tgid) {
            sum.runtime = Some(GO.to_owned());
        }
        sum.restricts_speculation |= memory.restricts_speculation(task.tgid);
        sum.resident_bytes = sum.resident_bytes.max(memory.resident_of(task.tgid));
        sum.count += 1;
        sum.voluntary += task.voluntary;
        sum.involuntary += task.involuntary;
        sum.run_ns.0 += task.run_ns;
        sum.off_ns.0 += task.off_ns;
        sum.wait_ns.0 += task.wait_ns;
        sum.others_ns.0 += task.others_ns;
        for (sum, moved) in sum.moved.iter_mut().zip(task.moved) {
            *sum += moved;
        }
        if !has_ended && task.off_since > 0 {
            sum.off_at_end += 1;
            sum.off_at_end_ns.0 += now.0.saturating_sub(task.off_since);
        }
        sum.off.add(&histogram(&task.off));
        sum.wait.add(&histogram(&task.wait));
        sum.others.add(&histogram(&task.others));
        sum.turns.add(&histogram(&task.turns));
        if let Some(counted) = counted {
            sum.counted.get_or_insert_default().add(counted);
        }
        for cause in task.causes.iter().filter(|cause| cause.switches > 0) {
            self.lost_causes += add_cause(&mut sum.causes, cause);
        }
        for neighbour in task
            .neighbours
            .iter()
            .filter(|neighbour| neighbour.process != process::NONE)
        {
            self.add_neighbour(task.tgid, neighbour);
        }
    }

    /// Discards the sums of hardware counters of all tasks.
    pub(crate) fn forget_counted(&mut self) {
        self.groups
            .values_mut()
            .for_each(|tasks| tasks.counted = None);
    }

    fn add_waits(&mut self, task: &Task) {
        let parts = [
            task.wait_nobody_ns,
            task.wait_throttled_ns,
            task.wait_moved_ns,
            task.wait_others_ns,
        ];
        if parts != [0; 4] {
            let sum = self.waits_of(task.tgid);
            let sums = [
                &mut sum.nobody_ns,
                &mut sum.throttled_ns,
                &mut sum.moved_ns,
                &mut sum.others_ns,
            ];
            sums.into_iter()
                .zip(parts)
                .for_each(|(sum, part)| sum.0 += part);
        }
    }

    /// Returns the sums of waits of a process. Processes beyond the limit share one entry, whose
    /// number no process has.
    fn waits_of(&mut self, process: u32) -> &mut Waits {
        let has_room = self.waits.len() < GROUPS || self.waits.contains_key(&process);
        let process = if has_room { process } else { process::NONE };
        self.waits.entry(process).or_insert_with(|| Waits {
            process,
            process_name: String::new(),
            nobody_ns: Nanos(0),
            throttled_ns: Nanos(0),
            moved_ns: Nanos(0),
            others_ns: Nanos(0),
        })
    }

    /// Stores the name of a process. A live process replaces an ended one of the same ID.
    fn keep_name(&mut self, process: u32, has_ended: bool, name: &str) {
        let has_room = self.names.len() < GROUPS;
        match self.names.get_mut(&process) {
            Some(known) if !has_ended => name.clone_into(known),
            None if has_room => {
                self.names.insert(process, name.to_owned());
            }
            _ => {}
        }
    }

    /// Adds the effect of another process on a process.
    pub(crate) fn add_neighbour(&mut self, process: u32, neighbour: &Neighbour) {
        let key = (process, neighbour.process);
        let events = neighbour.runs + neighbour.preempted + neighbour.woke + neighbour.kept_waiting;
        if self.pairs.len() >= 2 * GROUPS && !self.pairs.contains_key(&key) {
            self.drop_light_pairs();
        }
        let sum = self.pairs.entry(key).or_insert_with(|| Pair {
            process,
            process_name: String::new(),
            other: (neighbour.process != process::KERNEL).then_some(neighbour.process),
            name: String::from_utf8_lossy(trim_at_zero(&neighbour.name)).into_owned(),
            ran_ns: Nanos(0),
            runs: 0,
            preempted: 0,
            woke: 0,
            kept_waiting_ns: Nanos(0),
            kept_waiting: 0,
        });
        // The two have their latest names: a program may have had another name before its exec.
        if events > events_of(sum) {
            sum.name = String::from_utf8_lossy(trim_at_zero(&neighbour.name)).into_owned();
        }
        sum.ran_ns.0 += neighbour.ran_ns;
        sum.runs += neighbour.runs;
        sum.preempted += neighbour.preempted;
        sum.woke += neighbour.woke;
        sum.kept_waiting_ns.0 += neighbour.kept_waiting_ns;
        sum.kept_waiting += neighbour.kept_waiting;
    }

    /// Keeps the pairs of processes with the most events: runs, preemptions, wake-ups and waits.
    /// Events of all other pairs are counted as lost.
    fn drop_light_pairs(&mut self) {
        let mut sorted: Vec<u64> = self.pairs.values().map(events_of).collect();
        sorted.sort_unstable_by_key(|&events| std::cmp::Reverse(events));
        let Some(&least) = sorted.get(GROUPS) else {
            return;
        };
        // Some of the pairs that have as many events as the first dropped one fit.
        let mut room = GROUPS - sorted.partition_point(|&events| events > least);
        let (lost, mut dropped) = (&mut self.lost_pairs, Vec::new());
        self.pairs.retain(|_, pair| {
            let is_kept = events_of(pair) > least || (events_of(pair) == least && room > 0);
            room -= usize::from(is_kept && events_of(pair) == least);
            if !is_kept {
                *lost += events_of(pair);
                dropped.push((pair.process, pair.kept_waiting_ns));
            }
            is_kept
        });
        for (process, ns) in dropped.into_iter().filter(|(_, ns)| *ns > Nanos(0)) {
            self.waits_of(process).others_ns.0 += ns.0;
        }
    }

    /// Returns the pairs of processes that are kept, in descending order of run time.
    pub(crate) fn take_pairs(&mut self) -> Vec<Pair> {
        self.drop_light_pairs();
        let mut pairs: Vec<Pair> = std::mem::take(&mut self.pairs).into_values().collect();
        for pair in &mut pairs {
            pair.process_name = self.names.get(&pair.process).cloned().unwrap_or_default();
        }
        pairs.sort_by_key(|pair| std::cmp::Reverse((pair.ran_ns, pair.preempted, pair.woke)));
        pairs
    }

    /// Returns, for each process, the parts of its waits for a CPU in which no recorded process had
    /// the CPU.
    pub(crate) fn take_waits(&mut self) -> Vec<Waits> {
        let mut waits: Vec<Waits> = std::mem::take(&mut self.waits).into_values().collect();
        for each in &mut waits {
            each.process_name = self.names.get(&each.process).cloned().unwrap_or_default();
        }
        waits
    }

    /// Returns all groups of tasks, the groups with the most switches first.
    pub(crate) fn into_tasks(self) -> Vec<Tasks> {
        let mut tasks: Vec<Tasks> = self.groups.into_values().collect();
        for each in &mut tasks {
            each.causes
                .sort_by_key(|cause| std::cmp::Reverse(cause.switches));
        }
        tasks.sort_by_key(|tasks| std::cmp::Reverse(tasks.voluntary + tasks.involuntary));
        tasks
    }
}

/// Returns the number of times that one process of a pair ran instead of the other, preempted it,
/// woke it, or kept it waiting.
fn events_of(pair: &Pair) -> u64 {
    pair.runs + pair.preempted + pair.woke + pair.kept_waiting
}

/// Adds a cause. Returns the number of switches of the cause that cannot be reported, because their
/// reason is unknown.
fn add_cause(causes: &mut Vec<Cause>, cause: &layout::Cause) -> u64 {
    let Some(why) = Why::from_repr(cause.reason) else {
        return cause.switches;
    };
    let entry = entry(cause.entry);
    let at = causes
        .iter()
        .position(|known| known.why == why && known.entry == entry)
        .unwrap_or_else(|| {
            causes.push(Cause {
                why,
                entry,
                switches: 0,
                off_ns: Nanos(0),
                wait_ns: Nanos(0),
            });
            causes.len() - 1
        });
    causes[at].switches += cause.switches;
    causes[at].off_ns.0 += cause.off_ns;
    causes[at].wait_ns.0 += cause.wait_ns;
    0
}

fn entry(at: u32) -> Entry {
    match at {
        layout::entry::FAULT => Entry::PageFault,
        layout::entry::INTERRUPT => Entry::Interrupt,
        layout::entry::KERNEL => Entry::Kernel,
        layout::entry::OTHER => Entry::Other,
        layout::entry::FUTEX_LOCK => Entry::Futex(FutexWait::Lock),
        layout::entry::FUTEX_TIMED => Entry::Futex(FutexWait::Timed),
        call => Entry::SystemCall(name_of_call(call)),
    }
}

#[cfg(target_arch = "aarch64")]
use syscalls::arm::Sysno as CompatSysno;
#[cfg(not(target_arch = "aarch64"))]
use syscalls::x86::Sysno as CompatSysno;

/// First number of the system calls that only the x32 ABI has.
const X32_OWN: u32 = 512;

/// Returns the name of a system call according to its ABI, or its number if it has no name.
pub(crate) fn name_of_call(call: u32) -> String {
    let number = call & !(layout::entry::COMPAT | layout::entry::X32);
    let (name, abi) = if call & layout::entry::COMPAT != 0 {
        (
            CompatSysno::new(number as usize).map(|call| call.name()),
            "32-bit call",
        )
    } else {
        let is_shared = call & layout::entry::X32 == 0 || number < X32_OWN;
        let abi = if is_shared { "call" } else { "x32 call" };
        (
            Sysno::new(number as usize)
                .filter(|_| is_shared)
                .map(|call| call.name()),
            abi,
        )
    };
    name.map_or_else(|| format!("{abi} {number}"), str::to_owned)
}

pub(crate) fn histogram(counts: &[u32]) -> Histogram {
    Histogram::new(counts.iter().map(|&count| u64::from(count)))
}

/// Creates a group without tasks.
pub(crate) fn empty(key: Key) -> Tasks {
    Tasks {
        is_kernel: key.is_kernel,
        process_name: (key.process_name != key.name).then_some(key.process_name),
        ..Tasks::empty(key.process, key.name)
    }
}

/// Returns the bytes of a kernel's name before its terminating zero.
pub(crate) fn trim_at_zero(name: &[u8]) -> &[u8] {
    &name[..name
        .iter()
        .position(|&byte| byte == 0)
        .unwrap_or(name.len())]
}

#[cfg(test)]
mod tests {
    use zerocopy::FromZeros;

    use super::*;

    #[test]
    fn of_too_many_pairs_the_lightest_are_lost_and_counted() {
        let mut sums = Sums::default();
        let neighbour = |process, runs| {
            let mut neighbour = Neighbour::new_zeroed();
            (neighbour.process, neighbour.runs) = (process, runs);
            neighbour.kept_waiting_ns = runs;
            neighbour
        };
        let all = 3 * GROUPS as u32;
        for process in 1..=all {
            sums.add_neighbour(1, &neighbour(process, 2));
            sums.add_neighbour(1, &neighbour(7, 10));
        }
        let pairs = sums.take_pairs();
        assert_eq!(pairs.len(), GROUPS);
        let heavy = pairs
            .iter()
            .find(|pair| pair.other == Some(7))
            .expect("it was there most");
        assert_eq!(heavy.runs, 2 + 10 * u64::from(all));
        let reported: u64 = pairs.iter().map(|pair| pair.runs).sum();
        assert_eq!(
            reported + sums.lost_pairs,
            12 * u64::from(all),
            "what is not reported is counted"
        );
        let behind = |pairs: &[Pair]| pairs.iter().map(|pair| pair.kept_waiting_ns.0).sum::<u64>();
        let others: u64 = sums
            .take_waits()
            .iter()
            .map(|waits| waits.others_ns.0)
            .sum();
        assert_eq!(
            behind(&pairs) + others,
            12 * u64::from(all),
            "and no part of a wait is lost"
        );
    }

    #[test]
    fn every_reason_of_the_program_is_a_cause_and_one_that_is_unknown_is_lost_not_a_wait() {
        let cause = |reason| layout::Cause {
            reason,
            switches: 3,
            ..layout::Cause::default()
        };
        for why in Why::variants() {
            let mut causes = Vec::new();
            assert_eq!(
                (add_cause(&mut causes, &cause(why as u32)), causes.len()),
                (0, 1),
                "{why}"
            );
        }
        let unknown = Why::variants().last().expect("there are some") as u32 + 1;
        for unknown in [0, unknown, u32::MAX] {
            let mut task = Task::new_zeroed();
            task.causes[0] = cause(unknown);
            let mut sums = Sums::default();
            sums.add(&task, None, Nanos(0), &Memory::default());
            assert_eq!(sums.lost_causes, 3);
            assert!(
                sums.into_tasks()
                    .iter()
                    .all(|tasks| tasks.causes.is_empty())
            );
        }
    }

    #[test]
    #[cfg(target_arch = "x86_64")]
    fn system_calls_have_the_names_of_their_own_abi() {
        let names = [24, 158, 1000].map(name_of_call);
        assert_eq!(names, ["sched_yield", "arch_prctl", "call 1000"]);
        let names = [24, 158, 1000].map(|call| name_of_call(call | layout::entry::COMPAT));
        assert_eq!(names, ["getuid", "sched_yield", "32-bit call 1000"]);
        let names = [24, 519].map(|call| name_of_call(call | layout::entry::X32));
        assert_eq!(names, ["sched_yield", "x32 call 519"]);
    }
}
