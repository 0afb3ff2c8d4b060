//! Checks for `observe`: access to the kernel's tracepoints, and BPF programs on them.

use switchcost_record::Check;

use super::line::{Line, Remedy};
use super::rights::{Capability, Rights};
use super::subject::Subject;

/// Mount points of tracefs: the current one, and the one of kernels before 4.1.
const TRACEFS: [&str; 2] = ["/sys/kernel/tracing", "/sys/kernel/debug/tracing"];

/// Checks whether this process can read the kernel's tracepoints.
pub(super) fn tracing(subject: &Subject) -> Check {
    let line = Line::new("tracing", "tracefs mounted and readable");
    let readings = TRACEFS.map(|folder| {
        (
            folder,
            subject
                .root
                .line(&format!("{folder}/events/sched/sched_switch/id")),
        )
    });
    match readings {
        [(folder, Ok(_)), _] | [_, (folder, Ok(_))] => {
            line.fit(format!("sched_switch is readable in {folder}"))
        }
        [(_, Err(error)), _] => line.caveat(error.to_string(), open_tracefs(subject)),
    }
}

/// Returns the remedy that gives a group access to tracefs. The files belong to root and a group,
/// whatever the mode of the folder.
fn open_tracefs(subject: &Subject) -> Remedy {
    let mounts = subject.root.read("/proc/self/mounts").unwrap_or_default();
    let is_mounted = mounts
        .lines()
        .any(|line| line.split(' ').skip(1).take(2).eq([TRACEFS[0], "tracefs"]));
    // A mounted tracefs is not mounted again.
    let mount = if is_mounted {
        "-o remount,"
    } else {
        "-t tracefs tracefs -o "
    };
    Remedy::new(
        format!("sudo mount {mount}mode=750,gid=$(id -g) {}", TRACEFS[0]),
        format!(
            "echo \"tracefs {} tracefs mode=750,gid=$(id -g) 0 0\" | sudo tee -a /etc/fstab",
            TRACEFS[0]
        ),
    )
}

/// Checks whether this process can load BPF programs, and whether the kernel's types are available
/// to them.
pub(super) fn bpf(subject: &Subject) -> Check {
    let line = Line::new(
        "BPF",
        "kernel types in /sys/kernel/btf/vmlinux, and cap_bpf with cap_perfmon",
    );
    let rights = Rights::read(&subject.root);
    let is_allowed = rights.has(Capability::Bpf) && rights.has(Capability::Perfmon);
    let has_types = subject.root.has("/sys/kernel/btf/vmlinux");
    let unprivileged = subject
        .root
        .line("/proc/sys/kernel/unprivileged_bpf_disabled");
    let unprivileged = unprivileged.unwrap_or_else(|error| format!("not readable ({error})"));
    let found = format!(
        "{}, {}; unprivileged_bpf_disabled is {unprivileged}",
        if has_types {
            "kernel types"
        } else {
            "no kernel types"
        },
        if is_allowed { "allowed" } else { "not allowed" },
    );
    match (has_types, is_allowed) {
        (true, true) => line.fit(found),
        (false, _) => line.caveat(
            found,
            Remedy::new("", "a kernel with CONFIG_DEBUG_INFO_BTF=y"),
        ),
        (true, false) => line.caveat(found, grant()),
    }
}

fn grant() -> Remedy {
    Remedy::new(
        "run with sudo",
        "sudo setcap cap_bpf,cap_perfmon+ep \"$(command -v switchcost)\"",
    )
}

#[cfg(test)]
mod tests {
    use switchcost_record::Severity;

    use super::*;
    use crate::testing::advised;
    use switchcost_facts::fixture::Fixture;

    #[test]
    fn tracefs_is_found_at_either_place() {
        let subject = Subject::workstation();
        assert_eq!(
            tracing(&subject).found,
            "sched_switch is readable in /sys/kernel/tracing"
        );
        let none = Fixture::workstation().remove("/sys/kernel/tracing");
        let check = tracing(&Subject::scripted(&none));
        assert_eq!(check.severity, Severity::Caveat);
        let expected = "/sys/kernel/tracing/events/sched/sched_switch/id: No such file or directory (os error 2)";
        assert_eq!(check.found, expected);
        let old = none.file(
            "/sys/kernel/debug/tracing/events/sched/sched_switch/id",
            "315\n",
        );
        assert_eq!(
            tracing(&Subject::scripted(&old)).found,
            "sched_switch is readable in /sys/kernel/debug/tracing"
        );
    }

    #[test]
    fn tracefs_is_opened_to_the_own_group_where_it_is_mounted_and_mounted_where_not() {
        let none = Fixture::workstation().remove("/sys/kernel/tracing");
        let fix = |mounts: &str| {
            let root = Fixture::workstation()
                .remove("/sys/kernel/tracing")
                .file("/proc/self/mounts", mounts);
            tracing(&Subject::scripted(&root)).fix
        };
        let mount = "sudo mount -t tracefs tracefs -o mode=750,gid=$(id -g) /sys/kernel/tracing";
        assert_eq!(tracing(&Subject::scripted(&none)).fix, mount);
        assert_eq!(
            fix("tracefs /sys/kernel/debug/tracing tracefs rw 0 0\n"),
            mount
        );
        let mounted =
            "proc /proc proc rw 0 0\ntracefs /sys/kernel/tracing tracefs rw,nosuid,relatime 0 0\n";
        assert_eq!(
            fix(mounted),
            "sudo mount -o remount,mode=750,gid=$(id -g) /sys/kernel/tracing"
        );
        assert_eq!(
            tracing(&Subject::scripted(&none)).lasting_fix,
            "echo \"tracefs /sys/kernel/tracing tracefs mode=750,gid=$(id -g) 0 0\" | sudo tee -a /etc/fstab"
        );
    }

    #[test]
    fn bpf_needs_types_and_rights() {
        let allowed = bpf(&Subject::workstation());
        assert_eq!(
            allowed.found,
            "kernel types, allowed; unprivileged_bpf_disabled is 2"
        );
        let plain = Fixture::workstation().file("/proc/self/status", "CapEff:\t0\n");
        let check = bpf(&Subject::scripted(&plain));
        assert_eq!(advised(&check), (Severity::Caveat, "run with sudo"));
        let typeless = bpf(&Subject::scripted(&plain.remove("/sys/kernel/btf")));
        assert!(typeless.found.starts_with("no kernel types, not allowed"));
        assert_eq!(
            typeless.lasting_fix,
            "a kernel with CONFIG_DEBUG_INFO_BTF=y"
        );
    }
}
