use switchcost_units::Nanos;

/// Sums over all observed tasks, those that have ended included.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Switches that they asked for by waiting.
    pub voluntary: u64,
    /// Switches that they did not ask for, and calls of sched_yield.
    pub involuntary: u64,
    /// Time on a CPU, by the kernel's own account.
    pub run: Nanos,
    /// Time ready to run and waiting for a CPU that is over.
    pub wait: Nanos,
}

impl Totals {
    pub(crate) fn add(&mut self, other: Totals) {
        self.voluntary += other.voluntary;
        self.involuntary += other.involuntary;
        self.run.0 += other.run.0;
        self.wait.0 += other.wait.0;
    }
}
