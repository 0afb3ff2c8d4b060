//! Checks of the machine itself: caches, TLBs, clock, hypervisor, and the kernel's mitigations.

use std::collections::BTreeMap;

use switchcost_record::{Cache, Check, Fact, Tlb};
use switchcost_units::Bytes;

use super::line::{Line, Remedy};
use super::subject::Subject;
use super::words::{
    CLOCK, CLOCK_SOURCE, CLOCK_SOURCE_PARAMETERS, MOUNT_PROC, MOUNT_SYS, NO_CACHES, TAGGED,
};

/// Clock sources that advance once per timer tick, which is too coarse to time a switch.
const COARSE_CLOCKS: [&str; 2] = ["jiffies", "refined-jiffies"];
/// Clock sources that every CPU reads without a call into the kernel or the hypervisor.
const CPU_CLOCKS: [&str; 3] = ["tsc", "arch_sys_counter", "riscv_clocksource"];

/// Checks whether the sizes of all caches are reported. Working sets are compared with these sizes.
pub(super) fn caches(subject: &Subject) -> Check {
    let line = Line::new("caches", "sizes of all levels are reported");
    let host = &subject.host;
    if !host.undescribed_caches.is_empty() {
        return line.caveat(
            format!(
                "the kernel describes a cache incompletely: {}",
                host.undescribed_caches.join("; ")
            ),
            Remedy::none(),
        );
    }
    match host.caches.as_slice() {
        [] => line.caveat(NO_CACHES, Remedy::none()),
        caches => line.fit(caches.iter().map(cache).collect::<Vec<_>>().join(", ")),
    }
}

fn cache(cache: &Cache) -> String {
    let sharers = match cache.shared_by.len() {
        0 | 1 => String::new(),
        sharers => format!(" shared by {sharers} CPUs"),
    };
    format!(
        "L{} {} {}{sharers}",
        cache.level, cache.kind, cache.size_bytes
    )
}

/// Checks whether all TLBs are reported. Working sets are compared with their reach.
pub(super) fn tlbs(subject: &Subject) -> Check {
    let line = Line::new("TLBs", "entries of all levels are reported");
    if let Some(doubted) = subject.host.doubted_tlb() {
        let found = format!(
            "{}, which no such core has; the hypervisor invented it, so it is not used",
            tlb(doubted)
        );
        return line.caveat(found, Remedy::none());
    }
    match &subject.host.tlbs {
        Fact::Known(tlbs) => line.fit(list_base_page_tlbs(tlbs, subject.host.page_bytes)),
        Fact::Unknown { unknown } => line.caveat(unknown.as_str(), Remedy::none()),
    }
}

/// Lists the TLBs for base pages, or all TLBs if none is reported for base pages.
fn list_base_page_tlbs(tlbs: &[Tlb], page_bytes: Bytes) -> String {
    let chosen: Vec<_> = tlbs
        .iter()
        .filter(|tlb| tlb.page_bytes == page_bytes)
        .map(tlb)
        .collect();
    match chosen.is_empty() {
        true => tlbs.iter().map(tlb).collect::<Vec<_>>().join(", "),
        false => chosen.join(", "),
    }
}

fn tlb(tlb: &Tlb) -> String {
    format!(
        "L{} {} {} x {}",
        tlb.level, tlb.kind, tlb.entries, tlb.page_bytes
    )
}

/// Checks the clock that all timings use.
pub(super) fn clock(subject: &Subject) -> Check {
    let line = Line::new("clock", CLOCK);
    let rate = if subject.host.is_tsc_invariant {
        "invariant counter"
    } else {
        "no invariant counter"
    };
    let (source, found) = match &subject.host.clock_source {
        Fact::Known(name) => (Some(name.as_str()), format!("{rate}, clock source {name}")),
        Fact::Unknown { unknown } => (None, format!("{rate}, clock source unknown ({unknown})")),
    };
    match (subject.host.is_tsc_invariant, source) {
        (_, Some(source)) if COARSE_CLOCKS.contains(&source) => line.unfit(found, choose_counter()),
        (true, Some(source)) if CPU_CLOCKS.contains(&source) => line.fit(found),
        (false, None) => line.unfit(found, show_clock(subject)),
        (true, None) => line.caveat(found, show_clock(subject)),
        // The clock is in use, but whether it is invariant is unknown.
        (false, Some(source)) if source == CLOCK_SOURCE => {
            line.caveat(found, show_processor(subject))
        }
        _ => line.caveat(found, choose_counter()),
    }
}

const CLOCK_SOURCES: &str = "/sys/devices/system/clocksource/clocksource0";

/// Returns the remedy that mounts /sys, if the clock's files are not visible; an empty remedy
/// otherwise.
fn show_clock(subject: &Subject) -> Remedy {
    let is_mounted = subject.root.has("/sys/devices/system");
    if is_mounted {
        Remedy::none()
    } else {
        Remedy::new(MOUNT_SYS, "")
    }
}

fn show_processor(subject: &Subject) -> Remedy {
    let is_mounted = subject.root.has("/proc/cpuinfo");
    if is_mounted {
        Remedy::none()
    } else {
        Remedy::new(MOUNT_PROC, "")
    }
}

fn choose_counter() -> Remedy {
    let now = format!("echo {CLOCK_SOURCE} | sudo tee {CLOCK_SOURCES}/current_clocksource");
    Remedy::new(
        now,
        format!("kernel command line: {CLOCK_SOURCE_PARAMETERS}"),
    )
}

/// Checks for a hypervisor, whose other guests are invisible here.
pub(super) fn hypervisor(subject: &Subject) -> Check {
    let line = Line::new("hypervisor", "none, or none that takes time");
    match &subject.host.hypervisor {
        Fact::Known(name) if name == "none" => line.fit("none"),
        Fact::Known(name) => line.caveat(format!("{name}; {}", stolen(subject)), leave()),
        Fact::Unknown { unknown } => {
            line.caveat(format!("{unknown}; {}", stolen(subject)), leave())
        }
    }
}

/// Describes the time that a hypervisor has stolen since boot. A hypervisor that does not report
/// this time looks like one that steals none.
fn stolen(subject: &Subject) -> String {
    match subject.stolen() {
        None => "/proc/stat shows no steal".to_owned(),
        Some((0, _)) => "no steal since the start, or none reported".to_owned(),
        Some((stolen, all)) => format!(
            "{} of all time stolen since the start",
            percent(stolen, all)
        ),
    }
}

fn percent(part: u64, all: u64) -> String {
    match u128::from(part) * 10_000 / u128::from(all.max(1)) {
        0 => "less than 0.01 %".to_owned(),
        hundredths => format!("{}.{:02} %", hundredths / 100, hundredths % 100),
    }
}

fn leave() -> Remedy {
    Remedy::new(
        "",
        "a bare machine, or virtual CPUs pinned to cores of their own on the host",
    )
}

/// Checks the kernel's mitigations, which are part of the cost of a switch.
pub(super) fn mitigations(subject: &Subject) -> Check {
    let line = Line::new("mitigations", "reported, and on as in production");
    let known = &subject.host.mitigations;
    let command_line = subject
        .host
        .kernel_command_line
        .known()
        .map(String::as_str)
        .unwrap_or_default();
    if known.is_empty() {
        return line.caveat(
            "the kernel has no /sys/devices/system/cpu/vulnerabilities",
            Remedy::none(),
        );
    }
    match command_line
        .split_ascii_whitespace()
        .any(|word| word == "mitigations=off")
    {
        true => line.caveat(
            format!("mitigations=off; {}", summary(known)),
            restore_mitigations(),
        ),
        false => line.fit(summary(known)),
    }
}

fn summary(known: &BTreeMap<String, String>) -> String {
    let count = |begin: &str| {
        known
            .values()
            .filter(|text| text.starts_with(begin))
            .count()
    };
    let spectre = known
        .get("spectre_v2")
        .and_then(|text| text.strip_prefix("Mitigation: "));
    let branch = spectre
        .and_then(|text| text.split(';').next())
        .map(|text| format!("; spectre_v2: {text}"));
    format!(
        "{} mitigated, {} vulnerable, {} not affected{}",
        count("Mitigation"),
        count("Vulnerable"),
        count("Not affected"),
        branch.unwrap_or_default()
    )
}

fn restore_mitigations() -> Remedy {
    Remedy::new(
        "",
        "kernel command line: mitigations=auto, unless production runs without",
    )
}

/// Checks whether each kernel entry changes page tables (KPTI), and whether TLB entries survive the
/// change.
pub(super) fn page_tables(subject: &Subject) -> Check {
    let line = Line::new("page tables", TAGGED);
    let isolated = match &subject.host.is_kpti_active {
        Fact::Known(true) => "isolated: each kernel entry loads page tables".to_owned(),
        Fact::Known(false) => "not isolated".to_owned(),
        Fact::Unknown { unknown } => format!("isolation unknown ({unknown})"),
    };
    let tagged = match &subject.host.has_pcid {
        Fact::Known(true) => "tagged".to_owned(),
        Fact::Known(false) => "not tagged: each change of address space empties the TLB".to_owned(),
        Fact::Unknown { unknown } => format!("tags unknown ({unknown})"),
    };
    let found = format!("{isolated}; {tagged}");
    match (
        subject.host.is_kpti_active.known(),
        subject.host.has_pcid.known(),
    ) {
        (Some(false), Some(true)) => line.fit(found),
        _ => line.caveat(found, Remedy::none()),
    }
}

#[cfg(test)]
mod tests {
    use switchcost_record::{Severity, TlbKind};

    use super::*;
    use crate::testing::{advised, said};
    use switchcost_facts::fixture::{CPUINFO, Fixture};

    #[test]
    fn caches_and_tlbs_are_listed_or_missing() {
        let mut subject = Subject::workstation();
        let expected = "L1 data 32 KiB, L1 instruction 32 KiB, L2 unified 512 KiB, L3 unified 32 MiB shared by 4 CPUs";
        assert_eq!(caches(&subject).found, expected);
        subject.host.undescribed_caches = vec!["/sys/x/index2/size: found \"?\"".to_owned()];
        let odd = caches(&subject);
        assert_eq!(
            said(&odd),
            (
                Severity::Caveat,
                "the kernel describes a cache incompletely: /sys/x/index2/size: found \"?\""
            )
        );
        subject.host.undescribed_caches.clear();
        subject.host.caches.clear();
        assert_eq!(caches(&subject).severity, Severity::Caveat);
        let page_bytes = subject.host.page_bytes;
        let giant = Tlb {
            level: 1,
            kind: TlbKind::Data,
            entries: 4,
            page_bytes: Bytes::mib(1024),
        };
        subject.host.tlbs = Fact::Known(vec![
            Tlb {
                entries: 64,
                page_bytes,
                ..giant.clone()
            },
            giant,
        ]);
        assert_eq!(tlbs(&subject).found, format!("L1 data 64 x {page_bytes}"));
        assert_eq!(tlbs(&subject).severity, Severity::Fit);
    }

    #[test]
    fn a_second_level_that_no_core_has_is_not_believed() {
        let mut subject = Subject::workstation();
        let page_bytes = subject.host.page_bytes;
        let tlb = |level, entries| Tlb {
            level,
            kind: TlbKind::Data,
            entries,
            page_bytes,
        };
        subject.host.tlbs = Fact::Known(vec![tlb(1, 64), tlb(2, 128)]);
        assert_eq!(
            tlbs(&subject).severity,
            Severity::Fit,
            "no hypervisor: a core of its own kind"
        );
        subject.host.hypervisor = Fact::Known("kvm".to_owned());
        let found = tlbs(&subject).found;
        assert_eq!(
            found,
            format!(
                "L2 data 128 x {page_bytes}, which no such core has; the hypervisor invented it, so it is not used"
            )
        );
        assert_eq!(subject.host.plausible_tlbs(), [&tlb(1, 64)]);
        subject.host.tlbs = Fact::Known(vec![tlb(1, 64), tlb(2, 3072)]);
        assert_eq!(subject.host.plausible_tlbs().len(), 2);
    }

    fn clock_of(is_tsc_invariant: bool, source: Fact<String>) -> Severity {
        let mut subject = Subject::workstation();
        subject.host.is_tsc_invariant = is_tsc_invariant;
        subject.host.clock_source = source;
        clock(&subject).severity
    }

    #[test]
    fn a_clock_is_fit_doubtful_or_useless() {
        let named = |name: &str| Fact::Known(name.to_owned());
        assert_eq!(clock_of(true, named("tsc")), Severity::Fit);
        assert_eq!(clock_of(true, named("hpet")), Severity::Caveat);
        assert_eq!(clock_of(false, named("kvm-clock")), Severity::Caveat);
        assert_eq!(clock_of(true, named("refined-jiffies")), Severity::Unfit);
        assert_eq!(clock_of(false, Fact::unknown("no file")), Severity::Unfit);
    }

    #[test]
    #[cfg(target_arch = "x86_64")]
    fn no_clock_is_to_be_chosen_that_is_chosen_or_cannot_be() {
        let (no_sys, no_proc) = (
            Fixture::workstation().remove("/sys"),
            Fixture::workstation().remove("/proc"),
        );
        let check = clock(&Subject::scripted(&no_sys));
        assert_eq!(
            advised(&check),
            (Severity::Caveat, "sudo mount -t sysfs sysfs /sys")
        );
        let subject = Subject::scripted(&no_proc);
        let check = clock(&subject);
        assert!(
            check
                .found
                .ends_with("no invariant counter, clock source tsc"),
            "{}",
            check.found
        );
        assert_eq!(
            advised(&check),
            (Severity::Caveat, "sudo mount -t proc proc /proc")
        );
        let check = crate::cpus::cpus(&subject);
        assert_eq!(
            advised(&check),
            (Severity::Unfit, "sudo mount -t proc proc /proc")
        );
        let mut other = Subject::workstation();
        other.host.clock_source = Fact::Known("hpet".to_owned());
        assert!(
            clock(&other)
                .fix
                .starts_with("echo tsc | sudo tee /sys/devices/"),
            "{}",
            clock(&other).fix
        );
    }

    #[test]
    fn a_guest_is_a_caveat_that_shows_steal() {
        assert_eq!(hypervisor(&Subject::workstation()).found, "none");
        let mut guest = Subject::workstation();
        guest.host.hypervisor = Fact::Known("kvm".to_owned());
        assert_eq!(
            hypervisor(&guest).found,
            "kvm; no steal since the start, or none reported"
        );
        let guest = guest.ending_with("cpu  100 0 50 9800 0 0 0 50 0 0\n");
        assert_eq!(
            hypervisor(&guest).found,
            "kvm; 0.50 % of all time stolen since the start"
        );
        assert_eq!(hypervisor(&guest).severity, Severity::Caveat);
        let guest = guest.ending_with("cpu  100 0 50 9800000 0 0 0 5 0 0\n");
        assert_eq!(
            hypervisor(&guest).found,
            "kvm; less than 0.01 % of all time stolen since the start"
        );
        assert_eq!(
            hypervisor(&guest.ending_with("odd")).found,
            "kvm; /proc/stat shows no steal"
        );
    }

    #[test]
    fn mitigations_are_summed_up() {
        assert_eq!(
            mitigations(&Subject::workstation()).found,
            "1 mitigated, 0 vulnerable, 1 not affected; spectre_v2: Retpolines"
        );
        let off = Subject::scripted(
            &Fixture::workstation().file("/proc/cmdline", "quiet mitigations=off\n"),
        );
        assert_eq!(mitigations(&off).severity, Severity::Caveat);
        let none = Subject::scripted(
            &Fixture::workstation().remove("/sys/devices/system/cpu/vulnerabilities"),
        );
        assert_eq!(mitigations(&none).severity, Severity::Caveat);
    }

    #[test]
    #[cfg(target_arch = "x86_64")]
    fn page_tables_are_fit_only_when_tagged_and_not_isolated() {
        assert_eq!(
            page_tables(&Subject::workstation()).found,
            "not isolated; tagged"
        );
        let untagged =
            Fixture::workstation().file("/proc/cpuinfo", &CPUINFO.replace("pcid", "pti"));
        let check = page_tables(&Subject::scripted(&untagged));
        assert_eq!(check.severity, Severity::Caveat);
        let expected = "isolated: each kernel entry loads page tables; not tagged: each change of address space empties the TLB";
        assert_eq!(check.found, expected);
    }
}
