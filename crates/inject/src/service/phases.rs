//! The order of phases, and what is done in each.

use std::io;

use rand::seq::SliceRandom;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use switchcost_record::KernelSwitches;
use switchcost_record::injection::{Arm, Group, Phase, Timing};
use switchcost_units::{Nanos, TickRate, Ticks};

use super::{ServiceFault, ServiceOrder};

/// Chains at either end of a phase: a single one is as coarse as the clock.
const AT_ENDS: u32 = 4;

/// The CPU of a service, and who takes it. Tests script it.
pub(crate) trait ServiceControl {
    /// Gives the CPU away for so long; returns how long it was away.
    fn give_cpu(&mut self, time: Nanos) -> io::Result<Ticks>;

    /// Touches a footprint.
    fn touch(&mut self, footprint: usize) -> Ticks;

    /// Spins for as long as touching it has taken lately.
    fn spin(&mut self, footprint: usize) -> Ticks;

    /// How long touching it has taken lately.
    fn took(&self, footprint: usize) -> Nanos;

    /// How long a chain of multiplications takes, as the mean of so many.
    fn chain(&mut self, probes: u32) -> f64;

    /// CPU time of the thread.
    fn cpu_time(&mut self) -> Result<Nanos, ServiceFault>;

    /// Its work, and its switches.
    fn counts(&mut self) -> Result<(u64, KernelSwitches), ServiceFault>;

    /// Now, on CLOCK_MONOTONIC.
    fn now(&self) -> Nanos;
}

/// What is compared: two arms with a footprint at a period.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Compared {
    timing: usize,
    footprint: usize,
    arms: [Arm; 2],
}

/// Goes through all that is compared in random order, again and again, until the time is over or no more is wanted.
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

/// Each footprint once at each period, and one against not being preempted at all; each time from the one or the other arm on.
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

/// What is summed over a phase.
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
    /// CPU time between two readings of the core's clock.
    fn add(&mut self, cpu: Nanos, before: f64, after: f64) {
        self.cpu += cpu.0;
        self.chains += cpu.0 as f64 * (1.0 / before + 1.0 / after) / 2.0;
    }

    /// As a harmonic mean over CPU time; 0 if there was none.
    fn chain_ps(&self, rate: TickRate) -> u64 {
        let ticks = if self.chains > 0.0 {
            self.cpu as f64 / self.chains
        } else {
            0.0
        };
        (ticks * 1e12 / rate.0 as f64).round() as u64
    }
}

/// Each turn of the service follows a preemption of the same kind.
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
    // Where a command counts, the service has run meanwhile, as before the first turn.
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

/// How many turns a phase has, and how long each is: never shorter than the preemption before, so that the service has its CPU for half of
/// the time. Who is not preempted has one of the same length as all together.
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
    ServiceFault::Refused(format!("no timer can be had ({error})"))
}

#[cfg(test)]
mod tests;
