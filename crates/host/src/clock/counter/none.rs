//! Architectures whose counters have not been examined: they are never chosen.

/// The clock's name in the record.
pub(in crate::clock) const SOURCE: &str = "none";

pub(in crate::clock) const CPUS_DISAGREE: &str = "";

/// Why the counter can be a run's clock, or why not.
pub(in crate::clock) fn fitness(_: bool) -> Result<&'static str, &'static str> {
    Err("no counter that is known of this architecture")
}

/// Never called.
pub(in crate::clock) fn read() -> u64 {
    0
}
