//! What processes are called where they live: their numbers in PID namespaces of their own, and their control groups, by which those
//! of a container are recognized.

use std::fs;
use std::os::unix::fs::MetadataExt;

use observation::Tasks;

/// The number of the machine's own PID namespace (PID_NS_INIT_INO of linux/nsfs.h).
const OF_THE_MACHINE: u64 = 0xEFFF_FFFC;

/// Processes looked at: each takes two files.
const PROCESSES: usize = 1024;

/// Whether this process knows others by the numbers that programs in the kernel see.
pub(crate) fn is_outside() -> bool {
    // A kernel without such namespaces has one.
    fs::metadata("/proc/self/ns/pid").map_or(true, |namespace| namespace.ino() == OF_THE_MACHINE)
}

/// Looks at the processes of those tasks that are alive, the first of them.
pub(crate) fn look_at(tasks: &mut [Tasks]) {
    for tasks in tasks.iter_mut().filter(|tasks| !tasks.is_kernel && tasks.process.is_some()).take(PROCESSES) {
        let read = |file| fs::read_to_string(format!("/proc/{}/{file}", tasks.process.unwrap_or_default()));
        tasks.process_inside = read("status").ok().as_deref().and_then(inside);
        tasks.control_group = read("cgroup").ok().as_deref().and_then(control_group);
    }
}

/// The last of its numbers, where there is more than one.
fn inside(status: &str) -> Option<u32> {
    let numbers = status.lines().find_map(|line| line.strip_prefix("NSpid:"))?;
    numbers.split_ascii_whitespace().skip(1).last()?.parse().ok()
}

/// Of version 2, or else of `cpu` of version 1; none for the root.
fn control_group(text: &str) -> Option<String> {
    let mut groups: Vec<(bool, &str)> = Vec::new();
    for line in text.lines() {
        let mut fields = line.splitn(3, ':').skip(1);
        let (controllers, path) = (fields.next()?, fields.next()?);
        if path != "/" && (controllers.is_empty() || controllers.split(',').any(|one| one == "cpu")) {
            groups.push((controllers.is_empty(), path));
        }
    }
    groups.into_iter().max_by_key(|(is_unified, _)| *is_unified).map(|(_, path)| path.to_owned())
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
        let group = |text| control_group(text);
        assert_eq!(group("0::/system.slice/nginx.service\n").as_deref(), Some("/system.slice/nginx.service"));
        let both = "4:memory:/m\n2:cpu,cpuacct:/docker/7f:3\n0::/docker.slice\n";
        assert_eq!(group(both).as_deref(), Some("/docker.slice"));
        assert_eq!(group("4:memory:/m\n2:cpu,cpuacct:/docker/7f:3\n0::/\n").as_deref(), Some("/docker/7f:3"));
        assert_eq!((group("0::/\n"), group("")), (None, None));
    }
}
