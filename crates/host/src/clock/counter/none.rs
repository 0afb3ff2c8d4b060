//! Stands in for the counter on architectures whose counters have not been examined: it is never
//! chosen.

/// Name of the clock in the record.
pub(in crate::clock) const SOURCE: &str = "none";

pub(in crate::clock) const CPUS_DISAGREE: &str = "";

/// Returns why the counter cannot be a run's clock.
pub(in crate::clock) fn fitness(_: bool) -> Result<&'static str, &'static str> {
    Err("no counter that is known of this architecture")
}

/// Returns 0. The function is never called, because no counter is known on this architecture.
pub(in crate::clock) fn read() -> u64 {
    0
}
