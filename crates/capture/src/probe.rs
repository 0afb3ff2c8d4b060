//! Reads the state of a task from the kernel's files: whether it is asleep, and in which system
//! call.

use std::fs::File;
use std::os::unix::fs::FileExt;

use switchcost_host::supervisor::TaskFiles;

/// State of a task as the kernel reports it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kernel {
    /// The task is on a CPU, waits for one, or is in a sleep that no signal ends. The task's state
    /// will change soon.
    Busy,
    /// The task is asleep.
    Asleep {
        /// Number of the system call in which the task sleeps; -1 outside system calls.
        syscall: i64,
        /// Whether a signal has stopped the task until another signal continues it.
        is_stopped: bool,
    },
    /// The task has ended, but may still be a zombie.
    Gone,
}

/// Numbers of the system calls that fork. A caller of vfork sleeps uninterruptibly until the child,
/// which shares its memory, releases it.
const FORKS: [i64; 4] = [56, 57, 58, 435];

/// Number of `restart_syscall`. The kernel reports this number for a system call that continues
/// after a stop, such as the rest of a sleep.
const RESTART_SYSCALL: i64 = 219;

/// Whether the system call that the kernel reports (`named`) may be the one that the task has
/// recorded (`made`).
pub(crate) fn may_be(named: i64, made: u32) -> bool {
    named == i64::from(made) || named == RESTART_SYSCALL
}

/// Open files of the kernel about one task.
#[derive(Debug)]
pub(crate) struct Probe {
    pub(crate) pid: u32,
    pub(crate) tid: u32,
    files: Option<(File, File)>,
}

impl Probe {
    pub(crate) fn new(pid: u32, tid: u32) -> Probe {
        Probe {
            pid,
            tid,
            files: None,
        }
    }

    /// Asks the kernel for the present state of a task.
    pub(crate) fn ask(&mut self, kernel: &TaskFiles) -> std::io::Result<Kernel> {
        match self.read(kernel) {
            Ok(kernel) => Ok(kernel),
            Err(error) if is_gone(&error) => Ok(Kernel::Gone),
            Err(error) => Err(error),
        }
    }

    /// Asks the kernel for the state of a task during an exec. During an exec, a thread gets the
    /// number of its process.
    pub(crate) fn ask_in_exec(&mut self, kernel: &TaskFiles) -> std::io::Result<Kernel> {
        match self.ask(kernel)? {
            Kernel::Gone if self.tid != self.pid => Probe::new(self.pid, self.pid).ask(kernel),
            seen => Ok(seen),
        }
    }

    /// Asks the kernel for the state of a task that was last seen asleep in system call `syscall`,
    /// and has reported nothing since. Reads half as much as [`Probe::ask`].
    pub(crate) fn ask_again(
        &mut self,
        kernel: &TaskFiles,
        syscall: u32,
    ) -> std::io::Result<Kernel> {
        let mut text = [0; 256];
        match self
            .files(kernel)
            .and_then(|(_, stat)| text_of(stat, &mut text))
        {
            Ok(stat) => Ok(judge(Some(syscall.into()), task_state(&stat))),
            Err(error) if is_gone(&error) => Ok(Kernel::Gone),
            Err(error) => Err(error),
        }
    }

    fn files(&mut self, kernel: &TaskFiles) -> std::io::Result<&mut (File, File)> {
        if self.files.is_none() {
            let open = |name| kernel.open(self.pid, self.tid, name);
            self.files = Some((open("syscall")?, open("stat")?));
        }
        Ok(self.files.as_mut().expect("opened above"))
    }

    fn read(&mut self, kernel: &TaskFiles) -> std::io::Result<Kernel> {
        let (syscall, stat) = self.files(kernel)?;
        let mut text = [0; 256];
        // The system call is read first, so that a task that is woken in between is then seen
        // running.
        let number = syscall_number(&text_of(syscall, &mut text)?);
        let state = task_state(&text_of(stat, &mut text)?);
        Ok(judge(number, state))
    }
}

fn is_gone(error: &std::io::Error) -> bool {
    const ESRCH: i32 = 3;
    error.kind() == std::io::ErrorKind::NotFound || error.raw_os_error() == Some(ESRCH)
}

fn text_of(file: &File, text: &mut [u8; 256]) -> std::io::Result<Vec<u8>> {
    let bytes = file.read_at(text, 0)?;
    Ok(text[..bytes].to_vec())
}

/// Returns the number of a task's system call from the text of /proc/PID/syscall; `None` if the
/// task runs.
fn syscall_number(text: &[u8]) -> Option<i64> {
    std::str::from_utf8(text)
        .ok()?
        .split_whitespace()
        .next()?
        .parse()
        .ok()
}

/// Returns the state letter from the text of /proc/PID/stat. The letter follows the name, which is
/// in brackets and may contain any bytes.
fn task_state(text: &[u8]) -> u8 {
    let name_end = text.iter().rposition(|&byte| byte == b')').unwrap_or(0);
    text.get(name_end + 2).copied().unwrap_or(b'R')
}

fn judge(syscall: Option<i64>, state: u8) -> Kernel {
    match (state, syscall) {
        (b'Z' | b'X' | b'x', _) => Kernel::Gone,
        (b'S', Some(syscall)) => Kernel::Asleep {
            syscall,
            is_stopped: false,
        },
        (b'T' | b't', Some(syscall)) => Kernel::Asleep {
            syscall,
            is_stopped: true,
        },
        (b'D', Some(syscall)) if FORKS.contains(&syscall) => Kernel::Asleep {
            syscall,
            is_stopped: false,
        },
        _ => Kernel::Busy,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_the_kernels_lines() {
        assert_eq!(syscall_number(b"running\n"), None);
        assert_eq!(syscall_number(b"-1 0x7ffc 0x7f\n"), Some(-1));
        assert_eq!(
            syscall_number(b"61 0xffffffff 0x7ffd 0x0 0x0 0x0 0x0 0x7ffd 0x7f\n"),
            Some(61)
        );
        assert_eq!(task_state(b"12 (sh) S 1 12"), b'S');
        assert_eq!(task_state(b"12 (a) R b) D 1 12"), b'D');
        assert_eq!(task_state(b""), b'R');
    }

    #[test]
    fn only_a_sleep_that_a_signal_would_end_counts_as_blocked() {
        let asleep = |syscall, is_stopped| Kernel::Asleep {
            syscall,
            is_stopped,
        };
        for (syscall, state, expected) in [
            (Some(0), b'S', asleep(0, false)),
            (Some(0), b'T', asleep(0, true)),
            (Some(0), b'D', Kernel::Busy),
            (Some(58), b'D', asleep(58, false)),
            (None, b'R', Kernel::Busy),
            (None, b'S', Kernel::Busy),
            (Some(-1), b'Z', Kernel::Gone),
        ] {
            assert_eq!(judge(syscall, state), expected);
        }
    }

    #[test]
    fn a_call_that_is_made_again_after_a_stop_has_another_number() {
        assert!(may_be(230, 230) && may_be(219, 230));
        assert!(!may_be(202, 230) && !may_be(-1, 230));
    }

    #[test]
    fn sees_a_child_sleep_and_end() {
        let mut child = std::process::Command::new("sleep")
            .arg("1000")
            .spawn()
            .expect("sleep starts");
        let mut probe = Probe::new(child.id(), child.id());
        let kernel = TaskFiles::ours().expect("/proc");
        let mut ask = || probe.ask(&kernel).expect("readable");
        const CLOCK_NANOSLEEP: i64 = 230;
        let deadline = std::time::Instant::now() + std::time::Duration::from_secs(20);
        let asleep = Kernel::Asleep {
            syscall: CLOCK_NANOSLEEP,
            is_stopped: false,
        };
        while ask() != asleep {
            assert!(std::time::Instant::now() < deadline, "sleep sleeps in time");
        }
        let mut ask = || {
            probe
                .ask_again(&kernel, CLOCK_NANOSLEEP as u32)
                .expect("readable")
        };
        assert_eq!(ask(), asleep);
        child.kill().expect("killed");
        while ask() != Kernel::Gone {
            assert!(std::time::Instant::now() < deadline, "it ends in time");
        }
        child.wait().expect("reaped");
        assert_eq!(ask(), Kernel::Gone);
    }
}
