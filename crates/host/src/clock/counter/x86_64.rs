//! Reads the time stamp counter of x86.

use std::arch::x86_64::{_mm_lfence, _rdtsc};

/// Name of the clock in the record.
pub(in crate::clock) const SOURCE: &str = "tsc";

pub(in crate::clock) const CPUS_DISAGREE: &str =
    "the time stamp counters of the CPUs measured do not agree, or could not be compared";

/// Returns why the counter can be a run's clock (`Ok`), or why it cannot (`Err`).
pub(in crate::clock) fn fitness(is_invariant: bool) -> Result<&'static str, &'static str> {
    match is_invariant {
        true => Ok("constant_tsc and nonstop_tsc: one rate in every state"),
        false => Err("no invariant time stamp counter here"),
    }
}

/// Reads the counter by RDTSC between two LFENCEs: after all earlier instructions have finished,
/// and before any later one starts (manuals of Intel and AMD).
#[inline(always)]
pub(in crate::clock) fn read() -> u64 {
    // SAFETY: SSE2 is part of x86-64.
    unsafe { _mm_lfence() };
    // SAFETY: every x86-64 CPU has the time stamp counter, and Linux leaves it readable unless a process asks for PR_TSC_SIGSEGV, which is
    // not done here.
    let ticks = unsafe { _rdtsc() };
    // SAFETY: as for the fence above.
    unsafe { _mm_lfence() };
    ticks
}
