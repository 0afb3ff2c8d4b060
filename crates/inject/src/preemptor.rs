//! The preemptor: what it does while it has the CPU, and how it releases the CPU.

use std::io;
use std::sync::atomic::Ordering::Relaxed;

use switchcost_host::clock::Clock;
use switchcost_host::control::limit_real_time;
use switchcost_host::core_clock::{self, CoreProbe};
use switchcost_host::memory::{MapError, MapType, Memory};
use switchcost_host::timer::Alarm;
use switchcost_units::{Bytes, Nanos, Ticks};
use switchcost_workload::Pages;

/// Longest time for which a real-time task may run without releasing the CPU. A task that runs
/// longer is out of control, because the largest footprint takes some milliseconds.
const LONGEST_REAL_TIME_RUN: Nanos = Nanos::seconds(2);

/// Number of 64-bit words in a cache line.
const LINE: usize = 8;

/// The preemptor's memory, its timer, and its probe of the core's clock.
pub(crate) struct Preemptor {
    clock: Clock,
    overhead: f64,
    alarm: Alarm,
    memory: Memory,
}

impl Preemptor {
    /// Creates a preemptor for footprints of up to `footprint` bytes, and touches all its memory.
    pub(crate) fn new(clock: Clock, overhead: Ticks, footprint: Bytes) -> io::Result<Preemptor> {
        let memory = Memory::map(footprint, MapType::Private, Pages::Base).map_err(|error| match error {
            MapError::Refused { size, source } => io::Error::other(format!(
                "cannot allocate {size} for the other task ({source}); use a smaller --footprint"
            )),
            other @ MapError::NoHugePages { .. } => io::Error::other(other),
        })?;
        memory.iter().for_each(|word| word.store(1, Relaxed));
        Ok(Preemptor {
            clock,
            overhead: overhead.0 as f64,
            alarm: Alarm::new()?,
            memory,
        })
    }

    /// Limits the time for which this process may run under a real-time policy without blocking.
    pub(crate) fn limit() -> io::Result<()> {
        limit_real_time(LONGEST_REAL_TIME_RUN)
    }

    /// Releases the CPU for `time`, and returns the time for which it was released.
    pub(crate) fn give_cpu(&self, time: Nanos) -> io::Result<Ticks> {
        let before = self.clock.now();
        self.alarm.wait(time)?;
        Ok(self.since(before))
    }

    /// Touches one word in each line of a footprint, and returns the time taken.
    pub(crate) fn touch(&self, footprint: Bytes) -> Ticks {
        let before = self.clock.now();
        let words = (footprint.0 / 8) as usize;
        for word in self.memory[..words.min(self.memory.len())]
            .iter()
            .step_by(LINE)
        {
            word.store(word.load(Relaxed) + 1, Relaxed);
        }
        self.since(before)
    }

    /// Spins for `time`, and returns the time taken.
    pub(crate) fn spin(&self, time: Ticks) -> Ticks {
        let before = self.clock.now();
        while self.since(before) < time {
            std::hint::spin_loop();
        }
        self.since(before)
    }

    /// Returns the mean time of a chain of multiplications, in ticks, over `probes` chains.
    pub(crate) fn chain(&self, probes: u32) -> f64 {
        let sum: f64 = (0..probes)
            .map(|_| core_clock::probe(self.clock))
            .map(|CoreProbe { chain, .. }| chain.0 as f64)
            .sum();
        (sum / f64::from(probes) - self.overhead).max(1.0)
    }

    fn since(&self, before: Ticks) -> Ticks {
        Ticks(self.clock.now().0.saturating_sub(before.0))
    }
}
