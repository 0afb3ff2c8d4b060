//! What the kernel itself counts of tasks whose records are read: a task that gains rights at an exec, or runs on a CPU that came
//! online later, has no records any more, which nothing reports.

use std::collections::HashMap;
use std::fs;

use switchcost_facts::Root;

use crate::layout::Task;
use crate::subject::is_there;

/// Tasks looked at each time: each is a file.
const EACH: usize = 32;

/// Voluntary switches, and others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Switches {
    voluntary: u64,
    involuntary: u64,
}

/// Of each thread what was counted before it was observed, and at the last look.
#[derive(Debug, Default)]
pub(crate) struct KernelCounts {
    first: HashMap<u32, Switches>,
    last: HashMap<u32, Switches>,
    /// Who comes next.
    next: u32,
}

impl KernelCounts {
    /// A thread that runs already.
    pub(crate) fn begin(&mut self, thread: u32) {
        if let Some(now) = read(thread) {
            self.first.insert(thread, now);
        }
    }

    /// Looks at some of these threads, at others each time.
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
        self.last.extend(threads.filter_map(|thread| Some((thread, read(thread)?))));
    }

    /// Counts the switches that the kernel had counted at the last look and whose records have not come by now: how many.
    pub(crate) fn correct(&self, thread: u32, task: &mut Task) -> u64 {
        let Some(last) = self.last.get(&thread) else { return 0 };
        let first = self.first.get(&thread).copied().unwrap_or_default();
        let missing = |last: u64, first: u64, counted: u64| last.saturating_sub(first).saturating_sub(counted);
        let voluntary = missing(last.voluntary, first.voluntary, task.voluntary);
        let involuntary = missing(last.involuntary, first.involuntary, task.involuntary);
        task.voluntary += voluntary;
        task.involuntary += involuntary;
        voluntary + involuntary
    }

    /// A thread has taken the number of its process.
    pub(crate) fn renumber(&mut self, thread: u32, process: u32) {
        let first = self.first.get(&thread).copied();
        self.forget(thread);
        self.forget(process);
        self.first.extend(first.map(|first| (process, first)));
    }

    /// One that has ended by its records had them to its end.
    pub(crate) fn forget(&mut self, thread: u32) {
        self.first.remove(&thread);
        self.last.remove(&thread);
    }
}

/// Whether a thread has not ended.
pub(crate) fn is_alive(thread: u32) -> bool {
    is_there(&Root::system(), thread)
}

fn read(thread: u32) -> Option<Switches> {
    let status = fs::read_to_string(format!("/proc/{thread}/status")).ok()?;
    let field = |name| status.lines().find_map(|line| line.strip_prefix(name))?.trim().parse().ok();
    let (voluntary, involuntary) = (field("voluntary_ctxt_switches:")?, field("nonvoluntary_ctxt_switches:")?);
    Some(Switches { voluntary, involuntary })
}

#[cfg(test)]
mod tests {
    use zerocopy::FromZeros;

    use super::*;

    #[test]
    fn what_the_kernel_counted_and_no_record_told_is_counted_once() {
        let switches = |voluntary, involuntary| Switches { voluntary, involuntary };
        let mut counts = KernelCounts::default();
        counts.first.insert(7, switches(100, 10));
        counts.last.insert(7, switches(150, 13));
        let mut task = Task::new_zeroed();
        (task.voluntary, task.involuntary) = (3, 4);
        assert_eq!(counts.correct(7, &mut task), 47, "a record may be newer than the look");
        assert_eq!((task.voluntary, task.involuntary), (50, 4));
        assert_eq!((counts.correct(7, &mut task), counts.correct(8, &mut task)), (0, 0));
    }

    #[test]
    fn of_many_threads_all_have_their_turn() {
        let mut counts = KernelCounts::default();
        // Numbers that no thread has.
        for _ in 0..4 {
            counts.look((1..=100).map(|number| u32::MAX - number));
        }
        assert_eq!((counts.next, counts.last.len()), (u32::MAX - 100 + 28, 0));
        counts.look_at_all(std::iter::once(std::process::id()));
        assert_eq!(counts.last.len(), 1);
    }
}
