use serde::{Deserialize, Serialize};
use switchcost_units::{Nanos, Ticks};

use crate::{Arm, Evidence, KernelSwitches};

/// Raw times of one window of a repetition: rounds for up to about 25 ms. (The record's name for a
/// round is *cycle*.)
///
/// A round (docs/method/cycles.md) compares a switching arm with its baseline. A round has three
/// batches: one arm, the other arm for twice as long, and the first arm again. The arm in the
/// middle is chosen at random. With a working set, three such batches with walks over the working
/// set follow. Changes that are slower than a round affect both arms equally.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cycles {
    /// Index of the measured case in the plan.
    pub case: u32,
    /// Number of the repetition. Each repetition has fresh processes and fresh pages.
    pub repetition: u32,
    /// Start of the window in nanoseconds since the start of the run.
    pub at_ns: Nanos,
    /// Number of batches in each round: 3, or 6 with a working set.
    pub batches_per_cycle: u32,
    /// Number of hand-offs between tasks in the window, including untimed ones.
    pub switching_handoffs: u64,
    /// Number of planned switches to tasks that receive commands from the parent process. These
    /// switches belong to no hand-off.
    pub control_switches: u64,
    /// Number of switches of all tasks in the window, as counted by the kernel.
    pub kernel_switches: KernelSwitches,
    /// Number of switches in the window as counted by the user-level mechanism itself, including
    /// untimed ones.
    pub user_switches: u64,
    /// Hand-offs and switches that the tasks themselves counted; `None` if no token is passed
    /// between kernel tasks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub counted: Option<CountedHandoffs>,
    /// Evidence of interference in the window.
    pub evidence: Evidence,
    /// Batches of the window, as one column per quantity.
    #[serde(flatten)]
    pub batches: Batches,
}

/// Numbers of hand-offs and of switches that the tasks themselves counted while the token was
/// passed around. Each task counts its own switches (getrusage), from after its first receive to
/// after its last. Commands to tasks add no switches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CountedHandoffs {
    /// Number of hand-offs, including untimed ones.
    pub handoffs: u64,
    /// Number of switches of all tasks during these hand-offs.
    pub switches: KernelSwitches,
}

/// Batches in the order in which they were run, as one column per quantity. The columns of probes
/// have one entry more than the others.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Batches {
    /// Arm of each batch, as a number: 0 to 3 in the order of [`Arm`].
    pub arm: Vec<u8>,
    /// Number of timed hand-offs of each batch, from a task to another or to itself.
    pub handoffs: Vec<u32>,
    /// Total time of the timed hand-offs of each batch, in ticks: from before each send to after
    /// the receive, without walks over the working set.
    pub handoff_ticks: Vec<Ticks>,
    /// Total time of the walks over the working set after the timed hand-offs of each batch, in
    /// ticks.
    pub walk_ticks: Vec<Ticks>,
    /// Time of a fixed chain of dependent multiplications before each batch and after the last one,
    /// in ticks. This time shows the rate of the core's clock.
    pub chain_ticks: Vec<Ticks>,
    /// Time of a fixed number of independent additions before each batch and after the last one, in
    /// ticks. This time shows whether the other hardware thread of the core is busy.
    pub addition_ticks: Vec<Ticks>,
    /// Number of core cycles from the probe before each batch to the probe after the batch; empty
    /// if the hardware counter cannot be read.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub counted_cycles: Vec<u64>,
    /// Time over which each number of `counted_cycles` was counted, in ticks.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub counted_ticks: Vec<Ticks>,
}

/// One batch, as a row of the columns in [`Batches`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Batch {
    /// Arm to which the batch belongs.
    pub arm: Arm,
    /// Number of timed hand-offs of the batch.
    pub handoffs: u32,
    /// Total time of the batch's timed hand-offs in ticks, without walks over the working set.
    pub handoff_ticks: Ticks,
    /// Total time of the batch's walks over the working set, in ticks.
    pub walk_ticks: Ticks,
    /// Time of the probe's dependent multiplications before and after the batch, in ticks. This
    /// time shows the rate of the core's clock.
    pub chain_ticks: (Ticks, Ticks),
    /// Time of the probe's independent additions before and after the batch, in ticks. This time
    /// shows whether the core is shared.
    pub addition_ticks: (Ticks, Ticks),
    /// Number of core cycles from the probe before the batch to the probe after the batch, and the
    /// ticks between these probes; `None` if not counted.
    pub counted: Option<(u64, Ticks)>,
}

const ARMS: [Arm; 4] = [
    Arm::BaselineDirect,
    Arm::SwitchDirect,
    Arm::BaselineTotal,
    Arm::SwitchTotal,
];

impl Batches {
    /// Returns the number of batches.
    pub fn len(&self) -> usize {
        self.arm.len()
    }

    /// Whether there is no batch.
    pub fn is_empty(&self) -> bool {
        self.arm.is_empty()
    }

    /// Adds the result of a probe, which precedes the next batch or follows the last one.
    pub fn push_probe(&mut self, chain: Ticks, additions: Ticks) {
        self.chain_ticks.push(chain);
        self.addition_ticks.push(additions);
    }

    /// Adds a batch. The probe before the batch must have been added already.
    pub fn push(&mut self, arm: Arm, handoffs: u32, handoff_ticks: Ticks, walk_ticks: Ticks) {
        self.arm.push(arm as u8);
        self.handoffs.push(handoffs);
        self.handoff_ticks.push(handoff_ticks);
        self.walk_ticks.push(walk_ticks);
    }

    /// Adds the number of core cycles between the last two probes, and the ticks in which they were
    /// counted.
    pub fn push_count(&mut self, cycles: u64, ticks: Ticks) {
        self.counted_cycles.push(cycles);
        self.counted_ticks.push(ticks);
    }

    /// Removes all core cycle counts unless every batch has one.
    pub fn drop_partial_counts(mut self) -> Batches {
        if self.counted_cycles.len() != self.len() {
            self.counted_cycles.clear();
            self.counted_ticks.clear();
        }
        self
    }

    /// Returns the batches as rows, in the order in which they were run.
    pub fn iter(&self) -> impl Iterator<Item = Batch> {
        (0..self.len()).filter_map(|index| self.get(index))
    }

    fn get(&self, index: usize) -> Option<Batch> {
        let around = |column: &[Ticks]| Some((*column.get(index)?, *column.get(index + 1)?));
        Some(Batch {
            arm: *ARMS.get(usize::from(*self.arm.get(index)?))?,
            handoffs: *self.handoffs.get(index)?,
            handoff_ticks: *self.handoff_ticks.get(index)?,
            walk_ticks: *self.walk_ticks.get(index)?,
            chain_ticks: around(&self.chain_ticks)?,
            addition_ticks: around(&self.addition_ticks)?,
            counted: self
                .counted_cycles
                .get(index)
                .copied()
                .zip(self.counted_ticks.get(index).copied()),
        })
    }

    /// Returns a description of a fault of the columns (wrong lengths, or an unknown arm); `None`
    /// if there is no fault.
    pub(crate) fn fault(&self) -> Option<String> {
        let n = self.len();
        let lengths = [
            self.handoffs.len(),
            self.handoff_ticks.len(),
            self.walk_ticks.len(),
        ];
        let probes = [self.chain_ticks.len(), self.addition_ticks.len()];
        if lengths.iter().any(|length| *length != n) || probes.iter().any(|length| *length != n + 1)
        {
            return Some(format!(
                "columns of {lengths:?} and {probes:?} for {n} batches"
            ));
        }
        let counted = [self.counted_cycles.len(), self.counted_ticks.len()];
        if counted != [0, 0] && counted != [n, n] {
            return Some(format!("columns of {counted:?} counts for {n} batches"));
        }
        let arm = self
            .arm
            .iter()
            .find(|arm| usize::from(**arm) >= ARMS.len())?;
        Some(format!("arm {arm}, of which there are {}", ARMS.len()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn two() -> Batches {
        let mut batches = Batches::default();
        batches.push_probe(Ticks(1), Ticks(2));
        batches.push(Arm::SwitchDirect, 8, Ticks(30), Ticks(0));
        batches.push_probe(Ticks(3), Ticks(4));
        batches.push(Arm::BaselineTotal, 4, Ticks(10), Ticks(20));
        batches.push_probe(Ticks(5), Ticks(6));
        batches
    }

    #[test]
    fn each_batch_has_the_probes_before_and_after_it() {
        let batches: Vec<_> = two().iter().collect();
        assert_eq!(batches.len(), 2);
        assert_eq!(
            (batches[1].arm, batches[1].chain_ticks),
            (Arm::BaselineTotal, (Ticks(3), Ticks(5)))
        );
        assert_eq!(
            (batches[0].handoffs, batches[0].addition_ticks),
            (8, (Ticks(2), Ticks(4)))
        );
        assert_eq!(two().fault(), None);
    }

    #[test]
    fn columns_that_do_not_fit_are_a_fault() {
        let short = Batches {
            walk_ticks: vec![Ticks(1)],
            ..two()
        };
        assert_eq!(
            short.fault().as_deref(),
            Some("columns of [2, 2, 1] and [3, 3] for 2 batches")
        );
        let unknown = Batches {
            arm: vec![1, 9],
            ..two()
        };
        assert_eq!(
            unknown.fault().as_deref(),
            Some("arm 9, of which there are 4")
        );
        assert_eq!(unknown.iter().count(), 1);
    }
}
