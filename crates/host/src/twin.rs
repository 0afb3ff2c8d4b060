//! A twin: one of two copies of a program, which runs in time slices. The twin is stopped except
//! when allowed to run. When the twin has ended, the kernel reports the resources that the twin and
//! its children used.

use std::io::{self, Read, Write};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, ExitStatus};
use std::time::Duration;

use rustix::io::Errno;
use rustix::process::{
    Pid, Resource, Rlimit, Signal, WaitOptions, getpgid, kill_process_group, setpgid, setrlimit,
    waitpid,
};
use switchcost_facts::Root;
use switchcost_record::Policy;
use switchcost_units::CpuId;

use crate::control::{StepsBelowTop, set_policy};
use crate::fixed_addresses::fix_addresses;
use crate::own_directory::enter_own_directory;
use crate::task::{self, Forked};
use crate::twin_group::TwinGroup;
use crate::usage::{Usage, wait4};

/// Distance from the highest real-time priority to the lowest: the twin runs far below the task
/// that preempts it, but above ordinary tasks.
const LOWEST: StepsBelowTop = StepsBelowTop(98);

/// CPU time without a pause after which the kernel kills a twin, because its controller has ended:
/// a twin is stopped every few milliseconds.
const LONGEST_TURN: Duration = Duration::from_secs(5);

/// A program in its own process group. Between time slices the program's control group is frozen,
/// if the program has one; otherwise its process group is stopped. When this value is dropped, the
/// program is killed with everything that it has started.
#[derive(Debug)]
pub struct Twin {
    process: Forked,
    group: Pid,
    control: Option<TwinGroup>,
    end: Option<ExitStatus>,
    used: Used,
}

/// Resources used by the processes of a program that have ended and been waited for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Used {
    /// CPU time in user mode and in the kernel.
    pub cpu: Duration,
    /// Number of voluntary switches. Stops by this process are included.
    pub voluntary: u64,
    /// Number of involuntary switches.
    pub involuntary: u64,
}

impl Used {
    fn add(&mut self, usage: &Usage) {
        self.cpu += usage.cpu;
        self.voluntary += usage.voluntary;
        self.involuntary += usage.involuntary;
    }
}

impl Twin {
    /// Starts a command in a process that is stopped before its first instruction. The process has
    /// the CPUs of its caller, fixed addresses, and SCHED_RR at the lowest priority, so that the
    /// command's processes alternate. If `group` is the folder of a control group, the process is
    /// in that group; with a `layer`, a folder for the changes, it has its own copy of the working
    /// directory.
    ///
    /// # Errors
    ///
    /// If no process can be started. A program that cannot be executed shows as an end with code
    /// 127.
    pub fn start(
        mut command: Command,
        group: Option<&Path>,
        layer: Option<&Path>,
    ) -> io::Result<Twin> {
        let control = group.map(TwinGroup::open).transpose()?;
        let (mut reader, mut writer) = io::pipe()?;
        let process = task::fork(|| {
            let prepared = layer.map_or(Ok(()), own_directory).and_then(|()| prepare());
            prepared.inspect_err(|why| drop(writer.write_all(why.to_string().as_bytes())))?;
            task::stop_self()?;
            // exec returns only after an error.
            drop(command.exec());
            // SAFETY: ends the child without running the parent's exit handlers a second time.
            unsafe { libc::_exit(NOT_RUN) }
        })?;
        drop(writer);
        let group = Pid::from_raw(process.pid())
            .ok_or_else(|| io::Error::other("no process has such a number"))?;
        let twin = Twin {
            process,
            group,
            control,
            end: None,
            used: Used::default(),
        };
        if !twin.is_stopped()? {
            let mut why = String::new();
            reader.read_to_string(&mut why)?;
            return Err(io::Error::other(why));
        }
        twin.enter_group()?;
        Ok(twin)
    }

    /// Makes the program stop by freezing its control group, instead of by a signal.
    fn enter_group(&self) -> io::Result<()> {
        let Some(control) = &self.control else {
            return Ok(());
        };
        control.admit(self.pid())?;
        control.freeze()?;
        self.signal(Signal::CONT)
    }

    /// Waits until the program is stopped. Returns false if the program has ended instead.
    fn is_stopped(&self) -> io::Result<bool> {
        loop {
            match waitpid(Some(self.group), WaitOptions::UNTRACED) {
                Ok(Some((_, status))) => return Ok(status.stopped()),
                Ok(None) | Err(Errno::INTR) => (),
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Whether the program is stopped by freezing, which stops all its processes, whatever process
    /// group they are in.
    pub fn is_frozen(&self) -> bool {
        self.control.is_some()
    }

    /// Returns the process ID of the program.
    pub fn pid(&self) -> i32 {
        self.process.pid()
    }

    /// Lets the program run until the next [`Twin::pause`].
    pub fn resume(&self) -> io::Result<()> {
        self.control
            .as_ref()
            .map_or_else(|| self.signal(Signal::CONT), TwinGroup::thaw)
    }

    /// Moves the program and everything that it has started to a CPU. Fails if the program has no
    /// control group.
    pub fn place(&self, cpu: CpuId) -> io::Result<()> {
        self.control.as_ref().map_or_else(
            || Err(io::Error::other("there is no control group to move")),
            |control| control.place(cpu),
        )
    }

    /// Stops the program. The stop takes effect as soon as the CPU is free for a moment.
    ///
    /// # Errors
    ///
    /// If the program is no longer in its process group.
    pub fn pause(&self) -> io::Result<()> {
        if let Some(control) = &self.control {
            return control.freeze();
        }
        if self.end.is_none() && getpgid(Some(self.group))? != self.group {
            return Err(io::Error::other(
                "the program left its process group, so it cannot be stopped",
            ));
        }
        self.signal(Signal::STOP)
    }

    fn signal(&self, signal: Signal) -> io::Result<()> {
        match kill_process_group(self.group, signal) {
            // All processes of the group have ended.
            Ok(()) | Err(Errno::SRCH) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Returns the exit status of the program's first process; `None` if it has not ended.
    pub fn end(&mut self) -> io::Result<Option<ExitStatus>> {
        if self.end.is_none()
            && let Some((_, status, usage)) = wait4(self.pid(), libc::WNOHANG)?
        {
            self.process.was_waited_for();
            self.end = Some(status);
            self.used.add(&usage);
            self.add_orphans();
            if let Some(control) = &self.control {
                self.used.cpu = control.cpu_time()?;
            }
        }
        Ok(self.end)
    }

    /// Adds the resources of orphans in the program's process group, which have become children of
    /// this process.
    fn add_orphans(&mut self) {
        // An error means that there are no such children.
        while let Ok(Some((_, _, usage))) = wait4(-self.pid(), libc::WNOHANG) {
            self.used.add(&usage);
        }
    }

    /// Returns the resources used by ended processes of the program.
    pub fn used(&self) -> Used {
        self.used
    }
}

impl Drop for Twin {
    fn drop(&mut self) {
        let _ = self.signal(Signal::KILL);
    }
}

/// Exit code for a program that cannot be executed, as in a shell.
const NOT_RUN: i32 = 127;

/// Sets the process group, the addresses, the time limit and the priority of the child. Runs in the
/// child before exec.
fn prepare() -> io::Result<()> {
    setpgid(None, None)?;
    fix_addresses()?;
    let limit = Some(LONGEST_TURN.as_micros() as u64);
    setrlimit(
        Resource::Rttime,
        Rlimit {
            current: limit,
            maximum: limit,
        },
    )?;
    // The policy must last until the process ends.
    std::mem::forget(set_policy(Policy::Rr, LOWEST).map_err(explain_refusal)?);
    Ok(())
}

/// Explains a refusal of real-time priority. In a user namespace, only the limits of a user give
/// this right; capabilities do not.
fn explain_refusal(error: io::Error) -> io::Error {
    io::Error::other(format!(
        "a user namespace gives no real-time rights here ({error}); run it as root, or with a limit instead of a capability: \
         sudo prlimit --pid $$ --rtprio=99"
    ))
}

fn own_directory(layer: &Path) -> io::Result<()> {
    enter_own_directory(layer).map_err(|why| {
        io::Error::other(format!(
            "--apart cannot give each copy a working directory of its own here ({why}); run it as root in a directory that \
             allows it, or leave out --apart"
        ))
    })
}

/// Returns the process IDs of the calling thread's living children except `known`: orphans that
/// became its children.
pub fn list_other_children(known: &[i32]) -> io::Result<Vec<i32>> {
    let children = std::fs::read_to_string("/proc/thread-self/children")?;
    let children = children
        .split_ascii_whitespace()
        .filter_map(|number| number.parse().ok());
    Ok(children
        .filter(|child| !known.contains(child) && is_living(*child))
        .collect())
}

/// Whether a process of this PID namespace is in a process group other than `groups`. The caller
/// must be the first process of the namespace.
pub fn is_group_left(groups: &[i32]) -> io::Result<bool> {
    let own = task::current_pid();
    let processes = std::fs::read_dir("/proc")?
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<i32>().ok());
    let is_elsewhere = |process: i32| {
        let stat = stat(process);
        let group = stat
            .as_deref()
            .and_then(|stat| stat.split(' ').nth(2)?.parse::<i32>().ok());
        // A new process is in its parent's group, one of `groups`, until it gets its own.
        group.is_some_and(|group| !groups.contains(&group)) && is_living(process)
    };
    Ok(processes
        .filter(|process| *process != own)
        .any(is_elsewhere))
}

/// Returns the text of /proc/PID/stat from the state on. The name, which precedes the state, may
/// contain anything.
fn stat(process: i32) -> Option<String> {
    let stat = Root::system().read(&format!("/proc/{process}/stat")).ok()?;
    stat.rsplit_once(") ").map(|(_, rest)| rest.to_owned())
}

/// Whether a process lives. A zombie has ended.
fn is_living(process: i32) -> bool {
    stat(process).is_some_and(|stat| !stat.starts_with(['Z', 'X']))
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    use std::process::Stdio;

    use super::*;

    #[test]
    fn a_process_lives_whatever_its_name() {
        let folder = tempfile::tempdir().expect("a folder");
        let program = folder.path().join(OsStr::from_bytes(b"a\xff) \xc3"));
        std::os::unix::fs::symlink("/bin/cat", &program).expect("any name");
        let mut child = Command::new(&program)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("a program");
        // The kernel sets the name of a process only after its parent goes on.
        let mut letter = *b"a";
        let pipes = (child.stdin.as_mut(), child.stdout.as_mut());
        let (Some(stdin), Some(stdout)) = pipes else {
            panic!("it has pipes")
        };
        stdin.write_all(&letter).expect("it reads");
        stdout.read_exact(&mut letter).expect("it writes");
        let is_living = is_living(child.id() as i32);
        drop(child.stdin.take());
        child.wait().expect("our child");
        assert!(is_living);
    }
}
