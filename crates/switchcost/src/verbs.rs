//! One file for each subcommand of the program.

pub(crate) mod ab;
pub(crate) mod compare;
pub(crate) mod completions;
pub(crate) mod doctor;
pub(crate) mod inject;
pub(crate) mod man;
pub(crate) mod measure;
pub(crate) mod observe;
pub(crate) mod report;
pub(crate) mod reproduce;
pub(crate) mod schema;
pub(crate) mod simulate;
pub(crate) mod trace;
pub(crate) mod workload;

/// Returns a seed that differs from run to run. The seed is recorded, so that a run can be repeated
/// in the same order.
fn seed_of_now() -> u64 {
    switchcost_host::clock::monotonic().0.rotate_left(32) ^ u64::from(std::process::id())
}
