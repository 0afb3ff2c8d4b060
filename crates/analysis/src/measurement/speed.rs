//! Computes the core clock over a run from the probes around every batch. With the core clock,
//! costs at different clocks are comparable. The probes also show in which rounds the core was
//! shared.

use switchcost_record::{Batch, Batches, CoreClock, Cycles, MeasureRecord};
use switchcost_units::{TickRate, Ticks};

use crate::statistics::order_statistics::{nearest_rank, trimmed_mean};

/// Quantile of the moments' times and ratios that counts as the least. Up to one in fifty may be
/// too small by chance.
const FASTEST: f64 = 0.02;

/// Largest relative difference between the probes before and after a batch, at which the core clock
/// counts as steady. A larger difference means that the clock changed during the batch, or that a
/// probe was disturbed.
const STEADY_WITHIN: f64 = 0.04;

/// Number of consecutive probes over which a mean is taken (a moment of the run). The mean is
/// necessary, because a single probe has only the resolution of the clock. On some machines that is
/// ten nanoseconds, two hundredths of a chain. The probes of one moment together take less than a
/// millisecond.
const MOMENT: usize = 32;

/// Least number of moments from which the least sharing ratio of a core is reliable: a few seconds
/// of measurement.
const MOMENTS_TO_KNOW: usize = 200;

/// Relative difference between two sharing ratios within which two runs count as shared with the
/// same kind of load.
const ALIKE_WITHIN: f64 = 0.1;

/// Least number of known costs on a shared core from which the cost of sharing is computed.
const POINTS_TO_KNOW: usize = 8;

/// Largest possible ratio of a time on half of a core to the time on a whole core.
const TWICE: f64 = 2.0;

/// Core clock and core sharing in a run, computed from the probes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Speed {
    rate: TickRate,
    overhead: f64,
    /// Granularity of the clock in ticks, computed from the probes. Equal probes may differ by one
    /// such step.
    step: f64,
    /// Median time of the multiplication chain over the run, in ticks. All costs are scaled to the
    /// core clock of this median, the reference clock.
    reference_chain: f64,
    /// Least sharing ratio of the run (the quantile [`FASTEST`] over its moments): the time of the
    /// probe's additions divided by the time of its multiplications.
    least_ratio: f64,
    usual_ratio: f64,
    /// Number of moments (means over consecutive probes) from which the ratios were computed.
    moments: usize,
    /// Largest sharing ratio (time of the probe's additions divided by time of its multiplications)
    /// at which the core counts as unshared.
    unshared_below: f64,
    /// Number of core cycles of the multiplication chain; `None` if unknown.
    chain_cycles: Option<f64>,
    /// Reference clock in hertz; `None` if the number of cycles of a multiplication is unknown.
    hertz: Option<f64>,
    fastest_hertz: Option<f64>,
}

/// State of the core during a round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sharing {
    /// The other hardware thread of the core is idle.
    Unshared,
    /// The other hardware thread of the core is busy.
    Shared,
    /// The core clock changed during the round, or a probe was disturbed.
    Unsteady,
}

impl Speed {
    /// Computes the core clock from all rounds of a record; `None` if there are none.
    pub(crate) fn new(record: &MeasureRecord) -> Option<Speed> {
        Speed::speed_of_cycles(
            &record.header.core_clock,
            record.header.clock.ticks_per_second,
            &record.cycles,
        )
    }

    /// Computes the core clock from these windows of rounds; `None` if there are none.
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

    /// Returns the reference clock in hertz; `None` if unknown.
    pub(crate) fn hertz(&self) -> Option<f64> {
        self.hertz
    }

    /// Returns the fastest core clock of the run in hertz; `None` if unknown.
    pub(crate) fn fastest_hertz(&self) -> Option<f64> {
        self.fastest_hertz
    }

    /// Returns the least sharing ratio (time of the probe's additions divided by time of its
    /// multiplications); `None` if there are too few moments for a reliable value.
    pub(crate) fn least_ratio(&self) -> Option<f64> {
        (self.moments >= MOMENTS_TO_KNOW).then_some(self.least_ratio)
    }

    /// Returns the largest ratio of a cost on a shared core to the same cost on an unshared core.
    /// The source is earlier runs that were shared to the same degree, if there are enough.
    /// Otherwise the ratio is 2, because each of two hardware threads has half of the core.
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

    /// Returns the sharing ratio of these batches together: the time of the probes' additions
    /// divided by the time of their multiplications.
    pub(crate) fn ratio(&self, batches: &[Batch]) -> f64 {
        let sum = |ticks: fn(&Batch) -> (Ticks, Ticks)| {
            let both = |(before, after): (Ticks, Ticks)| {
                net(before, self.overhead) + net(after, self.overhead)
            };
            batches.iter().map(|batch| both(ticks(batch))).sum::<f64>()
        };
        sum(|batch| batch.addition_ticks) / sum(|batch| batch.chain_ticks)
    }

    /// Converts ticks to nanoseconds, without scaling to the reference clock.
    pub(crate) fn ns(&self, ticks: Ticks) -> f64 {
        signed(ticks) * 1e9 / self.rate.0 as f64
    }

    /// Converts ticks of a batch to nanoseconds, scaled to the reference clock.
    pub(crate) fn scaled_ns(&self, ticks: Ticks, batch: &Batch) -> f64 {
        let (before, after) = batch.chain_ticks;
        let probed = (net(before, self.overhead) + net(after, self.overhead)) / 2.0;
        self.ns(ticks) * self.reference_chain / self.counted_chain(batch).unwrap_or(probed)
    }

    /// Returns the multiplication chain's time in ticks from the core cycles that the CPU counted
    /// over the batch; `None` without a count. The count is more precise than the probes, which
    /// only interpolate the core clock.
    fn counted_chain(&self, batch: &Batch) -> Option<f64> {
        let (cycles, ticks) = batch.counted.filter(|(cycles, _)| *cycles > 0)?;
        Some(self.chain_cycles? * ticks.0 as f64 / cycles as f64)
    }

    /// Returns the state of the core during these batches. The result depends only on the probes,
    /// because a decision by the batches' own times would favour short ones.
    pub(crate) fn sharing(&self, batches: &[Batch]) -> Sharing {
        let net = |(before, after): (Ticks, Ticks)| {
            (net(before, self.overhead), net(after, self.overhead))
        };
        let is_steady = |batch: &Batch| {
            let (before, after) = net(batch.chain_ticks);
            before.min(after) * (1.0 + STEADY_WITHIN) + self.step >= before.max(after)
        };
        // Each probe is judged with a tolerance of one clock step, so that sharing during a part of
        // the round is detected. All probes together are judged without this tolerance.
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

/// Converts ticks as a signed number, because the sums over hand-offs may be negative and wrap.
fn signed(ticks: Ticks) -> f64 {
    ticks.0 as i64 as f64
}

/// Returns the mean time of the probe's multiplications and of its additions for each moment of a
/// window, in ticks, without the time of clock readings.
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

/// Returns the greatest number of ticks that divides the times of all probes.
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
