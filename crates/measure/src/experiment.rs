//! What every experiment has in common: how a batch is asked for, timed and watched.

use std::io;
use std::ops::{AddAssign, Sub};

use switchcost_host::clock::Clock;
use switchcost_host::evidence::{TaskId, Witness};
use switchcost_record::{Arm, CountedHandoffs, Evidence, KernelSwitches, RuntimeRun};
use switchcost_units::{CpuId, Ticks};

/// One batch to be run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Batch {
    pub(crate) arm: Arm,
    /// How often the token goes round in the timed part.
    pub(crate) rounds: u64,
    /// How often it goes round before that, untimed.
    pub(crate) warm_up: u64,
}

impl Batch {
    /// Rounds with the untimed ones.
    pub(crate) fn total_rounds(&self) -> u64 {
        self.warm_up + self.rounds
    }
}

/// One batch that was run.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Timed {
    /// Hand-offs in the timed part.
    pub(crate) handoffs: u64,
    /// The time of the hand-offs, and of the walks after them.
    pub(crate) time: Split,
    /// Hand-offs from one task to another, the untimed ones too.
    pub(crate) switching_handoffs: u64,
    /// Kernel switches that the commands to tasks took.
    pub(crate) control_switches: u64,
    /// Switches that a user-level mechanism counted itself, the untimed ones too.
    pub(crate) user_switches: u64,
    /// Hand-offs for which the tasks counted their switches; none if they did not count.
    pub(crate) counted: CountedHandoffs,
}

/// What a batch has more than a shorter one: only hand-offs and time.
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

/// The time of hand-offs and of walks, timed separately.
///
/// Both wrap. Between CPUs whose counters differ, a hand-off one way looks too long by as much as a hand-off the other way looks too
/// short, and the sum over a round is right.
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

    /// Whether the clock ran backwards: no sum is below zero otherwise.
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

/// A mechanism with its tasks and their memory, set up to run batches of any arm.
pub(crate) trait Experiment {
    /// The tasks to be watched, the calling one first.
    fn tasks(&self) -> Vec<TaskId>;

    /// Runs one batch.
    fn run(&mut self, batch: Batch) -> io::Result<Timed>;

    /// The rounds of a batch, if they do not depend on how long a round takes.
    fn fixed_rounds(&self, _arm: Arm) -> Option<u64> {
        None
    }

    /// Makes one switch away from the first task and back, then `walks` walks of its working set, with hand-offs to itself in between.
    /// Returns each walk with the hand-off before it. `before` is called before each, outside of what is timed.
    fn visit(&mut self, _walks: u32, _before: &mut dyn FnMut()) -> io::Result<(Timed, Vec<Split>)> {
        Err(io::Error::new(
            io::ErrorKind::Unsupported,
            "this mechanism cannot hand over to itself without a switch",
        ))
    }

    /// What the program of a runtime has reported of itself; `None` for all other experiments.
    fn runtime_run(&mut self) -> Option<RuntimeRun> {
        None
    }

    /// Times `count` single hand-offs; `None` if the mechanism has none to time.
    fn single_handoffs(&mut self, _count: u64) -> io::Result<Option<(Timed, Vec<u32>)>> {
        Ok(None)
    }
}

/// Opens and closes the windows that batches are watched in.
pub(crate) struct Watch {
    witness: Witness,
}

impl Watch {
    pub(crate) fn new(clock: Clock, cpus: &[CpuId], tasks: &[TaskId]) -> io::Result<Watch> {
        Ok(Watch {
            witness: Witness::new(clock, cpus, tasks)?,
        })
    }

    /// Runs `body` inside a window.
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
