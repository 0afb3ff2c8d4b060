//! Watches for other tasks that use the CPU during an injection.

use std::collections::HashMap;

use switchcost_facts::Root;
use switchcost_host::clock::monotonic;
use switchcost_host::live::{Census, ThreadId};
use switchcost_record::injection::Other;
use switchcost_units::{CpuId, Nanos};

/// Time between two checks for other tasks.
const EACH: Nanos = Nanos::seconds(1);

/// Least share of the elapsed time for which another task must have used the CPU to be reported.
const MUCH: f64 = 0.05;

/// CPU time of the other tasks on a CPU: all threads except those of this process, of its child
/// processes, and the measured thread.
pub(super) struct Neighbours {
    cpu: CpuId,
    measured: Option<ThreadId>,
    start: Nanos,
    looked_at: Nanos,
    before: Census,
    used: HashMap<ThreadId, (String, Nanos)>,
}

impl Neighbours {
    pub(super) fn new(cpu: CpuId, measured: Option<ThreadId>) -> Neighbours {
        let (now, before) = (monotonic(), Census::now(&Root::system()));
        Neighbours {
            cpu,
            measured,
            start: now,
            looked_at: now,
            before,
            used: HashMap::new(),
        }
    }

    /// Reads the CPU times of all threads, if the next check is due.
    pub(super) fn look(&mut self) {
        let now = monotonic();
        if now.saturating_sub(self.looked_at) < EACH {
            return;
        }
        self.looked_at = now;
        let census = Census::now(&Root::system());
        self.add(&census);
        self.before = census;
    }

    fn add(&mut self, census: &Census) {
        let own = census.family(std::process::id());
        for (seen, used) in census.used_since(&self.before) {
            let is_there = seen.cpu == self.cpu
                && !own.contains(&seen.id.process)
                && Some(seen.id) != self.measured;
            if is_there && used > Nanos(0) {
                let entry = self
                    .used
                    .entry(seen.id)
                    .or_insert_with(|| (seen.name.clone(), Nanos(0)));
                entry.1 = entry.1 + used;
            }
        }
    }

    /// Returns the tasks that used much CPU time, in descending order.
    pub(super) fn heavy(&self) -> Vec<Other> {
        let elapsed = monotonic().saturating_sub(self.start);
        let least = elapsed.0 as f64 * MUCH;
        let mut heavy: Vec<Other> = self
            .used
            .iter()
            .filter(|(_, (_, used))| used.0 as f64 >= least)
            .map(|(id, (name, used))| Other {
                process: id.process,
                name: name.clone(),
                cpu_ns: *used,
            })
            .collect();
        heavy.sort_by_key(|other| std::cmp::Reverse(other.cpu_ns));
        heavy
    }
}
