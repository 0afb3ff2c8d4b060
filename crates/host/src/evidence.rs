//! Records events around a timed batch, so that a disturbed sample is recognised: counters are read
//! before and after the batch.
//!
//! A [`Witness`] is opened once for a set of tasks and CPUs, and read twice per batch. The reads
//! allocate nothing, and the most expensive reads are the farthest from the timed part.

mod tasks;

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use switchcost_record::{Evidence, KernelSwitches};
use switchcost_units::{CpuId, Nanos, Ticks};

use crate::clock::{Clock, monotonic, speed_probe};
use crate::control::current_cpu;
use crate::usage::own_times;
use switchcost_facts::interrupts;
pub use tasks::{TaskId, TaskWitness};
pub(crate) use tasks::{parse_run_delay, parse_switches};

/// Size of the read buffer in bytes: enough for /proc/interrupts of a machine with hundreds of CPUs
/// and interrupts.
const TEXT_LIMIT: usize = 1 << 20;

/// Reader of the counters of an experiment's CPUs and tasks.
#[derive(Debug)]
pub struct Witness {
    clock: Clock,
    cpus: Vec<CpuId>,
    tasks: Vec<TaskWitness>,
    /// Whether all tasks are threads of this process, whose CPU time is known exactly.
    are_own_threads: bool,
    interrupts: Option<File>,
    softirqs: Option<File>,
    stat: Option<File>,
    frequency: Option<File>,
    text: Vec<u8>,
}

/// Values of all counters at one moment.
#[derive(Clone, Copy, Debug, Default)]
struct Moment {
    wall: Nanos,
    task_cpu: Nanos,
    user: Nanos,
    system: Nanos,
    run_delay: Option<Nanos>,
    switches: KernelSwitches,
    minor_faults: u64,
    major_faults: u64,
    interrupts: Option<u64>,
    softirqs: Option<u64>,
    steal: Option<Nanos>,
    cpu: Option<CpuId>,
    khz: Option<u64>,
    probe: Ticks,
}

/// A window that is open: the counters at its start.
#[derive(Clone, Copy, Debug)]
pub struct OpenWindow(Moment);

impl Witness {
    /// Creates a witness of `tasks`, the first of which is the caller, and of `cpus`. Without a
    /// pinned task `cpus` is empty. A thread of another process that has ended is left out.
    pub fn new(clock: Clock, cpus: &[CpuId], tasks: &[TaskId]) -> io::Result<Witness> {
        let frequency = cpus.first().and_then(|cpu| {
            File::open(format!(
                "/sys/devices/system/cpu/cpu{cpu}/cpufreq/scaling_cur_freq"
            ))
            .ok()
        });
        Ok(Witness {
            clock,
            cpus: cpus.to_vec(),
            tasks: tasks
                .iter()
                .filter_map(|task| TaskWitness::new(*task).transpose())
                .collect::<io::Result<_>>()?,
            are_own_threads: tasks.iter().all(TaskId::is_of_this_process),
            interrupts: File::open("/proc/interrupts").ok(),
            softirqs: File::open("/proc/softirqs").ok(),
            stat: File::open("/proc/stat").ok(),
            frequency,
            text: vec![0; TEXT_LIMIT],
        })
    }

    /// Opens a window: reads all counters, the CPU clocks last.
    pub fn open(&mut self) -> io::Result<OpenWindow> {
        let mut moment = Moment {
            probe: speed_probe(self.clock),
            ..Moment::default()
        };
        self.read_machine(&mut moment);
        self.read_tasks(&mut moment)?;
        self.read_clocks(&mut moment)?;
        Ok(OpenWindow(moment))
    }

    /// Closes a window: reads all counters again, the CPU clocks first. Returns the increase of the
    /// counters in the window.
    pub fn close(&mut self, window: OpenWindow) -> io::Result<(Evidence, KernelSwitches)> {
        let mut moment = Moment::default();
        self.read_clocks(&mut moment)?;
        self.read_tasks(&mut moment)?;
        self.read_machine(&mut moment);
        moment.probe = speed_probe(self.clock);
        Ok(difference(&window.0, &moment))
    }

    fn read_clocks(&self, moment: &mut Moment) -> io::Result<()> {
        for task in &self.tasks {
            moment.task_cpu = moment.task_cpu + task.cpu_time()?;
        }
        moment.wall = monotonic();
        Ok(())
    }

    fn read_tasks(&mut self, moment: &mut Moment) -> io::Result<()> {
        moment.cpu = current_cpu();
        moment.run_delay = Some(Nanos(0));
        for task in &self.tasks {
            let counts = task.counts(&mut self.text)?;
            moment.run_delay = moment
                .run_delay
                .zip(counts.run_delay)
                .map(|(sum, more)| sum + more);
            moment.switches.voluntary += counts.switches.voluntary;
            moment.switches.involuntary += counts.switches.involuntary;
            moment.user = moment.user + counts.user_and_system.0;
            moment.system = moment.system + counts.user_and_system.1;
            moment.minor_faults += counts.minor_faults;
            moment.major_faults += counts.major_faults;
        }
        if self.are_own_threads {
            (moment.user, moment.system) = own_times();
        }
        Ok(())
    }

    fn read_machine(&mut self, moment: &mut Moment) {
        moment.interrupts = per_cpu(
            self.interrupts.as_ref(),
            &mut self.text,
            &self.cpus,
            interrupts::total,
        );
        moment.softirqs = per_cpu(
            self.softirqs.as_ref(),
            &mut self.text,
            &self.cpus,
            interrupts::total,
        );
        moment.steal = per_cpu(self.stat.as_ref(), &mut self.text, &self.cpus, steal_ns).map(Nanos);
        moment.khz = read_text(self.frequency.as_ref(), &mut self.text)
            .and_then(|text| text.trim().parse().ok());
    }
}

pub(crate) fn read_text<'a>(file: Option<&File>, buffer: &'a mut [u8]) -> Option<&'a str> {
    let length = read_at_start(file?, buffer).ok()?;
    std::str::from_utf8(&buffer[..length]).ok()
}

/// Fills the buffer from the start of a /proc file, which gives about a page per read. Returns the
/// number of bytes read.
fn read_at_start(file: &File, buffer: &mut [u8]) -> io::Result<usize> {
    let mut length = 0;
    loop {
        match file.read_at(&mut buffer[length..], length as u64)? {
            0 => return Ok(length),
            more => length += more,
        }
    }
}

/// Returns the sum, over the watched CPUs, of the numbers that `count` finds in the text of `file`;
/// `None` if no CPU is watched or a number is missing.
fn per_cpu(
    file: Option<&File>,
    buffer: &mut [u8],
    cpus: &[CpuId],
    count: impl Fn(&str, CpuId) -> Option<u64>,
) -> Option<u64> {
    if cpus.is_empty() {
        return None;
    }
    let text = read_text(file, buffer)?;
    cpus.iter().map(|cpu| count(text, *cpu)).sum()
}

/// Returns the steal time of a CPU in nanoseconds, from the text of /proc/stat: the eighth column
/// of the CPU's line (proc(5)), in USER_HZ, which is 100 per second on every Linux.
fn steal_ns(stat: &str, cpu: CpuId) -> Option<u64> {
    let mut lines = stat
        .lines()
        .filter_map(|line| line.strip_prefix("cpu")?.split_once(' '));
    let (_, columns) = lines.find(|(number, _)| number.parse() == Ok(cpu.0))?;
    let ticks: u64 = columns.split_whitespace().nth(7)?.parse().ok()?;
    Some(ticks * 10_000_000)
}

fn difference(before: &Moment, after: &Moment) -> (Evidence, KernelSwitches) {
    let since = |after: Option<u64>, before: Option<u64>| Some(after?.saturating_sub(before?));
    let evidence = Evidence {
        wall_ns: after.wall.saturating_sub(before.wall),
        task_cpu_ns: after.task_cpu.saturating_sub(before.task_cpu),
        task_user_ns: Some(after.user.saturating_sub(before.user)),
        task_system_ns: Some(after.system.saturating_sub(before.system)),
        run_delay_ns: since(after.run_delay.map(|n| n.0), before.run_delay.map(|n| n.0)).map(Nanos),
        steal_ns: since(after.steal.map(|n| n.0), before.steal.map(|n| n.0)).map(Nanos),
        interrupts: since(after.interrupts, before.interrupts),
        softirqs: since(after.softirqs, before.softirqs),
        minor_faults: after.minor_faults.saturating_sub(before.minor_faults),
        major_faults: after.major_faults.saturating_sub(before.major_faults),
        cpu_before: before.cpu,
        cpu_after: after.cpu,
        khz_before: before.khz,
        khz_after: after.khz,
        probe_before: before.probe,
        probe_after: after.probe,
        is_clock_backwards: false,
    };
    let switches = KernelSwitches {
        voluntary: after
            .switches
            .voluntary
            .saturating_sub(before.switches.voluntary),
        involuntary: after
            .switches
            .involuntary
            .saturating_sub(before.switches.involuntary),
    };
    (evidence, switches)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::perf::workloads::{burn_cpu_time, sleep};
    use crate::windows::judge;
    use std::process::Command;
    use std::time::{Duration, Instant};
    use switchcost_record::SelfTestOutcome;

    fn own_witness() -> Witness {
        let tasks = [TaskId::own_thread()];
        Witness::new(Clock::MonotonicRaw, &[], &tasks).expect("own files in /proc")
    }

    #[test]
    fn counts_the_switches_of_known_sleeps() {
        let mut witness = own_witness();
        let window = || {
            let window = witness.open()?;
            sleep(5);
            witness
                .close(window)
                .map(|(_, switches)| switches.voluntary)
        };
        // The witness itself may have to wait for a lock of the kernel.
        assert_eq!(
            judge(5..=8, window).expect("readable"),
            SelfTestOutcome::Admitted
        );
    }

    #[test]
    fn sees_that_wall_time_is_not_cpu_time() {
        let mut witness = own_witness();
        let window = witness.open().expect("readable");
        std::thread::sleep(Duration::from_millis(30));
        let (asleep, _) = witness.close(window).expect("readable");
        assert!(
            asleep.wall_ns >= Nanos::millis(30) && asleep.task_cpu_ns < Nanos::millis(20),
            "{asleep:?}"
        );
        let outside = Instant::now();
        let window = witness.open().expect("readable");
        let inside = Instant::now();
        // Another task may have the CPU, so this may take long.
        (0..16).for_each(|_| burn_cpu_time());
        let inside = inside.elapsed();
        let (busy, _) = witness.close(window).expect("readable");
        let outside = outside.elapsed();
        assert!(
            busy.task_cpu_ns >= Nanos::millis(16) && busy.task_cpu_ns <= outside.into(),
            "{busy:?} of {outside:?}"
        );
        assert!(
            busy.wall_ns >= inside.into() && busy.wall_ns <= outside.into(),
            "{busy:?}, {inside:?} of {outside:?}"
        );
    }

    #[test]
    fn a_thread_of_another_process_may_end_before_it_is_watched() {
        let mut sleeper = Command::new("sleep").arg("60").spawn().expect("sleep");
        let process = sleeper.id() as i32;
        // No thread of that process has this number, as for one that ended between listing and
        // opening.
        let tasks = [
            TaskId::own_thread(),
            TaskId::process(process),
            TaskId::thread_of(process, 1),
        ];
        let mut witness =
            Witness::new(Clock::MonotonicRaw, &[], &tasks).expect("an account of the others");
        assert_eq!(witness.tasks.len(), 2);
        let window = witness.open().expect("readable");
        let (evidence, _) = witness.close(window).expect("readable");
        let is_shown = std::fs::exists("/proc/self/schedstat").expect("/proc");
        assert_eq!(evidence.run_delay_ns.is_some(), is_shown, "{evidence:?}");
        sleeper
            .kill()
            .and_then(|()| sleeper.wait())
            .expect("it has ended");
        let gone = Witness::new(Clock::MonotonicRaw, &[], &tasks).expect_err("the process itself");
        assert_eq!(gone.kind(), io::ErrorKind::NotFound);
    }

    #[test]
    fn reads_the_steal_column_of_the_right_cpu() {
        let stat = "cpu  1 1 1 1 1 1 1 9 0 0\ncpu0 1 2 3 4 5 6 7 8 9 10\ncpu11 1 1 1 1 1 1 1 3 0 0\nintr 5\n";
        assert_eq!(steal_ns(stat, CpuId(0)), Some(80_000_000));
        assert_eq!(steal_ns(stat, CpuId(11)), Some(30_000_000));
        assert_eq!(steal_ns(stat, CpuId(1)), None);
    }
}
