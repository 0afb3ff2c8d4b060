use std::collections::BTreeMap;
use std::ops::AddAssign;

use serde::{Deserialize, Serialize};
use strum::{Display, EnumIter};
use switchcost_units::{CpuId, Nanos, Ticks};

/// One of the four loops that a case compares. All four run the same code over the same pages.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    Display,
    EnumIter,
)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum Arm {
    /// Baseline without working set: each task hands the token to itself.
    BaselineDirect,
    /// Switches without working set: the token passes around the ring of tasks.
    SwitchDirect,
    /// Baseline with working set: each task hands the token to itself, and walks over its working
    /// set.
    BaselineTotal,
    /// Switches with working set: the token passes around the ring of tasks, and each task that
    /// gets the token walks over its working set.
    SwitchTotal,
}

impl Arm {
    /// Whether tasks hand the token to other tasks in this arm.
    pub fn switches(self) -> bool {
        matches!(self, Arm::SwitchDirect | Arm::SwitchTotal)
    }

    /// Whether tasks walk over their working sets in this arm.
    pub fn walks(self) -> bool {
        matches!(self, Arm::BaselineTotal | Arm::SwitchTotal)
    }
}

/// Number of switches that the kernel counted, voluntary and involuntary.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct KernelSwitches {
    /// Number of switches at which a task blocked.
    pub voluntary: u64,
    /// Number of switches at which a task was preempted or yielded.
    pub involuntary: u64,
}

impl KernelSwitches {
    /// Returns the number of switches since an earlier count.
    pub fn since(self, earlier: KernelSwitches) -> KernelSwitches {
        KernelSwitches {
            voluntary: self.voluntary.saturating_sub(earlier.voluntary),
            involuntary: self.involuntary.saturating_sub(earlier.involuntary),
        }
    }

    /// Returns the sum of voluntary and involuntary switches.
    pub fn total(self) -> u64 {
        self.voluntary.saturating_add(self.involuntary)
    }
}

impl AddAssign for KernelSwitches {
    fn add_assign(&mut self, more: KernelSwitches) {
        self.voluntary = self.voluntary.saturating_add(more.voluntary);
        self.involuntary = self.involuntary.saturating_add(more.involuntary);
    }
}

/// Evidence of interference in the window of a batch, by which clean and disturbed samples are
/// distinguished. A field is `None` if the machine does not report it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Evidence {
    /// Length of the window by the kernel's monotonic clock, in nanoseconds. The window is a little
    /// longer than its timed part.
    pub wall_ns: Nanos,
    /// CPU time of all tasks of the experiment in the window, in nanoseconds.
    pub task_cpu_ns: Nanos,
    /// Part of `task_cpu_ns` in user mode, in nanoseconds with a granularity of 10 ms. A kernel
    /// that counts by ticks divides a task's time by the ticks of its whole life, which includes
    /// work before and after batches.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task_user_ns: Option<Nanos>,
    /// Part of `task_cpu_ns` in the kernel, in nanoseconds with a granularity of 10 ms.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task_system_ns: Option<Nanos>,
    /// Time for which tasks were ready and waited for a CPU, summed over all tasks, in nanoseconds.
    /// Tasks of a ring on one CPU always wait. Across CPUs, a wait means that a foreign task had
    /// the CPU.
    pub run_delay_ns: Option<Nanos>,
    /// Time that the hypervisor took from the measured CPUs, in nanoseconds with a granularity of
    /// one kernel tick (10 ms).
    pub steal_ns: Option<Nanos>,
    /// Number of interrupts that the measured CPUs served.
    pub interrupts: Option<u64>,
    /// Number of soft interrupts that the measured CPUs served.
    pub softirqs: Option<u64>,
    /// Number of page faults without I/O, of all tasks.
    pub minor_faults: u64,
    /// Number of page faults with I/O, of all tasks.
    pub major_faults: u64,
    /// CPU of the first task at the start of the window.
    pub cpu_before: Option<CpuId>,
    /// CPU of the first task at the end of the window.
    pub cpu_after: Option<CpuId>,
    /// Clock rate of the measured CPU at the start of the window in kHz, if the machine shows it.
    pub khz_before: Option<u64>,
    /// Clock rate of the measured CPU at the end of the window in kHz, if the machine shows it.
    pub khz_after: Option<u64>,
    /// Time of a fixed chain of dependent instructions before the window, in ticks. This time shows
    /// the rate of the core's clock.
    pub probe_before: Ticks,
    /// Time of the chain of [`Evidence::probe_before`] after the window, in ticks.
    pub probe_after: Ticks,
    /// Whether the run's clock went backwards in the window.
    pub is_clock_backwards: bool,
}

/// Raw result of one batch that was run for counters or for single hand-offs. The batch's time is
/// not used in any estimate.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sample {
    /// Index of the sampled case in the plan.
    pub case: u32,
    /// Number of the repetition. Each repetition has fresh processes and fresh pages.
    pub repetition: u32,
    /// Position of the batch in the random order of the repetition.
    pub position: u32,
    /// Arm of the batch.
    pub arm: Arm,
    /// Start of the batch in nanoseconds since the start of the run.
    pub at_ns: Nanos,
    /// Number of timed hand-offs, from a task to another or to itself.
    pub handoffs: u64,
    /// Total time of the timed hand-offs in ticks. In a baseline arm every task times the hand-offs
    /// to itself.
    pub ticks: Ticks,
    /// Number of switches of all tasks in the window, as counted by the kernel.
    pub kernel_switches: KernelSwitches,
    /// Number of switches in the timed part, as counted by the user-level mechanism itself.
    pub user_switches: u64,
    /// Evidence of interference in the window.
    pub evidence: Evidence,
    /// Readings of counters by name; `None` if the batch was not run for counters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub counters: Option<BTreeMap<String, u64>>,
    /// Time of each single hand-off in ticks, from before the send to after the receive; empty
    /// unless the batch was run for single hand-offs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub handoff_ticks: Vec<u32>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use strum::IntoEnumIterator;

    #[test]
    fn arms_are_named_after_what_they_do() {
        for arm in Arm::iter() {
            let name = arm.to_string();
            assert_eq!(
                serde_json::to_string(&arm).expect("JSON"),
                format!("\"{name}\"")
            );
            assert_eq!(arm.switches(), name.starts_with("switch-"), "{name}");
            assert_eq!(arm.walks(), name.ends_with("-total"), "{name}");
        }
    }

    #[test]
    fn switches_of_both_kinds_are_added() {
        let total = |voluntary, involuntary| {
            let switches = KernelSwitches {
                voluntary,
                involuntary,
            };
            switches.total()
        };
        assert_eq!(total(2, 3), 5);
        assert_eq!(total(u64::MAX, 1), u64::MAX, "from a damaged file");
    }
}
