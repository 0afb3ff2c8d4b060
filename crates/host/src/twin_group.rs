//! Control group of one twin. All descendants of the twin are in the group, whatever their process
//! group, and are frozen and thawed with it.
//!
//! Only version 2 is used: tasks frozen by version 1 cannot be killed, and would outlive the
//! process that should thaw them.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::process::Pid;
use rustix::thread::sched_setaffinity;
use switchcost_units::CpuId;

use crate::control::cpu_set;
use crate::temporary::TemporaryFolder;
use switchcost_facts::{Root, own_folder_of_version_2};

/// Maximum length of a list of threads in bytes. Longer lists are treated as missing.
const LONGEST_LIST: usize = 1 << 16;

/// Makes a control group for each of two copies, as children of this process's own group. The
/// groups are removed with `folder`.
///
/// # Errors
///
/// If there are no control groups of version 2, or they may not be changed.
pub fn twin_groups(folder: &TemporaryFolder) -> io::Result<[PathBuf; 2]> {
    let within = own_folder_of_version_2(&Root::system()).ok_or_else(|| {
        io::Error::new(
            io::ErrorKind::NotFound,
            "no control group of version 2 of this process below /sys/fs/cgroup",
        )
    })?;
    let name = |twin: u8| {
        Path::new(&within).join(format!("switchcost-{}-twin-{twin}", std::process::id()))
    };
    let groups = [name(1), name(2)];
    folder.remove_with_it(&groups)?;
    for group in &groups {
        fs::create_dir(group)?;
        TwinGroup::open(group)?;
    }
    Ok(groups)
}

/// An open control group of a twin.
#[derive(Debug)]
pub(crate) struct TwinGroup {
    freeze: File,
    members: File,
    threads: File,
    accounts: PathBuf,
    /// CPU time that the group had used when it was opened.
    before: Duration,
}

impl TwinGroup {
    pub(crate) fn open(folder: &Path) -> io::Result<TwinGroup> {
        let writable = |name: &str| OpenOptions::new().write(true).open(folder.join(name));
        let accounts = folder.join("cpu.stat");
        Ok(TwinGroup {
            before: used(&accounts)?,
            freeze: writable("cgroup.freeze")?,
            members: writable("cgroup.procs")?,
            threads: File::open(folder.join("cgroup.threads"))?,
            accounts,
        })
    }

    /// Moves a process, and all that it starts later, into the group.
    pub(crate) fn admit(&self, process: i32) -> io::Result<()> {
        (&self.members).write_all(process.to_string().as_bytes())
    }

    /// Freezes the group: each of its tasks stops before it next runs in user mode.
    pub(crate) fn freeze(&self) -> io::Result<()> {
        (&self.freeze).write_all(b"1")
    }

    pub(crate) fn thaw(&self) -> io::Result<()> {
        (&self.freeze).write_all(b"0")
    }

    /// Moves all threads of the group to a CPU.
    pub(crate) fn place(&self, cpu: CpuId) -> io::Result<()> {
        let cpus = cpu_set(&[cpu])?;
        let mut text = vec![0; LONGEST_LIST];
        let length = self.threads.read_at(&mut text, 0)?;
        let threads = String::from_utf8_lossy(&text[..length]).into_owned();
        for thread in threads
            .lines()
            .filter_map(|line| Pid::from_raw(line.parse().ok()?))
        {
            match sched_setaffinity(Some(thread), &cpus) {
                // The thread has ended in the meantime.
                Ok(()) | Err(rustix::io::Errno::SRCH) => (),
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    /// Returns the CPU time of all tasks of the group since it was opened.
    pub(crate) fn cpu_time(&self) -> io::Result<Duration> {
        Ok(used(&self.accounts)?.saturating_sub(self.before))
    }
}

/// Returns the CPU time of all tasks that were ever in a group. `accounts` is the path of its
/// `cpu.stat`.
fn used(accounts: &Path) -> io::Result<Duration> {
    let text = fs::read_to_string(accounts)?;
    let used = text
        .lines()
        .find_map(|line| line.strip_prefix("usage_usec ")?.trim().parse().ok());
    used.map(Duration::from_micros)
        .ok_or_else(|| io::Error::other("cpu.stat has no usage_usec"))
}

#[cfg(test)]
mod tests {
    use std::process::Stdio;
    use std::time::Instant;

    use super::*;
    use crate::task::current_pid;

    /// Shell script that waits for a line on standard input, computes for some milliseconds, and
    /// sleeps for a minute.
    const AWAY: &str = "read go; i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done; exec sleep 60";

    #[test]
    fn what_is_in_a_group_is_frozen_placed_and_counted_and_the_group_goes_with_the_folder() {
        let within = tempfile::tempdir().expect("a folder");
        let folder = TemporaryFolder::create_in(within.path()).expect("a folder");
        let groups = match twin_groups(&folder) {
            Ok(groups) => groups,
            Err(why) => return println!("skipped: {why}"),
        };
        let group = TwinGroup::open(&groups[0]).expect("it was made");
        let mut shell = std::process::Command::new("setsid");
        let mut child = shell
            .args(["sh", "-c", AWAY])
            .stdin(Stdio::piped())
            .spawn()
            .expect("a shell");
        group.admit(child.id() as i32).expect("ours");
        child
            .stdin
            .take()
            .expect("a pipe")
            .write_all(b"go\n")
            .expect("it reads");
        let until = |is_so: &dyn Fn() -> bool| {
            let start = Instant::now();
            while !is_so() && start.elapsed() < Duration::from_secs(20) {
                std::thread::sleep(Duration::from_millis(1));
            }
            assert!(is_so());
        };
        let is_frozen = || {
            fs::read_to_string(groups[0].join("cgroup.events"))
                .is_ok_and(|text| text.contains("frozen 1"))
        };
        until(&|| {
            group
                .cpu_time()
                .is_ok_and(|time| time > Duration::from_millis(2))
        });
        group.freeze().expect("it may");
        until(&is_frozen);
        let cpu = *crate::live::allowed_cpus(current_pid() as u32)
            .expect("ours")
            .last()
            .expect("one");
        group.place(cpu).expect("it may");
        assert_eq!(
            crate::live::allowed_cpus(child.id()).expect("it lives"),
            [cpu]
        );
        group.thaw().expect("it may");
        until(&|| !is_frozen());
        child.kill().and_then(|()| child.wait()).expect("ours");
        // The next process pays only for its own time.
        let next = TwinGroup::open(&groups[0]).expect("it is there");
        assert_eq!(next.cpu_time().expect("no process ran"), Duration::ZERO);
        drop(folder);
        assert!(!groups.iter().any(|group| group.exists()), "{groups:?}");
    }
}
