//! Checks of control groups. A kernel with real-time groups refuses SCHED_FIFO in any group without
//! a real-time share.

use switchcost_record::{Check, as_argument};

use super::line::{Line, Remedy};
use super::subject::Subject;
use switchcost_facts::control_groups::{are_cpu_limits_visible, own_group, real_time_share_file};
use switchcost_facts::{Root, kernel};

const HIDDEN: &str = "unknown: the folder of this process' control group is not mounted here";

/// Checks the real-time share of this process' control group.
pub(super) fn group_limits(subject: &Subject) -> Check {
    let line = Line::new(
        "real-time group limits",
        "none, or a share for this process' group",
    );
    match real_time_share_file(&subject.root).map(|file| (subject.root.line(&file), file)) {
        Some((Ok(share), file)) if share == "0" => line.caveat(
            format!("{file} is 0: SCHED_FIFO is refused"),
            share_out(&file),
        ),
        Some((Ok(share), file)) => line.fit(format!("{file} is {share}")),
        _ if !are_cpu_limits_visible(&subject.root) => line.caveat(HIDDEN, Remedy::none()),
        // Kernels without real-time groups do not have this file.
        Some((Err(_), _)) | None => check_share_of_v2(line, &subject.root),
    }
}

fn share_out(file: &str) -> Remedy {
    let lasting = "kernel command line: rt_group_sched=0 (from 6.16), or a kernel without CONFIG_RT_GROUP_SCHED";
    Remedy::new(
        format!(
            "echo 900000 | sudo tee {} (its parents first)",
            as_argument(file)
        ),
        lasting,
    )
}

/// Checks real-time limits for control groups of version 2, in which only the root group may have
/// real-time tasks.
fn check_share_of_v2(line: Line, root: &Root) -> Check {
    let group = own_group(root, "").unwrap_or_else(|| "/".to_owned());
    match (are_real_time_groups_built_in(root), group.as_str()) {
        (Some(false), _) => line.fit("none in this kernel"),
        (_, "/") => line.fit("none for the root group"),
        (Some(true), _) => line.caveat(
            format!("the group {group} has no share: SCHED_FIFO may be refused"),
            leave_group(),
        ),
        (None, _) => line.caveat(
            format!("unknown whether the group {group} needs a share"),
            leave_group(),
        ),
    }
}

fn leave_group() -> Remedy {
    let lasting = "kernel command line: rt_group_sched=0 (from 6.16), or a kernel without CONFIG_RT_GROUP_SCHED";
    Remedy::new("echo $$ | sudo tee /sys/fs/cgroup/cgroup.procs", lasting)
}

/// Returns true if the kernel limits real-time tasks by control group; `None` if no file tells.
pub(super) fn are_real_time_groups_on(root: &Root) -> Option<bool> {
    match real_time_share_file(root).is_some_and(|file| root.has(&file)) {
        true => Some(true),
        false => are_real_time_groups_built_in(root),
    }
}

/// Returns true if real-time groups are built into the kernel and enabled; `None` if the kernel's
/// configuration is not available.
fn are_real_time_groups_built_in(root: &Root) -> Option<bool> {
    let config = kernel::config(root).ok()?;
    let is_set = |name: &str| kernel::option(&config, name) == Some("y");
    let asked =
        kernel::command_line_value(root, "rt_group_sched").and_then(|value| match value.as_str() {
            "0" | "n" | "off" => Some(false),
            "1" | "y" | "on" => Some(true),
            _ => None,
        });
    let is_on = asked.unwrap_or(!is_set("CONFIG_RT_GROUP_SCHED_DEFAULT_DISABLED"));
    Some(is_set("CONFIG_RT_GROUP_SCHED") && is_on)
}

/// Checks the CPU quota of this process' control groups.
pub(super) fn cpu_quota(subject: &Subject) -> Check {
    let line = Line::new(
        "CPU quota",
        "none: no task is stopped for the CPU time that it has used",
    );
    match &subject.host.cpu_quota {
        None if !are_cpu_limits_visible(&subject.root) => line.caveat(HIDDEN, Remedy::none()),
        None => line.fit("none"),
        Some(quota) => {
            let off = if quota.file.ends_with("cpu.max") {
                "max"
            } else {
                "-1"
            };
            let remedy = Remedy::new(
                format!(
                    "echo {off} | sudo tee {}, or measure with real-time priority, to which the quota does not apply",
                    as_argument(&quota.file)
                ),
                "give the container or the unit more: docker run --cpus, limits.cpu of a pod, CPUQuota= of a systemd unit",
            );
            line.caveat(
                format!(
                    "{:.2} CPUs in each {} ms ({})",
                    quota.cpus(),
                    quota.period_us / 1_000,
                    quota.file
                ),
                remedy,
            )
        }
    }
}

#[cfg(test)]
mod tests {
    use switchcost_record::Severity;

    use super::*;
    use crate::testing::said;
    use switchcost_facts::fixture::Fixture;

    const CONFIG: &str = "/boot/config-6.8.0-test";

    fn judged(fixture: &Fixture) -> Check {
        group_limits(&Subject::scripted(fixture))
    }

    fn first_version(share: &str) -> Fixture {
        Fixture::workstation()
            .file(CONFIG, "CONFIG_RT_GROUP_SCHED=y\n")
            .file(
                "/proc/self/cgroup",
                "4:memory:/x\n1:cpu,cpuacct:/job/7\n0::/\n",
            )
            .file(
                "/proc/self/mountinfo",
                "32 31 0:29 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu,cpuacct\n",
            )
            .file("/sys/fs/cgroup/cpu/job/7/cpu.rt_runtime_us", share)
    }

    #[test]
    fn the_share_of_the_own_group_decides() {
        let file = "/sys/fs/cgroup/cpu/job/7/cpu.rt_runtime_us";
        assert_eq!(
            judged(&first_version("950000\n")).found,
            format!("{file} is 950000")
        );
        let none = judged(&first_version("0\n"));
        assert_eq!(none.severity, Severity::Caveat);
        assert_eq!(none.found, format!("{file} is 0: SCHED_FIFO is refused"));
        assert_eq!(
            none.fix,
            format!("echo 900000 | sudo tee {file} (its parents first)")
        );
    }

    #[test]
    fn limits_of_groups_that_are_not_mounted_are_unknown() {
        let hidden = Subject::scripted(&Fixture::workstation().remove("/sys/fs/cgroup"));
        for check in [group_limits(&hidden), cpu_quota(&hidden)] {
            assert_eq!(said(&check), (Severity::Caveat, HIDDEN));
        }
        let seen = Subject::scripted(&Fixture::workstation());
        assert_eq!(said(&cpu_quota(&seen)), (Severity::Fit, "none"));
    }

    #[test]
    fn the_second_version_allows_real_time_in_its_root_only() {
        let in_group = |config: &str| {
            Fixture::workstation()
                .file(CONFIG, config)
                .file("/proc/self/cgroup", "0::/user.slice/session\n")
        };
        assert_eq!(judged(&Fixture::workstation()).found, "none in this kernel");
        let refused = judged(&in_group("CONFIG_RT_GROUP_SCHED=y\n"));
        assert_eq!(
            said(&refused),
            (
                Severity::Caveat,
                "the group /user.slice/session has no share: SCHED_FIFO may be refused"
            )
        );
        let disabled =
            in_group("CONFIG_RT_GROUP_SCHED=y\nCONFIG_RT_GROUP_SCHED_DEFAULT_DISABLED=y\n");
        assert_eq!(judged(&disabled).severity, Severity::Fit);
        let asked = disabled.file("/proc/cmdline", "rt_group_sched=1\n");
        assert_eq!(judged(&asked).severity, Severity::Caveat);
        let unknown = in_group("").remove(CONFIG);
        assert_eq!(
            judged(&unknown).found,
            "unknown whether the group /user.slice/session needs a share"
        );
    }

    #[test]
    fn a_quota_is_named_with_its_file() {
        let quota = |fixture: &Fixture| cpu_quota(&Subject::scripted(fixture));
        assert_eq!(quota(&Fixture::workstation()).severity, Severity::Fit);
        let found = quota(&Fixture::workstation().file("/sys/fs/cgroup/cpu.max", "50000 100000\n"));
        assert_eq!(
            said(&found),
            (
                Severity::Caveat,
                "0.50 CPUs in each 100 ms (/sys/fs/cgroup/cpu.max)"
            )
        );
        assert!(
            found
                .fix
                .starts_with("echo max | sudo tee /sys/fs/cgroup/cpu.max"),
            "{}",
            found.fix
        );
        // Escaped as by systemd, for a group whose unit has a dash in its name.
        let escaped = Fixture::workstation()
            .file("/proc/self/cgroup", "0::/app-my\\x2dprogram.scope\n")
            .file(
                "/sys/fs/cgroup/app-my\\x2dprogram.scope/cpu.max",
                "50000 100000\n",
            );
        let fix = quota(&escaped).fix;
        assert!(
            fix.starts_with(
                r#"echo max | sudo tee "/sys/fs/cgroup/app-my\\x2dprogram.scope/cpu.max", or"#
            ),
            "{fix}"
        );
    }
}
