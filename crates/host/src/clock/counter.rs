//! The counter of the CPU that programs can read: how it is read, what it is called, and whether it can be a run's clock. One folder, one
//! file, for each architecture, with the same items in each.

#[cfg(target_arch = "aarch64")]
mod aarch64;
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
mod none;
#[cfg(target_arch = "x86_64")]
mod x86_64;

#[cfg(target_arch = "aarch64")]
pub(super) use aarch64::{CPUS_DISAGREE, SOURCE, fitness, read};
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
pub(super) use none::{CPUS_DISAGREE, SOURCE, fitness, read};
#[cfg(target_arch = "x86_64")]
pub(super) use x86_64::{CPUS_DISAGREE, SOURCE, fitness, read};
