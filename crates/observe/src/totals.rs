use switchcost_units::Nanos;

/// Sums over all observed tasks, including ended ones.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Voluntary switches.
    pub voluntary: u64,
    /// Involuntary switches, and calls of sched_yield.
    pub involuntary: u64,
    /// Time on a CPU, by the kernel's own account.
    pub run: Nanos,
    /// Time runnable and waiting for a CPU, in finished waits.
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
