//! Names that differ between architectures.

/// A counter that every CPU reads by itself, at one rate in every state.
pub(super) const CLOCK: &str = if IS_X86 {
    "an invariant time stamp counter, which is also the kernel's clock source"
} else {
    "a counter of the CPU at one rate in every state, which is also the kernel's clock source"
};

/// Name of the clock as a clock source of the kernel.
pub(super) const CLOCK_SOURCE: &str = match (IS_X86, cfg!(target_arch = "aarch64")) {
    (true, _) => "tsc",
    (false, true) => "arch_sys_counter",
    (false, false) => "NAME",
};

/// Boot parameters by which the kernel uses the clock from its start.
pub(super) const CLOCK_SOURCE_PARAMETERS: &str = match (IS_X86, cfg!(target_arch = "aarch64")) {
    (true, _) => "clocksource=tsc tsc=reliable",
    (false, true) => "clocksource=arch_sys_counter",
    (false, false) => "clocksource=NAME, of those in available_clocksource",
};

/// The command that makes processes and the CPU's features visible.
pub(super) const MOUNT_PROC: &str = "sudo mount -t proc proc /proc";

/// The command that makes devices, CPUs and clocks visible.
pub(super) const MOUNT_SYS: &str = "sudo mount -t sysfs sysfs /sys";

/// Sources that were searched for caches.
pub(super) const NO_CACHES: &str = if IS_X86 {
    "neither the kernel nor CPUID reports any cache"
} else {
    "the kernel reports no cache"
};

/// Numbers of address spaces in the TLB.
pub(super) const TAGGED: &str = match (IS_X86, cfg!(target_arch = "aarch64")) {
    (true, _) => "address spaces tagged (PCID), kernel page tables not isolated",
    (false, true) => "address spaces tagged (ASID), kernel page tables not isolated",
    (false, false) => "address spaces tagged, kernel page tables not isolated",
};

/// Settings for turbo frequencies that were searched.
pub(super) const NO_TURBO_SWITCH: &str = if IS_X86 {
    "not visible: neither intel_pstate/no_turbo nor cpufreq/boost is there"
} else {
    "not visible: there is no cpufreq/boost"
};

const IS_X86: bool = cfg!(target_arch = "x86_64");
