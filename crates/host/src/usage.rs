//! Reads the resources that a child used, as the kernel reports them at its end.

use std::io;
use std::mem::MaybeUninit;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, ExitStatus};
use std::time::Duration;

use libc::c_int;
use switchcost_record::KernelSwitches;
use switchcost_units::Nanos;

/// Resources used by a child process, and by the child's children that it has waited for.
#[derive(Clone, Copy, Debug)]
pub struct Usage {
    /// CPU time in user mode and in the kernel.
    pub cpu: Duration,
    /// Largest resident memory, in bytes, that the child or one of its children had at any time.
    pub peak_bytes: u64,
    /// Number of voluntary switches. The last switch of each process may be missing.
    pub voluntary: u64,
    /// Number of involuntary switches, including those by sched_yield.
    pub involuntary: u64,
}

impl Usage {
    fn new(usage: &libc::rusage) -> Usage {
        let time =
            |time: libc::timeval| Duration::new(time.tv_sec as u64, time.tv_usec as u32 * 1_000);
        Usage {
            cpu: time(usage.ru_utime) + time(usage.ru_stime),
            peak_bytes: usage.ru_maxrss as u64 * 1_024,
            voluntary: usage.ru_nvcsw as u64,
            involuntary: usage.ru_nivcsw as u64,
        }
    }
}

/// Returns the CPU time of all threads of this process so far, in user mode and in the kernel.
pub fn own_cpu_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Duration::new(
        time.tv_sec.unsigned_abs(),
        time.tv_nsec.unsigned_abs().try_into().unwrap_or(0),
    )
}

/// Returns the CPU time of all threads of this process so far: in user mode, and in the kernel. The
/// kernel splits the exact total in the ratio of the ticks that it sampled in each mode. Unlike in
/// /proc, neither part is rounded to ticks.
pub fn own_times() -> (Nanos, Nanos) {
    let usage = usage_of(libc::RUSAGE_SELF);
    let nanos = |time: libc::timeval| {
        Nanos(time.tv_sec as u64 * 1_000_000_000 + time.tv_usec as u64 * 1_000)
    };
    (nanos(usage.ru_utime), nanos(usage.ru_stime))
}

/// Returns the number of switches of the calling thread so far.
pub fn own_switches() -> KernelSwitches {
    switches_of(libc::RUSAGE_THREAD)
}

/// Returns the number of switches of this process and of all descendants that were waited for.
pub fn switches_of_all() -> KernelSwitches {
    let mut all = switches_of(libc::RUSAGE_SELF);
    all += switches_of(libc::RUSAGE_CHILDREN);
    all
}

fn switches_of(who: libc::c_int) -> KernelSwitches {
    let usage = usage_of(who);
    KernelSwitches {
        voluntary: usage.ru_nvcsw as u64,
        involuntary: usage.ru_nivcsw as u64,
    }
}

fn usage_of(who: libc::c_int) -> libc::rusage {
    let mut usage = MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: the pointer is valid for writing one rusage; for these three the call cannot fail.
    unsafe { libc::getrusage(who, usage.as_mut_ptr()) };
    // SAFETY: the structure consists of numbers, for which zeroes are valid.
    unsafe { usage.assume_init() }
}

/// Waits for a child and returns its resources.
///
/// # Errors
///
/// If the child has already been waited for.
pub fn wait(mut child: Child) -> io::Result<(ExitStatus, Usage)> {
    // The child may wait for the end of its input.
    drop(child.stdin.take());
    match wait4(child.id() as i32, 0)? {
        Some((_, status, usage)) => Ok((status, usage)),
        None => Err(io::Error::other(
            "the kernel waits for a child and names none",
        )),
    }
}

/// Calls wait4(2) with `pid` and `options`. Returns the child's process ID, its exit status and the
/// resources it used; with WNOHANG, `None` if no child has ended.
pub(crate) fn wait4(pid: i32, options: c_int) -> io::Result<Option<(i32, ExitStatus, Usage)>> {
    let mut status = 0;
    let mut usage = MaybeUninit::<libc::rusage>::zeroed();
    loop {
        // SAFETY: the pointers are valid for writing one number and one rusage.
        let ended = unsafe { libc::wait4(pid, &raw mut status, options, usage.as_mut_ptr()) };
        if ended >= 0 {
            // SAFETY: the structure consists of numbers, for which zeroes are valid, and which the
            // call writes if a child has ended.
            let usage = Usage::new(&unsafe { usage.assume_init() });
            return Ok((ended > 0).then(|| (ended, ExitStatus::from_raw(status), usage)));
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;
    use std::time::Instant;

    use super::*;

    #[test]
    fn a_thread_counts_its_own_switches() {
        let before = own_switches();
        (0..5).for_each(|_| std::thread::sleep(Duration::from_millis(1)));
        assert!((5..=8).contains(&own_switches().since(before).voluntary));
    }

    /// Shows that neither part of a young process's time is lost, although /proc shows whole steps
    /// of 10 ms for each thread.
    #[test]
    fn both_parts_of_the_time_are_whole() {
        let (before, start) = (own_times(), own_cpu_time());
        while own_cpu_time() - start < Duration::from_millis(9) {
            std::hint::spin_loop();
        }
        let (user, system) = own_times();
        let spent = (user.0 + system.0).saturating_sub(before.0.0 + before.1.0);
        assert!(spent >= 8_900_000, "{spent} ns of 9 ms");
    }

    #[test]
    fn a_child_that_has_ended_counts_for_its_parent() {
        let before = switches_of_all();
        let sleeps = "for i in 1 2 3 4 5 6 7 8; do sleep 0.001; done";
        wait(
            Command::new("sh")
                .args(["-c", sleeps])
                .spawn()
                .expect("a shell"),
        )
        .expect("a child of ours");
        assert!(
            switches_of_all().since(before).voluntary >= 16,
            "each sleep sleeps, and the shell waits for it"
        );
    }

    #[test]
    fn a_child_that_computes_has_used_time_and_memory() {
        let start = Instant::now();
        let script = "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done; exit 7";
        let child = Command::new("sh")
            .args(["-c", script])
            .spawn()
            .expect("a shell");
        let (status, usage) = wait(child).expect("a child of ours");
        assert_eq!(status.code(), Some(7));
        assert!(
            usage.cpu > Duration::from_millis(5) && usage.cpu <= start.elapsed(),
            "{usage:?}"
        );
        assert!(
            (100 << 10..1 << 30).contains(&usage.peak_bytes),
            "{usage:?}"
        );
    }
}
