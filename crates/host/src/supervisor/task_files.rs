//! Files of the kernel about tasks, in the /proc of the tasks' PID namespace.

use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::Arc;

use rustix::fs::{Mode, OFlags, open, openat};
use rustix::process::Pid;
use switchcost_facts::Root;

/// An open /proc, in which files about tasks are found by their IDs.
#[derive(Clone, Debug)]
pub struct TaskFiles {
    folder: Arc<OwnedFd>,
    /// First process of the PID namespace that defines the IDs; `None` for this process's own
    /// namespace.
    first: Option<Pid>,
}

impl TaskFiles {
    /// Opens the /proc of this process's PID namespace.
    pub fn ours() -> io::Result<TaskFiles> {
        TaskFiles::attach(Path::new("/proc"), None)
    }

    /// Opens the /proc of the PID namespace whose first process is `pid`.
    pub(super) fn seen_by(pid: Pid) -> io::Result<TaskFiles> {
        TaskFiles::attach(
            Path::new(&format!("/proc/{}/root/proc", pid.as_raw_nonzero())),
            Some(pid),
        )
    }

    fn attach(path: &Path, first: Option<Pid>) -> io::Result<TaskFiles> {
        let folder = open(
            path,
            OFlags::DIRECTORY | OFlags::RDONLY | OFlags::CLOEXEC,
            Mode::empty(),
        )?;
        Ok(TaskFiles {
            folder: Arc::new(folder),
            first,
        })
    }

    /// Opens the file `name` about a task.
    ///
    /// # Errors
    ///
    /// If there is no such task, or its files may not be read.
    pub fn open(&self, pid: u32, tid: u32, name: &str) -> io::Result<File> {
        let path = format!("{pid}/task/{tid}/{name}");
        Ok(openat(
            &self.folder,
            path.as_str(),
            OFlags::RDONLY | OFlags::CLOEXEC,
            Mode::empty(),
        )?
        .into())
    }

    /// Returns the thread ID that a task has in this process's own PID namespace. Reads files of
    /// all processes.
    ///
    /// # Errors
    ///
    /// If there is no such task, or this process does not see it.
    pub fn number_here(&self, pid: u32, tid: u32) -> io::Result<u32> {
        let Some(first) = self.first else {
            return Ok(tid);
        };
        let namespace = |process: &str| std::fs::read_link(format!("/proc/{process}/ns/pid"));
        let wanted = namespace(&first.as_raw_nonzero().to_string())?;
        let process = numbers_in("/proc")?
            .find(|process| {
                inner_number("/proc", process) == Some(pid)
                    && namespace(process).is_ok_and(|own| own == wanted)
            })
            .ok_or(io::ErrorKind::NotFound)?;
        let tasks = format!("/proc/{process}/task");
        let task = numbers_in(&tasks)?.find(|task| inner_number(&tasks, task) == Some(tid));
        task.and_then(|task| task.parse().ok())
            .ok_or(io::ErrorKind::NotFound.into())
    }
}

fn numbers_in(folder: &str) -> io::Result<impl Iterator<Item = String>> {
    let names = std::fs::read_dir(folder)?
        .flatten()
        .filter_map(|entry| entry.file_name().into_string().ok());
    Ok(names.filter(|name| name.bytes().all(|byte| byte.is_ascii_digit())))
}

/// Returns the thread ID of a task in its innermost PID namespace.
fn inner_number(folder: &str, task: &str) -> Option<u32> {
    let status = Root::system()
        .read(&format!("{folder}/{task}/status"))
        .ok()?;
    status
        .lines()
        .find_map(|line| line.strip_prefix("NSpid:"))?
        .split_whitespace()
        .last()?
        .parse()
        .ok()
}
