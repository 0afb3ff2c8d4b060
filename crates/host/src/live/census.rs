//! Lists all threads of the machine at one moment, with the CPU time and the last CPU of each.

use std::collections::{BTreeSet, HashMap};

use switchcost_units::{CpuId, Nanos};

use super::ThreadId;
use switchcost_facts::Root;

/// Number of the scheduling policy SCHED_DEADLINE in linux/sched.h.
const SCHED_DEADLINE: u64 = 6;

/// Flag of kernel threads in linux/sched.h.
const PF_KTHREAD: u64 = 0x0020_0000;

/// A thread of the machine, as seen at one moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen {
    /// Identity of the thread.
    pub id: ThreadId,
    /// Name of the thread, from the kernel. Untrusted: escape it before display.
    pub name: String,
    /// CPU on which the thread runs, or ran last.
    pub cpu: CpuId,
    /// CPU time of the thread since it started.
    pub used: Nanos,
    /// Whether measured tasks cannot preempt the thread, because it has one of the two highest
    /// real-time priorities, or a deadline.
    pub is_unyielding: bool,
    /// Whether this is a kernel thread.
    pub is_kernel: bool,
    parent: u32,
}

impl Seen {
    fn read(root: &Root, process: u32, thread: u32) -> Option<Seen> {
        let folder = format!("/proc/{process}/task/{thread}");
        let used = root.read(&format!("{folder}/schedstat")).ok()?;
        let used = used
            .split_ascii_whitespace()
            .next()?
            .parse()
            .ok()
            .map(Nanos)?;
        Seen::parse(
            &root.read(&format!("{folder}/stat")).ok()?,
            process,
            thread,
            used,
        )
    }

    /// Parses the fields of /proc/PID/task/TID/stat, by their numbers in proc(5). Fields follow the
    /// name, which may contain anything. Returns `None` for a thread that has ended.
    fn parse(stat: &str, process: u32, thread: u32, used: Nanos) -> Option<Seen> {
        let (before, behind) = stat.rsplit_once(") ")?;
        let name = before.split_once(" (")?.1.to_owned();
        let fields: Vec<&str> = behind.split_ascii_whitespace().collect();
        let number = |place: usize| fields.get(place - 3)?.parse::<u64>().ok();
        let is_there = !fields.first()?.starts_with(['Z', 'X']);
        let (parent, began, cpu) = (number(4)? as u32, number(22)?, CpuId(number(39)? as u32));
        let is_unyielding =
            number(40).is_some_and(|priority| priority >= 98) || number(41) == Some(SCHED_DEADLINE);
        is_there.then_some(Seen {
            id: ThreadId {
                process,
                thread,
                began,
            },
            name,
            cpu,
            used,
            is_unyielding,
            is_kernel: number(9).is_some_and(|flags| flags & PF_KTHREAD != 0),
            parent,
        })
    }
}

/// All threads of the machine, found in one pass over /proc.
#[derive(Clone, Debug, Default)]
pub struct Census(Vec<Seen>);

impl Census {
    /// Lists the threads now. Threads that end in the meantime are left out.
    pub fn now(root: &Root) -> Census {
        let numbers = |folder: &str| {
            root.names(folder)
                .into_iter()
                .filter_map(|name| name.parse::<u32>().ok())
        };
        let threads = numbers("/proc").flat_map(|process| {
            numbers(&format!("/proc/{process}/task"))
                .map(move |thread| (process, thread))
                .collect::<Vec<_>>()
        });
        Census(
            threads
                .filter_map(|(process, thread)| Seen::read(root, process, thread))
                .collect(),
        )
    }

    /// Returns all threads of the census.
    pub fn threads(&self) -> impl Iterator<Item = &Seen> {
        self.0.iter()
    }

    /// Returns the IDs of a process and all its descendants.
    pub fn family(&self, process: u32) -> BTreeSet<u32> {
        let mut family = BTreeSet::from([process]);
        loop {
            let more: Vec<u32> = self
                .0
                .iter()
                .filter(|seen| family.contains(&seen.parent))
                .map(|seen| seen.id.process)
                .collect();
            let before = family.len();
            family.extend(more);
            if family.len() == before {
                return family;
            }
        }
    }

    /// Returns the CPU time that each thread of this census has used since an earlier one.
    pub fn used_since<'a>(&'a self, earlier: &Census) -> impl Iterator<Item = (&'a Seen, Nanos)> {
        let before: HashMap<ThreadId, Nanos> =
            earlier.0.iter().map(|seen| (seen.id, seen.used)).collect();
        self.0.iter().map(move |seen| {
            let used = before.get(&seen.id).copied().unwrap_or(Nanos(0));
            (seen, seen.used.saturating_sub(used))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(process: u32, parent: u32, used: u64) -> Seen {
        let id = ThreadId {
            process,
            thread: process,
            began: 7,
        };
        Seen {
            id,
            name: "x".to_owned(),
            cpu: CpuId(0),
            used: Nanos(used),
            is_unyielding: false,
            is_kernel: false,
            parent,
        }
    }

    #[test]
    fn a_family_is_who_was_started_and_who_they_started() {
        let census = Census(vec![
            seen(9, 5, 0),
            seen(5, 3, 0),
            seen(3, 1, 0),
            seen(4, 1, 0),
        ]);
        assert_eq!(census.family(3), BTreeSet::from([3, 5, 9]));
        assert_eq!(census.family(9), BTreeSet::from([9]));
    }

    #[test]
    fn used_is_the_difference_and_all_of_one_that_is_new() {
        let (before, mut after) = (
            Census(vec![seen(3, 1, 100)]),
            Census(vec![seen(3, 1, 150), seen(4, 1, 20)]),
        );
        let used = |after: &Census| {
            after
                .used_since(&before)
                .map(|(_, used)| used.0)
                .collect::<Vec<_>>()
        };
        assert_eq!(used(&after), [50, 20]);
        // The number now belongs to another process.
        after.0[0].id.began = 8;
        assert_eq!(used(&after), [150, 20]);
    }

    #[test]
    fn a_hostile_name_does_not_shift_the_fields() {
        let behind = "4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 222 23 24 25 26 27 28 29 30 31 32 33 34 35 36 37 38 3";
        let found = Seen::parse(&format!("42 (a) S 9 (b) S {behind}"), 40, 42, Nanos(5))
            .expect("it is whole");
        assert_eq!(
            (found.name.as_str(), found.parent, found.id.began, found.cpu),
            ("a) S 9 (b", 4, 222, CpuId(3))
        );
        let is_unyielding = |rest: &str| {
            let stat = format!("42 (a) S {behind} {rest}");
            Seen::parse(&stat, 40, 42, Nanos(5))
                .expect("it is whole")
                .is_unyielding
        };
        assert_eq!(
            ["0 0", "97 1", "98 1", "99 2", "0 6"].map(is_unyielding),
            [false, false, true, true, true]
        );
        assert_eq!(
            Seen::parse(&format!("42 (a) Z {behind}"), 40, 42, Nanos(5)),
            None
        );
        assert_eq!(Seen::parse("42 (a) S 1", 40, 42, Nanos(5)), None);
    }

    #[test]
    fn this_thread_is_found() {
        let own = crate::task::current_tid() as u32;
        let census = Census::now(&Root::system());
        let seen = census
            .threads()
            .find(|seen| seen.id.thread == own)
            .expect("it runs");
        assert_eq!(seen.id.process, std::process::id());
        // Other tests start processes at the same time.
        assert!(census.family(seen.parent).contains(&seen.id.process));
    }
}
