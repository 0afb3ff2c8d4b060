//! Reads the CPU quotas of the observed tasks: how often their control groups used a quota up, and
//! for how long the tasks were throttled.

use std::collections::{BTreeMap, BTreeSet};

use switchcost_facts::{CpuThrottling, Root, cpu_groups, cpu_throttling};
use switchcost_record::observation::Throttled;
use switchcost_units::Nanos;

/// Maximum number of control groups whose statistics are read.
const GROUPS: usize = 64;
/// Maximum number of processes whose control groups are looked up at a time.
const PROCESSES: usize = 64;
/// Time between two reads.
const EACH: Nanos = Nanos::millis(200);

/// Throttling of control groups since the first read.
pub(crate) struct Quotas {
    began: Nanos,
    looked_at: Nanos,
    groups: BTreeMap<String, Group>,
    /// Processes whose control groups have been looked up.
    known: BTreeSet<u32>,
    /// Texts of /proc/PID/cgroup so far. Equal texts mean equal groups.
    seen: BTreeSet<String>,
    /// ID of the process at which the next lookup begins.
    next: u32,
}

struct Group {
    since_first: CpuThrottling,
    last: CpuThrottling,
    /// Time after the start at which an observed process joined the group; `None` if it may always
    /// have been in it.
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

    /// Reads the statistics again if 200 ms have passed. A group may be gone by the end, and a
    /// process may move to another group.
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
            times: group.since_first.times,
            throttled_ns: group.since_first.time,
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
            let Some(now) = cpu_throttling(root, folder) else {
                continue;
            };
            // A group that was removed and created again under the same name counts from 0.
            let is_another = now.times < group.last.times || now.time < group.last.time;
            let before = if is_another {
                CpuThrottling::default()
            } else {
                group.last
            };
            group.since_first.times += now.times - before.times;
            group.since_first.time.0 += now.time.0 - before.time.0;
            group.last = now;
        }
    }

    /// Looks up the control groups of some processes; if there are many, each call looks up
    /// different ones. A process that is looked up for the first time may always have been in its
    /// group.
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
                    since_first: CpuThrottling::default(),
                    last: now,
                    joined,
                });
            }
        }
    }
}
