//! Conditions of this process that add work to each of its switches, such as tracers, filters and
//! control groups.

use switchcost_record::{Fact, SwitchPath};

use super::{Root, control_groups, ftrace, observers, settings, status};

/// Facts from system calls, which the caller makes because this crate makes none.
#[derive(Clone, Debug)]
pub struct Answers {
    /// Whether the kernel can extend time slices (rseq).
    pub slice_extension: Fact<bool>,
    /// Nice value of this program.
    pub nice: Fact<i32>,
    /// Time slice of this program in nanoseconds.
    pub slice_ns: Fact<u64>,
    /// Least and largest utilization that the scheduler assumes for this program (uclamp), from 0
    /// to 1024.
    pub utilization_clamp: Fact<[u32; 2]>,
    /// Whether the kernel audits system calls, as a text for the record.
    pub audit: Fact<String>,
}

impl Answers {
    /// Creates answers that are all unknown, with the reason `why`.
    pub fn none(why: &str) -> Answers {
        Answers {
            slice_extension: Fact::unknown(why),
            nice: Fact::unknown(why),
            slice_ns: Fact::unknown(why),
            utilization_clamp: Fact::unknown(why),
            audit: Fact::unknown(why),
        }
    }
}

pub(super) fn switch_path(root: &Root, answers: Answers) -> SwitchPath {
    let group = control_group(root);
    let depth = |group: &String| group.split('/').filter(|name| !name.is_empty()).count() as u32;
    SwitchPath {
        nice: answers.nice,
        slice_ns: answers.slice_ns,
        utilization_clamp: answers.utilization_clamp,
        control_group_depth: group
            .as_ref()
            .map_or_else(|why| Fact::unknown(*why), |group| Fact::Known(depth(group))),
        control_group: group.map_or_else(Fact::unknown, Fact::Known),
        autogroup: autogroup(root),
        seccomp_filters: number(root, "Seccomp_filters"),
        speculation: speculation(root),
        is_traced: is_traced(root),
        sched_ext: sched_ext(root),
        ftrace: ftrace::active_tracers(root),
        observers: observers::find_observers(root),
        audit: answers.audit,
        security_modules: security_modules(root),
        settings: settings::settings(root),
    }
}

/// Returns this process's control group in the version 1 hierarchy `cpu`, unless that is the root
/// group; otherwise the version 2 group. The error says that neither is listed.
fn control_group(root: &Root) -> Result<String, &'static str> {
    let group = |controller| control_groups::own_group(root, controller);
    let first = group("cpu").filter(|group| group != "/");
    first
        .or_else(|| group(""))
        .or_else(|| group("cpu"))
        .ok_or("/proc/self/cgroup names none")
}

fn autogroup(root: &Root) -> Fact<String> {
    match root
        .line("/proc/sys/kernel/sched_autogroup_enabled")
        .as_deref()
    {
        Ok("0") => Fact::Known("off".to_owned()),
        Ok(_) => {
            let own = root.line("/proc/self/autogroup").unwrap_or_default();
            let nice = own
                .split_once(" nice ")
                .map(|(_, nice)| format!(", nice {nice}"));
            Fact::Known(format!("on{}", nice.unwrap_or_default()))
        }
        Err(_) => Fact::Known("not in this kernel".to_owned()),
    }
}

fn number(root: &Root, name: &str) -> Fact<u32> {
    let number = status::field(root, name).and_then(|text| text.parse().ok());
    number.map_or_else(
        || Fact::unknown(format!("/proc/self/status has no {name}")),
        Fact::Known,
    )
}

/// Returns the state of the mitigations for speculative store bypass and indirect branches. For
/// these two, the kernel's work at a switch depends on the outgoing and the incoming task.
fn speculation(root: &Root) -> Fact<String> {
    let field = |name: &str| status::field(root, name);
    let parts: Vec<String> = [
        ("store bypass", "Speculation_Store_Bypass"),
        ("indirect branches", "SpeculationIndirectBranch"),
    ]
    .into_iter()
    .filter_map(|(name, key)| Some(format!("{name} {}", field(key)?)))
    .collect();
    if parts.is_empty() {
        Fact::unknown("/proc/self/status says nothing of speculation")
    } else {
        Fact::Known(parts.join(", "))
    }
}

fn is_traced(root: &Root) -> Fact<bool> {
    match number(root, "TracerPid") {
        Fact::Known(tracer) => Fact::Known(tracer != 0),
        Fact::Unknown { unknown } => Fact::unknown(unknown),
    }
}

fn sched_ext(root: &Root) -> Fact<String> {
    let folder = "/sys/kernel/sched_ext";
    match root.line(&format!("{folder}/state")).as_deref() {
        Ok("disabled") | Err(_) => Fact::Known("none".to_owned()),
        Ok(state) => Fact::Known(
            root.line(&format!("{folder}/root/ops"))
                .unwrap_or_else(|_| state.to_owned()),
        ),
    }
}

fn security_modules(root: &Root) -> Fact<Vec<String>> {
    let list = root.line("/sys/kernel/security/lsm");
    let names = |text: String| {
        text.split(',')
            .filter(|name| !name.is_empty())
            .map(str::to_owned)
            .collect()
    };
    list.map_or_else(
        |error| Fact::unknown(error.to_string()),
        |text| Fact::Known(names(text)),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::Fixture;
    use crate::tests::known;

    fn of(fixture: &Fixture) -> SwitchPath {
        switch_path(&fixture.root(), Answers::none("not asked"))
    }

    #[test]
    fn what_a_task_carries_is_read_from_its_files() {
        let status = "TracerPid:\t7\nSeccomp:\t2\nSeccomp_filters:\t3\nSpeculation_Store_Bypass:\tvulnerable\n\
                      SpeculationIndirectBranch:\talways enabled\n";
        let fixture = Fixture::workstation()
            .file("/proc/self/status", status)
            .file("/proc/self/cgroup", "2:cpu,cpuacct:/\n0::/pod/job\n")
            .file("/proc/self/autogroup", "/autogroup-12 nice 5\n")
            .file("/proc/sys/kernel/sched_autogroup_enabled", "1\n")
            .file("/sys/kernel/security/lsm", "capability,bpf\n");
        let path = of(&fixture);
        assert_eq!(path.seccomp_filters, Fact::Known(3));
        assert_eq!(path.is_traced, Fact::Known(true));
        assert_eq!(
            path.speculation,
            known("store bypass vulnerable, indirect branches always enabled")
        );
        assert_eq!(
            (path.control_group, path.control_group_depth),
            (known("/pod/job"), Fact::Known(2))
        );
        assert_eq!(path.autogroup, known("on, nice 5"));
        assert_eq!(
            path.security_modules,
            Fact::Known(vec!["capability".to_owned(), "bpf".to_owned()])
        );
    }

    #[test]
    fn a_scheduler_of_bpf_is_named() {
        assert_eq!(of(&Fixture::new()).sched_ext, known("none"));
        let loaded = Fixture::new().file("/sys/kernel/sched_ext/state", "enabled\n");
        assert_eq!(of(&loaded).sched_ext, known("enabled"));
        assert_eq!(
            of(&loaded.file("/sys/kernel/sched_ext/root/ops", "rusty\n")).sched_ext,
            known("rusty")
        );
    }

    #[test]
    fn what_is_not_said_is_unknown_and_not_nothing() {
        let path = of(&Fixture::new());
        assert!(
            path.seccomp_filters.known().is_none() && path.control_group_depth.known().is_none()
        );
        assert!(path.ftrace.known().is_none() && path.observers.known().is_none());
    }
}
