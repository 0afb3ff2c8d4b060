//! The kernel's counters of one task.

use std::cell::Cell;
use std::fs::File;
use std::io;

use switchcost_record::KernelSwitches;
use switchcost_units::Nanos;

use super::read_text;
use crate::clock::CpuClock;

/// Identity of a task, and the way in which its CPU time is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TaskId {
    process: i32,
    thread: i32,
}

impl TaskId {
    /// Returns the thread ID of the task.
    pub fn thread(&self) -> i32 {
        self.thread
    }

    /// Whether the task is a thread of this process.
    pub fn is_of_this_process(&self) -> bool {
        self.process == crate::task::current_pid()
    }

    /// Returns the calling thread as a task.
    pub fn own_thread() -> TaskId {
        TaskId::thread_of_this_process(crate::task::current_tid())
    }

    /// Returns a thread of this process as a task.
    pub fn thread_of_this_process(thread: i32) -> TaskId {
        TaskId {
            process: crate::task::current_pid(),
            thread,
        }
    }

    /// Returns a thread of another process as a task. The thread's CPU time is counted with that of
    /// its process, [`TaskId::process`]. The thread may end at any time.
    pub fn thread_of(process: i32, thread: i32) -> TaskId {
        TaskId { process, thread }
    }

    /// Whether the task may end while its process continues.
    fn may_end(&self) -> bool {
        !self.is_of_this_process() && self.process != self.thread
    }

    /// Returns a process, which must have one thread, as a task.
    pub fn process(process: i32) -> TaskId {
        TaskId {
            process,
            thread: process,
        }
    }
}

/// Counts of one task since it started.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TaskCounts {
    /// Number of switches, voluntary and involuntary.
    pub switches: KernelSwitches,
    /// Time for which the task was ready but did not run; `None` if the kernel does not count it
    /// (CONFIG_SCHED_INFO).
    pub run_delay: Option<Nanos>,
    /// Number of page faults without I/O.
    pub minor_faults: u64,
    /// Number of page faults with I/O.
    pub major_faults: u64,
    /// CPU time in user mode and in the kernel, in steps of 10 ms.
    pub user_and_system: (Nanos, Nanos),
}

/// Open files of one task in /proc, and its CPU clock.
#[derive(Debug)]
pub struct TaskWitness {
    status: File,
    stat: File,
    schedstat: Option<File>,
    /// CPU clock of the task; `None` for a later thread of another process, whose time is part of
    /// its process's clock.
    clock: Option<CpuClock>,
    /// Counts at the last read, for a thread of another process that may end.
    last: Cell<TaskCounts>,
}

impl TaskWitness {
    /// Opens the files of a task; returns `None` for a thread of another process that has ended.
    pub fn new(task: TaskId) -> io::Result<Option<TaskWitness>> {
        match TaskWitness::open(task) {
            Err(error) if task.may_end() && has_ended(&error) => Ok(None),
            witness => witness.map(Some),
        }
    }

    fn open(task: TaskId) -> io::Result<TaskWitness> {
        let folder = format!("/proc/{}/task/{}", task.process, task.thread);
        let is_own = task.process == crate::task::current_pid();
        let schedstat = File::open(format!("{folder}/schedstat")).ok();
        let clock = match (is_own, task.process == task.thread) {
            (true, _) => Some(CpuClock::thread_clock(task.thread)),
            (false, true) => Some(CpuClock::process_clock(task.process)),
            (false, false) => None,
        };
        Ok(TaskWitness {
            status: File::open(format!("{folder}/status"))?,
            stat: File::open(format!("{folder}/stat"))?,
            clock,
            last: Cell::new(TaskCounts {
                run_delay: schedstat.is_some().then_some(Nanos(0)),
                ..TaskCounts::default()
            }),
            schedstat,
        })
    }

    /// Returns the CPU time so far, to the nanosecond; 0 for a later thread of another process.
    pub fn cpu_time(&self) -> io::Result<Nanos> {
        self.clock.map_or(Ok(Nanos(0)), CpuClock::read)
    }

    /// Returns the counts so far. For a thread of another process that has ended, returns the
    /// counts at the last read.
    pub fn counts(&self, buffer: &mut [u8]) -> io::Result<TaskCounts> {
        match self.counts_now(buffer) {
            Err(_) if self.clock.is_none() => Ok(self.last.get()),
            counts => counts.inspect(|counts| self.last.set(*counts)),
        }
    }

    fn counts_now(&self, buffer: &mut [u8]) -> io::Result<TaskCounts> {
        let unreadable =
            || io::Error::other("the kernel's account of a task ended before the task");
        let status = read_text(Some(&self.status), buffer).ok_or_else(unreadable)?;
        let switches = parse_switches(status).ok_or_else(unreadable)?;
        let stat = read_text(Some(&self.stat), buffer).ok_or_else(unreadable)?;
        let (minor_faults, major_faults) = parse_faults(stat).ok_or_else(unreadable)?;
        let user_and_system = parse_times(stat).ok_or_else(unreadable)?;
        let run_delay = read_text(self.schedstat.as_ref(), buffer).and_then(parse_run_delay);
        Ok(TaskCounts {
            switches,
            run_delay,
            minor_faults,
            major_faults,
            user_and_system,
        })
    }
}

/// Whether an error from opening or reading a task's files means that the task has ended.
fn has_ended(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::NotFound || error.raw_os_error() == Some(libc::ESRCH)
}

/// Returns the run delay: the second number of /proc/PID/schedstat, in nanoseconds
/// (Documentation/scheduler/sched-stats.rst).
pub(crate) fn parse_run_delay(schedstat: &str) -> Option<Nanos> {
    schedstat.split_whitespace().nth(1)?.parse().ok().map(Nanos)
}

pub(crate) fn parse_switches(status: &str) -> Option<KernelSwitches> {
    let field = |name: &str| {
        let mut lines = status.lines().filter_map(|line| line.strip_prefix(name));
        lines.next()?.trim().parse().ok()
    };
    Some(KernelSwitches {
        voluntary: field("voluntary_ctxt_switches:")?,
        involuntary: field("nonvoluntary_ctxt_switches:")?,
    })
}

/// Length of a tick in /proc/PID/stat on every Linux machine (USER_HZ is 100).
const TICK: Nanos = Nanos::millis(10);

/// Parses two fields of /proc/PID/stat, given by their numbers in proc(5). Fields are searched
/// after the name, which may contain anything.
fn parse_fields(stat: &str, numbers: [usize; 2]) -> Option<(u64, u64)> {
    let (_, behind_name) = stat.rsplit_once(')')?;
    let field = |number: usize| behind_name.split_whitespace().nth(number - 3)?.parse().ok();
    Some((field(numbers[0])?, field(numbers[1])?))
}

fn parse_faults(stat: &str) -> Option<(u64, u64)> {
    parse_fields(stat, [10, 12])
}

fn parse_times(stat: &str) -> Option<(Nanos, Nanos)> {
    let nanos = |ticks: u64| Nanos(ticks.saturating_mul(TICK.0));
    parse_fields(stat, [14, 15]).map(|(user, system)| (nanos(user), nanos(system)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hostile_name_does_not_shift_the_fields() {
        let stat = "42 (a) b 9 9 9) S 1 2 3 4 5 6 77 8 99 10 11";
        assert_eq!(parse_faults(stat), Some((77, 99)));
        assert_eq!(parse_faults("42 (x"), None);
        assert_eq!(
            parse_times("42 (a) b 9 9 9) S 1 2 3 4 5 6 77 8 99 10 11 12"),
            Some((Nanos(110_000_000), Nanos(120_000_000)))
        );
        assert_eq!(parse_times(stat), None);
    }

    #[test]
    fn the_second_number_is_the_delay() {
        assert_eq!(
            parse_run_delay("47557569 3746689 118\n"),
            Some(Nanos(3_746_689))
        );
        assert_eq!(parse_run_delay(""), None);
    }

    #[test]
    fn both_kinds_of_switch_are_read() {
        let status = "Name:\tx\nvoluntary_ctxt_switches:\t12\nnonvoluntary_ctxt_switches:\t3\n";
        assert_eq!(
            parse_switches(status),
            Some(KernelSwitches {
                voluntary: 12,
                involuntary: 3
            })
        );
        assert_eq!(parse_switches("Name: x\n"), None);
    }
}
