//! Capabilities of this process, and whether the kernel accepts them in this process's user
//! namespace.

use crate::{Root, status};

/// Capabilities that help to measure and observe. The discriminants are the numbers in
/// `linux/capability.h`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Capability {
    /// The capability to lock memory without limit.
    IpcLock = 14,
    /// The capability to read facts about processes of other users in /proc.
    SysPtrace = 19,
    /// The general capability of administration, from which `Perfmon` and `Bpf` were split off in
    /// Linux 5.8.
    SysAdmin = 21,
    /// The capability to set real-time priority.
    SysNice = 23,
    /// The capability to use performance counters.
    Perfmon = 38,
    /// The capability to use BPF.
    Bpf = 39,
}

impl Capability {
    /// The capabilities that the program uses, with their names as in capabilities(7). `SysAdmin`
    /// is not among them.
    pub const ALL: [(Capability, &str); 5] = [
        (Capability::SysNice, "cap_sys_nice"),
        (Capability::IpcLock, "cap_ipc_lock"),
        (Capability::Perfmon, "cap_perfmon"),
        (Capability::Bpf, "cap_bpf"),
        (Capability::SysPtrace, "cap_sys_ptrace"),
    ];
}

/// Real-time priority that a run needs: the kernel's highest. Measured tasks have the priority
/// below it, and a task that preempts a measured task has this one.
pub const REAL_TIME_PRIORITY: i32 = 99;
/// Rights that allow [`REAL_TIME_PRIORITY`], each sufficient.
pub const REAL_TIME_RIGHTS: &str = "CAP_SYS_NICE, or RLIMIT_RTPRIO of 99";

/// Effective capabilities of this process (`CapEff`); none if they cannot be read.
#[derive(Debug)]
pub struct Rights {
    effective: u64,
    is_in_user_namespace: bool,
}

impl Rights {
    /// Reads the effective capabilities of this process from `/proc/self/status`.
    pub fn read(root: &Root) -> Self {
        let field = status::field(root, "CapEff");
        let effective = field
            .and_then(|text| u64::from_str_radix(&text, 16).ok())
            .unwrap_or(0);
        Rights {
            effective,
            is_in_user_namespace: is_in_user_namespace(root),
        }
    }

    /// Whether the kernel grants this process what `capability` allows. For priorities, locked
    /// memory, counters and BPF, the kernel accepts a capability only in the initial user namespace
    /// (`capable()`, not `ns_capable()`).
    pub fn has(&self, capability: Capability) -> bool {
        !self.is_in_user_namespace && self.holds(capability)
    }

    /// Whether this process has `capability` in its own user namespace. `cap_sys_admin` includes
    /// `cap_perfmon` and `cap_bpf`, which were split off from it.
    pub fn holds(&self, capability: Capability) -> bool {
        let covered = matches!(capability, Capability::Perfmon | Capability::Bpf)
            && self.bit(Capability::SysAdmin);
        covered || self.bit(capability)
    }

    /// Whether this process is in a user namespace other than the initial one.
    pub fn is_in_user_namespace(&self) -> bool {
        self.is_in_user_namespace
    }

    fn bit(&self, capability: Capability) -> bool {
        self.effective & (1 << capability as u32) != 0
    }
}

/// Whether this process is outside the initial user namespace, in which `/proc/self/uid_map` maps
/// every user to itself.
fn is_in_user_namespace(root: &Root) -> bool {
    let map = root.read("/proc/self/uid_map").unwrap_or_default();
    let words: Vec<_> = map.split_ascii_whitespace().collect();
    !words.is_empty() && words != ["0", "0", "4294967295"]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::Fixture;

    #[test]
    fn capabilities_of_another_user_namespace_grant_nothing() {
        let rights = |fixture: Fixture| Rights::read(&fixture.root());
        assert!(rights(Fixture::workstation()).has(Capability::SysNice));
        let mapped = rights(Fixture::workstation().file("/proc/self/uid_map", "0 1000 1\n"));
        assert!(mapped.holds(Capability::SysNice) && !mapped.has(Capability::SysNice));
    }

    #[test]
    fn the_old_administrator_covers_what_was_split_off() {
        let rights = Rights {
            effective: 1 << Capability::SysAdmin as u32,
            is_in_user_namespace: false,
        };
        assert!(rights.has(Capability::Bpf) && rights.has(Capability::Perfmon));
        assert!(!rights.has(Capability::SysNice));
    }
}
