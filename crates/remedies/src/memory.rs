//! Finds the limits on this process' memory that are in force, and how to raise them.

use std::fs::read_to_string;

/// Describes the limits on this process' memory and how to raise them; `None` if only the machine's
/// memory is a limit.
pub fn limits() -> Option<String> {
    let read = |path: &str| read_to_string(path).unwrap_or_default();
    describe(
        &read("/proc/self/limits"),
        &read("/proc/sys/vm/overcommit_memory"),
        &read("/proc/meminfo"),
    )
}

/// Describes how to raise the limits on memory, given the contents of `/proc/self/limits`,
/// `overcommit_memory` and `/proc/meminfo`; `None` if there are no limits.
fn describe(limits: &str, overcommit: &str, memory: &str) -> Option<String> {
    let mut found = Vec::new();
    for (title, what, flag, name) in [
        ("Max address space", "address space", "-v", "as"),
        ("Max data size", "memory for data", "-d", "data"),
    ] {
        if let Some(bytes) = soft_limit(limits, title) {
            found.push(format!(
                "raise the limit on {what} ({} KiB): ulimit {flag} unlimited (permanently: {name} in /etc/security/limits.d)",
                bytes >> 10
            ));
        }
    }
    if overcommit.trim() == "2" {
        let of = |name| amount(memory, name).unwrap_or_else(|| "?".to_owned());
        found.push(format!(
            "close other programs, or let the kernel promise more memory (vm.overcommit_memory is 2, and {} of {} are \
             promised): sudo sysctl vm.overcommit_memory=0 (permanently: /etc/sysctl.d)",
            of("Committed_AS:"),
            of("CommitLimit:")
        ));
    }
    (!found.is_empty()).then(|| found.join(", or "))
}

/// Returns the soft limit with the given title, in bytes; `None` if the limit is unlimited or
/// missing.
fn soft_limit(limits: &str, title: &str) -> Option<u64> {
    let line = limits.lines().find_map(|line| line.strip_prefix(title))?;
    line.split_whitespace().next()?.parse().ok()
}

/// Returns an amount of memory from `/proc/meminfo` as text, such as `123 kB`; `None` if it is
/// missing.
fn amount(memory: &str, name: &str) -> Option<String> {
    let line = memory.lines().find_map(|line| line.strip_prefix(name))?;
    Some(line.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    const UNLIMITED: &str = "Limit                     Soft Limit           Hard Limit           Units     \n\
                             Max data size             unlimited            unlimited            bytes     \n\
                             Max address space         unlimited            unlimited            bytes     \n";
    const MEMORY: &str =
        "MemTotal:       24 kB\nCommitLimit:    12345 kB\nCommitted_AS:   12000 kB\n";

    #[test]
    fn the_limit_in_force_is_named_with_its_remedy() {
        assert_eq!(describe(UNLIMITED, "0\n", MEMORY), None);
        assert_eq!(describe("", "", ""), None);
        let address = UNLIMITED.replace("space         unlimited", "space         409600000");
        assert_eq!(
            describe(&address, "1\n", MEMORY).as_deref(),
            Some(
                "raise the limit on address space (400000 KiB): ulimit -v unlimited (permanently: as in \
                 /etc/security/limits.d)"
            )
        );
        let data = address.replace("size             unlimited", "size             1024000");
        assert_eq!(
            describe(&data, "2\n", MEMORY).as_deref(),
            Some(
                "raise the limit on address space (400000 KiB): ulimit -v unlimited (permanently: as in \
                 /etc/security/limits.d), or raise the limit on memory for data (1000 KiB): ulimit -d unlimited (permanently: \
                 data in /etc/security/limits.d), or close other programs, or let the kernel promise more memory \
                 (vm.overcommit_memory is 2, and 12000 kB of 12345 kB are promised): sudo sysctl vm.overcommit_memory=0 \
                 (permanently: /etc/sysctl.d)"
            )
        );
    }
}
