//! The core's speed over a run, from the probes beside every batch: what makes costs taken at different speeds comparable,
//! and tells cycles on a core of one's own from those on a shared one.

use record::{Batch, CoreClock, Cycles, MeasureRecord};
use units::{TickRate, Ticks};

use crate::order_statistics::nearest_rank;

/// Speeds that are told apart from the fastest: fewer than one in fifty are luck or a probe cut short.
const FASTEST: f64 = 0.02;

/// Probes on both sides of a batch that differ by more mean that the speed changed within, or that a probe was disturbed.
const STEADY_WITHIN: f64 = 0.04;

/// How a run's probes are read.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Speed {
    rate: TickRate,
    overhead: f64,
    /// Ticks of the chain at the fastest steady speed; what costs are scaled to.
    reference_chain: f64,
    /// The most that additions take in chains where nobody shares the core.
    unshared_below: f64,
    /// Core cycles a second at that speed; `None` where the cycles of a multiplication are not known.
    hertz: Option<f64>,
    usual_hertz: Option<f64>,
}

/// Whose the core was in a cycle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sharing {
    /// Ours alone.
    Unshared,
    /// Another hardware thread had a part of it.
    Shared,
    /// The speed changed within the cycle, or a probe was disturbed.
    Unsteady,
}

impl Speed {
    /// Of all cycles of a record; `None` where it has none.
    pub(crate) fn of(record: &MeasureRecord) -> Option<Speed> {
        Speed::of_cycles(record.header.core_clock.as_ref()?, record.header.clock.ticks_per_second, &record.cycles)
    }

    /// Of some.
    pub(crate) fn of_cycles(clock: &CoreClock, rate: TickRate, windows: &[Cycles]) -> Option<Speed> {
        let overhead = clock.overhead_ticks.0 as f64;
        let probes = || {
            let pairs = windows.iter().flat_map(|w| w.batches.chain_ticks.iter().zip(&w.batches.addition_ticks));
            pairs.map(move |(chain, additions)| (net(*chain, overhead), net(*additions, overhead)))
        };
        let at = |share: f64, mut values: Vec<f64>| {
            values.sort_unstable_by(f64::total_cmp);
            nearest_rank(&values, share).filter(|value| *value > 0.0)
        };
        let chains = || probes().map(|(chain, _)| chain).collect();
        let (reference_chain, usual_chain) = (at(FASTEST, chains())?, at(0.5, chains())?);
        let least = at(FASTEST, probes().map(|(chain, additions)| additions / chain).collect())?;
        let cycles = clock.chain_cycles();
        Some(Speed {
            rate,
            overhead,
            reference_chain,
            unshared_below: clock.unshared_below(least),
            hertz: cycles.map(|cycles| cycles / reference_chain * rate.0 as f64),
            usual_hertz: cycles.map(|cycles| cycles / usual_chain * rate.0 as f64),
        })
    }

    /// Core cycles a second at the speed that costs are scaled to.
    pub(crate) fn hertz(&self) -> Option<f64> {
        self.hertz
    }

    /// The same at the usual speed.
    pub(crate) fn usual_hertz(&self) -> Option<f64> {
        self.usual_hertz
    }

    /// Ticks in nanoseconds, as they were.
    pub(crate) fn ns(&self, ticks: Ticks) -> f64 {
        signed(ticks) * 1e9 / self.rate.0 as f64
    }

    /// Ticks of a batch in nanoseconds, had the core run at the speed of reference.
    pub(crate) fn scaled_ns(&self, ticks: Ticks, batch: &Batch) -> f64 {
        let (before, after) = batch.chain_ticks;
        let chain = (net(before, self.overhead) + net(after, self.overhead)) / 2.0;
        self.ns(ticks) * self.reference_chain / chain
    }

    /// Whose the core was in some batches, by their probes alone: a choice by the times themselves would favour short ones.
    pub(crate) fn sharing(&self, batches: &[Batch]) -> Sharing {
        let is_steady = |batch: &Batch| {
            let (before, after) = batch.chain_ticks;
            let (before, after) = (net(before, self.overhead), net(after, self.overhead));
            before.min(after) * (1.0 + STEADY_WITHIN) >= before.max(after)
        };
        let is_unshared = |batch: &Batch| {
            let (chain, additions) = (batch.chain_ticks, batch.addition_ticks);
            [(chain.0, additions.0), (chain.1, additions.1)].into_iter().all(|(chain, additions)| {
                net(additions, self.overhead) <= self.unshared_below * net(chain, self.overhead)
            })
        };
        match (batches.iter().all(is_steady), batches.iter().all(is_unshared)) {
            (false, _) => Sharing::Unsteady,
            (true, true) => Sharing::Unshared,
            (true, false) => Sharing::Shared,
        }
    }
}

/// Sums of hand-offs wrap; see `record::Batches`.
fn signed(ticks: Ticks) -> f64 {
    ticks.0 as i64 as f64
}

fn net(ticks: Ticks, overhead: f64) -> f64 {
    (ticks.0 as f64 - overhead).max(1.0)
}
