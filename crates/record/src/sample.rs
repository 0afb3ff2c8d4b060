use std::collections::BTreeMap;
use std::ops::AddAssign;

use serde::{Deserialize, Serialize};
use strum::{Display, EnumIter};
use switchcost_units::{CpuId, Nanos, Ticks};

/// Arm of a case. All four arms are the same loop over the same pages.
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
    /// Baseline without walks: each task hands the token to itself, and touches nothing.
    BaselineDirect,
    /// Switches without walks: the token goes round the ring, and no task touches anything.
    SwitchDirect,
    /// Baseline with walks: each task hands the token to itself, and walks its working set.
    BaselineTotal,
    /// Switches with walks: the token goes round the ring, and the task that gets the token walks
    /// its working set.
    SwitchTotal,
}

impl Arm {
    /// Whether the token moves between tasks in this arm.
    pub fn switches(self) -> bool {
        matches!(self, Arm::SwitchDirect | Arm::SwitchTotal)
    }

    /// Whether the tasks walk their working sets in this arm.
    pub fn walks(self) -> bool {
        matches!(self, Arm::BaselineTotal | Arm::SwitchTotal)
    }
}

/// Switches that the kernel counted for all tasks of a batch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct KernelSwitches {
    /// Number of switches at which the task blocked.
    pub voluntary: u64,
    /// Number of switches at which the task was preempted or yielded.
    pub involuntary: u64,
}

impl KernelSwitches {
    /// Returns the switches since an earlier count.
    pub fn since(self, earlier: KernelSwitches) -> KernelSwitches {
        KernelSwitches {
            voluntary: self.voluntary.saturating_sub(earlier.voluntary),
            involuntary: self.involuntary.saturating_sub(earlier.involuntary),
        }
    }

    /// Returns the number of switches, voluntary and involuntary.
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

/// Evidence on what else happened in the window of a batch, to tell clean samples from disturbed ones. A field that this machine does
/// not report is `None`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Evidence {
    /// Length of the window on the kernel's monotonic clock, which is a little longer than the
    /// timed part.
    pub wall_ns: Nanos,
    /// CPU time of all tasks of the experiment in the window.
    pub task_cpu_ns: Nanos,
    /// Part of `task_cpu_ns` in user mode, as the kernel reports it (granularity: 10 ms). A kernel that
    /// counts by ticks divides a task's time by the ticks of its whole life, including work around the
    /// batches.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task_user_ns: Option<Nanos>,
    /// Part of `task_cpu_ns` in the kernel, as the kernel reports it (granularity: 10 ms).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task_system_ns: Option<Nanos>,
    /// Time that all tasks together were ready and waited for a CPU. Tasks of a ring on one CPU
    /// always wait so; across CPUs a wait means that another task had the CPU.
    pub run_delay_ns: Option<Nanos>,
    /// Time stolen by the hypervisor on the measured CPUs (granularity: one kernel tick, 10 ms).
    pub steal_ns: Option<Nanos>,
    /// Interrupts served by the measured CPUs.
    pub interrupts: Option<u64>,
    /// Soft interrupts served by the measured CPUs.
    pub softirqs: Option<u64>,
    /// Page faults without I/O, of all tasks.
    pub minor_faults: u64,
    /// Page faults with I/O, of all tasks.
    pub major_faults: u64,
    /// The CPU of the first task when the window opened.
    pub cpu_before: Option<CpuId>,
    /// The CPU of the first task when the window closed.
    pub cpu_after: Option<CpuId>,
    /// Clock frequency of the measured CPU when the window opened, in kHz, if the machine shows it.
    pub khz_before: Option<u64>,
    /// Clock frequency of the measured CPU when the window closed, in kHz, if the machine shows it.
    pub khz_after: Option<u64>,
    /// Time of a fixed chain of dependent instructions before the window, which shows the core's
    /// speed.
    pub probe_before: Ticks,
    /// Time of the chain of dependent instructions after the window.
    pub probe_after: Ticks,
    /// Whether the run's clock went backwards in the window.
    pub is_clock_backwards: bool,
}

/// One batch of one arm that was run for counters or single hand-offs, raw. Its time enters no estimate.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sample {
    /// Index of the sampled case in the plan.
    pub case: u32,
    /// Number of the repetition, each with fresh processes and fresh pages.
    pub repetition: u32,
    /// Position of this batch in the repetition's random order.
    pub position: u32,
    /// Arm of the batch.
    pub arm: Arm,
    /// Start of the batch, since the start of the run.
    pub at_ns: Nanos,
    /// Hand-offs in the timed part, of a task to another or to itself.
    pub handoffs: u64,
    /// Total time of the timed hand-offs. In a baseline arm every task times those to itself.
    pub ticks: Ticks,
    /// Switches counted by the kernel in the window.
    pub kernel_switches: KernelSwitches,
    /// Switches counted by the user-level mechanism itself in the timed part.
    pub user_switches: u64,
    /// Evidence on what else happened in the window.
    pub evidence: Evidence,
    /// Counter readings by name, if this batch was run for counters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub counters: Option<BTreeMap<String, u64>>,
    /// Time of each single hand-off from before the send to after the receive, if this batch was run for single hand-offs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub handoff_ticks: Vec<u32>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use strum::IntoEnumIterator;

    fn sample() -> Sample {
        Sample {
            case: 0,
            repetition: 0,
            position: 0,
            arm: Arm::SwitchDirect,
            at_ns: Nanos(0),
            handoffs: 1,
            ticks: Ticks(1),
            kernel_switches: KernelSwitches {
                voluntary: 2,
                involuntary: 3,
            },
            user_switches: 0,
            evidence: Evidence::default(),
            counters: None,
            handoff_ticks: Vec::new(),
        }
    }

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
    fn a_sample_says_nothing_of_instruments_that_it_was_not_run_for() {
        let json = serde_json::to_value(sample()).expect("JSON");
        assert_eq!(
            (json.get("counters"), json.get("handoff_ticks")),
            (None, None)
        );
        assert_eq!(
            json["evidence"]["steal_ns"],
            serde_json::Value::Null,
            "not shown is said, not left out"
        );
    }

    #[test]
    fn switches_of_both_kinds_are_added() {
        assert_eq!(sample().kernel_switches.total(), 5);
        let many = KernelSwitches {
            voluntary: u64::MAX,
            involuntary: 1,
        };
        assert_eq!(many.total(), u64::MAX, "a number out of a damaged file");
    }
}
