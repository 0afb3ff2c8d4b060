//! Checks of memory: locking, huge pages, and free memory.

use switchcost_record::Check;
use switchcost_units::Bytes;

use super::line::{Line, Remedy};
use super::rights::{Capability, Rights, limit};
use super::subject::Subject;
use switchcost_facts as facts;

/// Amount of locked memory that suffices for the program, and for the largest working sets of the
/// presets with their stacks.
const ENOUGH_TO_LOCK: Bytes = Bytes::mib(64);
/// Amount of free memory that suffices for several of the largest working sets without reclaim.
const ENOUGH_FREE: Bytes = Bytes::mib(256);
/// Amount of free memory below which the kernel reclaims pages during a measurement, so that every
/// sample contains page faults.
const TOO_LITTLE_FREE: Bytes = Bytes::mib(16);

/// Checks whether this process may lock its working sets in memory.
pub(super) fn locked(subject: &Subject) -> Check {
    let line = Line::new(
        "locked memory",
        "at least 64 MiB (RLIMIT_MEMLOCK or cap_ipc_lock)",
    );
    if Rights::read(&subject.root).has(Capability::IpcLock) {
        return line.fit("any amount, by cap_ipc_lock");
    }
    match limit(&subject.root, "Max locked memory") {
        Ok(u64::MAX) => line.fit("any amount"),
        Ok(most) if Bytes(most) >= ENOUGH_TO_LOCK => line.fit(Bytes(most).to_string()),
        Ok(most) => line.caveat(format!("at most {}", Bytes(most)), raise_memlock()),
        Err(why) => line.caveat(why, raise_memlock()),
    }
}

fn raise_memlock() -> Remedy {
    let lasting = "echo '* - memlock unlimited' | sudo tee /etc/security/limits.d/90-switchcost.conf, then log in again";
    Remedy::new("sudo prlimit --memlock=unlimited --pid $$", lasting)
}

/// Checks whether huge pages are available for working sets.
pub(super) fn huge_pages(subject: &Subject) -> Check {
    let line = Line::new(
        "huge pages",
        "transparent huge pages on always or madvise, or reserved ones",
    );
    let reserved = subject
        .root
        .line("/proc/sys/vm/nr_hugepages")
        .ok()
        .and_then(|text| text.parse::<u64>().ok());
    let pool = reserved.map_or_else(
        || "reserved: unknown".to_owned(),
        |pages| format!("{pages} reserved"),
    );
    let transparent = match &subject.host.huge_pages {
        switchcost_record::Fact::Known(text) => text.as_str(),
        switchcost_record::Fact::Unknown { unknown } => unknown,
    };
    let found = format!("{transparent}, {pool}");
    let may_ask = ["(always)", "(madvise)"]
        .iter()
        .any(|mode| transparent.ends_with(mode));
    match may_ask || reserved.is_some_and(|pages| pages > 0) {
        true => line.fit(found),
        false => line.caveat(found, allow_huge_pages()),
    }
}

fn allow_huge_pages() -> Remedy {
    let now = "echo madvise | sudo tee /sys/kernel/mm/transparent_hugepage/enabled";
    Remedy::new(now, "kernel command line: transparent_hugepage=madvise")
}

/// Checks whether working sets fit in memory without reclaim.
pub(super) fn free(subject: &Subject) -> Check {
    let line = Line::new("free memory", "at least 256 MiB available");
    let remedy = || {
        Remedy::new(
            "ps -eo rss,comm --sort=-rss | head, then end tasks that are not needed",
            "a machine with more memory",
        )
    };
    match facts::available_memory(&subject.root) {
        None => line.caveat("/proc/meminfo has no MemAvailable", Remedy::none()),
        Some(available) if available < TOO_LITTLE_FREE => {
            line.unfit(mebibytes(available), remedy())
        }
        Some(available) if available < ENOUGH_FREE => line.caveat(mebibytes(available), remedy()),
        Some(available) => line.fit(mebibytes(available)),
    }
}

fn mebibytes(available: Bytes) -> String {
    format!("{} MiB available", available.0 >> 20)
}

#[cfg(test)]
mod tests {
    use switchcost_record::Severity;

    use super::*;
    use crate::testing::said;
    use switchcost_facts::fixture::Fixture;

    fn unprivileged(limits: &str) -> Subject {
        let fixture = Fixture::workstation()
            .file("/proc/self/status", "CapEff:\t0\n")
            .file("/proc/self/limits", limits);
        Subject::scripted(&fixture)
    }

    #[test]
    fn locking_needs_a_capability_or_a_limit() {
        assert_eq!(
            locked(&Subject::workstation()).found,
            "any amount, by cap_ipc_lock"
        );
        assert_eq!(
            locked(&unprivileged(
                "Max locked memory  unlimited unlimited bytes\n"
            ))
            .severity,
            Severity::Fit
        );
        assert_eq!(
            locked(&unprivileged(
                "Max locked memory  67108864 67108864 bytes\n"
            ))
            .found,
            "64 MiB"
        );
        let tight = locked(&unprivileged("Max locked memory  65536 65536 bytes\n"));
        assert_eq!(said(&tight), (Severity::Caveat, "at most 64 KiB"));
        assert_eq!(tight.fix, "sudo prlimit --memlock=unlimited --pid $$");
        let odd = locked(&unprivileged(""));
        assert_eq!(odd.found, "/proc/self/limits has no 'Max locked memory'");
    }

    #[test]
    fn huge_pages_are_transparent_or_reserved() {
        let never = Fixture::workstation().file(
            "/sys/kernel/mm/transparent_hugepage/enabled",
            "always madvise [never]\n",
        );
        let check = huge_pages(&Subject::scripted(&never));
        assert_eq!(
            said(&check),
            (Severity::Caveat, "2 MiB (never), 0 reserved")
        );
        let reserved = never.file("/proc/sys/vm/nr_hugepages", "64\n");
        assert_eq!(
            huge_pages(&Subject::scripted(&reserved)).severity,
            Severity::Fit
        );
    }

    #[test]
    fn memory_is_fit_tight_or_gone() {
        let of = |kib: u64| {
            Fixture::workstation().file("/proc/meminfo", &format!("MemAvailable: {kib} kB\n"))
        };
        let severity = |fixture: Fixture| free(&Subject::scripted(&fixture)).severity;
        assert_eq!(severity(of(300 << 10)), Severity::Fit);
        assert_eq!(severity(of(100 << 10)), Severity::Caveat);
        assert_eq!(severity(of(10 << 10)), Severity::Unfit);
        assert_eq!(
            severity(Fixture::workstation().remove("/proc/meminfo")),
            Severity::Caveat
        );
    }
}
