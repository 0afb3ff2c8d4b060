//! Control groups: a kernel built with real-time groups refuses SCHED_FIFO in any group without a share of its own.

use record::Check;

use super::line::{Line, Remedy};
use super::subject::Subject;
use crate::facts::{Root, kernel};

/// What this process' group allows real-time tasks.
pub(super) fn group_limits(subject: &Subject) -> Check {
    let line = Line::new("real-time group limits", "none, or a share for this process' group");
    match own_share_file(&subject.root).map(|file| (subject.root.line(&file), file)) {
        Some((Ok(share), file)) if share == "0" => {
            line.caveat(format!("{file} is 0: SCHED_FIFO is refused"), share_out(&file))
        }
        Some((Ok(share), file)) => line.fit(format!("{file} is {share}")),
        // The file is missing where the kernel has no real-time groups.
        Some((Err(_), _)) | None => without_share(line, &subject.root),
    }
}

fn share_out(file: &str) -> Remedy {
    let lasting = "kernel command line: rt_group_sched=0 (from 6.16), or a kernel without CONFIG_RT_GROUP_SCHED";
    Remedy::new(format!("echo 900000 | sudo tee {file} (its parents first)"), lasting)
}

/// The second version of control groups has no knob: only its root may have real-time tasks.
fn without_share(line: Line, root: &Root) -> Check {
    let group = own_group(root, "").unwrap_or_else(|| "/".to_owned());
    match (are_real_time_groups_built_in(root), group.as_str()) {
        (Some(false), _) => line.fit("none in this kernel"),
        (_, "/") => line.fit("none for the root group"),
        (Some(true), _) => {
            line.caveat(format!("the group {group} has no share: SCHED_FIFO may be refused"), leave_group())
        }
        (None, _) => line.caveat(format!("not told whether the group {group} needs a share"), leave_group()),
    }
}

fn leave_group() -> Remedy {
    let lasting = "kernel command line: rt_group_sched=0 (from 6.16), or a kernel without CONFIG_RT_GROUP_SCHED";
    Remedy::new("echo $$ | sudo tee /sys/fs/cgroup/cgroup.procs", lasting)
}

/// Whether the kernel limits real-time tasks by group; `None` where nothing tells.
pub(super) fn are_real_time_groups_on(root: &Root) -> Option<bool> {
    match own_share_file(root).is_some_and(|file| root.has(&file)) {
        true => Some(true),
        false => are_real_time_groups_built_in(root),
    }
}

/// Whether real-time groups are built in and on; `None` where the configuration is not told.
fn are_real_time_groups_built_in(root: &Root) -> Option<bool> {
    let config = kernel::config(root).ok()?;
    let is_set = |name: &str| kernel::option(&config, name) == Some("y");
    let asked = kernel::command_line_value(root, "rt_group_sched").and_then(|value| match value.as_str() {
        "0" | "n" | "off" => Some(false),
        "1" | "y" | "on" => Some(true),
        _ => None,
    });
    let is_on = asked.unwrap_or(!is_set("CONFIG_RT_GROUP_SCHED_DEFAULT_DISABLED"));
    Some(is_set("CONFIG_RT_GROUP_SCHED") && is_on)
}

/// The file with the real-time share of the first version's `cpu` group of this process.
fn own_share_file(root: &Root) -> Option<String> {
    let group = own_group(root, "cpu")?;
    let (mounted, point) = mount_of_cpu(root)?;
    let within = group.strip_prefix(mounted.trim_end_matches('/'))?.trim_end_matches('/');
    Some(format!("{point}{within}/cpu.rt_runtime_us"))
}

/// The group of this process in the hierarchy of `controller`; the empty name is the second version's.
fn own_group(root: &Root, controller: &str) -> Option<String> {
    let text = root.read("/proc/self/cgroup").ok()?;
    let mut lines = text.lines().filter_map(|line| line.split_once(':')?.1.split_once(':'));
    let found = lines.find(|(controllers, _)| controllers.split(',').any(|name| name == controller));
    found.map(|(_, group)| group.to_owned())
}

/// Which group is mounted where, in the first version's hierarchy of `cpu` (proc(5), `mountinfo`).
fn mount_of_cpu(root: &Root) -> Option<(String, String)> {
    let text = root.read("/proc/self/mountinfo").ok()?;
    text.lines().find_map(|line| {
        let (place, kind) = line.split_once(" - ")?;
        let mut place = place.split(' ').skip(3);
        let mut kind = kind.split(' ');
        let is_cpu = kind.next()? == "cgroup" && kind.nth(1)?.split(',').any(|option| option == "cpu");
        is_cpu.then_some((place.next()?.to_owned(), place.next()?.to_owned()))
    })
}

#[cfg(test)]
mod tests {
    use record::Severity;

    use super::*;
    use crate::facts::fixture::Fixture;

    const CONFIG: &str = "/boot/config-6.8.0-test";

    fn judged(fixture: &Fixture) -> Check {
        group_limits(&Subject::scripted(fixture))
    }

    fn first_version(share: &str) -> Fixture {
        Fixture::workstation()
            .file(CONFIG, "CONFIG_RT_GROUP_SCHED=y\n")
            .file("/proc/self/cgroup", "4:memory:/x\n1:cpu,cpuacct:/job/7\n0::/\n")
            .file("/proc/self/mountinfo", "32 31 0:29 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu,cpuacct\n")
            .file("/sys/fs/cgroup/cpu/job/7/cpu.rt_runtime_us", share)
    }

    #[test]
    fn the_share_of_the_own_group_decides() {
        let file = "/sys/fs/cgroup/cpu/job/7/cpu.rt_runtime_us";
        assert_eq!(judged(&first_version("950000\n")).found, format!("{file} is 950000"));
        let none = judged(&first_version("0\n"));
        assert_eq!(none.severity, Severity::Caveat);
        assert_eq!(none.found, format!("{file} is 0: SCHED_FIFO is refused"));
        assert_eq!(none.fix, format!("echo 900000 | sudo tee {file} (its parents first)"));
    }

    #[test]
    fn a_mount_of_a_part_of_the_hierarchy_is_understood() {
        let fixture = first_version("0\n")
            .file("/proc/self/mountinfo", "32 31 0:29 /job /sys/fs/cgroup/cpu rw shared:1 - cgroup cgroup rw,cpu\n");
        let expected = Some("/sys/fs/cgroup/cpu/7/cpu.rt_runtime_us".to_owned());
        assert_eq!(own_share_file(&fixture.root()), expected);
    }

    #[test]
    fn the_second_version_allows_real_time_in_its_root_only() {
        let in_group = |config: &str| {
            Fixture::workstation().file(CONFIG, config).file("/proc/self/cgroup", "0::/user.slice/session\n")
        };
        assert_eq!(judged(&Fixture::workstation()).found, "none in this kernel");
        let refused = judged(&in_group("CONFIG_RT_GROUP_SCHED=y\n"));
        assert_eq!(refused.severity, Severity::Caveat);
        assert_eq!(refused.found, "the group /user.slice/session has no share: SCHED_FIFO may be refused");
        let disabled = in_group("CONFIG_RT_GROUP_SCHED=y\nCONFIG_RT_GROUP_SCHED_DEFAULT_DISABLED=y\n");
        assert_eq!(judged(&disabled).severity, Severity::Fit);
        let asked = disabled.file("/proc/cmdline", "rt_group_sched=1\n");
        assert_eq!(judged(&asked).severity, Severity::Caveat);
        let untold = in_group("").without(CONFIG);
        assert_eq!(judged(&untold).found, "not told whether the group /user.slice/session needs a share");
    }

    #[test]
    fn odd_files_are_no_group() {
        let odd = Fixture::workstation()
            .without(CONFIG)
            .file("/proc/self/cgroup", "::::\n1:cpu\n")
            .file("/proc/self/mountinfo", " - \nx - cgroup\n");
        assert_eq!(own_share_file(&odd.root()), None);
        assert!(!judged(&odd).found.is_empty());
    }
}
