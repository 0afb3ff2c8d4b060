//! Computes the distribution of the times of single hand-offs.

use switchcost_record::{Arm, Sample};
use switchcost_units::TickRate;

use crate::measurement::findings::Tail;
use crate::measurement::judged::Judged;
use crate::statistics::order_statistics::nearest_rank;

/// Returns the distribution of all hand-offs that were timed one by one; `None` without such
/// hand-offs. Disturbed hand-offs are included, because they are the tail.
pub(crate) fn tail(judged: &Judged<'_>) -> Option<Tail> {
    let is_sound =
        |sample: &&&Sample| sample.arm == Arm::SwitchDirect && !sample.evidence.is_clock_backwards;
    let samples = judged.instrumented.iter().filter(is_sound);
    let mut ticks: Vec<u32> = samples
        .flat_map(|sample| sample.handoff_ticks.iter().copied())
        .collect();
    ticks.sort_unstable();
    let quantile = |share| {
        nearest_rank(&ticks, share)
            .map(|ticks| ns(ticks, judged.rate))
            .filter(|ns| ns.is_finite())
    };
    Some(Tail {
        p50: quantile(0.5)?,
        p99: quantile(0.99)?,
        max: quantile(1.0)?,
        n: ticks.len(),
    })
}

fn ns(ticks: u32, rate: TickRate) -> f64 {
    f64::from(ticks) * 1e9 / rate.0 as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{RATE, pipe};

    #[test]
    fn quantiles_are_of_the_switching_arm_in_nanoseconds() {
        let fake = pipe();
        let handoff_ticks: Vec<u32> = (1..=200).rev().map(|ticks| ticks * 10).collect();
        let samples = [Arm::SwitchDirect, Arm::BaselineDirect].map(|arm| Sample {
            handoff_ticks: handoff_ticks.clone(),
            ..fake.sample(arm)
        });
        let case = fake.case();
        let found = |samples| tail(&Judged::new(&case, RATE, samples, Vec::new()));
        let expected = Tail {
            p50: 500.0,
            p99: 990.0,
            max: 1000.0,
            n: 200,
        };
        assert_eq!(found(samples.iter().collect()), Some(expected));
        assert_eq!(found(Vec::new()), None);
    }
}
