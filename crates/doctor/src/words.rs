//! Names of clocks, settings and features that differ between architectures, for messages.

/// Name of the clock that every CPU reads by itself, and that has the same rate in every state.
pub(super) const CLOCK: &str = if IS_X86 {
    "an invariant time stamp counter, which is also the kernel's clock source"
} else {
    "a counter of the CPU at one rate in every state, which is also the kernel's clock source"
};

/// Name of the CPU's own clock among the kernel's clock sources.
pub(super) const CLOCK_SOURCE: &str = match (IS_X86, cfg!(target_arch = "aarch64")) {
    (true, _) => "tsc",
    (false, true) => "arch_sys_counter",
    (false, false) => "NAME",
};

/// Boot parameters that make the kernel use the CPU's own clock.
pub(super) const CLOCK_SOURCE_PARAMETERS: &str = match (IS_X86, cfg!(target_arch = "aarch64")) {
    (true, _) => "clocksource=tsc tsc=reliable",
    (false, true) => "clocksource=arch_sys_counter",
    (false, false) => "clocksource=NAME, of those in available_clocksource",
};

/// Command that mounts /proc, the file system with processes and the CPU's features.
pub(super) const MOUNT_PROC: &str = "sudo mount -t proc proc /proc";

/// Command that mounts /sys, the file system with devices, CPUs and clocks.
pub(super) const MOUNT_SYS: &str = "sudo mount -t sysfs sysfs /sys";

/// Message if no source reports a cache.
pub(super) const NO_CACHES: &str = if IS_X86 {
    "neither the kernel nor CPUID reports any cache"
} else {
    "the kernel reports no cache"
};

/// Wanted state of page tables: TLB entries are tagged with address spaces, and KPTI is off.
pub(super) const TAGGED: &str = match (IS_X86, cfg!(target_arch = "aarch64")) {
    (true, _) => "address spaces tagged (PCID), kernel page tables not isolated",
    (false, true) => "address spaces tagged (ASID), kernel page tables not isolated",
    (false, false) => "address spaces tagged, kernel page tables not isolated",
};

/// Message if the settings for turbo frequencies are not visible.
pub(super) const NO_TURBO_SWITCH: &str = if IS_X86 {
    "not visible: neither intel_pstate/no_turbo nor cpufreq/boost is there"
} else {
    "not visible: there is no cpufreq/boost"
};

const IS_X86: bool = cfg!(target_arch = "x86_64");
