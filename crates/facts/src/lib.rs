//! Internal to switchcost: facts about the machine and about this process, from the kernel's files
//! and the CPU.
//!
//! The input is a [`Root`]: the running machine, or a tree of files that simulates one. The output
//! is a filled [`HostManifest`], with a reason for each missing fact, and limits and capabilities.
//! Texts are stored as found. This crate does not judge, change the machine or print.

#[cfg(target_arch = "x86_64")]
mod amd_tlb;
mod arm_core;
mod caches;
pub mod control_groups;
pub mod cpu_time;
#[cfg(target_arch = "x86_64")]
mod cpuid;
#[cfg(any(test, feature = "testing"))]
pub mod fixture;
mod ftrace;
mod hypervisor;
#[cfg(target_arch = "x86_64")]
mod intel_tlb;
pub mod interrupts;
pub mod kernel;
pub mod limits;
mod observers;
mod processor;
pub mod rights;
mod root;
mod scheduler;
pub mod settings;
pub mod status;
mod switch_path;
pub mod topology;

use switchcost_record::{Fact, HostManifest};
use switchcost_units::{Bytes, CpuId};

pub use control_groups::{
    CpuThrottling, cpu_groups, cpu_throttling, own_folder_of_version_2, refusing_real_time_share,
};
pub use root::{Root, Unreadable};
pub use scheduler::slice_extensions;
pub use status::available_memory;
pub use switch_path::Answers;
pub use topology::{allowed_cpus, cpus_by_quiet, online, quietest_cpu, relation};

/// Collects the facts about the machine at present. `answers` are the results of the system calls
/// that the caller makes. Interrupts are observed for 50 ms.
pub fn manifest(root: &Root, answers: Answers) -> HostManifest {
    let host = manifest_at_once(root, answers.slice_extension.clone());
    HostManifest {
        interrupts: interrupts::load(root, &host.cpus_online),
        switch_path: Some(switch_path::switch_path(root, answers)),
        ..host
    }
}

/// Collects the facts about the machine at present, without observing interrupts and without the
/// conditions of the switch path.
pub fn manifest_at_once(root: &Root, slice_extension: Fact<bool>) -> HostManifest {
    let processor = processor::Processor::read(root);
    let config = kernel::config(root);
    let mitigations = processor::mitigations(root);
    let cpus_online = topology::online(root);
    let cpus_allowed = topology::allowed_cpus(root);
    let first = first_usable(&cpus_allowed, &cpus_online);
    let (caches, undescribed_caches) = caches::caches(root, first);
    HostManifest {
        hostname: root.line("/proc/sys/kernel/hostname").unwrap_or_default(),
        kernel: kernel::kernel(root),
        distribution: kernel::distribution(root),
        architecture: std::env::consts::ARCH.to_owned(),
        cpu_model: processor.model(),
        microcode: processor.microcode(),
        cpus_isolated: topology::cpu_list(root, "/sys/devices/system/cpu/isolated")
            .unwrap_or_default(),
        caches,
        undescribed_caches,
        core_khz: processor.core_khz(root, first),
        tlbs: caches::tlbs(root),
        page_bytes: Bytes(rustix::param::page_size() as u64),
        huge_pages: kernel::huge_pages(root),
        memory_bytes: kernel::memory(root),
        memory_available_bytes: available_memory(root).unwrap_or_default(),
        clock_source: line(
            root,
            "/sys/devices/system/clocksource/clocksource0/current_clocksource",
        ),
        is_tsc_invariant: processor.is_tsc_invariant(),
        hypervisor: hypervisor::hypervisor(root, &processor),
        governor: processor::governor(root, first),
        is_turbo_on: processor::is_turbo_on(root),
        is_smt_active: processor::is_smt_active(root),
        is_kpti_active: processor.is_kpti_active(&mitigations),
        has_pcid: processor.has_pcid(),
        timer_hz: kernel::timer_hz(&config),
        preemption: kernel::preemption(root, &config),
        kernel_command_line: line(root, "/proc/cmdline"),
        interrupts: Vec::new(),
        cpu_quota: control_groups::cpu_quota(root),
        scheduler: Some(scheduler::scheduler(root, &config, slice_extension)),
        switch_path: None,
        mitigations,
        cpus_online,
        cpus_allowed,
    }
}

/// Returns the CPU whose caches and frequency governor stand for those of all CPUs: the first CPU
/// that is allowed and online.
fn first_usable(allowed: &[CpuId], online: &[CpuId]) -> CpuId {
    allowed
        .iter()
        .find(|cpu| online.contains(cpu))
        .or(online.first())
        .copied()
        .unwrap_or(CpuId(0))
}

fn line(root: &Root, path: &str) -> Fact<String> {
    root.line(path)
        .map_or_else(|error| Fact::unknown(error.to_string()), Fact::Known)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::fixture::Fixture;
    use super::*;

    pub(crate) fn known(text: &str) -> Fact<String> {
        Fact::Known(text.to_owned())
    }

    fn read(root: &Root) -> HostManifest {
        manifest(root, Answers::none("not asked"))
    }

    #[test]
    fn a_workstation_is_read_whole() {
        let host = read(&Fixture::workstation().root());
        assert_eq!(host.hostname, "bench");
        assert_eq!(host.kernel, "6.8.0-test #1 SMP PREEMPT_DYNAMIC Mon Jan 1");
        assert_eq!(host.cpu_model, known("AMD Ryzen"));
        assert_eq!(host.cpus_online, [0, 1, 2, 3].map(CpuId));
        assert_eq!(host.cpus_allowed, host.cpus_online);
        assert_eq!(host.cpus_isolated, [CpuId(3)]);
        assert_eq!(host.caches.len(), 4);
        assert_eq!(host.memory_bytes, Bytes::kib(16_384_000));
        assert_eq!(host.memory_available_bytes, Bytes::kib(8_192_000));
        assert_eq!(host.clock_source, known("tsc"));
        assert_eq!(host.is_kpti_active, Fact::Known(false));
        assert_eq!(host.mitigations.len(), 2);
        assert_eq!(host.interrupts.len(), 4);
        assert_eq!(
            host.kernel_command_line,
            known("quiet isolcpus=3 nohz_full=3")
        );
    }

    #[test]
    fn a_machine_that_shows_nothing_gives_reasons_and_no_panic() {
        let host = read(&Fixture::new().root());
        assert_eq!(host.cpus_online, []);
        assert_eq!(host.interrupts, []);
        let expected = Fact::unknown("/proc/cmdline: No such file or directory (os error 2)");
        assert_eq!(host.kernel_command_line, expected);
        assert!(host.timer_hz.known().is_none());
        assert!(host.preemption.known().is_none());
    }

    #[test]
    fn hostile_text_is_kept_as_data() {
        let fixture = Fixture::workstation()
            .file("/proc/sys/kernel/hostname", "<script>\u{1b}[2J")
            .file("/sys/devices/system/cpu/online", "0-99999999\n")
            .file("/proc/self/status", "Cpus_allowed_list:\t../../x\n")
            .file("/proc/interrupts", "CPU0 CPU0 CPU-1\n: : :\n");
        let host = read(&fixture.root());
        assert_eq!(host.hostname, "<script>\u{1b}[2J");
        assert_eq!(
            host.cpus_online,
            [0, 1].map(CpuId),
            "the CPUs of /proc/cpuinfo"
        );
        assert_eq!(host.cpus_allowed, []);
    }

    #[test]
    fn the_real_machine_has_a_cpu_memory_and_pages() {
        let host = read(&Root::system());
        assert!(!host.cpus_online.is_empty());
        assert!(
            host.cpus_allowed
                .iter()
                .all(|cpu| host.cpus_online.contains(cpu))
        );
        assert!(host.page_bytes.0.is_power_of_two());
        assert!(host.memory_available_bytes <= host.memory_bytes);
        assert!(
            host.caches
                .iter()
                .all(|cache| cache.size_bytes.0 > 0 && cache.level > 0)
        );
        assert!(
            host.tlbs
                .known()
                .into_iter()
                .flatten()
                .all(|tlb| tlb.entries > 0)
        );
        let quietest = quietest_cpu(&host).expect("a CPU to measure on");
        assert_eq!(
            relation(&Root::system(), quietest, quietest),
            switchcost_record::Relation::SameCpu
        );
        assert!(host.interrupts.iter().all(|load| load.observed_ms >= 50));
    }
}
