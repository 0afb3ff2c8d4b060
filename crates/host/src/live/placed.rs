//! Restricts a thread of another program to one CPU while the thread is measured there.

use std::io;

use rustix::process::Pid;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use rustix::time::{ClockId, clock_gettime};
use switchcost_units::CpuId;

use super::{Census, ThreadId};
use crate::cleanup::{CleanupHelper, Step};
use crate::control::cpu_set;
use switchcost_facts::Root;

/// A thread that is restricted to one CPU until this value is dropped. The thread then gets its
/// previous CPUs back, also if this process is killed.
#[derive(Debug)]
pub struct Placed {
    order: Option<PutBack>,
    _helper: Option<CleanupHelper>,
    allowed: Vec<CpuId>,
}

/// Allowed CPUs that are to be restored for a thread.
#[derive(Clone, Debug, PartialEq, Eq)]
struct PutBack {
    id: ThreadId,
    /// Time of the restriction, in the kernel's ticks since boot.
    since: u64,
    cpu: CpuId,
    allowed: Vec<CpuId>,
}

impl Placed {
    /// Restricts a thread to a CPU.
    ///
    /// # Errors
    ///
    /// If the kernel refuses, or the helper that would undo the restriction cannot be started.
    pub fn place(id: ThreadId, cpu: CpuId) -> io::Result<Placed> {
        let allowed = allowed_cpus(id.thread)?;
        if allowed == [cpu] {
            return Ok(Placed {
                order: None,
                _helper: None,
                allowed,
            });
        }
        let order = PutBack {
            id,
            since: ticks_since_boot(),
            cpu,
            allowed: allowed.clone(),
        };
        // The helper that would undo the restriction starts first.
        let helper = CleanupHelper::start(&Step::Affinity(&order.words()))?;
        set(id.thread, &[cpu])?;
        Ok(Placed {
            order: Some(order),
            _helper: Some(helper),
            allowed,
        })
    }

    /// Returns the CPUs that the thread was allowed before the restriction.
    pub fn allowed(&self) -> &[CpuId] {
        &self.allowed
    }
}

impl Drop for Placed {
    fn drop(&mut self) {
        self.order.iter().for_each(PutBack::perform);
    }
}

impl PutBack {
    fn words(&self) -> [String; 6] {
        let ThreadId {
            process,
            thread,
            began,
        } = self.id;
        let allowed = switchcost_units::format_cpu_list(&self.allowed);
        let cpu = self.cpu.to_string();
        [
            process.to_string(),
            thread.to_string(),
            began.to_string(),
            self.since.to_string(),
            cpu,
            allowed,
        ]
    }

    fn parse(words: &[String]) -> Option<PutBack> {
        let [process, thread, began, since, cpu, allowed] = words else {
            return None;
        };
        let id = ThreadId {
            process: process.parse().ok()?,
            thread: thread.parse().ok()?,
            began: began.parse().ok()?,
        };
        let (since, cpu) = (since.parse().ok()?, cpu.parse().ok()?);
        Some(PutBack {
            id,
            since,
            cpu,
            allowed: switchcost_units::parse_cpu_list(allowed).ok()?,
        })
    }

    /// Restores the allowed CPUs of the thread, and of threads that its process and its descendants
    /// have started since. Threads that no longer have the restriction keep their CPUs.
    fn perform(&self) {
        let census = Census::now(&Root::system());
        let family = census.family(self.id.process);
        let is_it = |id: ThreadId| {
            id == self.id || (id.began >= self.since && family.contains(&id.process))
        };
        let threads = census.threads().map(|seen| seen.id).filter(|id| is_it(*id));
        for id in threads.filter(|id| allowed_cpus(id.thread).is_ok_and(|now| now == [self.cpu])) {
            let _ = set(id.thread, &self.allowed);
        }
    }
}

/// Restores the CPUs described by `words`. Runs in a cleanup helper, if the run was killed.
pub(crate) fn put_back(words: &[String]) {
    PutBack::parse(words).iter().for_each(PutBack::perform);
}

/// Returns the time since boot in ticks of 1/100 s, the unit of a thread's start time on every
/// machine.
fn ticks_since_boot() -> u64 {
    let now = clock_gettime(ClockId::Boottime);
    now.tv_sec as u64 * 100 + now.tv_nsec as u64 / 10_000_000
}

/// Returns the CPUs that a thread is allowed to run on.
///
/// # Errors
///
/// If there is no such thread.
pub fn allowed_cpus(thread: u32) -> io::Result<Vec<CpuId>> {
    let set = sched_getaffinity(pid(thread))?;
    Ok((0..CpuSet::MAX_CPU as u32)
        .filter(|cpu| set.is_set(*cpu as usize))
        .map(CpuId)
        .collect())
}

fn set(thread: u32, cpus: &[CpuId]) -> io::Result<()> {
    Ok(sched_setaffinity(pid(thread), &cpu_set(cpus)?)?)
}

fn pid(thread: u32) -> Option<Pid> {
    Pid::from_raw(i32::try_from(thread).unwrap_or(i32::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Child, Command};

    /// A child process that sleeps; it is killed when dropped.
    struct Sleeper(Child);

    impl Sleeper {
        fn start() -> Sleeper {
            Sleeper(Command::new("sleep").arg("60").spawn().expect("it starts"))
        }

        fn id(&self) -> ThreadId {
            let census = Census::now(&Root::system());
            census
                .threads()
                .find(|seen| seen.id.thread == self.0.id())
                .expect("it sleeps")
                .id
        }
    }

    impl Drop for Sleeper {
        fn drop(&mut self) {
            let _ = self.0.kill();
            let _ = self.0.wait();
        }
    }

    #[test]
    fn words_are_read_back_as_they_were_written() {
        let id = ThreadId {
            process: 3,
            thread: 4,
            began: 5,
        };
        let order = PutBack {
            id,
            since: 6,
            cpu: CpuId(1),
            allowed: vec![CpuId(0), CpuId(1), CpuId(2)],
        };
        assert_eq!(PutBack::parse(&order.words()), Some(order.clone()));
        assert_eq!(PutBack::parse(&order.words()[1..]), None);
    }

    /// Tests that CPUs are restored; on a machine with a single CPU there is nothing to restore.
    #[test]
    fn who_was_placed_is_put_back_and_who_was_moved_since_is_left() {
        let sleeper = Sleeper::start();
        let id = sleeper.id();
        let before = allowed_cpus(id.thread).expect("ours");
        let cpu = before[0];
        let order = PutBack {
            id,
            since: ticks_since_boot(),
            cpu,
            allowed: before.clone(),
        };
        set(id.thread, &[cpu]).expect("ours");
        order.perform();
        assert_eq!(allowed_cpus(id.thread).expect("ours"), before);
        if let Some(&other) = before.get(1) {
            set(id.thread, &[other]).expect("ours");
            order.perform();
            assert_eq!(
                allowed_cpus(id.thread).expect("ours"),
                [other],
                "another process has chosen that"
            );
        }
        set(id.thread, &[cpu]).expect("ours");
        PutBack {
            id: ThreadId {
                began: id.began + 1,
                ..id
            },
            since: id.began + 1,
            ..order
        }
        .perform();
        assert_eq!(
            allowed_cpus(id.thread).expect("ours"),
            [cpu],
            "another thread of that number"
        );
    }
}
