//! Observes a core's clock for two seconds, and whether other hardware threads use the core.

use std::time::Duration;

use switchcost_record::CoreClock;
use switchcost_units::{CpuId, Nanos, Ticks};

use switchcost_host::clock::{Calibration, Clock, monotonic};
use switchcost_host::control::pin;
use switchcost_host::core_clock::{self, CoreProbe};

const WATCHED: Nanos = Nanos::seconds(2);
const PAUSE: Duration = Duration::from_micros(500);

/// Number of probes in a moment. Their sum is finer than a single probe, because some clocks
/// advance by ten nanoseconds at a time.
const MOMENT: usize = 8;

/// Share of the moments that is ignored at either end, because interrupts and chance affect them.
pub(super) const TAIL: f64 = 0.05;

/// The clock of a core over the observed time, and how often the core was shared.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct ClockDrift {
    pub(super) cpu: CpuId,
    /// Slowest and fastest clock in cycles per second. The clocks are relative to the fastest if
    /// the probe's number of cycles is unknown.
    pub(super) clock: (f64, f64),
    pub(super) is_hertz: bool,
    /// Share of the moments in which another hardware thread used the core.
    pub(super) shared: f64,
}

/// Observes the core of a CPU; `None` if this process may not run on the CPU.
pub(super) fn watch(cpu: CpuId, is_tsc_invariant: bool) -> Option<ClockDrift> {
    let _pin = pin(&[cpu]).ok()?;
    let clock = Clock::choose(is_tsc_invariant);
    let calibration = Calibration::start(clock);
    let facts = core_clock::facts(clock);
    let (start, mut chains, mut ratios) = (monotonic(), Vec::new(), Vec::new());
    let net = |ticks: Ticks| (ticks.0 as f64 - facts.overhead_ticks.0 as f64).max(1.0);
    while monotonic().saturating_sub(start) < WATCHED {
        let probes: Vec<_> = (0..MOMENT).map(|_| core_clock::probe(clock)).collect();
        let sum = |ticks: fn(&CoreProbe) -> Ticks| {
            probes.iter().map(|probe| net(ticks(probe))).sum::<f64>()
        };
        let (chain, additions) = (sum(|probe| probe.chain), sum(|probe| probe.additions));
        chains.push(chain / MOMENT as f64);
        ratios.push(additions / chain);
        std::thread::sleep(PAUSE);
    }
    let rate = calibration.rate().0 as f64;
    Some(clock_drift(cpu, chains, ratios, &facts, rate))
}

pub(super) fn clock_drift(
    cpu: CpuId,
    mut chains: Vec<f64>,
    mut ratios: Vec<f64>,
    facts: &CoreClock,
    rate: f64,
) -> ClockDrift {
    chains.sort_unstable_by(f64::total_cmp);
    ratios.sort_unstable_by(f64::total_cmp);
    let at = |sorted: &[f64], share: f64| sorted[((sorted.len() - 1) as f64 * share) as usize];
    let (fast, slow) = (at(&chains, TAIL), at(&chains, 1.0 - TAIL));
    let unshared_below = facts.unshared_below(at(&ratios, TAIL));
    let shared = ratios
        .iter()
        .filter(|ratio| **ratio > unshared_below)
        .count() as f64
        / ratios.len() as f64;
    let cycles = facts.chain_cycles().map(|cycles| cycles * rate);
    let cycles_of = cycles.unwrap_or(fast);
    ClockDrift {
        cpu,
        clock: (cycles_of / slow, cycles_of / fast),
        is_hertz: cycles.is_some(),
        shared,
    }
}

/// Returns the result for a core without disturbance.
#[cfg(test)]
pub(super) fn undisturbed() -> ClockDrift {
    ClockDrift {
        cpu: CpuId(3),
        clock: (3e9, 3e9),
        is_hertz: true,
        shared: 0.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_real_core_is_watched() {
        let allowed = switchcost_facts::allowed_cpus(&switchcost_facts::Root::system());
        let found = watch(allowed[0], false).expect("a CPU of ours");
        let (slow, fast) = found.clock;
        assert!(
            0.0 < slow && slow <= fast && (0.0..=1.0).contains(&found.shared),
            "{found:?}"
        );
    }
}
