//! Observes with the perf records that the kernel writes at switches. A record has the time, and
//! whether the task was still runnable. A record has no reason, and there are no records of other
//! tasks. Running threads must belong to this user, or this process must be allowed to trace them.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::fs;
use std::rc::Rc;

use switchcost_facts::Root;
use switchcost_host::clock::monotonic;
use switchcost_host::perf::{AddedThread, SwitchKind, SwitchRecord, SwitchRecords, Unavailable};
use switchcost_record::HostManifest;
use switchcost_record::observation::{Lost, Observation, Source, bucket_of};
use switchcost_units::{CpuId, Nanos};
use zerocopy::FromZeros;

use crate::kernel_counts::{self, KernelCounts};
use crate::layout::{BUCKETS, TASKS, Task, task_state};
use crate::memory::Memory;
use crate::relatives::relatives;
use crate::subject::{kernel_name, process_of};
use crate::sums::Sums;
use crate::totals::Totals;

/// CPU number for a task that has not been on any CPU yet.
const NO_CPU: u32 = u32::MAX;

/// A source that counts until it is dropped.
pub(crate) struct ByPerf {
    records: SwitchRecords,
    /// Records that were read but not counted, because another CPU may have written earlier ones.
    waiting: Vec<SwitchRecord>,
    /// Time at which the last read of the records began.
    looked_at: Nanos,
    relatives: BTreeMap<CpuId, (u32, u32)>,
    /// Observed tasks by thread ID.
    tasks: HashMap<u32, Task>,
    /// For each observed task, by thread ID: the added thread that it is or descends from. Tasks
    /// that descend from this thread have none.
    added: HashMap<u32, Rc<AddedThread>>,
    /// Thread IDs of tasks that could not be recorded.
    refused: HashSet<u32>,
    /// Thread IDs of tasks whose end was reported while a thread with this ID was alive.
    perhaps_ended: HashSet<u32>,
    /// Whether any task was observed, also if all have ended since.
    has_observed: bool,
    /// Thread IDs of this thread and its descendants. Records of these threads arrive, too, but the
    /// threads are not observed.
    own: HashSet<u32>,
    sums: Sums,
    /// Totals of tasks that have ended.
    ended_totals: Totals,
    /// The kernel's own counts of the observed tasks, by which lost records are found.
    kernels: KernelCounts,
    memory: Memory,
    lost: Lost,
}

impl ByPerf {
    /// Starts to record. No task is observed yet.
    pub(crate) fn start(host: &HostManifest) -> Result<ByPerf, Unavailable> {
        Ok(ByPerf {
            records: SwitchRecords::open_for_own_children(&host.cpus_online)?,
            waiting: Vec::new(),
            looked_at: Nanos(0),
            relatives: relatives(&host.cpus_online),
            tasks: HashMap::new(),
            added: HashMap::new(),
            refused: HashSet::new(),
            perhaps_ended: HashSet::new(),
            has_observed: false,
            own: HashSet::from([rustix::thread::gettid().as_raw_nonzero().get() as u32]),
            sums: Sums::default(),
            ended_totals: Totals::default(),
            kernels: KernelCounts::default(),
            memory: Memory::default(),
            lost: Lost::default(),
        })
    }

    /// Observes `processes` and their future children. Fails only if no task has been observed yet
    /// and a thread may not be recorded. Later threads that may not be recorded are counted as
    /// lost, because an error ends the counting by this source.
    pub(crate) fn add(&mut self, processes: &[u32]) -> Result<(), Unavailable> {
        for &process in processes {
            // Threads that start in the meantime are found by the second search, or have a recorded
            // parent.
            self.add_threads(&threads(process))?;
            self.add_threads(&threads(process))?;
        }
        Ok(())
    }

    /// Observes single threads.
    pub(crate) fn add_threads(&mut self, threads: &[u32]) -> Result<(), Unavailable> {
        // Threads that this process starts are known from their records.
        self.take_until(Nanos(u64::MAX));
        for &thread in threads.iter() {
            let is_known = self.tasks.contains_key(&thread) || self.refused.contains(&thread);
            let is_new = kernel_counts::is_alive(thread) && !is_known;
            let Some(process) = process_of(&Root::system(), thread).filter(|_| is_new) else {
                continue;
            };
            let added = if self.own.contains(&thread) {
                Ok(None)
            } else {
                self.records.add(thread).map(|added| Some(Rc::new(added)))
            };
            match added {
                Ok(added) => {
                    self.kernels.begin(thread);
                    self.observe(
                        process,
                        thread,
                        kernel_name(process, thread),
                        kernel_name(process, process),
                        added,
                    );
                }
                Err(_) if !kernel_counts::is_alive(thread) => {}
                Err(why) if !self.has_observed => return Err(why),
                Err(_) => {
                    self.refused.insert(thread);
                    self.lost.tasks += 1;
                }
            }
        }
        Ok(())
    }

    /// Returns the observed processes that have a task which has not ended.
    pub(crate) fn processes(&self) -> BTreeSet<u32> {
        self.tasks.values().map(|task| task.tgid).collect()
    }

    /// Returns the sums over all observed tasks.
    pub(crate) fn totals(&self) -> Totals {
        let mut totals = self.ended_totals;
        self.tasks
            .iter()
            .for_each(|(&thread, task)| totals.add(self.kernels.corrected(thread, task)));
        totals
    }

    /// Counts the switch records up to the previous tick, which have now arrived from all CPUs.
    pub(crate) fn tick(&mut self) {
        self.kernels.look(self.tasks.keys().copied());
        let until = std::mem::replace(&mut self.looked_at, monotonic());
        self.take_until(until);
        let alive = || self.tasks.values().map(|task| task.tgid).collect();
        self.memory.tick(alive);
    }

    /// Ends the observation, and returns its record. `empty` is the record without counts.
    pub(crate) fn finish(mut self, empty: &Observation) -> Observation {
        self.kernels.look_at_all(self.tasks.keys().copied());
        self.take_until(Nanos(u64::MAX));
        for (&thread, task) in &mut self.tasks {
            if !kernel_counts::is_alive(thread) {
                task.state = task_state::ENDED;
            }
        }
        self.snapshot(empty)
    }

    /// Returns the counts so far. `empty` is the record without counts.
    pub(crate) fn snapshot(&mut self, empty: &Observation) -> Observation {
        self.tick();
        let now = monotonic();
        let (mut sums, mut lost) = (self.sums.clone(), self.lost.clone());
        for (&thread, task) in &self.tasks {
            let mut task = *task;
            lost.unfollowed += self.kernels.correct(thread, &mut task);
            sums.add(&task, None, now, &self.memory);
        }
        Observation {
            source: Source::Perf,
            tasks: sums.into_tasks(),
            lost: Lost {
                records: lost.records.max(self.records.lost()),
                ..lost
            },
            ..empty.clone()
        }
    }

    fn take_until(&mut self, until: Nanos) {
        let waiting = &mut self.waiting;
        self.records.read(|record| waiting.push(record));
        // Records of one CPU are in order, and the stable sort keeps this order.
        waiting.sort_by_key(|record| record.at);
        let ripe = waiting.partition_point(|record| record.at < until);
        let later = self.waiting.split_off(ripe);
        for record in std::mem::replace(&mut self.waiting, later) {
            self.take(&record);
        }
    }

    fn take(&mut self, record: &SwitchRecord) {
        let at = record.at.0;
        match record.kind {
            SwitchKind::Started { by_thread, .. } => {
                if self.perhaps_ended.remove(&record.thread) {
                    self.count_previous(record.thread);
                }
                if let Some(parent) = self.tasks.get(&by_thread) {
                    let is_thread = record.process == parent.tgid;
                    let (name, of_process) = (parent.name, parent.process_name);
                    let process_name = if is_thread { of_process } else { name };
                    let added = self.added.get(&by_thread).cloned();
                    self.observe(record.process, record.thread, name, process_name, added);
                } else {
                    self.own.insert(record.thread);
                }
            }
            SwitchKind::Left { could_run } => {
                let Some(task) = self.tasks.get_mut(&record.thread) else {
                    return;
                };
                let since = (task.on_since > 0).then_some(task.on_since);
                task.run_ns += take_since(&mut task.on_since, at).unwrap_or(0);
                task.off_since = at;
                task.cpu = record.cpu.0;
                *(if could_run {
                    &mut task.involuntary
                } else {
                    &mut task.voluntary
                }) += 1;
                let (voluntary, involuntary) = (u64::from(!could_run), u64::from(could_run));
                let one = Totals {
                    voluntary,
                    involuntary,
                    ..Totals::default()
                };
                self.kernels.left(record.thread, since, at, one);
            }
            SwitchKind::Came => self.switched_in(record),
            SwitchKind::Named { name, is_exec } => {
                // An exec ended all other threads, and gave the remaining one the ID of its
                // process.
                let of = |task: &&Task| task.tgid == record.process && task.pid != record.thread;
                let left = self
                    .tasks
                    .values()
                    .find(of)
                    .filter(|_| is_exec)
                    .map(|task| task.pid);
                if let Some(mut task) = left.and_then(|thread| self.tasks.remove(&thread)) {
                    self.kernels.renumber(task.pid, record.thread);
                    let added = self.added.remove(&task.pid);
                    task.pid = record.thread;
                    // The previous task with this ID has ended, and another one has it now.
                    if let Some(first) = self.tasks.insert(record.thread, task) {
                        self.release(record.thread);
                        self.count_ended(first);
                    }
                    self.added.extend(added.map(|added| (record.thread, added)));
                }
                if let Some(task) = self.tasks.get_mut(&record.thread) {
                    task.name = name;
                }
                let threads = self
                    .tasks
                    .values_mut()
                    .filter(|task| task.tgid == record.thread);
                threads.for_each(|task| task.process_name = name);
            }
            SwitchKind::Ended => self.end(record.thread, at),
            SwitchKind::Lost { records } => {
                self.lost.records += records;
                // What these tasks did while records were lost is unknown.
                for task in self
                    .tasks
                    .values_mut()
                    .filter(|task| task.cpu == record.cpu.0)
                {
                    (task.on_since, task.off_since) = (0, 0);
                }
            }
        }
    }

    fn switched_in(&mut self, record: &SwitchRecord) {
        let Some(task) = self.tasks.get_mut(&record.thread) else {
            return;
        };
        let at = record.at.0;
        if let Some(off) = take_since(&mut task.off_since, at) {
            task.off_ns += off;
            task.off[bucket_of(Nanos(off), BUCKETS)] += 1;
        }
        let of = |cpu: u32| self.relatives.get(&CpuId(cpu));
        if task.cpu != record.cpu.0
            && let Some(((core, cache), (last_core, last_cache))) =
                of(record.cpu.0).zip(of(task.cpu))
        {
            task.moved[if core == last_core {
                0
            } else {
                2 - usize::from(cache == last_cache)
            }] += 1;
        }
        task.cpu = record.cpu.0;
        task.on_since = at;
    }

    fn observe(
        &mut self,
        process: u32,
        thread: u32,
        name: [u8; 16],
        process_name: [u8; 16],
        added: Option<Rc<AddedThread>>,
    ) {
        if self.tasks.len() >= TASKS {
            self.lost.tasks += 1;
            self.close_last(added);
            return;
        }
        self.added.extend(added.map(|added| (thread, added)));
        self.has_observed = true;
        self.tasks.entry(thread).or_insert_with(|| {
            let mut task = Task::new_zeroed();
            (task.pid, task.tgid, task.state, task.cpu) =
                (thread, process, task_state::IN_USE, NO_CPU);
            (task.name, task.process_name) = (name, process_name);
            task
        });
    }

    /// Ends a task. The task's last switch has no record: the task waits forever, which the kernel
    /// counts as voluntary.
    fn end(&mut self, thread: u32, at: u64) {
        self.own.remove(&thread);
        let Some(mut task) = self.tasks.remove(&thread) else {
            return;
        };
        let since = (task.on_since > 0).then_some(task.on_since);
        self.kernels.left(thread, since, at, Totals::default());
        task.run_ns += take_since(&mut task.on_since, at).unwrap_or(0);
        // The kernel sends the same record for a live task that is no longer recorded because it
        // has gained rights. But a live thread may also be a later task with the same ID.
        if kernel_counts::is_alive(thread) {
            task.off_since = 0;
            self.tasks.insert(thread, task);
            self.perhaps_ended.insert(thread);
            return;
        }
        self.lost.unfollowed += self.kernels.correct(thread, &mut task);
        self.kernels.forget(thread);
        self.release(thread);
        self.count_ended(task);
    }

    /// Counts a task that has ended, whose ID another task has now.
    fn count_previous(&mut self, thread: u32) {
        if let Some(task) = self.tasks.remove(&thread) {
            self.kernels.forget(thread);
            self.release(thread);
            self.count_ended(task);
        }
    }

    /// Forgets from which added thread an ended task descends.
    fn release(&mut self, thread: u32) {
        let added = self.added.remove(&thread);
        self.close_last(added);
    }

    /// Closes the counters of an added thread if no observed task descends from it any more.
    fn close_last(&mut self, added: Option<Rc<AddedThread>>) {
        if let Some(added) = added.and_then(Rc::into_inner) {
            self.records.close(added);
        }
    }

    fn count_ended(&mut self, mut task: Task) {
        task.voluntary += 1;
        task.off_since = 0;
        task.state = task_state::ENDED;
        self.ended_totals.add(totals_of(&task));
        self.sums.add(&task, None, Nanos(0), &self.memory);
    }
}

/// Returns the time from `since` until `now`, and resets `since`; `None` if `since` was not set.
fn take_since(since: &mut u64, now: u64) -> Option<u64> {
    let began = std::mem::take(since);
    (began > 0).then(|| now.saturating_sub(began))
}

fn threads(process: u32) -> Vec<u32> {
    let entries = fs::read_dir(format!("/proc/{process}/task"))
        .into_iter()
        .flatten()
        .flatten();
    entries
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .collect()
}

fn totals_of(task: &Task) -> Totals {
    let (voluntary, involuntary) = (task.voluntary, task.involuntary);
    Totals {
        voluntary,
        involuntary,
        run: Nanos(task.run_ns),
        wait: Nanos(task.wait_ns),
    }
}
