//! Finds the thread that does a service's work, and measures what it does without preemption.

use std::collections::BTreeSet;

use switchcost_facts::Root;
use switchcost_host::clock::monotonic;
use switchcost_host::live::{Census, LiveThread, Seen, ThreadId};
use switchcost_record::KernelSwitches;
use switchcost_record::injection::Look;
use switchcost_units::{CpuId, Nanos};

use super::ServiceFault;
use super::Work;
use super::fault::{LEAST_SHARE, LOOK};
use super::work::Counter;

/// Time for which all threads are observed to find the busiest one.
const GLANCE: Nanos = Nanos::millis(300);

/// Least number of pieces of work in a phase. One piece more or less then changes the result by a
/// hundredth.
const LEAST_WORK: f64 = 100.0;

/// Longest phase, even if it contains little work.
const LONGEST_PHASE: Nanos = Nanos::seconds(1);

/// The thread that does the service's work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// Identity of the thread.
    pub id: ThreadId,
    /// Name of the thread. Untrusted: escape it before display.
    pub name: String,
    /// CPU on which the thread ran last.
    pub cpu: CpuId,
    /// Activity of the thread while it was observed.
    pub look: Look,
}

impl Found {
    /// Returns the length of a phase that contains enough work.
    pub fn phase(&self, work: &Work) -> Nanos {
        let rate = self.look.work as f64 / self.look.wall_ns.0.max(1) as f64;
        let enough = Nanos((LEAST_WORK / rate.max(1e-9)) as u64).min(LONGEST_PHASE);
        enough.max(work.least_phase())
    }

    /// Checks that the thread uses the CPU enough to be preempted, and does work that can be
    /// counted. `work` is the user's name for the work.
    fn check(self, work: &str) -> Result<Found, ServiceFault> {
        let Found { id, name, look, .. } = &self;
        let share = look.cpu_ns.0 as f64 / look.wall_ns.0.max(1) as f64;
        if share < LEAST_SHARE {
            return Err(ServiceFault::AtRest {
                process: id.process,
                name: name.clone(),
                share: share * 100.0,
            });
        }
        if look.work == 0 {
            return Err(ServiceFault::NoWork {
                work: work.to_owned(),
                thread: id.thread,
                name: name.clone(),
            });
        }
        Ok(self)
    }
}

/// Finds the busiest thread of a process and its descendants, or the thread with ID `number`.
/// Measures for a second what the thread does. `work` is the user's name for the work.
///
/// # Errors
///
/// If there is no such thread, the thread hardly uses the CPU, or its work cannot be counted.
pub fn find(
    number: u32,
    counted: &Work,
    work: &str,
    cpus: &[CpuId],
    should_stop: &dyn Fn() -> bool,
) -> Result<Found, ServiceFault> {
    let root = Root::system();
    let before = Census::now(&root);
    let members = members(&before, number)?;
    std::thread::sleep(GLANCE.as_duration());
    let now = Census::now(&root);
    let seen = busiest(&now, &before, &members).ok_or(ServiceFault::NoProcess(number))?;
    if seen.is_unyielding {
        return Err(ServiceFault::Unyielding(seen.id.thread));
    }
    look(seen, &members, counted, cpus, should_stop)?.check(work)
}

/// Returns the threads among which the busiest is searched: the threads of a process and its
/// descendants, or a single thread that is not the first of its process.
fn members(census: &Census, number: u32) -> Result<Members, ServiceFault> {
    if census.threads().next().is_none() {
        return Err(ServiceFault::NoAccount);
    }
    let is_named = |seen: &&Seen| seen.id.process == number || seen.id.thread == number;
    if census.threads().filter(is_named).any(|seen| seen.is_kernel) {
        return Err(ServiceFault::Kernel(number));
    }
    let is_process = census.threads().any(|seen| seen.id.process == number);
    let is_thread = census.threads().any(|seen| seen.id.thread == number);
    match (is_process, is_thread) {
        (true, _) => Ok(Members::Family(census.family(number))),
        (false, true) => Ok(Members::Thread(number)),
        (false, false) => Err(ServiceFault::NoProcess(number)),
    }
}

enum Members {
    Family(BTreeSet<u32>),
    Thread(u32),
}

impl Members {
    fn has(&self, seen: &Seen) -> bool {
        match self {
            Members::Family(processes) => processes.contains(&seen.id.process),
            Members::Thread(thread) => seen.id.thread == *thread,
        }
    }
}

/// Returns the member that used the most CPU time between the censuses `before` and `now`, the
/// first one if several are equal; `None` if there is none.
fn busiest<'a>(now: &'a Census, before: &Census, members: &Members) -> Option<&'a Seen> {
    let used = now.used_since(before).filter(|(seen, _)| members.has(seen));
    used.reduce(|most, next| if next.1 > most.1 { next } else { most })
        .map(|(seen, _)| seen)
}

fn look(
    seen: &Seen,
    members: &Members,
    counted: &Work,
    cpus: &[CpuId],
    should_stop: &dyn Fn() -> bool,
) -> Result<Found, ServiceFault> {
    let id = seen.id;
    let mut counter = Counter::start(counted, id.thread, cpus)?;
    let began = monotonic();
    let ended = |_| ServiceFault::Ended(id.process, monotonic().saturating_sub(began));
    let mut thread = LiveThread::open(id).map_err(ended)?;
    let root = Root::system();
    let mut read = || -> Result<(u64, Nanos, KernelSwitches), ServiceFault> {
        Ok((
            counter.read(should_stop)?,
            thread.cpu_time().map_err(ended)?,
            thread.switches().map_err(ended)?,
        ))
    };
    let (census, (work, cpu, switches)) = (Census::now(&root), read()?);
    let start = monotonic();
    while monotonic().saturating_sub(start) < LOOK && !should_stop() {
        std::thread::sleep(LOOK.as_duration() / 50);
    }
    let (work_after, cpu_after, after) = read()?;
    let wall_ns = monotonic().saturating_sub(start);
    let now = Census::now(&root);
    let others = now
        .used_since(&census)
        .filter(|(other, _)| members.has(other) && other.id != id);
    Ok(Found {
        id,
        name: seen.name.clone(),
        cpu: now
            .threads()
            .find(|other| other.id == id)
            .unwrap_or(seen)
            .cpu,
        look: Look {
            wall_ns,
            cpu_ns: cpu_after.saturating_sub(cpu),
            others_cpu_ns: Nanos(others.map(|(_, used)| used.0).sum()),
            work: work_after.saturating_sub(work),
            voluntary: after.voluntary - switches.voluntary,
            involuntary: after.involuntary - switches.involuntary,
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use switchcost_host::perf::Called;

    fn found(cpu: u64, work: u64) -> Found {
        let id = ThreadId {
            process: 7,
            thread: 8,
            began: 0,
        };
        let look = Look {
            wall_ns: Nanos::seconds(1),
            cpu_ns: Nanos(cpu),
            work,
            ..Look::default()
        };
        Found {
            id,
            name: "ser\u{1b}ver".to_owned(),
            cpu: CpuId(0),
            look,
        }
    }

    #[test]
    fn who_does_nothing_is_reported_as_such() {
        let said = |found: Found| {
            found
                .check("syscall:write")
                .map_err(|fault| fault.to_string())
                .err()
        };
        assert_eq!(said(found(500_000_000, 10)), None);
        assert_eq!(
            said(found(3_000_000, 10)).as_deref(),
            Some(
                "process 7 (ser\\u{1b}ver) used the CPU for 0.3 % of 1.00 s, but needs 2 % or more, because only running \
                 code can be preempted; put it under load, continue it if it is stopped, or name the process that does the work"
            )
        );
        assert_eq!(
            said(found(500_000_000, 0)).as_deref(),
            Some(
                "no syscall:write in 1.00 s of thread 8 (ser\\u{1b}ver), so its work cannot be counted; choose another with \
                 --work: strace -c -p 8 shows its system calls"
            )
        );
    }

    #[test]
    fn a_phase_has_enough_work() {
        let calls = Work::Called(Called::SystemCall("write".to_owned()));
        let phase = |work| found(1, work).phase(&calls);
        assert_eq!(
            [phase(100_000), phase(1_000), phase(3)],
            [20, 100, 1000].map(Nanos::millis)
        );
        assert_eq!(
            found(1, 100_000).phase(&Work::Command("count".to_owned())),
            Nanos::seconds(1)
        );
    }

    #[test]
    fn who_is_not_there_is_reported_as_such() {
        let calls = Work::Called(Called::SystemCall("write".to_owned()));
        let fault = find(u32::MAX, &calls, "syscall:write", &[], &|| false)
            .expect_err("no process has that number");
        assert_eq!(
            fault.to_string(),
            "no process with PID 4294967295; list processes with ps -e"
        );
    }
}
