//! Which tasks are meant.

use std::collections::BTreeSet;

use switchcost_facts::{Root, Unreadable};

/// Where control groups are: of version 2 alone, of version 2 beside version 1, and those of `cpu` of version 1.
const CONTROL_GROUPS: [&str; 3] = ["/sys/fs/cgroup", "/sys/fs/cgroup/unified", "/sys/fs/cgroup/cpu"];

/// The threads of a control group: of version 2, and of version 1. Groups of single threads list no processes.
const THREADS: [&str; 2] = ["cgroup.threads", "tasks"];

/// Why no task can be observed. Reads well behind "failed to observe: ".
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum SubjectError {
    /// The folder is no control group.
    #[error(
        "found no control group {0} ({1}), need a folder below /sys/fs/cgroup with a file cgroup.procs; see systemd-cgls"
    )]
    NoGroup(String, String),
    /// Nothing has that number.
    #[error("found no process {0}, need one that runs; see ps -e")]
    NoProcess(u32),
    /// No process has that name.
    #[error("found no process named '{0}', need the name of one that runs, as ps -e -o comm has it")]
    NoName(String),
    /// The number is that of a thread which does not lead its process.
    #[error(
        "found that {thread} is a thread of process {process} ({name}), need a process; observe that: -p {process}"
    )]
    Thread {
        /// The number.
        thread: u32,
        /// Its process.
        process: u32,
        /// The name of that; hostile text until escaped.
        name: String,
    },
}

/// The folder of a control group: named in full, or below the one of the system.
pub(crate) fn folder_of_group(root: &Root, name: &str) -> Result<String, SubjectError> {
    let below = CONTROL_GROUPS.iter().map(|base| format!("{base}/{}", name.trim_matches('/')));
    let mut folders = std::iter::once(name.trim_end_matches('/').to_owned()).chain(below);
    let is_group = |folder: &String| folder.starts_with('/') && root.has(&format!("{folder}/cgroup.procs"));
    let why = || "No such file or directory".to_owned();
    folders.find(is_group).ok_or_else(|| SubjectError::NoGroup(name.to_owned(), why()))
}

/// The threads of a control group and of those below it, as they are now. What is gone meanwhile is left out.
pub(crate) fn threads_of_group(root: &Root, folder: &str) -> Result<BTreeSet<u32>, SubjectError> {
    let gone = |why: Unreadable| SubjectError::NoGroup(folder.to_owned(), why.to_string());
    let [of_version_2, of_version_1] = THREADS.map(|file| format!("{folder}/{file}"));
    let text = root.read(&of_version_2).or_else(|_| root.read(&of_version_1)).map_err(gone)?;
    let mut threads: BTreeSet<u32> = text.lines().filter_map(|line| line.trim().parse().ok()).collect();
    for name in root.names(folder) {
        let group = format!("{folder}/{name}");
        if root.has(&format!("{group}/cgroup.procs")) {
            threads.extend(threads_of_group(root, &group).unwrap_or_default());
        }
    }
    Ok(threads)
}

/// The process that a thread belongs to; none where there is no such thread.
pub(crate) fn process_of(root: &Root, thread: u32) -> Option<u32> {
    let status = root.read(&format!("/proc/{thread}/status")).ok()?;
    status.lines().find_map(|line| line.strip_prefix("Tgid:"))?.trim().parse().ok()
}

/// Whether a process is there. One that has ended and that was not waited for yet is not.
pub(crate) fn is_there(root: &Root, process: u32) -> bool {
    let stat = root.read(&format!("/proc/{process}/stat")).unwrap_or_default();
    // Behind the name, which may hold anything, the last parenthesis.
    stat.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with(['Z', 'X']))
}

/// The kernel keeps so many bytes of a name.
const KEPT: usize = 15;

/// The processes of a name that are there now, as pgrep -x finds them, but for this one. A name is compared as far as the kernel keeps it.
pub(crate) fn processes_named(root: &Root, name: &str) -> Result<Vec<u32>, SubjectError> {
    let kept = |name: &str| name.as_bytes()[..name.len().min(KEPT)].to_owned();
    let numbers = root.names("/proc").into_iter().filter_map(|number| number.parse::<u32>().ok());
    let is_it = |number: &u32| {
        *number != std::process::id() && kept(&name_of(root, *number)) == kept(name) && is_there(root, *number)
    };
    let found: Vec<u32> = numbers.filter(is_it).collect();
    if found.is_empty() { Err(SubjectError::NoName(name.to_owned())) } else { Ok(found) }
}

/// The name of a process; empty where it is gone.
pub(crate) fn name_of(root: &Root, process: u32) -> String {
    root.read(&format!("/proc/{process}/comm")).unwrap_or_default().trim_end_matches('\n').to_owned()
}
