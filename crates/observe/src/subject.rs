//! Finds the tasks that the user names.

use std::collections::BTreeSet;

use switchcost_facts::{Root, Unreadable};

/// Folders of control groups: of version 2 alone, of version 2 beside version 1, and of the `cpu`
/// controller of version 1.
const CONTROL_GROUPS: [&str; 3] = [
    "/sys/fs/cgroup",
    "/sys/fs/cgroup/unified",
    "/sys/fs/cgroup/cpu",
];

/// Names of the file that lists the threads of a control group, in version 2 and in version 1.
/// Groups of single threads list no processes.
const THREADS: [&str; 2] = ["cgroup.threads", "tasks"];

/// Why no task can be observed.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum SubjectError {
    /// The folder does not belong to a control group.
    #[error("no control group {0}: {1}; list control groups with systemd-cgls")]
    NoGroup(String, String),
    /// No process has the given ID.
    #[error("no process with PID {0}; list processes with ps -e")]
    NoProcess(u32),
    /// No process has the given name.
    #[error("no process named '{0}' is running; list names with ps -e -o comm")]
    NoName(String),
    /// The ID belongs to a thread that is not the first of its process.
    #[error("{thread} is a thread of process {process} ({name}), not a process; use -p {process}")]
    Thread {
        /// ID of the thread.
        thread: u32,
        /// ID of the thread's process.
        process: u32,
        /// Name of the process. Untrusted: escape it before display.
        name: String,
    },
}

/// Returns the folder of a control group. `name` is a full path, or a path below a folder of
/// [`CONTROL_GROUPS`].
pub(crate) fn folder_of_group(root: &Root, name: &str) -> Result<String, SubjectError> {
    let below = CONTROL_GROUPS
        .iter()
        .map(|base| format!("{base}/{}", name.trim_matches('/')));
    let mut folders = std::iter::once(name.trim_end_matches('/').to_owned()).chain(below);
    let is_group =
        |folder: &String| folder.starts_with('/') && root.has(&format!("{folder}/cgroup.procs"));
    let why = || "No such file or directory".to_owned();
    folders
        .find(is_group)
        .ok_or_else(|| SubjectError::NoGroup(name.to_owned(), why()))
}

/// Identity of a control group as BPF programs know it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GroupId {
    /// Inode of the group's folder.
    pub(crate) number: u64,
    /// ID of the group's hierarchy; 0 for version 2.
    pub(crate) hierarchy: u64,
}

/// Returns the identity of a control group; `None` if it cannot be found out.
pub(crate) fn id_of_group(root: &Root, folder: &str) -> Option<GroupId> {
    Some(GroupId {
        number: number_of_group(root, folder).filter(|_| root.is_system())?,
        hierarchy: hierarchy_of(root, folder)?,
    })
}

/// Returns the inode of a control group's folder; `None` if there is no such folder. A group that
/// is created again under the same name has another inode.
pub(crate) fn number_of_group(root: &Root, folder: &str) -> Option<u64> {
    root.number(folder)
}

fn hierarchy_of(root: &Root, folder: &str) -> Option<u64> {
    let mounts = root.read("/proc/self/mountinfo").ok()?;
    let is_below = |point: &str| {
        folder
            .strip_prefix(point)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    let mount = |line: &'_ str| -> Option<(String, String, String)> {
        let (first, last) = line.split_once(" - ")?;
        let mut last = last.split(' ');
        let (kind, options) = (last.next()?, last.nth(1)?);
        Some((
            first.split(' ').nth(4)?.to_owned(),
            kind.to_owned(),
            options.to_owned(),
        ))
    };
    let of_group = mounts
        .lines()
        .filter_map(mount)
        .filter(|(point, ..)| is_below(point));
    let (_, kind, options) = of_group.max_by_key(|(point, ..)| point.len())?;
    match kind.as_str() {
        "cgroup2" => return Some(0),
        "cgroup" => {}
        _ => return None,
    }
    // A hierarchy of version 1 is identified by its controllers, or by its name.
    let own = root.read("/proc/self/cgroup").ok()?;
    let is_it = |controllers: &str| {
        let has = |one: &str| options.split(',').any(|option| option == one);
        !controllers.is_empty() && controllers.split(',').all(has)
    };
    let number = |line: &str| {
        let mut fields = line.splitn(3, ':');
        let (number, controllers) = (fields.next()?, fields.next()?);
        is_it(controllers).then(|| number.parse().ok()).flatten()
    };
    own.lines().find_map(number)
}

/// Returns the threads that are now in a control group or its descendants. Groups that disappear
/// during the search are left out.
pub(crate) fn threads_of_group(root: &Root, folder: &str) -> Result<BTreeSet<u32>, SubjectError> {
    let gone = |why: Unreadable| SubjectError::NoGroup(folder.to_owned(), why.to_string());
    let [of_version_2, of_version_1] = THREADS.map(|file| format!("{folder}/{file}"));
    let text = root
        .read(&of_version_2)
        .or_else(|_| root.read(&of_version_1))
        .map_err(gone)?;
    let mut threads: BTreeSet<u32> = text
        .lines()
        .filter_map(|line| line.trim().parse().ok())
        .collect();
    for name in root.names(folder) {
        let group = format!("{folder}/{name}");
        if root.has(&format!("{group}/cgroup.procs")) {
            threads.extend(threads_of_group(root, &group).unwrap_or_default());
        }
    }
    Ok(threads)
}

/// Returns the process ID of a thread; `None` if there is no such thread.
pub(crate) fn process_of(root: &Root, thread: u32) -> Option<u32> {
    let status = root.read(&format!("/proc/{thread}/status")).ok()?;
    status
        .lines()
        .find_map(|line| line.strip_prefix("Tgid:"))?
        .trim()
        .parse()
        .ok()
}

/// Whether a process is alive: whether one of its threads is, because the first thread may end
/// before the others. A zombie is not alive.
pub(crate) fn is_there(root: &Root, process: u32) -> bool {
    start_of(root, process).is_some()
}

/// Whether a thread is alive.
pub(crate) fn is_thread_there(root: &Root, thread: u32) -> bool {
    fields_of(root, &format!("/proc/{thread}")).is_some_and(|fields| is_alive(&fields))
}

/// Returns the start time of a live process in ticks since boot; `None` if it has ended. Another
/// process with the same ID has another start time.
pub(crate) fn start_of(root: &Root, process: u32) -> Option<u64> {
    let own = fields_of(root, &format!("/proc/{process}"))?;
    let folder = format!("/proc/{process}/task");
    let is_one_alive = || {
        let mut threads = root.names(&folder).into_iter();
        threads.any(|thread| {
            fields_of(root, &format!("{folder}/{thread}")).is_some_and(|fields| is_alive(&fields))
        })
    };
    let start = || own.get(START)?.parse().ok();
    (is_alive(&own) || is_one_alive()).then(|| start().unwrap_or(0))
}

/// Index of the start time among the fields of /proc/PID/stat after the name.
pub(crate) const START: usize = 19;

fn is_alive(fields: &[String]) -> bool {
    !fields[0].starts_with(['Z', 'X'])
}

/// Returns the fields of a stat file after the name, which may contain anything; `None` if there is
/// no such file. There is at least one field.
pub(crate) fn fields_of(root: &Root, folder: &str) -> Option<Vec<String>> {
    let stat = root.read(&format!("{folder}/stat")).ok()?;
    let (_, fields) = stat.rsplit_once(") ")?;
    Some(fields.split(' ').map(str::to_owned).collect())
}

/// Number of bytes of a name that the kernel stores, without the terminating zero.
const KEPT: usize = 15;

/// Returns the live processes that have a name, as `pgrep -x` does, without this process. Names are
/// compared as far as the kernel stores them.
pub(crate) fn processes_named(root: &Root, name: &str) -> Result<Vec<u32>, SubjectError> {
    let wanted = &name.as_bytes()[..name.len().min(KEPT)];
    // The kernel may have cut a name within a character.
    let has_name = |number: u32| {
        let name = root.bytes(&format!("/proc/{number}/comm"));
        name.is_ok_and(|name| name.strip_suffix(b"\n").unwrap_or(&name) == wanted)
    };
    let numbers = root
        .names("/proc")
        .into_iter()
        .filter_map(|number| number.parse::<u32>().ok());
    let is_it = |number: &u32| {
        *number != std::process::id() && has_name(*number) && is_there(root, *number)
    };
    let found: Vec<u32> = numbers.filter(is_it).collect();
    if found.is_empty() {
        Err(SubjectError::NoName(name.to_owned()))
    } else {
        Ok(found)
    }
}

/// Returns the name of a process; empty if the process has ended.
pub(crate) fn name_of(root: &Root, process: u32) -> String {
    root.read(&format!("/proc/{process}/comm"))
        .unwrap_or_default()
        .trim_end_matches('\n')
        .to_owned()
}

/// Returns the name of a thread; empty if the thread has ended.
pub(crate) fn kernel_name(process: u32, thread: u32) -> [u8; 16] {
    let text = std::fs::read(format!("/proc/{process}/task/{thread}/comm")).unwrap_or_default();
    name_in_kernel(text.strip_suffix(b"\n").unwrap_or(&text))
}

/// Returns a name as the kernel stores it: cut, and ended by zeros.
pub(crate) fn name_in_kernel(name: &[u8]) -> [u8; 16] {
    let mut kept = [0; 16];
    kept.iter_mut()
        .zip(&name[..name.len().min(KEPT)])
        .for_each(|(to, from)| *to = *from);
    kept
}

#[cfg(test)]
pub(crate) mod tests {
    use std::ffi::OsStr;
    use std::io::{Read, Write};
    use std::os::unix::ffi::OsStrExt;
    use std::process::{Child, Command, Stdio};

    use super::*;

    /// Starts a process whose name is no UTF-8, and that ends with its standard input.
    pub(crate) fn start_with_hostile_name() -> (tempfile::TempDir, Child) {
        start_named(b"a\xff) \xc3")
    }

    fn start_named(name: &[u8]) -> (tempfile::TempDir, Child) {
        let folder = tempfile::tempdir().expect("a folder");
        let program = folder.path().join(OsStr::from_bytes(name));
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
        (folder, child)
    }

    #[test]
    fn a_group_is_of_the_hierarchy_whose_mount_is_nearest() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = |path: &str, text: &str| {
            let path = folder.path().join(path);
            std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
            std::fs::write(path, text).expect("a file");
        };
        let mounts = "30 1 0:26 / /sys/fs/cgroup rw shared:4 - tmpfs none rw\n31 30 0:27 / /sys/fs/cgroup/unified rw - cgroup2 none rw\n\
                      32 30 0:28 / /sys/fs/cgroup/cpu rw - cgroup none rw,cpu\n33 30 0:29 / /sys/fs/cgroup/cpuset rw - cgroup none rw,cpuset\n\
                      34 30 0:30 / /sys/fs/cgroup/own rw - cgroup none rw,xattr,name=own\n";
        file("proc/self/mountinfo", mounts);
        file(
            "proc/self/cgroup",
            "9:name=own:/\n3:cpuset:/\n1:cpu:/\n0::/\n",
        );
        let root = Root::new(folder.path());
        let of = |name: &str| hierarchy_of(&root, &format!("/sys/fs/cgroup/{name}"));
        assert_eq!(
            ["unified/a", "cpu/a/b", "cpuset", "own/c"].map(of),
            [Some(0), Some(1), Some(3), Some(9)]
        );
        assert_eq!([of("a"), of("cpuacct")], [None, None]);
    }

    #[test]
    fn a_name_that_the_kernel_cut_within_a_character_is_found() {
        // Fifteen bytes are seven and a half of these letters.
        let name = "\u{436}".repeat(9);
        let (_folder, mut child) = start_named(name.as_bytes());
        let found = processes_named(&Root::system(), &name);
        drop(child.stdin.take());
        child.wait().expect("our child");
        assert_eq!(found, Ok(vec![child.id()]));
    }
}
