//! What every experiment has in common: how a batch is asked for, watched and timed.

use std::io;

use host::clock::Clock;
use host::evidence::{TaskId, Witness};
use host::perf::CounterSet;
use record::{Arm, Evidence, KernelSwitches};
use std::collections::BTreeMap;
use units::{CpuId, Nanos, TickRate, Ticks};

/// One batch to be run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Batch {
    pub(crate) arm: Arm,
    /// How often the token goes round in the timed part.
    pub(crate) rounds: u64,
    /// How often before it, untimed.
    pub(crate) warm_up: u64,
}

/// One batch that was run.
#[derive(Clone, Debug, Default)]
pub(crate) struct Timed {
    pub(crate) handoffs: u64,
    pub(crate) ticks: Ticks,
    pub(crate) user_switches: u64,
    pub(crate) evidence: Evidence,
    pub(crate) kernel_switches: KernelSwitches,
    pub(crate) counters: Option<BTreeMap<String, u64>>,
}

/// A mechanism set up with its tasks and their memory, ready to run batches of any arm.
pub(crate) trait Experiment {
    /// The tasks to be watched, the calling one first.
    fn tasks(&self) -> Vec<TaskId>;

    /// Runs one batch. The watch's window is opened right before the timed part and closed right after it.
    fn run(&mut self, batch: Batch, watch: &mut Watch) -> io::Result<Timed>;

    /// Rounds of a batch, where they do not depend on how long a round takes.
    fn fixed_rounds(&self, _arm: Arm) -> Option<u64> {
        None
    }

    /// How long a batch takes, to calibrate its rounds: on the clock, or in CPU time where that is less. Batches that
    /// were shorter for the time that somebody else had the CPU would fit in between his turns, and look clean.
    fn time_roughly(&mut self, batch: Batch, watch: &mut Watch) -> io::Result<Nanos> {
        let timed = self.run(batch, watch)?;
        Ok(watch.rate.nanos(timed.ticks).min(timed.evidence.task_cpu_ns))
    }

    /// Times single hand-offs, as many as asked for; `None` where the mechanism has none to time.
    fn single_handoffs(&mut self, _count: u64, _watch: &mut Watch) -> io::Result<Option<(Timed, Vec<u32>)>> {
        Ok(None)
    }
}

/// Opens and closes the window of a batch.
pub(crate) struct Watch {
    pub(crate) clock: Clock,
    rate: TickRate,
    witness: Witness,
    counters: Option<CounterSet>,
}

impl Watch {
    pub(crate) fn new(clock: Clock, rate: TickRate, cpus: &[CpuId], tasks: &[TaskId]) -> io::Result<Watch> {
        Ok(Watch { clock, rate, witness: Witness::new(clock, cpus, tasks)?, counters: None })
    }

    /// From here on batches carry counter readings.
    pub(crate) fn start_counting(&mut self, counters: CounterSet) {
        self.counters = Some(counters);
    }

    /// Hand-offs of a baseline batch. Its warm-up lies inside the window, between the tasks' turns; counters, which run
    /// over the whole window, count it too.
    pub(crate) fn baseline_handoffs(&self, batch: Batch, tasks: u64) -> u64 {
        (batch.rounds + if self.counters.is_some() { batch.warm_up } else { 0 }) * tasks
    }

    /// Runs `timed` inside a window. It returns the ticks of the timed part, with what it counted itself.
    pub(crate) fn around(&mut self, timed: impl FnOnce(Clock) -> io::Result<Measured>) -> io::Result<Timed> {
        let window = self.witness.open()?;
        let (measured, counters) = match &mut self.counters {
            None => (timed(self.clock)?, None),
            Some(counters) => {
                counters.start()?;
                let measured = timed(self.clock);
                counters.stop()?;
                (measured?, Some(counters.read()?))
            }
        };
        let (mut evidence, kernel_switches) = self.witness.close(window)?;
        evidence.is_clock_backwards = measured.ticks.is_none();
        Ok(Timed {
            handoffs: measured.handoffs,
            ticks: measured.ticks.unwrap_or_default(),
            user_switches: measured.user_switches,
            evidence,
            kernel_switches,
            counters,
        })
    }
}

/// What a timed part found out by itself.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Measured {
    pub(crate) handoffs: u64,
    /// `None` where the clock ran backwards.
    pub(crate) ticks: Option<Ticks>,
    pub(crate) user_switches: u64,
}

/// Times one call.
#[inline(always)]
pub(crate) fn time(clock: Clock, body: impl FnOnce() -> io::Result<()>) -> io::Result<Option<Ticks>> {
    let start = clock.now();
    body()?;
    Ok(clock.now().since(start))
}
