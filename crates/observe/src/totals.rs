use switchcost_units::Nanos;

/// Sums over all observed tasks, including those that have ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Number of voluntary switches.
    pub voluntary: u64,
    /// Number of involuntary switches, including those by sched_yield.
    pub involuntary: u64,
    /// Time for which tasks were on a CPU.
    pub run: Nanos,
    /// Time for which tasks were runnable but waited for a CPU, in waits that have ended.
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
