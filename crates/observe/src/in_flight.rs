//! What is not over yet when what was counted is read: who runs has had its CPU since its last switch, which may be the whole observation,
//! and who waits for one waits on.

use std::collections::{BTreeMap, BTreeSet};

use switchcost_facts::Root;
use switchcost_observation::{Why, bucket_of};
use switchcost_units::Nanos;

use crate::layout::{
    BUCKETS, CPUS, Cpu, KERNEL_THREAD, Neighbour, RUNS, Run, TASKS, Task, Wait, process, task_state,
};
use crate::subject::{name_of, process_of};
use crate::tables::Tables;
use crate::totals::Totals;

/// Where things are among the fields of /proc/PID/stat, from behind the name.
const FLAGS: usize = 6;
const CPU: usize = 36;

/// Of one moment.
pub(crate) struct InFlight {
    pub(crate) now: Nanos,
    /// CPU time since it was observed by the kernel's own account, by slot of the task. It may be as old as the last timer tick.
    runs: BTreeMap<usize, Nanos>,
}

impl InFlight {
    /// Of now.
    pub(crate) fn look(tables: &Tables, cpus: impl Iterator<Item = usize>) -> InFlight {
        let now = switchcost_host::clock::monotonic();
        let running = running(tables, cpus);
        let may_run = |slot: &usize| {
            tables.state(*slot) == task_state::IN_USE
                && (running.contains(slot) || tables.has_left_none(*slot))
        };
        let run = |slot| Some((slot, cpu_time(&tables.task(slot))?));
        InFlight {
            now,
            runs: (1..TASKS).filter(may_run).filter_map(run).collect(),
        }
    }

    /// What is running of a CPU's own time, in tasks and idle. Which of both is not known of one that has not switched.
    pub(crate) fn of_cpu(&self, cpu: &Cpu) -> (u64, u64) {
        let ns = self.now.0.saturating_sub(cpu.since);
        match (cpu.switches, cpu.since, cpu.running_pid) {
            (0, ..) | (_, 0, _) => (0, 0),
            (_, _, 0) => (0, ns),
            _ => (ns, 0),
        }
    }

    /// Adds the run of a task that has not ended.
    pub(crate) fn add_run(&self, slot: usize, task: &mut Task) {
        task.run_ns = self.run_of(slot, Nanos(task.run_ns)).0;
    }

    /// The same of its sums.
    pub(crate) fn with_run(&self, slot: usize, totals: Totals) -> Totals {
        Totals {
            run: self.run_of(slot, totals.run),
            ..totals
        }
    }

    fn run_of(&self, slot: usize, counted: Nanos) -> Nanos {
        self.runs
            .get(&slot)
            .map_or(counted, |&run| counted.max(run))
    }

    /// Adds the wait of a task that is off its CPU and could run; and that wait by itself, and who ran on that CPU meanwhile.
    pub(crate) fn add_wait(
        &self,
        slot: usize,
        task: &mut Task,
        tables: &Tables,
    ) -> Option<(Wait, Vec<Neighbour>)> {
        let why = task
            .causes
            .get(task.cause as usize)
            .map(|cause| Why::from_repr(cause.reason));
        let since = match why {
            Some(Some(why)) if why.is_involuntary() => task.off_since,
            // It was woken.
            Some(_) if task.queued_since > task.off_since => task.queued_since,
            // It was waiting when it was seen first, and has not run since.
            None if task.voluntary + task.involuntary == 0 => task.off_since,
            _ => return None,
        };
        let ns = self.now.0.checked_sub(since).filter(|&ns| ns > 0)?;
        if task.off_since == 0 || task.state != task_state::IN_USE || self.has_run(slot, task) {
            return None;
        }
        let runs = match why {
            Some(Some(Why::Throttled)) => {
                task.wait_throttled_ns += ns;
                Vec::new()
            }
            _ => self.share_out(task, ns, tables),
        };
        task.wait_ns += ns;
        task.wait[bucket_of(Nanos(ns), BUCKETS)] += 1;
        if let Some(cause) = task.causes.get_mut(task.cause as usize) {
            cause.wait_ns += ns;
        }
        let most = runs.iter().max_by_key(|by| by.kept_waiting_ns);
        let wait = Wait {
            since,
            ns,
            behind_ns: most.map_or(0, |by| by.kept_waiting_ns),
            pid: task.pid,
            tgid: task.tgid,
            behind: most.map_or(process::OTHERS, |by| by.process),
            name: task.name,
            behind_name: most.map_or([0; 16], |by| by.name),
            ..Wait::default()
        };
        Some((wait, runs))
    }

    /// Whether it has a CPU after all: the program is not always called.
    fn has_run(&self, slot: usize, task: &Task) -> bool {
        self.runs.get(&slot).is_some_and(|&run| run.0 > task.run_ns)
    }

    /// Shares a wait out among those that ran meanwhile on the CPU in whose queue it is, as the program does when one is over.
    fn share_out(&self, task: &mut Task, ns: u64, tables: &Tables) -> Vec<Neighbour> {
        let (until, mut at) = (self.now.0 - ns, self.now.0);
        let mut shares: Vec<Neighbour> = Vec::new();
        let on = stat(task.pid, CPU)
            .map(|cpu| cpu as usize)
            .filter(|&cpu| cpu < CPUS)
            .map(|cpu| tables.cpu(cpu));
        let runs = on.iter().flat_map(|on| {
            let before =
                (0..RUNS).map(|back| on.runs[(on.newest as usize).wrapping_sub(back) % RUNS]);
            run_of(on, self.now.0, tables).into_iter().chain(before)
        });
        for run in runs {
            if at <= until || run.end == 0 {
                break;
            }
            let end = run.end.clamp(until, at);
            task.wait_nobody_ns += at - end;
            at = run.end.saturating_sub(run.ns).clamp(until, end);
            if at < end {
                add_share(&mut shares, &run, end - at);
            }
        }
        task.wait_others_ns += at - until;
        shares
    }
}

/// Slots whose tasks came to a CPU last.
fn running(tables: &Tables, cpus: impl Iterator<Item = usize>) -> BTreeSet<usize> {
    cpus.map(|cpu| tables.cpu(cpu).running_slot as usize)
        .filter(|&slot| slot > 0)
        .collect()
}

/// The run of a CPU that is not over; none where it is idle, or has not switched.
fn run_of(on: &Cpu, now: u64, tables: &Tables) -> Option<Run> {
    let slot = on.running_slot as usize;
    let (end, ns) = (now, now.saturating_sub(on.since));
    if on.running_pid == 0 || on.since == 0 {
        return None;
    }
    let known = (slot > 0 && slot < TASKS).then(|| tables.task(slot));
    let run = match known {
        Some(task) if task.flags & KERNEL_THREAD != 0 => Run {
            end,
            ns,
            process: process::KERNEL,
            ..Run::default()
        },
        Some(task) => Run {
            end,
            ns,
            process: task.tgid,
            name: task.name,
            ..Run::default()
        },
        None => {
            let is_kernel = stat(on.running_pid, FLAGS)? as u32 & KERNEL_THREAD != 0;
            let process = process_of(&Root::system(), on.running_pid)?;
            let mut name = [0; 16];
            name.iter_mut()
                .zip(name_of(&Root::system(), process).bytes().take(15))
                .for_each(|(to, from)| *to = from);
            Run {
                end,
                ns,
                process: if is_kernel { process::KERNEL } else { process },
                name,
                ..Run::default()
            }
        }
    };
    Some(run)
}

fn add_share(shares: &mut Vec<Neighbour>, run: &Run, ns: u64) {
    let at = shares
        .iter()
        .position(|share| share.process == run.process)
        .unwrap_or_else(|| {
            shares.push(Neighbour {
                process: run.process,
                name: run.name,
                ..Neighbour::default()
            });
            shares.len() - 1
        });
    shares[at].kept_waiting_ns += ns;
    shares[at].kept_waiting += 1;
}

/// A field of a thread's own line.
fn stat(thread: u32, field: usize) -> Option<u64> {
    let line = Root::system().read(&format!("/proc/{thread}/stat")).ok()?;
    line.rsplit_once(") ")?
        .1
        .split(' ')
        .nth(field)?
        .trim()
        .parse()
        .ok()
}

/// How long a task has had a CPU since it was observed; none where it is gone, or the kernel keeps no such account.
fn cpu_time(task: &Task) -> Option<Nanos> {
    let path = format!("/proc/{}/task/{}/schedstat", task.tgid, task.pid);
    let all: u64 = Root::system()
        .read(&path)
        .ok()?
        .split(' ')
        .next()?
        .parse()
        .ok()?;
    Some(Nanos(all.saturating_sub(task.run_began)))
}
