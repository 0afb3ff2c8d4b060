//! Runs and waits that are unfinished when the counts are read. A running task has had its CPU
//! since its last switch, possibly for the whole observation; a waiting task still waits.

use std::collections::{BTreeMap, BTreeSet};

use switchcost_facts::Root;
use switchcost_record::observation::{Why, bucket_of};
use switchcost_units::Nanos;

use crate::layout::{
    BUCKETS, CPUS, Cpu, KERNEL_THREAD, Neighbour, RUNS, SHARES, Sums, TASKS, Task, Wait, process,
    task_state,
};
use crate::subject::{name_in_kernel, name_of, process_of};
use crate::tables::Tables;
use crate::totals::Totals;

/// Index of the task's flags among the fields of /proc/PID/stat after the name.
const FLAGS: usize = 6;
const CPU: usize = 36;

/// Runs and waits that were unfinished at one moment.
pub(crate) struct InFlight {
    pub(crate) now: Nanos,
    /// CPU time of each running task since it was first observed, by slot. The time comes from the
    /// kernel's account, and may be as old as the last timer tick.
    runs: BTreeMap<usize, Nanos>,
}

impl InFlight {
    /// Finds the runs and waits that are unfinished now.
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

    /// Returns the unfinished parts of a CPU's busy time and idle time, in nanoseconds. For a CPU
    /// that has not switched, both are 0, because it is unknown whether the CPU was busy.
    pub(crate) fn cpu_counts(&self, cpu: &Cpu) -> (u64, u64) {
        let ns = self.now.0.saturating_sub(cpu.since);
        match (cpu.switches, cpu.since, cpu.running_pid) {
            (0, ..) | (_, 0, _) => (0, 0),
            (_, _, 0) => (0, ns),
            _ => (ns, 0),
        }
    }

    /// Adds a task's unfinished run to its counts.
    pub(crate) fn add_run(&self, slot: usize, task: &mut Task) {
        task.run_ns = self.run_of(slot, Nanos(task.run_ns)).0;
    }

    /// Returns the totals of the task in a slot, with its unfinished run added.
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

    /// Adds the unfinished wait of a runnable task that is off its CPU. Returns the wait, and the
    /// tasks that ran on that CPU during it; `None` if the task does not wait.
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
            // The task was woken at this time.
            Some(_) if task.queued_since > task.off_since => task.queued_since,
            // The task was runnable when it was first seen, and has not run since.
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
            Some(Some(why)) => self.share_out(task, ns, why.is_involuntary(), tables),
            _ => self.share_out(task, ns, false, tables),
        };
        // The task has been off its CPU for at least this time.
        let off = self.now.0 - std::mem::take(&mut task.off_since);
        task.off_ns += off;
        task.off[bucket_of(Nanos(off), BUCKETS)] += 1;
        task.wait_ns += ns;
        task.wait[bucket_of(Nanos(ns), BUCKETS)] += 1;
        if let Some(cause) = task.causes.get_mut(task.cause as usize) {
            cause.off_ns += off;
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

    /// Whether a task has a CPU although no switch to it was seen, because the BPF program is not
    /// called at every switch.
    fn has_run(&self, slot: usize, task: &Task) -> bool {
        self.runs.get(&slot).is_some_and(|&run| run.0 > task.run_ns)
    }

    /// Divides an unfinished wait among the tasks that have run on the CPU in whose queue the task
    /// waits. The BPF program divides finished waits in the same way.
    fn share_out(
        &self,
        task: &mut Task,
        ns: u64,
        is_queued: bool,
        tables: &Tables,
    ) -> Vec<Neighbour> {
        let cpu = stat(task.pid, CPU).map_or(CPUS, |cpu| cpu as usize);
        if cpu >= CPUS {
            task.wait_others_ns += ns;
            return Vec::new();
        }
        let on = tables.cpu(cpu);
        let running = running_on(&on, self.now.0, tables);
        if is_queued && task.cpu as usize == cpu {
            let then = task.shares_then;
            return share_out_by_sums(task, ns, &on, running, &then, ns);
        }
        let since = Nanos(self.now.0 - ns);
        let oldest = on.runs[(on.newest as usize + 1) % RUNS].end;
        match tables.first_mark(cpu, since) {
            Some(mark) if mark.at < oldest => {
                let since_ns = self.now.0.saturating_sub(mark.at);
                share_out_by_sums(task, ns, &on, running, &mark.sums, since_ns)
            }
            _ => self.share_out_by_runs(task, ns, &on, running),
        }
    }

    /// Divides a wait among the last recorded runs of a CPU. Time before the oldest recorded run
    /// counts as time of unknown tasks.
    fn share_out_by_runs(
        &self,
        task: &mut Task,
        ns: u64,
        on: &Cpu,
        running: Option<Neighbour>,
    ) -> Vec<Neighbour> {
        let (until, mut at) = (self.now.0 - ns, self.now.0);
        let mut shares: Vec<Neighbour> = Vec::new();
        let before = (0..RUNS)
            .map(|back| on.runs[(on.newest as usize).wrapping_sub(back) % RUNS])
            .map(|run| {
                let share = &on.shares[run.share as usize % SHARES];
                (run.end, run.ns, neighbour(share.process, share.name))
            });
        let running = running.map(|by| (self.now.0, by.kept_waiting_ns, by));
        for (end, ns, by) in running.into_iter().chain(before) {
            if at <= until || end == 0 {
                break;
            }
            let last = end.clamp(until, at);
            task.wait_nobody_ns += at - last;
            at = end.saturating_sub(ns).clamp(until, last);
            add_share(&mut shares, by, last - at);
        }
        task.wait_others_ns += at - until;
        shares
    }
}

/// Divides a wait by the time for which each process has run on the CPU since the wait began.
fn share_out_by_sums(
    task: &mut Task,
    ns: u64,
    on: &Cpu,
    running: Option<Neighbour>,
    then: &Sums,
    since_ns: u64,
) -> Vec<Neighbour> {
    let (mut left, mut others) = (ns.min(since_ns), 0);
    let before = ns - left;
    let mut shares: Vec<Neighbour> = Vec::new();
    let mut take = |by: Neighbour, ns: u64| {
        let part = ns.min(left);
        left -= part;
        add_share(&mut shares, by, part);
    };
    if let Some(by) = running {
        take(by, by.kept_waiting_ns);
    }
    for (share, then) in on.shares.iter().zip(then.ns) {
        let since = then.max(share.others_ns);
        others += since - then;
        take(
            neighbour(share.process, share.name),
            share.ns.saturating_sub(since),
        );
    }
    let others = others.min(left);
    task.wait_others_ns += before + others;
    task.wait_nobody_ns += left - others;
    shares
}

/// Returns the slots of the tasks that got a CPU last, one for each CPU.
fn running(tables: &Tables, cpus: impl Iterator<Item = usize>) -> BTreeSet<usize> {
    cpus.map(|cpu| tables.cpu(cpu).running_slot as usize)
        .filter(|&slot| slot > 0)
        .collect()
}

/// Returns the task that runs on a CPU, and for how long so far; `None` if the CPU is idle or has
/// not switched.
fn running_on(on: &Cpu, now: u64, tables: &Tables) -> Option<Neighbour> {
    if on.running_pid == 0 || on.since == 0 {
        return None;
    }
    let slot = on.running_slot as usize;
    let known = (slot > 0 && slot < TASKS).then(|| tables.task(slot));
    let by = match known {
        Some(task) if task.flags & KERNEL_THREAD != 0 => neighbour(process::KERNEL, [0; 16]),
        Some(task) => neighbour(task.tgid, task.process_name),
        None if stat(on.running_pid, FLAGS)? as u32 & KERNEL_THREAD != 0 => {
            neighbour(process::KERNEL, [0; 16])
        }
        None => {
            let process = process_of(&Root::system(), on.running_pid)?;
            neighbour(
                process,
                name_in_kernel(name_of(&Root::system(), process).as_bytes()),
            )
        }
    };
    Some(Neighbour {
        kept_waiting_ns: now.saturating_sub(on.since),
        ..by
    })
}

fn neighbour(process: u32, name: [u8; 16]) -> Neighbour {
    Neighbour {
        process,
        name,
        ..Neighbour::default()
    }
}

/// Adds a part of a wait to the share of one task.
fn add_share(shares: &mut Vec<Neighbour>, by: Neighbour, ns: u64) {
    if ns == 0 {
        return;
    }
    match shares.iter_mut().find(|share| share.process == by.process) {
        Some(share) => share.kept_waiting_ns += ns,
        None => shares.push(Neighbour {
            kept_waiting_ns: ns,
            kept_waiting: 1,
            ..by
        }),
    }
}

/// Returns a field of a thread's stat file, by its index after the name.
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

/// Returns the CPU time of a task since it was first observed; `None` if it has ended, or if the
/// kernel keeps no account.
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
