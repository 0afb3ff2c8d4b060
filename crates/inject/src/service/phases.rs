//! The order of phases, and what happens in each phase.

use std::io;

use rand::seq::SliceRandom;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use switchcost_record::KernelSwitches;
use switchcost_record::injection::{Arm, Group, Phase, Timing};
use switchcost_units::{Nanos, TickRate, Ticks};

use super::{ServiceFault, ServiceOrder};
use crate::ask::refusal;

/// Number of chains of multiplications at each end of a phase. A single chain would be measured no
/// finer than the clock's steps.
const AT_ENDS: u32 = 4;

/// Control of a service: preempts the service, and reads its counts. Tests use a script instead.
pub(crate) trait ServiceControl {
    /// Releases the CPU for `time`, and returns the time for which it was released.
    fn give_cpu(&mut self, time: Nanos) -> io::Result<Ticks>;

    /// Touches footprint number `footprint`, and returns the time taken.
    fn touch(&mut self, footprint: usize) -> Ticks;

    /// Spins for the time that touching footprint number `footprint` has recently taken, on
    /// average. Returns the time taken.
    fn spin(&mut self, footprint: usize) -> Ticks;

    /// Returns the recent average time for touching footprint number `footprint`.
    fn took(&self, footprint: usize) -> Nanos;

    /// Returns the mean time of a chain of multiplications, in ticks, over `probes` chains.
    fn chain(&mut self, probes: u32) -> f64;

    /// Returns the CPU time of the service's thread so far.
    fn cpu_time(&mut self) -> Result<Nanos, ServiceFault>;

    /// Returns the amount of work that the thread has done so far, and its switches.
    fn counts(&mut self) -> Result<(u64, KernelSwitches), ServiceFault>;

    /// Returns the present time on CLOCK_MONOTONIC.
    fn now(&self) -> Nanos;
}

/// A comparison of two arms with one footprint and one period.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Compared {
    timing: usize,
    footprint: usize,
    arms: [Arm; 2],
}

/// Makes all comparisons in random order, repeatedly, until the time is over or the reader has
/// closed the pipe.
pub(crate) fn run_phases(
    service: &mut impl ServiceControl,
    order: &ServiceOrder,
    sink: &mut dyn FnMut(Group) -> Result<(), ServiceFault>,
) -> Result<(), ServiceFault> {
    let mut random = ChaCha8Rng::seed_from_u64(order.seed);
    let start = service.now();
    for block in 0.. {
        for Compared {
            timing,
            footprint,
            arms: [first, second],
        } in block_of(order, &mut random)
        {
            let since_start_ns = service.now().saturating_sub(start);
            if service.now() >= order.until {
                return Ok(());
            }
            let mut phase = |arm| phase(service, order.rate, order.timings[timing], arm, footprint);
            let phases = [phase(first)?, phase(second)?, phase(second)?, phase(first)?];
            sink(Group {
                block,
                footprint: footprint as u32,
                timing: timing as u32,
                since_start_ns,
                phases,
            })?;
        }
    }
    Ok(())
}

/// Returns one comparison for each footprint and period, and one comparison with no preemption.
/// Each begins with a random arm.
fn block_of(order: &ServiceOrder, random: &mut ChaCha8Rng) -> Vec<Compared> {
    let at = |timing| {
        let of = move |footprint| Compared {
            timing,
            footprint,
            arms: [Arm::Touching, Arm::Spinning],
        };
        (0..order.footprints.len()).map(of)
    };
    let mut all: Vec<Compared> = (0..order.timings.len()).flat_map(at).collect();
    all.push(Compared {
        timing: 0,
        footprint: order.against_idle,
        arms: [Arm::Idle, Arm::Spinning],
    });
    all.shuffle(random);
    for compared in &mut all {
        if random.random() {
            compared.arms.reverse();
        }
    }
    all
}

/// Sums over one phase.
#[derive(Default)]
struct Tally {
    cpu: u64,
    chains: f64,
    given: u64,
    away: u64,
    turns: u64,
    turns_run: u64,
}

impl Tally {
    /// Adds CPU time, between two readings of the core's clock (the times of a chain).
    fn add(&mut self, cpu: Nanos, before: f64, after: f64) {
        self.cpu += cpu.0;
        self.chains += cpu.0 as f64 * (1.0 / before + 1.0 / after) / 2.0;
    }

    /// Returns the mean time of a chain in the thread's CPU time (a harmonic mean), in picoseconds;
    /// 0 without CPU time.
    fn chain_ps(&self, rate: TickRate) -> u64 {
        let ticks = if self.chains > 0.0 {
            self.cpu as f64 / self.chains
        } else {
            0.0
        };
        (ticks * 1e12 / rate.0 as f64).round() as u64
    }
}

/// Runs a phase: each time slice of the service follows a preemption of the same kind.
fn phase(
    service: &mut impl ServiceControl,
    rate: TickRate,
    timing: Timing,
    arm: Arm,
    footprint: usize,
) -> Result<Phase, ServiceFault> {
    let (turns, turn) = turns(timing, arm, service.took(footprint));
    let mut tally = Tally::default();
    take_cpu(service, arm, footprint);
    let (work, switches) = service.counts()?;
    let mut cpu = service.cpu_time()?;
    let mut before = service.chain(AT_ENDS);
    for number in 1..=turns {
        tally.given += service.give_cpu(turn).map_err(refused)?.0;
        let after = service.chain(if number == turns { AT_ENDS } else { 1 });
        let now = service.cpu_time()?;
        tally.turns += 1;
        tally.turns_run += u64::from(now > cpu);
        tally.add(now.saturating_sub(cpu), before, after);
        (cpu, before) = (now, after);
        if number < turns {
            tally.away += take_cpu(service, arm, footprint).0;
        }
    }
    let (work_after, after) = service.counts()?;
    // While the command counts, the service runs under the same conditions as before the first time
    // slice.
    tally.add(service.cpu_time()?.saturating_sub(cpu), before, before);
    Ok(Phase {
        arm,
        wall_ns: rate.nanos(Ticks(tally.given + tally.away)),
        cpu_ns: Nanos(tally.cpu),
        chain_ps: tally.chain_ps(rate),
        work: work_after.saturating_sub(work),
        turns: tally.turns,
        turns_run: tally.turns_run,
        away_ns: rate.nanos(Ticks(tally.away)),
        voluntary: after.voluntary.saturating_sub(switches.voluntary),
        involuntary: after.involuntary.saturating_sub(switches.involuntary),
    })
}

/// Returns the number of time slices in a phase, and their length. A time slice is at least as long
/// as a preemption, so that the service has the CPU for at least half of the time. A phase without
/// preemption is a single time slice of the same total length.
fn turns(timing: Timing, arm: Arm, took: Nanos) -> (u64, Nanos) {
    let turn = timing.period_ns.max(took);
    let turns = (timing.turn_ns.0 / turn.0.max(1)).max(2);
    match arm {
        Arm::Idle => (1, Nanos(turns * turn.0 + (turns - 1) * took.0)),
        Arm::Touching | Arm::Spinning => (turns, turn),
    }
}

fn take_cpu(service: &mut impl ServiceControl, arm: Arm, footprint: usize) -> Ticks {
    match arm {
        Arm::Touching => service.touch(footprint),
        Arm::Spinning => service.spin(footprint),
        Arm::Idle => Ticks(0),
    }
}

fn refused(error: io::Error) -> ServiceFault {
    ServiceFault::Refused(refusal("no timer can be had", &error))
}

#[cfg(test)]
mod tests;
