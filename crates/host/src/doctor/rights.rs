//! What this process may do: its capabilities and limits, as `/proc/self` shows them.

use record::Check;

use super::line::{Line, Remedy};
use super::subject::Subject;
use crate::facts::{Root, status};
pub(super) use crate::rights::{Capability, Rights};

/// A soft limit of `/proc/self/limits`, the one that the kernel enforces; `u64::MAX` is no limit.
pub(super) fn limit(root: &Root, name: &str) -> Result<u64, String> {
    let text = root.read("/proc/self/limits").map_err(|error| error.to_string())?;
    let row = text.lines().find_map(|line| line.strip_prefix(name));
    let soft = row.and_then(|row| row.split_ascii_whitespace().next());
    let value = soft.and_then(|soft| if soft == "unlimited" { Some(u64::MAX) } else { soft.parse().ok() });
    value.ok_or_else(|| format!("/proc/self/limits has no '{name}'"))
}

/// Who this process is and which capabilities it lacks.
pub(super) fn privileges(subject: &Subject) -> Check {
    let line = Line::new("privileges", "cap_sys_nice, cap_ipc_lock, cap_perfmon, cap_bpf and cap_sys_ptrace");
    let Some(user) = effective_user(&subject.root) else {
        return line.caveat("/proc/self/status has no user", Remedy::none());
    };
    let rights = Rights::read(&subject.root);
    let missing: Vec<_> =
        Capability::ALL.iter().filter(|(one, _)| !rights.holds(*one)).map(|(_, name)| *name).collect();
    match (missing.is_empty(), rights.is_in_user_namespace()) {
        (true, false) => line.fit(format!("user {user} with all of them")),
        (true, true) => line.caveat(
            format!("user {user} with all of them, but only within a user namespace, where most do not count"),
            Remedy::new("run outside the container, or as real root", "docker run --privileged --userns=host"),
        ),
        (false, _) => line.caveat(format!("user {user} without {}", missing.join(", ")), grant()),
    }
}

/// The second of the real, effective, saved and file-system users.
fn effective_user(root: &Root) -> Option<u32> {
    status::field(root, "Uid")?.split_ascii_whitespace().nth(1)?.parse().ok()
}

fn grant() -> Remedy {
    let names: Vec<_> = Capability::ALL.iter().map(|(_, name)| *name).collect();
    let lasting = format!("sudo setcap {}+ep \"$(command -v switchcost)\"", names.join(","));
    Remedy::new("run with sudo", lasting)
}

#[cfg(test)]
mod tests {
    use record::Severity;

    use super::*;
    use crate::facts::fixture::Fixture;

    fn judged(fixture: Fixture) -> Check {
        privileges(&Subject::scripted(&fixture))
    }

    #[test]
    fn root_has_all_rights_unless_in_a_namespace() {
        assert_eq!(judged(Fixture::workstation()).found, "user 0 with all of them");
        let mapped = judged(Fixture::workstation().file("/proc/self/uid_map", "0 1000 1\n"));
        assert_eq!(mapped.severity, Severity::Caveat);
        assert!(mapped.found.contains("user namespace"), "{}", mapped.found);
    }

    #[test]
    fn missing_capabilities_are_named_with_what_grants_them() {
        let status = "Uid:\t1000\t1000\t1000\t1000\nCapEff:\t0000000000004000\n";
        let check = judged(Fixture::workstation().file("/proc/self/status", status));
        assert_eq!(check.severity, Severity::Caveat);
        assert_eq!(check.found, "user 1000 without cap_sys_nice, cap_perfmon, cap_bpf, cap_sys_ptrace");
        let lasting =
            "sudo setcap cap_sys_nice,cap_ipc_lock,cap_perfmon,cap_bpf,cap_sys_ptrace+ep \"$(command -v switchcost)\"";
        assert_eq!(check.lasting_fix, lasting);
    }

    #[test]
    fn limits_are_read_by_their_name() {
        let limits = "Max locked memory         unlimited            unlimited            bytes     \nMax odd  x\n";
        let fixture = Fixture::new().file("/proc/self/limits", limits);
        assert_eq!(limit(&fixture.root(), "Max locked memory"), Ok(u64::MAX));
        let expected = Err("/proc/self/limits has no 'Max odd'".to_owned());
        assert_eq!(limit(&fixture.root(), "Max odd"), expected);
    }
}
