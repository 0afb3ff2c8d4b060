use switchcost_record::HostManifest;
use switchcost_units::CpuId;

use super::clock_drift::{self, ClockDrift};
use super::cycles::{self, CycleCounter};
use switchcost_facts::cpu_time::{Times, busy_per_mille};
use switchcost_facts::{self as facts, Root};

/// The examined machine: everything that the checks depend on.
pub(super) struct Subject {
    /// Root of the kernel's files, for checks that read further files.
    pub(super) root: Root,
    /// CPUs, caches, kernel and settings of the machine.
    pub(super) host: HostManifest,
    /// Outcome of the attempt to count cycles.
    pub(super) cycles: CycleCounter,
    /// Clock of the least disturbed CPU's core, and how often another hardware thread used the
    /// core; `None` if the core could not be observed.
    pub(super) clock_drift: Option<ClockDrift>,
    /// Content of `/proc/stat` at the start and at the end of the time in which interrupts were
    /// observed.
    statistics: [String; 2],
    #[cfg(test)]
    _tree: Option<std::sync::Arc<tempfile::TempDir>>,
}

impl Subject {
    pub(super) fn examine(root: &Root) -> Self {
        let statistics = || root.read("/proc/stat").unwrap_or_default();
        let before = statistics();
        let host = switchcost_host::machine::manifest(root);
        let after = statistics();
        let cycles = if root.is_system() {
            cycles::attempt(host.cpus_allowed.first().copied())
        } else {
            CycleCounter::NotTried
        };
        let quietest = facts::quietest_cpu(&host).filter(|_| root.is_system());
        let clock_drift = quietest.and_then(|cpu| clock_drift::watch(cpu, host.is_tsc_invariant));
        Subject {
            root: root.clone(),
            clock_drift,
            host,
            cycles,
            statistics: [before, after],
            #[cfg(test)]
            _tree: None,
        }
    }

    /// Returns the least disturbed CPU, on which measurements run; CPU 0 if unknown.
    pub(super) fn quietest(&self) -> CpuId {
        facts::quietest_cpu(&self.host).unwrap_or(CpuId(0))
    }

    /// Returns the share of the observed time in which `cpu` was not idle, in thousandths; `None`
    /// if no time passed.
    pub(super) fn busy_per_mille(&self, cpu: CpuId) -> Option<u64> {
        let [before, after] = &self.statistics;
        busy_per_mille(before, after, cpu)
    }

    /// Returns the time stolen by a hypervisor since boot and the total time, in the kernel's
    /// ticks; `None` if unknown.
    pub(super) fn stolen(&self) -> Option<(u64, u64)> {
        Times::parse(&self.statistics[1], "cpu").map(|times| (times.stolen, times.all))
    }
}

#[cfg(test)]
impl Subject {
    /// Creates a machine that is fit in every respect except TLBs, which files cannot show.
    pub(super) fn workstation() -> Self {
        Subject::scripted(&facts::fixture::Fixture::workstation())
    }

    /// Creates a machine that consists of files, with a working cycle counter.
    pub(super) fn scripted(fixture: &facts::fixture::Fixture) -> Self {
        let examined = Subject::examine(&fixture.root());
        let clock_drift = Some(clock_drift::undisturbed());
        Subject {
            cycles: CycleCounter::Counts,
            clock_drift,
            _tree: Some(fixture.tree()),
            ..examined
        }
    }

    /// Sets the content of `/proc/stat` at the end of the observed time.
    pub(super) fn ending_with(mut self, statistics: &str) -> Self {
        self.statistics[1] = statistics.to_owned();
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn busy_time_is_the_difference_without_idle_and_waiting() {
        let subject = Subject::workstation();
        assert_eq!(subject.busy_per_mille(CpuId(0)), None, "no time passed");
        let subject = subject.ending_with("cpu0 28 0 13 22504 4 0 0 0 0 0\n");
        assert_eq!(subject.busy_per_mille(CpuId(0)), Some(400));
        assert_eq!(subject.busy_per_mille(CpuId(1)), None);
    }
}
