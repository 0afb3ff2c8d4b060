//! Corrects the counts from switch records by the kernel's own counters. Records are lost if a
//! buffer is full. Records end without notice for a task that gains rights at an exec, or that runs
//! on a CPU which came online later. An unfinished run has no record either.

use std::collections::HashMap;
use std::fs;

use switchcost_facts::Root;
use switchcost_host::clock::monotonic;
use switchcost_units::Nanos;

use crate::layout::Task;
use crate::subject::is_thread_there;
use crate::totals::Totals;

/// Number of tasks whose counters one call of [`KernelCounts::look`] reads. Each task takes two
/// files.
const EACH: usize = 32;

/// Counters of each thread at the start of its observation and at the last read.
#[derive(Debug, Default)]
pub(crate) struct KernelCounts {
    first: HashMap<u32, Totals>,
    last: HashMap<u32, Look>,
    /// ID of the next thread to be read.
    next: u32,
}

#[derive(Debug)]
struct Look {
    at: Nanos,
    counted: Totals,
    /// Sums of the records that came after the last read.
    since: Totals,
}

impl KernelCounts {
    /// Stores the present counters of a thread that was already running when its observation began.
    pub(crate) fn begin(&mut self, thread: u32) {
        if let Some(now) = read(thread) {
            self.first.insert(thread, now);
        }
    }

    /// Reads the counters of at most [`EACH`] of `threads`. The next call continues with the
    /// following threads.
    pub(crate) fn look(&mut self, threads: impl Iterator<Item = u32>) {
        let mut threads: Vec<u32> = threads.collect();
        threads.sort_unstable();
        let at = threads.partition_point(|&thread| thread < self.next);
        threads.rotate_left(at);
        threads.truncate(EACH);
        self.next = threads.last().map_or(0, |&last| last.saturating_add(1));
        self.look_at_all(threads.into_iter());
    }

    pub(crate) fn look_at_all(&mut self, threads: impl Iterator<Item = u32>) {
        for thread in threads {
            if let Some(counted) = read(thread) {
                self.last.insert(
                    thread,
                    Look {
                        at: monotonic(),
                        counted,
                        since: Totals::default(),
                    },
                );
            }
        }
    }

    /// Records that a thread left its CPU or ended at time `at`. `since` is the start of the
    /// thread's run, if known.
    pub(crate) fn left(&mut self, thread: u32, since: Option<u64>, at: u64, switches: Totals) {
        let Some(last) = self.last.get_mut(&thread).filter(|last| last.at.0 < at) else {
            return;
        };
        let run = since.map_or(0, |since| at.saturating_sub(since.max(last.at.0)));
        last.since.add(Totals {
            run: Nanos(run),
            ..switches
        });
    }

    /// Returns a task's totals. Both numbers of switches and the run time are each the larger of
    /// two values: by the task's records, and by the kernel's counters. The wait is by the records
    /// only.
    pub(crate) fn corrected(&self, thread: u32, task: &Task) -> Totals {
        let reported = Totals {
            voluntary: task.voluntary,
            involuntary: task.involuntary,
            run: Nanos(task.run_ns),
            wait: Nanos(task.wait_ns),
        };
        let Some(last) = self.last.get(&thread) else {
            return reported;
        };
        let first = self.first.get(&thread).copied().unwrap_or_default();
        let (counted, since) = (&last.counted, &last.since);
        Totals {
            voluntary: reported
                .voluntary
                .max(counted.voluntary.saturating_sub(first.voluntary) + since.voluntary),
            involuntary: reported
                .involuntary
                .max(counted.involuntary.saturating_sub(first.involuntary) + since.involuntary),
            run: reported
                .run
                .max(Nanos(counted.run.saturating_sub(first.run).0 + since.run.0)),
            wait: reported.wait,
        }
    }

    /// Raises a task's counts to the counts of the kernel. Returns the number of switches that had
    /// no record.
    pub(crate) fn correct(&self, thread: u32, task: &mut Task) -> u64 {
        let (all, reported) = (
            self.corrected(thread, task),
            task.voluntary + task.involuntary,
        );
        (task.voluntary, task.involuntary, task.run_ns) =
            (all.voluntary, all.involuntary, all.run.0);
        all.voluntary + all.involuntary - reported
    }

    /// Records that a thread has taken the ID of its process, by an exec.
    pub(crate) fn renumber(&mut self, thread: u32, process: u32) {
        let first = self.first.get(&thread).copied();
        self.forget(thread);
        self.forget(process);
        self.first.extend(first.map(|first| (process, first)));
    }

    /// Removes a thread that has ended.
    pub(crate) fn forget(&mut self, thread: u32) {
        self.first.remove(&thread);
        self.last.remove(&thread);
    }
}

/// Whether a thread is alive.
pub(crate) fn is_alive(thread: u32) -> bool {
    is_thread_there(&Root::system(), thread)
}

fn read(thread: u32) -> Option<Totals> {
    // The name in this file may contain any bytes.
    let status = Root::system()
        .read(&format!("/proc/{thread}/status"))
        .ok()?;
    // Some kernels lack this file.
    let times = fs::read_to_string(format!("/proc/{thread}/schedstat")).unwrap_or_default();
    let run = times
        .split(' ')
        .next()
        .and_then(|time| time.parse().ok())
        .unwrap_or(0);
    let field = |name| {
        status
            .lines()
            .find_map(|line| line.strip_prefix(name))?
            .trim()
            .parse()
            .ok()
    };
    let (voluntary, involuntary): (u64, u64) = (
        field("voluntary_ctxt_switches:")?,
        field("nonvoluntary_ctxt_switches:")?,
    );
    // The last switch of a task that has ended is counted with the record of its end.
    let has_ended = status.lines().any(|line| line.starts_with("State:\tZ"));
    Some(Totals {
        voluntary: voluntary - u64::from(has_ended).min(voluntary),
        involuntary,
        run: Nanos(run),
        wait: Nanos(0),
    })
}

#[cfg(test)]
mod tests {
    use zerocopy::FromZeros;

    use super::*;

    fn totals(voluntary: u64, involuntary: u64, run: u64) -> Totals {
        Totals {
            voluntary,
            involuntary,
            run: Nanos(run),
            wait: Nanos(0),
        }
    }

    /// Returns counts whose last look at thread 7 found these totals.
    fn last_look(counted: Totals) -> KernelCounts {
        let look = Look {
            at: Nanos(50),
            counted,
            since: Totals::default(),
        };
        let mut counts = KernelCounts::default();
        counts.last.insert(7, look);
        counts
    }

    fn task(voluntary: u64, involuntary: u64, run_ns: u64) -> Task {
        let mut task = Task::new_zeroed();
        (task.voluntary, task.involuntary, task.run_ns) = (voluntary, involuntary, run_ns);
        task
    }

    #[test]
    fn what_the_kernel_counted_and_no_record_reported_is_counted_once() {
        let mut counts = last_look(totals(150, 13, 9_000));
        counts.first.insert(7, totals(100, 10, 5_000));
        let mut task = task(3, 4, 200);
        assert_eq!(
            counts.correct(7, &mut task),
            47,
            "a record may be newer than the look"
        );
        assert_eq!(
            (task.voluntary, task.involuntary, task.run_ns),
            (50, 4, 4_000)
        );
        assert_eq!(
            (counts.correct(7, &mut task), counts.correct(8, &mut task)),
            (0, 0)
        );
    }

    #[test]
    fn what_records_tell_of_after_the_last_look_is_added_to_it() {
        let mut counts = last_look(totals(10, 0, 900));
        counts.left(7, Some(30), 40, totals(1, 0, 0));
        counts.left(7, Some(45), 60, totals(0, 1, 0));
        counts.left(7, None, 70, totals(1, 0, 0));
        counts.left(8, Some(1), 70, totals(1, 0, 0));
        let mut task = task(2, 1, 25);
        assert_eq!(counts.corrected(7, &task), totals(11, 1, 910));
        task.run_ns = 1_000;
        assert_eq!(
            counts.corrected(7, &task).run,
            Nanos(1_000),
            "the account of a task that runs is as old as the last tick"
        );
    }

    #[test]
    fn of_many_threads_all_have_their_turn() {
        let mut counts = KernelCounts::default();
        // These numbers belong to no thread.
        for _ in 0..4 {
            counts.look((1..=100).map(|number| u32::MAX - number));
        }
        assert_eq!((counts.next, counts.last.len()), (u32::MAX - 100 + 28, 0));
        counts.look_at_all(std::iter::once(std::process::id()));
        assert_eq!(counts.last.len(), 1);
    }

    #[test]
    fn counters_of_a_task_are_read_whatever_its_name() {
        let (_folder, mut child) = crate::subject::tests::start_with_hostile_name();
        let counted = read(child.id());
        drop(child.stdin.take());
        child.wait().expect("our child");
        assert!(counted.is_some());
    }
}
