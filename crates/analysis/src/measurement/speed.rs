//! Derives the core's speed over a run from the probes around every batch. The speed makes costs at
//! different clocks comparable, and distinguishes cycles on an unshared core from those on a shared
//! one.

use switchcost_record::{Batch, Batches, CoreClock, Cycles, MeasureRecord};
use switchcost_units::{TickRate, Ticks};

use crate::statistics::order_statistics::{nearest_rank, trimmed_mean};

/// Share of the fastest speeds that is ignored: up to one in fifty may be chance or a probe cut
/// short.
const FASTEST: f64 = 0.02;

/// Largest relative difference of the probes before and after a batch: a larger one means that the
/// speed changed during the batch, or that a probe was disturbed.
const STEADY_WITHIN: f64 = 0.04;

/// Number of consecutive probes per moment of the run. A single probe has the clock's resolution,
/// on some machines ten nanoseconds, which is two hundredths of a chain. The probes of one moment
/// take less than a millisecond together.
const MOMENT: usize = 32;

/// Number of moments that show the core's best speed: a few seconds of measurement.
const MOMENTS_TO_KNOW: usize = 200;

/// Relative difference of ratios within which two runs count as shared with the same kind of load.
const ALIKE_WITHIN: f64 = 0.1;

/// Least number of costs on a shared core from which the cost of sharing is derived.
const POINTS_TO_KNOW: usize = 8;

/// Largest ratio of a time on half of a core to the time on a whole core.
const TWICE: f64 = 2.0;

/// Core speed derived from a run's probes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Speed {
    rate: TickRate,
    overhead: f64,
    /// Step of the clock in ticks, derived from the probes: equal probes may differ by one step.
    step: f64,
    /// Median ticks of the chain over all moments, that is, at the core's usual speed: the
    /// reference speed of all costs.
    reference_chain: f64,
    /// Least and usual ratio of the additions' time to the chain's.
    least_ratio: f64,
    usual_ratio: f64,
    /// Number of moments from which the least and the usual ratio come.
    moments: usize,
    /// Largest ratio of the additions' time to the chain's on an unshared core.
    unshared_below: f64,
    /// Core cycles of the multiplication chain; `None` if they are not known.
    chain_cycles: Option<f64>,
    /// Core cycles per second at the usual speed; `None` if the cycles of a multiplication are not
    /// known.
    hertz: Option<f64>,
    fastest_hertz: Option<f64>,
}

/// State of the core in a cycle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sharing {
    /// The core is not shared.
    Unshared,
    /// A core shared with another hardware thread.
    Shared,
    /// A core whose speed changed within the cycle, or a cycle with a disturbed probe.
    Unsteady,
}

impl Speed {
    /// Derives the speed from all cycles of a record; `None` if it has none.
    pub(crate) fn new(record: &MeasureRecord) -> Option<Speed> {
        Speed::speed_of_cycles(
            &record.header.core_clock,
            record.header.clock.ticks_per_second,
            &record.cycles,
        )
    }

    /// Derives the speed from these cycles.
    pub(crate) fn speed_of_cycles(
        clock: &CoreClock,
        rate: TickRate,
        windows: &[Cycles],
    ) -> Option<Speed> {
        let overhead = clock.overhead_ticks.0 as f64;
        let moments: Vec<(f64, f64)> = windows
            .iter()
            .flat_map(|window| moments(&window.batches, overhead))
            .collect();
        let at = |share: f64, mut values: Vec<f64>| {
            values.sort_unstable_by(f64::total_cmp);
            nearest_rank(&values, share).filter(|value| *value > 0.0)
        };
        let chains = || moments.iter().map(|(chain, _)| *chain).collect();
        let (fastest_chain, reference_chain) = (at(FASTEST, chains())?, at(0.5, chains())?);
        let ratios = || {
            moments
                .iter()
                .map(|(chain, additions)| additions / chain)
                .collect()
        };
        let (least_ratio, usual_ratio) = (at(FASTEST, ratios())?, at(0.5, ratios())?);
        let cycles = clock.chain_cycles();
        Some(Speed {
            rate,
            overhead,
            step: step(windows).min(STEADY_WITHIN * reference_chain),
            reference_chain,
            least_ratio,
            usual_ratio,
            moments: moments.len(),
            unshared_below: clock.unshared_below(least_ratio),
            chain_cycles: cycles,
            hertz: cycles.map(|cycles| cycles / reference_chain * rate.0 as f64),
            fastest_hertz: cycles.map(|cycles| cycles / fastest_chain * rate.0 as f64),
        })
    }

    /// Returns the core cycles per second at the reference speed.
    pub(crate) fn hertz(&self) -> Option<f64> {
        self.hertz
    }

    /// Returns the core cycles per second at the fastest speed seen.
    pub(crate) fn fastest_hertz(&self) -> Option<f64> {
        self.fastest_hertz
    }

    /// Returns the least ratio of the additions' time to the chain's; `None` if there are too few
    /// probes to know the core's best speed.
    pub(crate) fn least_ratio(&self) -> Option<f64> {
        (self.moments >= MOMENTS_TO_KNOW).then_some(self.least_ratio)
    }

    /// Returns the largest ratio of a cost on a shared core to one on an unshared core. It comes from earlier runs that were shared as much
    /// as this one, if there are enough; otherwise it is 2, since two hardware threads have half of a core each.
    pub(crate) fn most_of_sharing(&self, clock: &CoreClock) -> f64 {
        let is_alike = |ratio: f64| (ratio / self.usual_ratio - 1.0).abs() < ALIKE_WITHIN;
        let alike = clock
            .shared_costs
            .iter()
            .filter(|point| is_alike(f64::from(point.ratio_per_mille) / 1000.0));
        let costs: Vec<f64> = alike
            .map(|point| f64::from(point.cost_per_mille) / 1000.0)
            .collect();
        if costs.len() < POINTS_TO_KNOW {
            TWICE
        } else {
            costs.into_iter().fold(1.0, f64::max).min(TWICE)
        }
    }

    /// Returns the time of the additions divided by that of the chain, in these batches together.
    pub(crate) fn ratio(&self, batches: &[Batch]) -> f64 {
        let sum = |ticks: fn(&Batch) -> (Ticks, Ticks)| {
            let both = |(before, after): (Ticks, Ticks)| {
                net(before, self.overhead) + net(after, self.overhead)
            };
            batches.iter().map(|batch| both(ticks(batch))).sum::<f64>()
        };
        sum(|batch| batch.addition_ticks) / sum(|batch| batch.chain_ticks)
    }

    /// Converts ticks to nanoseconds, not scaled to the reference speed.
    pub(crate) fn ns(&self, ticks: Ticks) -> f64 {
        signed(ticks) * 1e9 / self.rate.0 as f64
    }

    /// Converts ticks of a batch to nanoseconds at the reference speed.
    pub(crate) fn scaled_ns(&self, ticks: Ticks, batch: &Batch) -> f64 {
        let (before, after) = batch.chain_ticks;
        let probed = (net(before, self.overhead) + net(after, self.overhead)) / 2.0;
        self.ns(ticks) * self.reference_chain / self.counted_chain(batch).unwrap_or(probed)
    }

    /// Returns the chain's time at the clock that the CPU itself counted over a batch; probes can
    /// only interpolate this clock. Returns `None` without such a count.
    fn counted_chain(&self, batch: &Batch) -> Option<f64> {
        let (cycles, ticks) = batch.counted.filter(|(cycles, _)| *cycles > 0)?;
        Some(self.chain_cycles? * ticks.0 as f64 / cycles as f64)
    }

    /// Whether the core was shared during these batches, judged only by their probes: judging by
    /// the batches' times would favour short batches.
    pub(crate) fn sharing(&self, batches: &[Batch]) -> Sharing {
        let net = |(before, after): (Ticks, Ticks)| {
            (net(before, self.overhead), net(after, self.overhead))
        };
        let is_steady = |batch: &Batch| {
            let (before, after) = net(batch.chain_ticks);
            before.min(after) * (1.0 + STEADY_WITHIN) + self.step >= before.max(after)
        };
        // Each probe is compared within the clock's resolution, so that a neighbour during a part of the cycle is noticed; all probes
        // together are more precise.
        let is_unshared = |batch: &Batch| {
            let ((chain, other_chain), (additions, other_additions)) =
                (net(batch.chain_ticks), net(batch.addition_ticks));
            [(chain, additions), (other_chain, other_additions)]
                .into_iter()
                .all(|(chain, additions)| additions <= self.unshared_below * chain + self.step)
        };
        let is_unshared_together = || self.ratio(batches) <= self.unshared_below;
        match (
            batches.iter().all(is_steady),
            batches.iter().all(is_unshared) && is_unshared_together(),
        ) {
            (false, _) => Sharing::Unsteady,
            (true, true) => Sharing::Unshared,
            (true, false) => Sharing::Shared,
        }
    }
}

/// Converts ticks as a signed number, because sums of hand-offs wrap (see
/// `switchcost_record::Batches`).
fn signed(ticks: Ticks) -> f64 {
    ticks.0 as i64 as f64
}

/// Returns the chain and additions of each moment of a window, in ticks, without the time of
/// reading the clock.
fn moments(batches: &Batches, overhead: f64) -> Vec<(f64, f64)> {
    let mean =
        |ticks: &[Ticks]| trimmed_mean(ticks.iter().map(|ticks| net(*ticks, overhead)).collect());
    let columns = batches
        .chain_ticks
        .chunks(MOMENT)
        .zip(batches.addition_ticks.chunks(MOMENT));
    columns
        .filter_map(|(chains, additions)| mean(chains).zip(mean(additions)))
        .collect()
}

/// Returns the greatest number of ticks that divides all probes.
fn step(windows: &[Cycles]) -> f64 {
    let probes = windows.iter().flat_map(|window| {
        window
            .batches
            .chain_ticks
            .iter()
            .chain(&window.batches.addition_ticks)
    });
    let divisor = |mut a: u64, mut b: u64| {
        while b != 0 {
            (a, b) = (b, a % b);
        }
        a
    };
    probes.fold(0, |found, ticks| divisor(found, ticks.0)) as f64
}

fn net(ticks: Ticks, overhead: f64) -> f64 {
    (ticks.0 as f64 - overhead).max(1.0)
}
