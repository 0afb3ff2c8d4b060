//! Observes with the kernel's own counters in /proc: the number of switches, and the times for
//! which tasks ran and waited. The counters give no reasons, and do not show other tasks. A task
//! that ends between two reads is counted up to the last read.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use switchcost_facts::Root;
use switchcost_record::observation::{Lost, Observation, OwnCost, Source};
use switchcost_units::Nanos;
use zerocopy::FromZeros;

use crate::container;
use crate::kernel_counts::is_alive;
use crate::layout::{self, task_state};
use crate::memory::Memory;
use crate::subject::{START, fields_of, kernel_name, process_of};
use crate::sums::Sums;
use crate::totals::Totals;

/// Maximum number of live tasks that are read. Each read takes two files.
const TASKS: usize = 4096;

/// Index of the bottom of the stack among the fields of /proc/PID/stat after the name.
const STACK: usize = 25;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Counters {
    voluntary: u64,
    involuntary: u64,
    run_ns: u64,
    wait_ns: u64,
}

impl Counters {
    /// Whether a task that had these counters may have `later` ones now.
    fn may_become(&self, later: &Counters) -> bool {
        self.voluntary <= later.voluntary
            && self.involuntary <= later.involuntary
            && self.run_ns <= later.run_ns
            && self.wait_ns <= later.wait_ns
    }
}

/// What tells a task from a later one with the same ID.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Identity {
    start: u64,
    /// Bottom of the stack of the task's program, which each exec sets anew; 0 if unknown. A
    /// thread that executes a program takes over the start time and ID of its process.
    stack: u64,
}

struct Task {
    name: [u8; 16],
    process_name: [u8; 16],
    identity: Identity,
    first: Counters,
    last: Counters,
    /// Number of the last tick that found the task.
    found_at: u64,
}

impl Task {
    fn new(process: u32, thread: u32, now: Counters, found_at: u64) -> Task {
        Task {
            name: kernel_name(process, thread),
            process_name: kernel_name(process, process),
            identity: identity(process, thread).unwrap_or_default(),
            first: now,
            last: now,
            found_at,
        }
    }

    fn since_first(&self) -> Totals {
        let (first, last) = (&self.first, &self.last);
        Totals {
            voluntary: last.voluntary.saturating_sub(first.voluntary),
            involuntary: last.involuntary.saturating_sub(first.involuntary),
            run: Nanos(last.run_ns.saturating_sub(first.run_ns)),
            wait: Nanos(last.wait_ns.saturating_sub(first.wait_ns)),
        }
    }
}

#[derive(Default)]
pub(crate) struct ByProc {
    is_all: bool,
    processes: BTreeSet<u32>,
    /// Thread IDs of observed threads whose process is not observed as a whole.
    threads: BTreeSet<u32>,
    /// Process IDs of children that observed processes started before the observation. These
    /// children are not observed.
    older: BTreeSet<u32>,
    tasks: BTreeMap<(u32, u32), Task>,
    /// Counts of tasks that have ended.
    ended: Sums,
    ended_totals: Totals,
    ticks: u64,
    /// Number of tasks for which there was room.
    found: usize,
    /// Number of tasks that the kernel had ever started before the observation, and number of live
    /// tasks; `None` unless all tasks are observed.
    before: Option<(u64, usize)>,
    /// Thread IDs of this process, which is not observed. The kernel counts its new threads, too.
    own: BTreeSet<u32>,
    /// Process ID and thread ID of the tasks for which there was no room.
    no_room: BTreeSet<(u32, u32)>,
}

impl ByProc {
    pub(crate) fn add(&mut self, processes: &[u32]) {
        for &process in processes
            .iter()
            .filter(|process| !self.processes.contains(process))
        {
            let tasks = numbers(&format!("/proc/{process}/task"));
            self.older
                .extend(tasks.flat_map(|task| children(process, task)));
        }
        self.processes.extend(processes);
        self.tick();
    }

    pub(crate) fn add_threads(&mut self, threads: &[u32]) {
        self.threads.extend(threads);
        self.tick();
    }

    pub(crate) fn add_all(&mut self) {
        self.is_all = true;
        let started = started();
        self.tick();
        self.before = started.map(|started| (started, self.found_tasks()));
    }

    /// Reads the counters of all observed tasks. A new child is observed from the first read that
    /// finds it.
    pub(crate) fn tick(&mut self) {
        if self.is_all {
            self.processes = numbers("/proc")
                .filter(|&process| process != std::process::id())
                .collect();
            self.own.extend(numbers("/proc/self/task"));
        }
        self.ticks += 1;
        // Other processes may soon have the IDs of those that are gone.
        self.older.retain(|&process| is_listed(process));
        self.processes.retain(|&process| is_listed(process));
        self.threads.retain(|&thread| is_listed(thread));
        let mut ahead: Vec<u32> = self.processes.iter().copied().collect();
        while let Some(process) = ahead.pop() {
            for task in numbers(&format!("/proc/{process}/task")) {
                self.look_at(process, task);
                if !self.is_all {
                    let young = children(process, task)
                        .into_iter()
                        .filter(|child| !self.older.contains(child));
                    ahead.extend(young.filter(|&child| self.processes.insert(child)));
                }
            }
        }
        for thread in self.threads.clone() {
            if let Some(process) = process_of(&Root::system(), thread)
                .filter(|process| !self.processes.contains(process))
            {
                self.look_at(process, thread);
            }
        }
        // A task is missing for one tick before it is seen under the ID of its process.
        let is_gone = |task: &Task| task.found_at + 1 < self.ticks;
        let gone = self.tasks.iter().filter(|(_, task)| is_gone(task));
        let gone: Vec<(u32, u32)> = gone.map(|(&key, _)| key).collect();
        gone.into_iter().for_each(|key| self.end(key));
    }

    /// Returns the processes that have observed tasks. Some may have ended.
    pub(crate) fn processes(&self) -> BTreeSet<u32> {
        self.tasks.keys().map(|&(process, _)| process).collect()
    }

    pub(crate) fn totals(&self) -> Totals {
        let mut totals = self.ended_totals;
        self.tasks
            .values()
            .for_each(|task| totals.add(task.since_first()));
        totals
    }

    /// Returns the number of tasks that were found by any read.
    fn found_tasks(&self) -> usize {
        self.found + self.no_room.len() + self.own.len()
    }

    /// Returns the number of tasks that started and ended between two reads.
    fn unseen(&self) -> u64 {
        let Some(((before, there), now)) = self.before.zip(started()) else {
            return 0;
        };
        now.saturating_sub(before)
            .saturating_sub((self.found_tasks() - there) as u64)
    }

    fn look_at(&mut self, process: u32, thread: u32) {
        let Some(mut now) = counters(process, thread) else {
            return;
        };
        let key = (process, thread);
        let Some(task) = self.tasks.get_mut(&key) else {
            return self.insert(key, now);
        };
        task.found_at = self.ticks;
        if task.last == now {
            return;
        }
        let before = task.identity;
        let mut identity = identity(process, thread).unwrap_or(before);
        if identity.start != before.start {
            self.end(key);
            return self.insert(key, now);
        }
        // A first thread that has ended has no stack, but another thread may still execute.
        if identity.stack == 0 {
            identity.stack = before.stack;
        }
        let may_be_same = task.last.may_become(&now) && identity == before;
        if process == thread && !may_be_same {
            // The counters may be those before the exec.
            now = counters(process, thread).unwrap_or(now);
            self.take_over(process, &now);
        }
        let (name, process_name) = (kernel_name(process, thread), kernel_name(process, process));
        let task = self
            .tasks
            .entry(key)
            .or_insert_with(|| Task::new(process, thread, now, self.ticks));
        // The task may have executed another program since the last read.
        (task.name, task.process_name) = (name, process_name);
        (task.identity, task.last, task.found_at) = (identity, now, self.ticks);
    }

    fn insert(&mut self, key: (u32, u32), now: Counters) {
        if self.tasks.len() >= TASKS {
            self.no_room.insert(key);
            return;
        }
        self.found += usize::from(!self.no_room.contains(&key));
        self.tasks
            .insert(key, Task::new(key.0, key.1, now, self.ticks));
    }

    /// Finds the thread that has executed another program, and gives it the ID of its process. It
    /// is the one whose last counters come closest to the present ones.
    fn take_over(&mut self, process: u32, now: &Counters) {
        let of_process = self.tasks.range((process, 0)..=(process, u32::MAX));
        let executed = of_process
            .filter(|(_, task)| task.last.may_become(now))
            .max_by_key(|(_, task)| {
                (
                    task.last.run_ns,
                    task.last.voluntary + task.last.involuntary,
                )
            })
            .map(|(&key, _)| key);
        let first = (process, process);
        if executed != Some(first) {
            self.end(first);
            let task = executed.and_then(|key| self.tasks.remove(&key));
            self.tasks.extend(task.map(|task| (first, task)));
        }
    }

    fn end(&mut self, key: (u32, u32)) {
        if let Some(task) = self.tasks.remove(&key) {
            self.ended_totals.add(task.since_first());
            add_to(&mut self.ended, key, &task, true);
        }
    }

    /// Returns the counts so far. `empty` is the record without counts.
    pub(crate) fn snapshot(&mut self, empty: &Observation) -> Observation {
        self.tick();
        let mut sums = self.ended.clone();
        for (&key, task) in &self.tasks {
            add_to(&mut sums, key, task, !is_alive(key.1));
        }
        Observation {
            source: Source::Proc,
            tasks: sums.into_tasks(),
            lost: Lost {
                tasks: self.no_room.len() as u64 + self.unseen(),
                ..Lost::default()
            },
            // The whole cost of this source is CPU time of this process.
            own_cost: Some(OwnCost::default()),
            ..empty.clone()
        }
    }
}

fn add_to(sums: &mut Sums, (process, thread): (u32, u32), task: &Task, has_ended: bool) {
    let mut counted = layout::Task::new_zeroed();
    let since = task.since_first();
    (counted.tgid, counted.pid) = (process, thread);
    (counted.name, counted.process_name) = (task.name, task.process_name);
    counted.state = if has_ended {
        task_state::ENDED
    } else {
        task_state::IN_USE
    };
    (counted.voluntary, counted.involuntary) = (since.voluntary, since.involuntary);
    (counted.run_ns, counted.wait_ns) = (since.run.0, since.wait.0);
    sums.add(&counted, None, Nanos(0), &Memory::default());
}

/// Reads the kernel's counters of a task; `None` if the task has ended.
fn counters(process: u32, thread: u32) -> Option<Counters> {
    let folder = format!("/proc/{process}/task/{thread}");
    // The name in this file may contain any bytes.
    let status = Root::system().read(&format!("{folder}/status")).ok()?;
    let field = |name| {
        let value = status
            .lines()
            .find_map(|line: &str| line.strip_prefix(name))?;
        value.trim().parse().ok()
    };
    // The times for which the task ran and waited, in nanoseconds. Some kernels lack them.
    let times = fs::read_to_string(format!("{folder}/schedstat")).unwrap_or_default();
    let mut times = times
        .split_whitespace()
        .map(|time| time.parse().unwrap_or(0));
    Some(Counters {
        voluntary: field("voluntary_ctxt_switches:")?,
        involuntary: field("nonvoluntary_ctxt_switches:")?,
        run_ns: times.next().unwrap_or(0),
        wait_ns: times.next().unwrap_or(0),
    })
}

fn identity(process: u32, thread: u32) -> Option<Identity> {
    let fields = fields_of(&Root::system(), &format!("/proc/{process}/task/{thread}"))?;
    let field = |at: usize| fields.get(at)?.parse().ok();
    Some(Identity {
        start: field(START)?,
        stack: field(STACK)?,
    })
}

/// Whether there is a process or thread with this ID.
fn is_listed(number: u32) -> bool {
    fs::metadata(format!("/proc/{number}")).is_ok()
}

/// Returns the number of tasks that the kernel has started since boot; `None` in a PID namespace,
/// from which not all tasks are visible.
fn started() -> Option<u64> {
    let stat = fs::read_to_string("/proc/stat")
        .ok()
        .filter(|_| container::is_outside())?;
    stat.lines()
        .find_map(|line| line.strip_prefix("processes "))?
        .trim()
        .parse()
        .ok()
}

fn children(process: u32, task: u32) -> Vec<u32> {
    let text =
        fs::read_to_string(format!("/proc/{process}/task/{task}/children")).unwrap_or_default();
    text.split_whitespace()
        .filter_map(|number| number.parse().ok())
        .collect()
}

/// Returns the names in a folder that are numbers.
fn numbers(folder: &str) -> impl Iterator<Item = u32> + use<> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

#[cfg(test)]
mod tests;
