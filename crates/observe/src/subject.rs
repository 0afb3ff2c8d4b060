//! Which processes are meant.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Where control groups are, of either version.
const CONTROL_GROUPS: &str = "/sys/fs/cgroup";

/// Why nobody can be observed. Reads well behind "failed to observe: ".
#[derive(Debug, thiserror::Error)]
pub enum SubjectError {
    /// The folder is no control group.
    #[error(
        "found no control group {0} ({1}), need a folder below {CONTROL_GROUPS} with a file cgroup.procs; see systemd-cgls"
    )]
    NoGroup(PathBuf, io::Error),
}

/// The folder of a control group: named in full, or below the one of the system.
///
/// # Errors
/// Where it is none.
pub fn folder_of_group(name: &str) -> Result<PathBuf, SubjectError> {
    let named = Path::new(name);
    let below = Path::new(CONTROL_GROUPS).join(name.trim_start_matches('/'));
    let folder = if named.join("cgroup.procs").exists() { named.to_owned() } else { below };
    match fs::metadata(folder.join("cgroup.procs")) {
        Ok(_) => Ok(folder),
        Err(error) => Err(SubjectError::NoGroup(named.to_owned(), error)),
    }
}

/// The processes of a control group and of those below it, as they are now. What is gone meanwhile is left out.
///
/// # Errors
/// Where the group itself is gone.
pub fn processes_of(folder: &Path) -> Result<BTreeSet<u32>, SubjectError> {
    let text = fs::read_to_string(folder.join("cgroup.procs"))
        .map_err(|error| SubjectError::NoGroup(folder.to_owned(), error))?;
    let mut processes: BTreeSet<u32> = text.lines().filter_map(|line| line.trim().parse().ok()).collect();
    let below = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    for group in below.filter(|path| path.is_dir()) {
        processes.extend(processes_of(&group).unwrap_or_default());
    }
    Ok(processes)
}
