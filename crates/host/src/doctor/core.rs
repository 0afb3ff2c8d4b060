//! The core's own clock and its neighbours, watched for two seconds: what changes while one measures.

use std::time::Duration;

use record::{Check, CoreClock};
use units::{CpuId, Nanos, Ticks};

use super::line::{Line, Remedy};
use super::subject::Subject;
use crate::clock::{Calibration, Clock, monotonic};
use crate::control::pin;
use crate::core_clock::{self, CoreProbe};

const WATCHED: Nanos = Nanos::seconds(2);
const PAUSE: Duration = Duration::from_micros(500);

/// Probes of a moment, which together are finer than one: some clocks go on by ten nanoseconds at a time.
const MOMENT: usize = 8;

/// A twentieth at either end is interrupts and luck.
const TAIL: f64 = 0.05;

/// Clocks within this are one.
const STEADY: f64 = 0.03;

/// What a core did while it was watched.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Wander {
    cpu: CpuId,
    /// Slowest and fastest, in cycles a second; relative to the fastest where the cycles of a chain are not known.
    clock: (f64, f64),
    is_hertz: bool,
    /// Share of the moments in which another hardware thread had a part of the core.
    shared: f64,
}

/// Watches the core that has this CPU; `None` where that is not ours to run on.
pub(super) fn watch(cpu: CpuId, is_tsc_invariant: bool) -> Option<Wander> {
    let _pin = pin(&[cpu]).ok()?;
    let clock = Clock::choose(is_tsc_invariant);
    let calibration = Calibration::start(clock);
    let facts = core_clock::facts(clock);
    let (start, mut chains, mut ratios) = (monotonic(), Vec::new(), Vec::new());
    let net = |ticks: Ticks| (ticks.0 as f64 - facts.overhead_ticks.0 as f64).max(1.0);
    while monotonic().saturating_sub(start) < WATCHED {
        let probes: Vec<_> = (0..MOMENT).map(|_| core_clock::probe(clock)).collect();
        let sum = |ticks: fn(&CoreProbe) -> Ticks| probes.iter().map(|probe| net(ticks(probe))).sum::<f64>();
        let (chain, additions) = (sum(|probe| probe.chain), sum(|probe| probe.additions));
        chains.push(chain / MOMENT as f64);
        ratios.push(additions / chain);
        std::thread::sleep(PAUSE);
    }
    let rate = calibration.rate().0 as f64;
    Some(wander(cpu, chains, ratios, &facts, rate))
}

fn wander(cpu: CpuId, mut chains: Vec<f64>, mut ratios: Vec<f64>, facts: &CoreClock, rate: f64) -> Wander {
    chains.sort_unstable_by(f64::total_cmp);
    ratios.sort_unstable_by(f64::total_cmp);
    let at = |sorted: &[f64], share: f64| sorted[((sorted.len() - 1) as f64 * share) as usize];
    let (fast, slow) = (at(&chains, TAIL), at(&chains, 1.0 - TAIL));
    let unshared_below = facts.unshared_below(at(&ratios, TAIL));
    let shared = ratios.iter().filter(|ratio| **ratio > unshared_below).count() as f64 / ratios.len() as f64;
    let cycles = facts.chain_cycles().map(|cycles| cycles * rate);
    let cycles_of = cycles.unwrap_or(fast);
    Wander { cpu, clock: (cycles_of / slow, cycles_of / fast), is_hertz: cycles.is_some(), shared }
}

/// A core as one wants it.
#[cfg(test)]
pub(super) fn undisturbed() -> Wander {
    Wander { cpu: CpuId(3), clock: (3e9, 3e9), is_hertz: true, shared: 0.0 }
}

/// Whether the core has one clock.
pub(super) fn clock(subject: &Subject) -> Check {
    let line = Line::new("core clock", "one clock while it is watched (2 s)");
    let Some(Wander { cpu, clock: (slow, fast), is_hertz, .. }) = subject.wander else {
        return line.caveat("not watched: this CPU is not ours to run on", Remedy::none());
    };
    let found = if is_hertz {
        format!("CPU {cpu}: {:.2} to {:.2} GHz", slow / 1e9, fast / 1e9)
    } else {
        format!("CPU {cpu}: {:.0} to 100 % of its fastest", slow * 100.0)
    };
    if fast <= slow * (1.0 + STEADY) {
        return line.fit(found);
    }
    let remedy = Remedy::new(
        "compare costs in core cycles, which do not follow it",
        "the governor performance without turbo, or a machine without neighbours",
    );
    line.caveat(found, remedy)
}

/// Whether the core is ours.
pub(super) fn sharing(subject: &Subject) -> Check {
    let line = Line::new("core sharing", "the core's other hardware thread is idle");
    let Some(Wander { cpu, shared, .. }) = subject.wander else {
        return line.caveat("not watched: this CPU is not ours to run on", Remedy::none());
    };
    let found = format!("CPU {cpu}: shared for {:.0} % of 2 s", shared * 100.0);
    if shared <= 2.0 * TAIL {
        return line.fit(found);
    }
    let remedy = Remedy::new(
        "choose another CPU with --cpu, or a quieter time; costs on an unshared and on a shared core are reported separately",
        "a machine with dedicated cores, or without SMT (nosmt)",
    );
    line.caveat(found, remedy)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::fixture::Fixture;
    use record::Severity;

    /// A chain of 1800 cycles, on a clock of 2 GHz.
    fn judged(chains: Vec<f64>, ratios: Vec<f64>, known_per_mille: Option<u32>) -> [Check; 2] {
        let facts = CoreClock {
            chain_length: 600,
            multiplication_cycles: Some(3),
            additions: 3_600,
            overhead_ticks: units::Ticks(0),
            unshared_per_mille: known_per_mille,
            counter: None,
            shared_costs: Vec::new(),
        };
        let mut subject = Subject::scripted(&Fixture::workstation());
        subject.wander = Some(wander(CpuId(3), chains, ratios, &facts, 2e9));
        [clock(&subject), sharing(&subject)]
    }

    #[test]
    fn a_core_with_one_clock_and_no_neighbour_is_fit() {
        let [clock, sharing] = judged(vec![1_200.0; 100], vec![0.25; 100], Some(240));
        assert_eq!((clock.severity, clock.found.as_str()), (Severity::Fit, "CPU 3: 3.00 to 3.00 GHz"));
        assert_eq!((sharing.severity, sharing.found.as_str()), (Severity::Fit, "CPU 3: shared for 0 % of 2 s"));
    }

    #[test]
    fn what_changes_is_a_caveat() {
        let chains = (0..100).map(|moment| if moment % 2 == 0 { 1_200.0 } else { 1_440.0 }).collect();
        let ratios = (0..100).map(|moment| if moment % 5 == 0 { 0.25 } else { 0.35 }).collect();
        let [clock, sharing] = judged(chains, ratios, None);
        assert_eq!((clock.severity, clock.found.as_str()), (Severity::Caveat, "CPU 3: 2.50 to 3.00 GHz"));
        assert_eq!((sharing.severity, sharing.found.as_str()), (Severity::Caveat, "CPU 3: shared for 80 % of 2 s"));
    }

    #[test]
    fn a_core_shared_throughout_is_told_where_it_is_known() {
        let ratios = || vec![0.35; 100];
        assert_eq!(judged(vec![1_200.0; 100], ratios(), None)[1].severity, Severity::Fit, "nothing to tell it by");
        assert_eq!(judged(vec![1_200.0; 100], ratios(), Some(250))[1].found, "CPU 3: shared for 100 % of 2 s");
    }

    #[test]
    fn the_real_core_is_watched() {
        let allowed = crate::facts::allowed_cpus(&crate::facts::Root::system());
        let found = watch(allowed[0], false).expect("a CPU of ours");
        let (slow, fast) = found.clock;
        assert!(0.0 < slow && slow <= fast && (0.0..=1.0).contains(&found.shared), "{found:?}");
    }
}
