//! Limits on the CPU time of the observed: what their control groups used up, and for how long that kept them from running.

use std::collections::{BTreeMap, BTreeSet};

use switchcost_facts::{CpuThrottling, Root, cpu_groups, cpu_throttling};
use switchcost_record::observation::Throttled;
use switchcost_units::Nanos;

/// Control groups looked at.
const GROUPS: usize = 64;
/// Processes whose control groups are looked for, each time.
const PROCESSES: usize = 64;
/// From one look to the next.
const EACH: Nanos = Nanos::millis(200);

/// The statistics of control groups as they were at first, and as they were last.
pub(crate) struct Quotas {
    began: Nanos,
    looked_at: Nanos,
    groups: BTreeMap<String, Group>,
    /// Processes whose groups have been looked for.
    known: BTreeSet<u32>,
    /// What processes say of their groups, so far: those that say the same are in the same.
    seen: BTreeSet<String>,
    /// The process with which the next look begins.
    next: u32,
}

struct Group {
    first: CpuThrottling,
    last: CpuThrottling,
    /// When an observed process came to it, after the start.
    joined: Option<Nanos>,
}

impl Quotas {
    pub(crate) fn begin(root: &Root, now: Nanos, processes: &BTreeSet<u32>) -> Quotas {
        let (groups, known, seen) = (BTreeMap::new(), BTreeSet::new(), BTreeSet::new());
        let mut quotas = Quotas {
            began: now,
            looked_at: now,
            groups,
            known,
            seen,
            next: 0,
        };
        quotas.find(root, processes, Nanos(0));
        quotas
    }

    /// Looks again: a group may be gone at the end, and a process may have come to another one.
    pub(crate) fn look(
        &mut self,
        root: &Root,
        now: Nanos,
        processes: impl FnOnce() -> BTreeSet<u32>,
    ) {
        if now.saturating_sub(self.looked_at) < EACH {
            return;
        }
        self.looked_at = now;
        self.read(root);
        self.find(root, &processes(), now.saturating_sub(self.began));
    }

    pub(crate) fn end(mut self, root: &Root) -> Vec<Throttled> {
        self.read(root);
        let of = |(folder, group): (String, Group)| Throttled {
            group: folder
                .strip_prefix("/sys/fs/cgroup/")
                .unwrap_or(&folder)
                .to_owned(),
            times: group.last.times.saturating_sub(group.first.times),
            throttled_ns: group.last.time.saturating_sub(group.first.time),
            joined_after_ns: group.joined,
        };
        self.groups
            .into_iter()
            .map(of)
            .filter(|group| group.times > 0)
            .collect()
    }

    fn read(&mut self, root: &Root) {
        for (folder, group) in &mut self.groups {
            group.last = cpu_throttling(root, folder).unwrap_or(group.last);
        }
    }

    /// Looks for groups of some processes: of many others each time. One that is looked at for the first time may have been in its group
    /// all the time.
    fn find(&mut self, root: &Root, processes: &BTreeSet<u32>, after: Nanos) {
        let later = processes.range(self.next..);
        for &process in later.chain(processes.range(..self.next)).take(PROCESSES) {
            self.next = process.saturating_add(1);
            let joined = (!self.known.insert(process)).then_some(after);
            let Ok(said) = root.read(&format!("/proc/{process}/cgroup")) else {
                continue;
            };
            if !self.seen.insert(said) {
                continue;
            }
            for folder in cpu_groups(root, process) {
                let Some(now) =
                    cpu_throttling(root, &folder).filter(|_| self.groups.len() < GROUPS)
                else {
                    continue;
                };
                self.groups.entry(folder).or_insert(Group {
                    first: now,
                    last: now,
                    joined,
                });
            }
        }
    }
}
