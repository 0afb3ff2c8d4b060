//! The kernel's files about tasks, in the /proc that shows them under their own numbers.

use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::Arc;

use rustix::fs::{Mode, OFlags, open, openat};
use rustix::process::Pid;

/// A /proc.
#[derive(Clone, Debug)]
pub struct TaskFiles {
    folder: Arc<OwnedFd>,
}

impl TaskFiles {
    /// That of all processes visible to us.
    pub fn ours() -> io::Result<TaskFiles> {
        TaskFiles::at(Path::new("/proc"))
    }

    /// That of the tasks that process `pid` sees.
    pub(super) fn seen_by(pid: Pid) -> io::Result<TaskFiles> {
        TaskFiles::at(Path::new(&format!("/proc/{}/root/proc", pid.as_raw_nonzero())))
    }

    fn at(path: &Path) -> io::Result<TaskFiles> {
        let folder = open(path, OFlags::DIRECTORY | OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?;
        Ok(TaskFiles { folder: Arc::new(folder) })
    }

    /// The file `name` about a task.
    ///
    /// # Errors
    /// Where there is no such task, or we may not look.
    pub fn open(&self, pid: u32, tid: u32, name: &str) -> io::Result<File> {
        let path = format!("{pid}/task/{tid}/{name}");
        Ok(openat(&self.folder, path.as_str(), OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?.into())
    }
}
