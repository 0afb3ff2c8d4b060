//! Identifies processes in containers: their IDs in inner PID namespaces, and the control group
//! that names the container.

use std::fs;
use std::os::unix::fs::MetadataExt;

use switchcost_facts::Root;
use switchcost_record::observation::Tasks;

/// Inode of the machine's initial PID namespace (PID_NS_INIT_INO in linux/nsfs.h).
const OF_THE_MACHINE: u64 = 0xEFFF_FFFC;

/// Maximum number of processes that are examined. Each takes two files.
const PROCESSES: usize = 1024;

/// Whether this process is in the machine's initial PID namespace, whose process IDs BPF programs
/// use.
pub(crate) fn is_outside() -> bool {
    // A kernel without PID namespaces has only one.
    fs::metadata("/proc/self/ns/pid").map_or(true, |namespace| namespace.ino() == OF_THE_MACHINE)
}

/// Adds the inner process ID and the control group of live processes to `tasks`, for at most
/// [`PROCESSES`] processes.
pub(crate) fn look_at(tasks: &mut [Tasks]) {
    let own = Root::system().read("/proc/self/cgroup").unwrap_or_default();
    for tasks in tasks
        .iter_mut()
        .filter(|tasks| !tasks.is_kernel && tasks.process.is_some())
        .take(PROCESSES)
    {
        let read = |file| {
            let process = tasks.process.unwrap_or_default();
            Root::system().read(&format!("/proc/{process}/{file}"))
        };
        tasks.process_inside = read("status").ok().as_deref().and_then(inside);
        tasks.control_group = read("cgroup")
            .ok()
            .and_then(|text| control_group(&text, &own));
    }
}

/// Returns the process ID in the innermost PID namespace, from the text of /proc/PID/status; `None`
/// if the process has only one ID.
fn inside(status: &str) -> Option<u32> {
    let numbers = status
        .lines()
        .find_map(|line| line.strip_prefix("NSpid:"))?;
    numbers
        .split_ascii_whitespace()
        .skip(1)
        .last()?
        .parse()
        .ok()
}

/// Number of hexadecimal digits in the ID of a container.
const CONTAINER_DIGITS: usize = 64;

/// Returns the control group that names a container, from the text of /proc/PID/cgroup. Without
/// such a group, returns the group of version 2; else that of `cpu`; else that of any hierarchy in
/// which the observer (whose groups are `own`) is in another group; else the root. With hierarchies
/// of both versions, a container may have groups in any of them.
fn control_group(text: &str, own: &str) -> Option<String> {
    let mut groups: Vec<(u8, &str)> = Vec::new();
    for line in text.lines() {
        let mut fields = line.splitn(3, ':').skip(1);
        let (controllers, path) = (fields.next()?, fields.next()?);
        let rank = match () {
            () if path == "/"
                && (controllers.is_empty() || controllers.split(',').any(|one| one == "cpu")) =>
            {
                0
            }
            () if path == "/" => continue,
            () if names_container(path) => 4,
            () if controllers.is_empty() => 3,
            () if controllers.split(',').any(|one| one == "cpu") => 2,
            () if own.lines().any(|own| own == line) => continue,
            () => 1,
        };
        groups.push((rank, path));
    }
    // If several groups name the container, the first one is used.
    groups
        .into_iter()
        .rev()
        .max_by_key(|(rank, _)| *rank)
        .map(|(_, path)| path.to_owned())
}

/// Whether a component of the path contains a container's ID: `docker/7f3a...`,
/// `docker-7f3a....scope`, `crio-7f3a...`.
fn names_container(path: &str) -> bool {
    let is_long_number = |word: &str| {
        word.len() == CONTAINER_DIGITS && word.bytes().all(|byte| byte.is_ascii_hexdigit())
    };
    path.split(['/', '-', '.', ':']).any(is_long_number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_inside_is_the_last_of_several() {
        assert_eq!(inside("Name:\tnginx\nNSpid:\t4711\t30\t7\n"), Some(7));
        assert_eq!(inside("NSpid:\t4711\n"), None, "it is in our namespace");
        assert_eq!(inside("Name:\tnginx\n"), None);
    }

    #[test]
    fn the_control_group_is_that_of_version_2_or_else_that_of_its_cpu_time() {
        let group = |text| control_group(text, "");
        assert_eq!(
            group("0::/system.slice/nginx.service\n").as_deref(),
            Some("/system.slice/nginx.service")
        );
        let both = "4:memory:/m\n2:cpu,cpuacct:/docker/7f:3\n0::/docker.slice\n";
        assert_eq!(group(both).as_deref(), Some("/docker.slice"));
        assert_eq!(
            group("4:memory:/m\n2:cpu,cpuacct:/docker/7f:3\n0::/\n").as_deref(),
            Some("/docker/7f:3")
        );
        assert_eq!((group("0::/\n").as_deref(), group("")), (Some("/"), None));
    }

    #[test]
    fn a_container_is_named_by_whichever_hierarchy_names_it() {
        let number = "7f3a9c0d12e4b5a6978812345678abcd".repeat(2);
        let control_group = |text: &str| control_group(text, "9:memory:/own\n8:pids:/\n");
        let of_memory = format!(
            "9:memory:/docker/{number}\n4:cpu,cpuacct:/user.slice\n0::/system.slice/containerd.service\n"
        );
        assert_eq!(control_group(&of_memory), Some(format!("/docker/{number}")));
        let several = format!("9:pids:/a/{number}\n4:cpu:/b/{number}\n0::/\n");
        assert_eq!(control_group(&several), Some(format!("/a/{number}")));
        let of_systemd = format!("0::/system.slice/docker-{number}.scope\n4:cpu:/x\n");
        assert_eq!(
            control_group(&of_systemd),
            Some(format!("/system.slice/docker-{number}.scope"))
        );
        assert_eq!(
            control_group("4:cpu:/x\n9:memory:/decade\n"),
            Some("/x".to_owned()),
            "a short word is no number"
        );
        assert_eq!(
            control_group("9:memory:/lxc/web\n4:cpu:/\n0::/\n"),
            Some("/lxc/web".to_owned())
        );
        assert_eq!(
            control_group("9:memory:/own\n4:cpu:/\n").as_deref(),
            Some("/"),
            "it is the observer's, too"
        );
    }
}
