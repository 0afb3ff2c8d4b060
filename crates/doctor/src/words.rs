//! Names of clocks, settings and features that differ between architectures.

/// Name of the counter that every CPU reads by itself, at one rate in every state.
pub(super) const CLOCK: &str = if IS_X86 {
    "an invariant time stamp counter, which is also the kernel's clock source"
} else {
    "a counter of the CPU at one rate in every state, which is also the kernel's clock source"
};

/// Name of the CPU's clock as a clock source of the kernel.
pub(super) const CLOCK_SOURCE: &str = match (IS_X86, cfg!(target_arch = "aarch64")) {
    (true, _) => "tsc",
    (false, true) => "arch_sys_counter",
    (false, false) => "NAME",
};

/// Boot parameters that make the kernel use the CPU's clock from the start.
pub(super) const CLOCK_SOURCE_PARAMETERS: &str = match (IS_X86, cfg!(target_arch = "aarch64")) {
    (true, _) => "clocksource=tsc tsc=reliable",
    (false, true) => "clocksource=arch_sys_counter",
    (false, false) => "clocksource=NAME, of those in available_clocksource",
};

/// Command that mounts /proc, which shows processes and the CPU's features.
pub(super) const MOUNT_PROC: &str = "sudo mount -t proc proc /proc";

/// Command that mounts /sys, which shows devices, CPUs and clocks.
pub(super) const MOUNT_SYS: &str = "sudo mount -t sysfs sysfs /sys";

/// Names of the sources that were searched for caches.
pub(super) const NO_CACHES: &str = if IS_X86 {
    "neither the kernel nor CPUID reports any cache"
} else {
    "the kernel reports no cache"
};

/// Name of the numbers that tag address spaces in the TLB.
pub(super) const TAGGED: &str = match (IS_X86, cfg!(target_arch = "aarch64")) {
    (true, _) => "address spaces tagged (PCID), kernel page tables not isolated",
    (false, true) => "address spaces tagged (ASID), kernel page tables not isolated",
    (false, false) => "address spaces tagged, kernel page tables not isolated",
};

/// Names of the settings that were searched for turbo frequencies.
pub(super) const NO_TURBO_SWITCH: &str = if IS_X86 {
    "not visible: neither intel_pstate/no_turbo nor cpufreq/boost is there"
} else {
    "not visible: there is no cpufreq/boost"
};

const IS_X86: bool = cfg!(target_arch = "x86_64");
