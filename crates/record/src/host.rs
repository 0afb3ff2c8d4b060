use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use strum::Display;
use switchcost_units::{Bytes, CpuId};

use crate::{Fact, SwitchPath};

/// Content of a cache.
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

/// One cache as seen from one CPU.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct Cache {
    /// Level of the cache; 1 is nearest to the core.
    pub level: u32,
    /// Content of the cache.
    pub kind: CacheKind,
    /// Capacity of the cache.
    pub size_bytes: Bytes,
    /// Size of a line of the cache.
    pub line_bytes: Bytes,
    /// Associativity; `None` if unknown.
    pub ways: Option<u32>,
    /// CPUs that share the cache.
    pub shared_by: Vec<CpuId>,
}

/// Accesses that a TLB translates.
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

/// One TLB for one page size.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct Tlb {
    /// Level of the TLB; 1 is nearest to the core.
    pub level: u32,
    /// Kind of accesses that the TLB translates.
    pub kind: TlbKind,
    /// Number of translations in the TLB.
    pub entries: u32,
    /// Page size of the translations.
    pub page_bytes: Bytes,
}

/// Entries of the smallest second-level TLB for base pages: 512 on Intel's Nehalem (2008) and AMD's
/// K10 (2007). All large cores since then have at least as many (Fog, "Microarchitecture"); only
/// the Atom Silvermont has 128. Hypervisors may report fewer: 128 entries were seen on a core that
/// has 3072.
const FEWEST_SECOND_LEVEL: u32 = 512;

impl Tlb {
    /// Returns the amount of memory that the TLB translates at once.
    pub fn reach(&self) -> Bytes {
        Bytes(u64::from(self.entries).saturating_mul(self.page_bytes.0))
    }
}

/// Interrupts that a CPU served.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct InterruptLoad {
    /// CPU that served the interrupts.
    pub cpu: CpuId,
    /// Device and inter-processor interrupts since boot, without those of the CPU's own timer.
    pub since_boot: u64,
    /// All interrupts during `observed_ms` before the run.
    pub observed: u64,
    /// Length of the observed time before the run, in milliseconds.
    pub observed_ms: u64,
    /// Share of the observed time in which the CPU was not idle, in thousandths; `None` if the kernel does not report it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub busy_per_mille: Option<u64>,
}

/// Text that replaces what `--redact` leaves out.
pub const LEFT_OUT: &str = "(left-out)";

/// The machine as the experiment found it.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct HostManifest {
    /// Host name; hostile text until escaped.
    pub hostname: String,
    /// Kernel release and version.
    pub kernel: String,
    /// Name and version of the distribution.
    pub distribution: Fact<String>,
    /// Instruction set of the machine: `x86_64` or `aarch64`.
    pub architecture: String,
    /// Name of the CPU model.
    pub cpu_model: Fact<String>,
    /// Revision of the processor's microcode; null if the kernel does not report it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub microcode: Option<String>,
    /// CPUs that are online.
    pub cpus_online: Vec<CpuId>,
    /// CPUs that this process may use.
    pub cpus_allowed: Vec<CpuId>,
    /// CPUs isolated from load balancing.
    pub cpus_isolated: Vec<CpuId>,
    /// Caches as seen from the first CPU that is allowed and online, nearest first.
    pub caches: Vec<Cache>,
    /// Files that should describe another cache, with their faults.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub undescribed_caches: Vec<String>,
    /// Sustained and highest clock rate of a core in kHz; null if the machine does not report them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub core_khz: Option<[u64; 2]>,
    /// TLBs, by page size.
    pub tlbs: Fact<Vec<Tlb>>,
    /// Size of a base page.
    pub page_bytes: Bytes,
    /// Size of a transparent huge page, and when the kernel uses one: `2 MiB (always)`.
    pub huge_pages: Fact<String>,
    /// Size of all memory.
    pub memory_bytes: Bytes,
    /// Memory available at the start.
    pub memory_available_bytes: Bytes,
    /// The kernel's clock source.
    pub clock_source: Fact<String>,
    /// Whether the time stamp counter runs at a constant rate in every state.
    pub is_tsc_invariant: bool,
    /// Hypervisor under which the machine runs, such as `kvm` or `vmware`; `none` if there is none.
    pub hypervisor: Fact<String>,
    /// Frequency governor of the first CPU.
    pub governor: Fact<String>,
    /// Whether cores may run faster than their base clock; null if the kernel does not report it, and in older records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub is_turbo_on: Option<bool>,
    /// Whether simultaneous multithreading is on.
    pub is_smt_active: Fact<bool>,
    /// Mitigations by vulnerability, in the kernel's words.
    pub mitigations: BTreeMap<String, String>,
    /// Whether kernel page tables are isolated.
    pub is_kpti_active: Fact<bool>,
    /// Whether address spaces are tagged in the TLB.
    pub has_pcid: Fact<bool>,
    /// Number of timer ticks per second.
    pub timer_hz: Fact<u32>,
    /// Preemption model of the kernel.
    pub preemption: Fact<String>,
    /// Command line of the kernel at boot.
    pub kernel_command_line: Fact<String>,
    /// Interrupt load of each CPU; empty if no CPU is chosen (observations, simulations).
    pub interrupts: Vec<InterruptLoad>,
    /// CPU quota of this process's control group, if it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpu_quota: Option<CpuQuota>,
    /// Features of the scheduler, as far as they could be probed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scheduler: Option<Scheduler>,
    /// Conditions besides the kernel that affect a switch; only in measurements.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub switch_path: Option<SwitchPath>,
}

impl HostManifest {
    /// Returns the manifest without host name, kernel command line and name of the control group.
    pub fn redacted(self) -> Self {
        HostManifest {
            hostname: LEFT_OUT.to_owned(),
            kernel_command_line: Fact::unknown("it was to be left out (--redact)"),
            switch_path: self.switch_path.map(SwitchPath::redacted),
            ..self
        }
    }

    /// Returns the TLBs that a core can have, without a second level that must be an invention of
    /// the hypervisor.
    pub fn plausible_tlbs(&self) -> Vec<&Tlb> {
        let has_real_second_level = self.doubted_tlb().is_none();
        let all = self.tlbs.known().into_iter().flatten();
        all.filter(|tlb| has_real_second_level || tlb.level < 2)
            .collect()
    }

    /// Returns a reported second-level TLB that is smaller than on any real core under a
    /// hypervisor.
    pub fn doubted_tlb(&self) -> Option<&Tlb> {
        let is_guest = self.hypervisor.known().is_some_and(|name| name != "none");
        let is_second = |tlb: &&Tlb| {
            tlb.level > 1 && tlb.kind != TlbKind::Instruction && tlb.page_bytes == self.page_bytes
        };
        let mut second = self.tlbs.known().into_iter().flatten().filter(is_second);
        second.find(|tlb| is_guest && tlb.entries < FEWEST_SECOND_LEVEL)
    }

    /// Whether the host name was left out.
    pub fn is_redacted(&self) -> bool {
        self.hostname == LEFT_OUT
    }

    /// Whether both manifests are known to be of one machine with one kernel.
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
    /// Preemption models to which the kernel can be set.
    pub preemption_models: Fact<Vec<String>>,
    /// Whether threads may ask for a longer time slice in critical sections (rseq).
    pub slice_extension: Fact<bool>,
    /// Whether tasks of a process are kept within one last-level cache (SCHED_CACHE).
    pub is_cache_aware: Fact<bool>,
}

/// Limit on the CPU time of a control group; real-time tasks are exempt.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct CpuQuota {
    /// The kernel's file that sets the limit.
    pub file: String,
    /// Limit of the CPU time of all CPUs together in each period, in microseconds.
    pub quota_us: u64,
    /// Period of the CPU quota, in microseconds.
    pub period_us: u64,
}

impl CpuQuota {
    /// Returns the quota as a number of CPUs.
    pub fn cpus(&self) -> f64 {
        self.quota_us as f64 / self.period_us as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fact_is_its_value_or_the_reason_why_not() {
        let known = Fact::Known(250_u32);
        assert_eq!(serde_json::to_string(&known).expect("JSON"), "250");
        assert_eq!(known.known(), Some(&250));
        let unknown = Fact::<u32>::unknown("no /proc/config.gz");
        assert_eq!(
            serde_json::to_string(&unknown).expect("JSON"),
            r#"{"unknown":"no /proc/config.gz"}"#
        );
        assert_eq!(unknown.known(), None);
    }

    #[test]
    fn a_text_that_reads_unknown_is_still_known() {
        let fact: Fact<String> = serde_json::from_str(r#""unknown""#).expect("a fact");
        assert_eq!(fact, Fact::Known("unknown".to_owned()));
    }

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
