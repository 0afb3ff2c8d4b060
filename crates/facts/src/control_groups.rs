//! Control groups (cgroups(7)): limits on memory and on CPU time, and how often the latter have
//! throttled tasks so far.

use switchcost_record::CpuQuota;
use switchcost_units::{Bytes, Nanos};

use super::Root;

/// Name of the folder in /proc that is this process's own.
const OWN: &str = "self";

/// Throttling of a control group's tasks by the group's limit on CPU time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CpuThrottling {
    /// Number of periods in which the tasks reached the limit.
    pub times: u64,
    /// Total time for which the limit kept the group's tasks from running.
    pub time: Nanos,
}

/// Returns the folders of the control groups that limit the CPU time of a process: the process's
/// own group and its parent groups, of version 2 and of the version 1 hierarchy `cpu`.
pub fn cpu_groups(root: &Root, process: u32) -> Vec<String> {
    let process = process.to_string();
    let mut groups = folders(root, &process, "cpu", "cgroup", Some("cpu"));
    groups.extend(folders(root, &process, "", "cgroup2", None));
    groups
}

/// Reads `cpu.stat` of a control group of version 1 or 2; `None` for a group without a limit, whose
/// file has no counts.
pub fn cpu_throttling(root: &Root, folder: &str) -> Option<CpuThrottling> {
    let text = root.read(&format!("{folder}/cpu.stat")).ok()?;
    let field = |name: &str| {
        let value = text
            .lines()
            .find_map(|line| line.strip_prefix(name)?.strip_prefix(' '))?;
        value.trim().parse::<u64>().ok()
    };
    let ns = field("throttled_usec")
        .map(|us| us.saturating_mul(1000))
        .or_else(|| field("throttled_time"))?;
    Some(CpuThrottling {
        times: field("nr_throttled")?,
        time: Nanos(ns),
    })
}

/// Returns the path of the file with the real-time runtime of this process's group in the version 1
/// hierarchy `cpu`; `None` if this hierarchy is not mounted.
pub fn real_time_share_file(root: &Root) -> Option<String> {
    Some(format!(
        "{}/cpu.rt_runtime_us",
        folder(root, OWN, "cpu", "cgroup", Some("cpu"))?.0
    ))
}

/// Returns the path of the file with the real-time runtime of this process's group if that runtime
/// is 0; otherwise `None`. With a runtime of 0, the kernel refuses real-time policies whatever
/// rights the process has.
pub fn refusing_real_time_share(root: &Root) -> Option<String> {
    let file = real_time_share_file(root)?;
    root.line(&file)
        .is_ok_and(|share| share == "0")
        .then_some(file)
}

/// Returns true if limits on the CPU time of this process's control group would be visible: the
/// kernel has no control groups, or the folder of the group or of a parent group is mounted.
pub fn are_cpu_limits_visible(root: &Root) -> bool {
    let first = folder(root, OWN, "cpu", "cgroup", Some("cpu"));
    let mut folders = first
        .into_iter()
        .chain(folder(root, OWN, "", "cgroup2", None));
    !root.has("/proc/self/cgroup") || folders.any(|(own, point)| root.has(&own) || root.has(&point))
}

/// Returns the narrowest limit on CPU time among this process's control group and its visible
/// parent groups; `None` if there is no limit. A container may not see its own group.
pub fn cpu_quota(root: &Root) -> Option<CpuQuota> {
    let first = folders(root, OWN, "cpu", "cgroup", Some("cpu"))
        .into_iter()
        .filter_map(|folder| {
            let file = format!("{folder}/cpu.cfs_quota_us");
            let quota_us = root.line(&file).ok()?.parse().ok()?;
            let period_us = root
                .line(&format!("{folder}/cpu.cfs_period_us"))
                .ok()?
                .parse()
                .ok()?;
            Some(CpuQuota {
                file,
                quota_us,
                period_us,
            })
        });
    let second = folders(root, OWN, "", "cgroup2", None)
        .into_iter()
        .filter_map(|folder| {
            let file = format!("{folder}/cpu.max");
            let text = root.line(&file).ok()?;
            let (quota, period) = text.split_once(' ')?;
            Some(CpuQuota {
                file,
                quota_us: quota.parse().ok()?,
                period_us: period.parse().ok()?,
            })
        });
    first
        .chain(second)
        .filter(|quota| quota.period_us > 0)
        .min_by(|a, b| a.cpus().total_cmp(&b.cpus()))
}

/// Returns the memory that the limits of this process's control group and its visible parent groups
/// leave; `None` if there is no limit. Cached files that are not in use count as free, as in
/// MemAvailable.
pub(crate) fn memory_left(root: &Root) -> Option<Bytes> {
    let left = |folder: String, [limit, usage, cached]: [&str; 3]| {
        let number = |file| {
            root.line(&format!("{folder}/{file}"))
                .ok()?
                .parse::<u64>()
                .ok()
        };
        let left = number(limit)?.saturating_sub(number(usage)?);
        let stat = root
            .read(&format!("{folder}/memory.stat"))
            .unwrap_or_default();
        let cached = stat
            .lines()
            .find_map(|line| line.strip_prefix(cached)?.parse().ok());
        Some(Bytes(left.saturating_add(cached.unwrap_or(0))))
    };
    let first = folders(root, OWN, "memory", "cgroup", Some("memory")).into_iter();
    let second = folders(root, OWN, "", "cgroup2", None).into_iter();
    let of_first = [
        "memory.limit_in_bytes",
        "memory.usage_in_bytes",
        "total_inactive_file ",
    ];
    let of_second = ["memory.max", "memory.current", "inactive_file "];
    let first = first.filter_map(|folder| left(folder, of_first));
    first
        .chain(second.filter_map(|folder| left(folder, of_second)))
        .min()
}

/// Returns the folder of this process's cgroup v2 group; `None` if version 2 is not mounted.
pub fn own_folder_of_version_2(root: &Root) -> Option<String> {
    folder(root, OWN, "", "cgroup2", None).map(|(own, _)| own)
}

/// Returns the path of this process's control group in the version 1 hierarchy of `controller`, or
/// in version 2 if `controller` is empty.
pub fn own_group(root: &Root, controller: &str) -> Option<String> {
    group(root, OWN, controller)
}

/// Returns the path of a process's control group. `process` is the name of the process's folder in
/// /proc: a process ID or `self`.
fn group(root: &Root, process: &str, controller: &str) -> Option<String> {
    let text = root.read(&format!("/proc/{process}/cgroup")).ok()?;
    let mut lines = text
        .lines()
        .filter_map(|line| line.split_once(':')?.1.split_once(':'));
    let found =
        lines.find(|(controllers, _)| controllers.split(',').any(|name| name == controller));
    found.map(|(_, group)| group.to_owned())
}

/// Returns the folder of a process's control group, and the mount point of the group's hierarchy;
/// `None` if the hierarchy is not mounted.
fn folder(
    root: &Root,
    process: &str,
    controller: &str,
    kind: &str,
    option: Option<&str>,
) -> Option<(String, String)> {
    let group = group(root, process, controller)?;
    let (mounted, point) = mount(root, kind, option)?;
    let within = group
        .strip_prefix(mounted.trim_end_matches('/'))?
        .trim_end_matches('/');
    Some((format!("{point}{within}"), point))
}

/// Returns the folders of a process's control group and of all parent groups, nearest first.
fn folders(
    root: &Root,
    process: &str,
    controller: &str,
    kind: &str,
    option: Option<&str>,
) -> Vec<String> {
    let Some((own, point)) = folder(root, process, controller, kind, option) else {
        return Vec::new();
    };
    let is_within = |folder: &&str| folder.len() >= point.len();
    let above = std::iter::successors(Some(own.as_str()), |folder| {
        folder.rsplit_once('/').map(|(above, _)| above)
    });
    above.take_while(is_within).map(str::to_owned).collect()
}

/// Returns the mounted group and the mount point of the first control-group file system that has
/// the type `kind` and the option `option` (proc(5), `mountinfo`).
fn mount(root: &Root, kind: &str, option: Option<&str>) -> Option<(String, String)> {
    let text = root.read("/proc/self/mountinfo").ok()?;
    text.lines().find_map(|line| {
        let (place, rest) = line.split_once(" - ")?;
        let mut place = place.split(' ').skip(3);
        let mut rest = rest.split(' ');
        let is_kind = rest.next()? == kind;
        let options = rest.nth(1).unwrap_or_default();
        let has_option =
            option.is_none_or(|wanted| options.split(',').any(|option| option == wanted));
        (is_kind && has_option).then_some((place.next()?.to_owned(), place.next()?.to_owned()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::Fixture;

    const CPU_MOUNT: &str = "32 31 0:29 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu,cpuacct\n";

    /// Returns the file of the quota and its CPUs.
    fn quota(fixture: &Fixture) -> Option<(String, f64)> {
        cpu_quota(&fixture.root()).map(|quota| (quota.file.clone(), quota.cpus()))
    }

    fn found(file: &str, cpus: f64) -> Option<(String, f64)> {
        Some((file.to_owned(), cpus))
    }

    #[test]
    fn the_narrowest_limit_on_memory_counts() {
        let stat = "anon 1\ninactive_file 4096\nactive_file 7\n";
        let fixture = Fixture::workstation()
            .file("/proc/self/cgroup", "0::/pod/job\n")
            .file("/sys/fs/cgroup/pod/job/memory.max", "max\n")
            .file("/sys/fs/cgroup/pod/job/memory.current", "9000\n")
            .file("/sys/fs/cgroup/pod/memory.max", "1048576\n")
            .file("/sys/fs/cgroup/pod/memory.current", "1000000\n")
            .file("/sys/fs/cgroup/pod/memory.stat", stat);
        assert_eq!(memory_left(&fixture.root()), Some(Bytes(48_576 + 4096)));
        let mount = "33 31 0:30 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n";
        let fixture = Fixture::workstation()
            .file("/proc/self/mountinfo", mount)
            .file("/proc/self/cgroup", "4:memory:/job\n")
            .file("/sys/fs/cgroup/memory/job/memory.limit_in_bytes", "1000\n")
            .file("/sys/fs/cgroup/memory/job/memory.usage_in_bytes", "3000\n")
            .file(
                "/sys/fs/cgroup/memory/job/memory.stat",
                "total_inactive_file 5\n",
            );
        assert_eq!(memory_left(&fixture.root()), Some(Bytes(5)));
        assert_eq!(memory_left(&Fixture::workstation().root()), None);
    }

    #[test]
    fn the_narrowest_group_above_counts() {
        let fixture = Fixture::workstation()
            .file("/proc/self/cgroup", "0::/pod/job\n")
            .file("/sys/fs/cgroup/pod/job/cpu.max", "max 100000\n")
            .file("/sys/fs/cgroup/pod/cpu.max", "50000 100000\n");
        assert_eq!(quota(&fixture), found("/sys/fs/cgroup/pod/cpu.max", 0.5));
        let narrower = fixture.file("/sys/fs/cgroup/pod/job/cpu.max", "20000 100000\n");
        assert_eq!(
            quota(&narrower),
            found("/sys/fs/cgroup/pod/job/cpu.max", 0.2)
        );
    }

    #[test]
    fn the_first_version_has_two_files() {
        let fixture = Fixture::workstation()
            .file("/proc/self/cgroup", "1:cpu,cpuacct:/job\n0::/\n")
            .file("/proc/self/mountinfo", CPU_MOUNT)
            .file("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1\n")
            .file("/sys/fs/cgroup/cpu/job/cpu.cfs_quota_us", "150000\n")
            .file("/sys/fs/cgroup/cpu/job/cpu.cfs_period_us", "100000\n");
        assert_eq!(
            quota(&fixture),
            found("/sys/fs/cgroup/cpu/job/cpu.cfs_quota_us", 1.5)
        );
    }

    #[test]
    fn no_limit_and_odd_files_are_no_quota() {
        assert_eq!(quota(&Fixture::workstation()), None);
        for text in [
            "max 100000\n",
            "",
            "50000\n",
            "x y\n",
            "50000 0\n",
            "-1 100000\n",
        ] {
            let odd = Fixture::workstation().file("/sys/fs/cgroup/cpu.max", text);
            assert_eq!(quota(&odd), None, "{text:?}");
        }
        let odd = Fixture::workstation()
            .file("/proc/self/cgroup", "::::\n1:cpu\n")
            .file("/proc/self/mountinfo", " - \n");
        assert_eq!(
            (quota(&odd), real_time_share_file(&odd.root())),
            (None, None)
        );
    }

    #[test]
    fn a_share_of_0_refuses() {
        let share = |text: &str| {
            let fixture = Fixture::workstation()
                .file("/proc/self/cgroup", "1:cpu,cpuacct:/job/7\n")
                .file(
                    "/proc/self/mountinfo",
                    "32 31 0:29 /job /sys/fs/cgroup/cpu rw shared:1 - cgroup cgroup rw,cpu\n",
                )
                .file("/sys/fs/cgroup/cpu/7/cpu.rt_runtime_us", text);
            refusing_real_time_share(&fixture.root())
        };
        assert_eq!(
            share("0\n").as_deref(),
            Some("/sys/fs/cgroup/cpu/7/cpu.rt_runtime_us")
        );
        assert_eq!(share("950000\n"), None);
    }
}
