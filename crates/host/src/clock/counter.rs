//! The counter of the CPU that programs can read: how it is read, its name, and whether it can be a
//! run's clock. Each architecture has a file that defines these items.

#[cfg_attr(target_arch = "x86_64", path = "counter/x86_64.rs")]
#[cfg_attr(target_arch = "aarch64", path = "counter/aarch64.rs")]
#[cfg_attr(
    not(any(target_arch = "x86_64", target_arch = "aarch64")),
    path = "counter/none.rs"
)]
mod architecture;

pub(super) use architecture::{CPUS_DISAGREE, SOURCE, fitness, read};
