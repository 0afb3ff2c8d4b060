use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use strum::Display;
use switchcost_units::{Bytes, CpuId};

use crate::{Fact, SwitchPath};

/// Kind of content that a cache holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize, Display)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum CacheKind {
    /// The cache holds data only.
    Data,
    /// The cache holds instructions only.
    Instruction,
    /// The cache holds both data and instructions.
    Unified,
}

/// One cache, as one CPU uses it.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct Cache {
    /// Level of the cache; 1 is nearest to the core.
    pub level: u32,
    /// Kind of content of the cache.
    pub kind: CacheKind,
    /// Capacity of the cache in bytes.
    pub size_bytes: Bytes,
    /// Line size of the cache in bytes.
    pub line_bytes: Bytes,
    /// Number of ways of the cache; `None` if unknown.
    pub ways: Option<u32>,
    /// CPUs that share the cache; empty if unknown.
    pub shared_by: Vec<CpuId>,
}

/// Kind of accesses that a TLB translates.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize, Display)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum TlbKind {
    /// The TLB translates loads and stores.
    Data,
    /// The TLB translates instruction fetches.
    Instruction,
    /// The TLB translates loads, stores and instruction fetches.
    Unified,
}

/// One TLB, for one page size.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct Tlb {
    /// Level of the TLB; 1 is nearest to the core.
    pub level: u32,
    /// Kind of accesses that the TLB translates.
    pub kind: TlbKind,
    /// Number of entries of the TLB.
    pub entries: u32,
    /// Page size of the entries in bytes.
    pub page_bytes: Bytes,
}

/// Least number of entries of a second-level TLB for base pages that is plausible: 512, as on
/// Intel's Nehalem (2008) and AMD's K10 (2007). All large cores since then have at least as many
/// (Fog, "Microarchitecture"). Only the Atom Silvermont has fewer, 128. Hypervisors may report too
/// few: 128 were reported on a core that has 3072.
const FEWEST_SECOND_LEVEL: u32 = 512;

impl Tlb {
    /// Returns the amount of memory that all entries of the TLB cover.
    pub fn reach(&self) -> Bytes {
        Bytes(u64::from(self.entries).saturating_mul(self.page_bytes.0))
    }
}

/// Number of interrupts that one CPU served, and its busy time.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct InterruptLoad {
    /// CPU that served the interrupts.
    pub cpu: CpuId,
    /// Number of device and inter-processor interrupts since boot, without those of the CPU's own
    /// timer.
    pub since_boot: u64,
    /// Number of all interrupts in the `observed_ms` before the run.
    pub observed: u64,
    /// Length of the observation of interrupts before the run, in milliseconds.
    pub observed_ms: u64,
    /// Share of the observation in which the CPU was not idle, in thousandths; `None` if the kernel
    /// does not report it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub busy_per_mille: Option<u64>,
}

/// Text that replaces the values that `--redact` removes.
pub const LEFT_OUT: &str = "(left-out)";

/// Facts about the machine as the run found it.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct HostManifest {
    /// Host name; untrusted text that must be escaped before it is shown.
    pub hostname: String,
    /// Release and version of the kernel, as in uname(2).
    pub kernel: String,
    /// Name and version of the Linux distribution.
    pub distribution: Fact<String>,
    /// Instruction set of the machine: `x86_64` or `aarch64`.
    pub architecture: String,
    /// Name of the CPU model.
    pub cpu_model: Fact<String>,
    /// Revision of the CPU's microcode; null if the kernel does not report it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub microcode: Option<String>,
    /// CPUs that the kernel reports as online.
    pub cpus_online: Vec<CpuId>,
    /// CPUs on which the kernel lets this process run.
    pub cpus_allowed: Vec<CpuId>,
    /// CPUs that are isolated from the scheduler's load balancing (isolcpus).
    pub cpus_isolated: Vec<CpuId>,
    /// Caches of the first CPU that is allowed and online, nearest first.
    pub caches: Vec<Cache>,
    /// Errors for further caches, whose files in /sys cannot be read.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub undescribed_caches: Vec<String>,
    /// Sustained and highest clock rate of a core in kHz; null if the machine does not report the
    /// rates.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub core_khz: Option<[u64; 2]>,
    /// TLBs of a CPU, one entry per page size.
    pub tlbs: Fact<Vec<Tlb>>,
    /// Size of a base page in bytes.
    pub page_bytes: Bytes,
    /// Size of a transparent huge page, and when the kernel uses one: `2 MiB (always)`.
    pub huge_pages: Fact<String>,
    /// Size of physical memory in bytes.
    pub memory_bytes: Bytes,
    /// Memory available at the start of the run, in bytes.
    pub memory_available_bytes: Bytes,
    /// Name of the kernel's clock source.
    pub clock_source: Fact<String>,
    /// Whether the CPU's time stamp counter runs at a constant rate in all power states.
    pub is_tsc_invariant: bool,
    /// Hypervisor under which the machine runs, such as `kvm` or `vmware`; `none` if there is none.
    pub hypervisor: Fact<String>,
    /// Name of the frequency governor of the first CPU.
    pub governor: Fact<String>,
    /// Whether cores may run faster than their base clock rate; null if the kernel does not report
    /// it, and in older records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub is_turbo_on: Option<bool>,
    /// Whether simultaneous multithreading (SMT) is active.
    pub is_smt_active: Fact<bool>,
    /// The kernel's report on each CPU vulnerability, by the name of the vulnerability.
    pub mitigations: BTreeMap<String, String>,
    /// Whether page-table isolation (KPTI) is active.
    pub is_kpti_active: Fact<bool>,
    /// Whether TLB entries are tagged by address space (PCID).
    pub has_pcid: Fact<bool>,
    /// Number of the kernel's timer ticks per second (CONFIG_HZ).
    pub timer_hz: Fact<u32>,
    /// Preemption model of the kernel, such as `voluntary`, `full` or `rt`.
    pub preemption: Fact<String>,
    /// Command line with which the kernel was booted.
    pub kernel_command_line: Fact<String>,
    /// Interrupt load of each CPU. Empty in records of observations and simulations, which choose
    /// no CPU.
    pub interrupts: Vec<InterruptLoad>,
    /// Narrowest CPU quota of this process's control groups; `None` without a quota.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpu_quota: Option<CpuQuota>,
    /// Features of the kernel's scheduler, as far as they can be probed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scheduler: Option<Scheduler>,
    /// Conditions of this process that add work to a switch; only in measurements.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub switch_path: Option<SwitchPath>,
}

impl HostManifest {
    /// Returns the facts without host name, kernel command line and control group.
    pub fn redacted(self) -> Self {
        HostManifest {
            hostname: LEFT_OUT.to_owned(),
            kernel_command_line: Fact::unknown("it was to be left out (--redact)"),
            switch_path: self.switch_path.map(SwitchPath::redacted),
            ..self
        }
    }

    /// Returns the TLBs without those of the second level if the reported size of that level is
    /// implausible ([`HostManifest::doubted_tlb`]).
    pub fn plausible_tlbs(&self) -> Vec<&Tlb> {
        let has_real_second_level = self.doubted_tlb().is_none();
        let all = self.tlbs.known().into_iter().flatten();
        all.filter(|tlb| has_real_second_level || tlb.level < 2)
            .collect()
    }

    /// Returns a second-level TLB whose reported size is smaller than on any real core. `None` if
    /// there is none, or on a physical machine.
    pub fn doubted_tlb(&self) -> Option<&Tlb> {
        let is_guest = self.hypervisor.known().is_some_and(|name| name != "none");
        let is_second = |tlb: &&Tlb| {
            tlb.level > 1 && tlb.kind != TlbKind::Instruction && tlb.page_bytes == self.page_bytes
        };
        let mut second = self.tlbs.known().into_iter().flatten().filter(is_second);
        second.find(|tlb| is_guest && tlb.entries < FEWEST_SECOND_LEVEL)
    }

    /// Whether the host name was removed by `--redact`.
    pub fn is_redacted(&self) -> bool {
        self.hostname == LEFT_OUT
    }

    /// Whether both manifests describe the same machine with the same kernel. False if `--redact`
    /// removed the host name.
    pub fn is_same_machine(&self, other: &HostManifest) -> bool {
        let of = |host: &HostManifest| {
            (
                host.hostname.clone(),
                host.cpu_model.known().cloned(),
                host.kernel.clone(),
            )
        };
        !self.is_redacted() && of(self) == of(other)
    }
}

/// Features of the kernel's scheduler, as far as they can be probed.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct Scheduler {
    /// Preemption models that the kernel offers.
    pub preemption_models: Fact<Vec<String>>,
    /// Whether threads may request a longer time slice during critical sections (rseq).
    pub slice_extension: Fact<bool>,
    /// Whether the scheduler keeps the tasks of a process within one last-level cache
    /// (SCHED_CACHE).
    pub is_cache_aware: Fact<bool>,
}

/// Limit on the CPU time of a control group. Real-time tasks are exempt.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct CpuQuota {
    /// Path of the kernel's file that contains the limit.
    pub file: String,
    /// CPU time that all CPUs together may use in each period, in microseconds.
    pub quota_us: u64,
    /// Period of the CPU quota, in microseconds.
    pub period_us: u64,
}

impl CpuQuota {
    /// Returns the quota divided by the period, which is a number of CPUs.
    pub fn cpus(&self) -> f64 {
        self.quota_us as f64 / self.period_us as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tlb_reaches_as_far_as_its_entries() {
        let tlb = |entries, page_bytes| Tlb {
            level: 1,
            kind: TlbKind::Data,
            entries,
            page_bytes,
        };
        assert_eq!(tlb(64, Bytes::kib(4)).reach(), Bytes::kib(256));
        assert_eq!(
            tlb(2, Bytes(u64::MAX)).reach(),
            Bytes(u64::MAX),
            "a number out of a damaged file"
        );
    }
}
