//! Observes with the kernel's own counters in /proc: the number of switches, and the times for
//! which tasks ran and waited. The counters give no reasons, and do not show other tasks. A task
//! that ends between two reads is counted up to the last read.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use switchcost_facts::Root;
use switchcost_record::observation::{Lost, Observation, OwnCost, Source, Tasks};
use switchcost_units::Nanos;

use crate::container;
use crate::kernel_counts::is_alive;
use crate::subject::process_of;
use crate::sums::{self, Key};
use crate::totals::Totals;

/// Maximum number of tasks that are read. Each read takes two files.
const TASKS: usize = 4096;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Counters {
    voluntary: u64,
    involuntary: u64,
    run_ns: u64,
    wait_ns: u64,
}

struct Task {
    name: String,
    process_name: String,
    first: Counters,
    last: Counters,
}

impl Task {
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
    /// Number of tasks that the kernel had ever started before the observation, and number of live
    /// tasks; `None` unless all tasks are observed.
    before: Option<(u64, usize)>,
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
        }
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
    }

    /// Returns the processes that were found so far. Some may have ended.
    pub(crate) fn processes(&self) -> BTreeSet<u32> {
        self.tasks.keys().map(|&(process, _)| process).collect()
    }

    pub(crate) fn totals(&self) -> Totals {
        let mut totals = Totals::default();
        self.tasks
            .values()
            .for_each(|task| totals.add(task.since_first()));
        totals
    }

    /// Returns the number of tasks that were found by any read.
    fn found_tasks(&self) -> usize {
        self.tasks.len() + self.no_room.len()
    }

    /// Returns the number of tasks that started and ended between two reads.
    fn unseen(&self) -> u64 {
        let Some(((before, there), now)) = self.before.zip(started()) else {
            return 0;
        };
        now.saturating_sub(before)
            .saturating_sub((self.found_tasks() - there) as u64)
    }

    fn look_at(&mut self, process: u32, number: u32) {
        let folder = format!("/proc/{process}/task/{number}");
        let Some(now) = counters(&folder) else { return };
        let key = (process, number);
        let name = |folder: &str| {
            let name = fs::read(format!("{folder}/comm")).unwrap_or_default();
            String::from_utf8_lossy(&name)
                .trim_end_matches('\n')
                .to_owned()
        };
        let of_process = || name(&format!("/proc/{process}"));
        if let Some(task) = self.tasks.get_mut(&key) {
            // The task may have executed another program since the last read.
            if task.last != now {
                (task.name, task.process_name) = (name(&folder), of_process());
            }
            task.last = now;
        } else if self.tasks.len() < TASKS {
            self.tasks.insert(
                key,
                Task {
                    name: name(&folder),
                    process_name: of_process(),
                    first: now,
                    last: now,
                },
            );
        } else {
            self.no_room.insert(key);
        }
    }

    /// Returns the counts so far. `empty` is the record without counts.
    pub(crate) fn snapshot(&mut self, empty: &Observation) -> Observation {
        self.tick();
        let mut groups: BTreeMap<Key, Tasks> = BTreeMap::new();
        for (&(process, thread), task) in &self.tasks {
            let key = Key {
                process: is_alive(thread).then_some(process),
                process_name: task.process_name.clone(),
                name: task.name.clone(),
                is_kernel: false,
            };
            let sum = groups
                .entry(key.clone())
                .or_insert_with(|| sums::empty(key));
            sum.count += 1;
            let since = task.since_first();
            sum.voluntary += since.voluntary;
            sum.involuntary += since.involuntary;
            sum.run_ns.0 += since.run.0;
            sum.wait_ns.0 += since.wait.0;
        }
        let mut tasks: Vec<Tasks> = groups.into_values().collect();
        tasks.sort_by_key(|tasks| std::cmp::Reverse(tasks.voluntary + tasks.involuntary));
        Observation {
            source: Source::Proc,
            tasks,
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

/// Reads the kernel's counters of a task; `None` if the task has ended.
fn counters(folder: &str) -> Option<Counters> {
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
mod tests {
    use switchcost_host::machine::manifest;

    use super::*;

    fn counted(proc: &mut ByProc) -> Observation {
        proc.snapshot(&Observation::empty(
            manifest(&Root::system()),
            String::new(),
        ))
    }

    #[test]
    fn sleeps_of_a_child_are_voluntary_switches() {
        let script = "for i in 1 2 3 4 5 6 7 8 9 10; do sleep 0.01; done; read line";
        let mut child = std::process::Command::new("sh")
            .args(["-c", script])
            .stdin(std::process::Stdio::piped())
            .spawn()
            .expect("a shell");
        let mut proc = ByProc::default();
        proc.add(&[child.id()]);
        std::thread::sleep(std::time::Duration::from_millis(600));
        let counted = counted(&mut proc);
        child
            .kill()
            .and_then(|()| child.wait())
            .expect("it waits for its line");
        let voluntary: u64 = counted
            .tasks
            .iter()
            .filter(|tasks| tasks.process == Some(child.id()))
            .map(|tasks| tasks.voluntary)
            .sum();
        // It waits for each of ten children, and once for its line.
        assert!(
            (8..60).contains(&voluntary),
            "{voluntary} of {:?}",
            counted.tasks
        );
    }

    #[test]
    fn a_process_that_has_ended_has_only_a_name() {
        let mut child = std::process::Command::new("cat")
            .stdin(std::process::Stdio::piped())
            .spawn()
            .expect("a program");
        let mut proc = ByProc::default();
        proc.add(&[child.id()]);
        let process = |proc: &mut ByProc| counted(proc).tasks[0].process;
        assert_eq!(process(&mut proc), Some(child.id()));
        drop(child.stdin.take());
        child.wait().expect("our child");
        assert_eq!(process(&mut proc), None);
    }

    #[test]
    fn of_all_tasks_those_that_were_not_seen_are_counted_as_lost() {
        if started().is_none() {
            return println!("skipped: this is a PID namespace of its own");
        }
        // Other programs may run `true`, too.
        let folder = tempfile::tempdir().expect("a folder");
        let program = folder.path().join("seen-by-none");
        std::os::unix::fs::symlink("/bin/true", &program).expect("a name of its own");
        let mut proc = ByProc::default();
        proc.add_all();
        for _ in 0..50 {
            assert!(
                std::process::Command::new(&program)
                    .status()
                    .is_ok_and(|status| status.success())
            );
        }
        let counted = counted(&mut proc);
        // Other programs may start tasks, too, and some may have been seen.
        assert!(counted.lost.tasks >= 50, "{:?}", counted.lost);
        assert!(
            !counted
                .tasks
                .iter()
                .any(|tasks| tasks.name == "seen-by-none"),
            "they are gone"
        );
    }

    #[test]
    fn children_that_were_there_before_are_not_observed_and_later_ones_are() {
        let mut parent = std::process::Command::new("sh")
            .args([
                "-c",
                "sleep 60 & read line; sleep 61 & echo; read line; kill %1 %2",
            ])
            .stdin(std::process::Stdio::piped())
            .stdout(std::process::Stdio::piped())
            .spawn()
            .expect("a shell");
        let children = || children(parent.id(), parent.id());
        while children().is_empty() {
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        let older = children();
        let mut proc = ByProc::default();
        proc.add(&[parent.id()]);
        assert_eq!(proc.processes(), BTreeSet::from([parent.id()]));
        let mut lines = parent.stdin.take().expect("a pipe");
        std::io::Write::write_all(&mut lines, b"go\n").expect("it reads");
        let mut answer = [0];
        std::io::Read::read_exact(parent.stdout.as_mut().expect("a pipe"), &mut answer)
            .expect("it has another child");
        proc.tick();
        let seen = proc.processes();
        drop(lines);
        parent.wait().expect("our child");
        assert_eq!(seen.len(), 2, "{seen:?}");
        assert!(
            older.iter().all(|child| !seen.contains(child)),
            "{older:?} and {seen:?}"
        );
    }

    #[test]
    fn tasks_without_room_are_counted_once() {
        let mut proc = ByProc::default();
        let task = || Task {
            name: String::new(),
            process_name: String::new(),
            first: Counters::default(),
            last: Counters::default(),
        };
        // These numbers belong to no thread.
        let full = (0..TASKS as u32).map(|number| ((u32::MAX, u32::MAX - number), task()));
        proc.tasks.extend(full);
        proc.add_threads(&[std::process::id()]);
        proc.tick();
        assert_eq!(counted(&mut proc).lost.tasks, 1);
    }

    #[test]
    fn a_name_may_have_any_bytes() {
        let (_folder, mut child) = crate::subject::tests::start_with_hostile_name();
        let mut proc = ByProc::default();
        proc.add(&[child.id()]);
        let counted = counted(&mut proc);
        drop(child.stdin.take());
        child.wait().expect("our child");
        let names: Vec<&str> = counted
            .tasks
            .iter()
            .map(|tasks| tasks.name.as_str())
            .collect();
        assert_eq!(names, ["a\u{fffd}) \u{fffd}"]);
    }
}
