//! Checks of this process' rights: its capabilities and limits, from `/proc/self`.

use switchcost_record::Check;

use super::line::{Line, Remedy};
use super::subject::Subject;
pub(super) use switchcost_facts::limits::read as limit;
use switchcost_facts::limits::tight;
pub(super) use switchcost_facts::rights::{Capability, Rights};
use switchcost_facts::{Root, status};

/// Checks the user of this process, and which useful capabilities the process lacks.
pub(super) fn privileges(subject: &Subject) -> Check {
    let line = Line::new(
        "privileges",
        "cap_sys_nice, cap_ipc_lock, cap_perfmon, cap_bpf and cap_sys_ptrace",
    );
    let Some(user) = effective_user(&subject.root) else {
        return line.caveat("/proc/self/status has no user", Remedy::none());
    };
    let rights = Rights::read(&subject.root);
    let missing: Vec<_> = Capability::ALL
        .iter()
        .filter(|(one, _)| !rights.holds(*one))
        .map(|(_, name)| *name)
        .collect();
    match (missing.is_empty(), rights.is_in_user_namespace()) {
        (true, false) => line.fit(format!("user {user} with all of them")),
        (true, true) => line.caveat(
            format!("user {user} with all of them, but only within a user namespace, where most do not count"),
            Remedy::new("run outside the container, or as real root", "docker run --privileged --userns=host"),
        ),
        (false, _) => line.caveat(format!("user {user} without {}", missing.join(", ")), grant()),
    }
}

/// Checks whether a resource limit of this process would stop or slow a measurement.
pub(super) fn limits(subject: &Subject) -> Check {
    let line = Line::new(
        "limits",
        "no limit of this process that stops or slows a run (prlimit)",
    );
    let is_root = effective_user(&subject.root) == Some(0);
    let tight = tight(&subject.root, !is_root);
    if tight.is_empty() {
        return line.fit("none that is too tight");
    }
    let found: Vec<&str> = tight
        .iter()
        .map(|(_, reported)| reported.as_str())
        .collect();
    let raised: Vec<String> = tight.iter().map(|(limit, _)| limit.raised()).collect();
    let keys: Vec<&str> = tight.iter().map(|(limit, _)| limit.key).collect();
    let lasting = format!(
        "{} in /etc/security/limits.d, or Limit... of the systemd unit",
        keys.join(", ")
    );
    line.caveat(
        found.join(", "),
        Remedy::new(
            format!("sudo prlimit {} --pid $$", raised.join(" ")),
            lasting,
        ),
    )
}

/// Returns the effective user ID of this process, the second of four in `/proc/self/status`; `None`
/// if it cannot be read.
fn effective_user(root: &Root) -> Option<u32> {
    status::field(root, "Uid")?
        .split_ascii_whitespace()
        .nth(1)?
        .parse()
        .ok()
}

fn grant() -> Remedy {
    let names: Vec<_> = Capability::ALL.iter().map(|(_, name)| *name).collect();
    let lasting = format!(
        "sudo setcap {}+ep \"$(command -v switchcost)\"",
        names.join(",")
    );
    Remedy::new("run with sudo", lasting)
}

#[cfg(test)]
mod tests {
    use switchcost_record::Severity;

    use super::*;
    use crate::testing::said;
    use switchcost_facts::fixture::Fixture;

    fn judged(fixture: Fixture) -> Check {
        privileges(&Subject::scripted(&fixture))
    }

    #[test]
    fn root_has_all_rights_unless_in_a_namespace() {
        assert_eq!(
            judged(Fixture::workstation()).found,
            "user 0 with all of them"
        );
        let mapped = judged(Fixture::workstation().file("/proc/self/uid_map", "0 1000 1\n"));
        assert_eq!(mapped.severity, Severity::Caveat);
        assert!(mapped.found.contains("user namespace"), "{}", mapped.found);
    }

    #[test]
    fn missing_capabilities_are_named_with_what_grants_them() {
        let status = "Uid:\t1000\t1000\t1000\t1000\nCapEff:\t0000000000004000\n";
        let check = judged(Fixture::workstation().file("/proc/self/status", status));
        assert_eq!(
            said(&check),
            (
                Severity::Caveat,
                "user 1000 without cap_sys_nice, cap_perfmon, cap_bpf, cap_sys_ptrace"
            )
        );
        let lasting = "sudo setcap cap_sys_nice,cap_ipc_lock,cap_perfmon,cap_bpf,cap_sys_ptrace+ep \"$(command -v switchcost)\"";
        assert_eq!(check.lasting_fix, lasting);
    }

    #[test]
    fn limits_that_are_too_tight_are_named_with_what_lifts_them() {
        let judged = |rows: &str| {
            limits(&Subject::scripted(
                &Fixture::workstation().file("/proc/self/limits", rows),
            ))
        };
        let tight = judged(
            "Max cpu time 60 60 seconds\nMax open files 64 64 files\nMax processes 8 8 processes\n",
        );
        assert_eq!(
            said(&tight),
            (Severity::Caveat, "CPU time of 60 s, open files of 64")
        );
        assert_eq!(
            tight.fix,
            "sudo prlimit --cpu=unlimited --nofile=1048576 --pid $$"
        );
        assert!(
            tight
                .lasting_fix
                .starts_with("cpu, nofile in /etc/security/limits.d"),
            "{}",
            tight.lasting_fix
        );
        assert_eq!(
            judged("Max cpu time unlimited unlimited seconds\n").severity,
            Severity::Fit
        );
    }
}
