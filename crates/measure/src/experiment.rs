//! What all experiments have in common: how a batch is requested, timed and watched.

use std::io;
use std::ops::{AddAssign, Sub};

use switchcost_host::clock::Clock;
use switchcost_host::evidence::{TaskId, Witness};
use switchcost_record::{Arm, CountedHandoffs, Evidence, KernelSwitches, RuntimeRun};
use switchcost_units::{CpuId, Ticks};

/// Description of a batch that is to be run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Batch {
    pub(crate) arm: Arm,
    /// Number of timed round trips of the token.
    pub(crate) rounds: u64,
    /// Number of untimed round trips before the timed ones.
    pub(crate) warm_up: u64,
}

impl Batch {
    /// Returns the number of round trips, including untimed ones.
    pub(crate) fn total_rounds(&self) -> u64 {
        self.warm_up + self.rounds
    }
}

/// Result of a batch: its times and counts.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Timed {
    /// Number of timed hand-offs.
    pub(crate) handoffs: u64,
    /// Time of the hand-offs, and time of the walks after them.
    pub(crate) time: Split,
    /// Number of hand-offs from one task to another, including untimed ones.
    pub(crate) switching_handoffs: u64,
    /// Number of switches that the kernel makes because of the commands to tasks.
    pub(crate) control_switches: u64,
    /// Number of switches that a user-level mechanism counted itself, including untimed ones.
    pub(crate) user_switches: u64,
    /// Switches that the tasks counted for themselves, with the number of counted hand-offs; 0 if
    /// they did not count.
    pub(crate) counted: CountedHandoffs,
}

/// Difference of a longer and a shorter batch. Only the hand-offs, times and user-level switches of
/// the result are meaningful.
impl Sub for Timed {
    type Output = Timed;

    fn sub(self, shorter: Timed) -> Timed {
        Timed {
            handoffs: self.handoffs.saturating_sub(shorter.handoffs),
            time: self.time - shorter.time,
            user_switches: self.user_switches.saturating_sub(shorter.user_switches),
            ..Timed::default()
        }
    }
}

/// Time of hand-offs and time of walks, measured separately.
///
/// Both times wrap around. If the counters of two CPUs differ, hand-offs in one direction look
/// longer, and hand-offs in the other direction shorter, by the same amount. The sum over a round
/// is right.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Split {
    pub(crate) handoffs: Ticks,
    pub(crate) walks: Ticks,
}

impl Split {
    #[inline(always)]
    pub(crate) fn add_handoff(&mut self, from: Ticks, to: Ticks) {
        self.handoffs.0 = self.handoffs.0.wrapping_add(to.0.wrapping_sub(from.0));
    }

    #[inline(always)]
    pub(crate) fn add_walk(&mut self, from: Ticks, to: Ticks) {
        self.walks.0 = self.walks.0.wrapping_add(to.0.wrapping_sub(from.0));
    }

    /// Whether the sum is negative, which happens only if the clock ran backwards.
    pub(crate) fn is_backwards(&self) -> bool {
        (self.handoffs.0 as i64) < 0 || (self.walks.0 as i64) < 0
    }
}

impl AddAssign for Split {
    fn add_assign(&mut self, other: Split) {
        self.handoffs.0 = self.handoffs.0.wrapping_add(other.handoffs.0);
        self.walks.0 = self.walks.0.wrapping_add(other.walks.0);
    }
}

impl Sub for Split {
    type Output = Split;

    fn sub(self, shorter: Split) -> Split {
        Split {
            handoffs: Ticks(self.handoffs.0.wrapping_sub(shorter.handoffs.0)),
            walks: Ticks(self.walks.0.wrapping_sub(shorter.walks.0)),
        }
    }
}

/// A mechanism with its tasks and their memory, which can run batches of any arm.
pub(crate) trait Experiment {
    /// Returns the tasks to watch. The calling task is the first.
    fn tasks(&self) -> Vec<TaskId>;

    /// Runs one batch, and returns its times.
    fn run(&mut self, batch: Batch) -> io::Result<Timed>;

    /// Returns the number of round trips in a batch of an arm; `None` if it is to be calculated
    /// from the time of a round trip.
    fn fixed_rounds(&self, _arm: Arm) -> Option<u64> {
        None
    }

    /// Makes one switch away from the first task and back. Then the first task walks its working
    /// set `walks` times, with hand-offs to itself in between. Returns the counts, and the time of
    /// each walk and of the hand-off before it. Calls `before` before each walk, outside the timed
    /// part.
    fn visit(&mut self, _walks: u32, _before: &mut dyn FnMut()) -> io::Result<(Timed, Vec<Split>)> {
        Err(io::Error::new(
            io::ErrorKind::Unsupported,
            "this mechanism cannot hand over to itself without a switch",
        ))
    }

    /// Returns what a runtime's program reports about itself; `None` for all other experiments.
    fn runtime_run(&mut self) -> Option<RuntimeRun> {
        None
    }

    /// Times `count` hand-offs one by one, in ticks; `None` if the mechanism does not support this.
    fn single_handoffs(&mut self, _count: u64) -> io::Result<Option<(Timed, Vec<u32>)>> {
        Ok(None)
    }
}

/// Reader of the evidence before and after each batch.
pub(crate) struct Watch {
    witness: Witness,
}

impl Watch {
    pub(crate) fn new(clock: Clock, cpus: &[CpuId], tasks: &[TaskId]) -> io::Result<Watch> {
        Ok(Watch {
            witness: Witness::new(clock, cpus, tasks)?,
        })
    }

    /// Runs `body`. Returns its result, the evidence of the time that `body` took, and the tasks'
    /// switches in that time.
    pub(crate) fn around<T>(
        &mut self,
        body: impl FnOnce() -> io::Result<T>,
    ) -> io::Result<(T, Evidence, KernelSwitches)> {
        let window = self.witness.open()?;
        let done = body()?;
        let (evidence, switches) = self.witness.close(window)?;
        Ok((done, evidence, switches))
    }
}
