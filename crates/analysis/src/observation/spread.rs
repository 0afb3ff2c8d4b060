use switchcost_record::observation::{Histogram, Observation, Tasks};

use super::observed;
use crate::lists::saturating_sum;

/// Distribution of times off the CPU and of waits, in bins of powers of two.
#[derive(Clone, Debug, PartialEq)]
pub struct Spread {
    /// Start and end of each bin in nanoseconds. Each bin is twice as long as the one before,
    /// except after a bin that begins at 0. The last bin has no end if longer times occurred.
    pub bins: Vec<(f64, Option<f64>)>,
    /// Number of times off the CPU in each bin; null if not counted.
    pub off: Option<Vec<Bin>>,
    /// Number of waits for a CPU in each bin; null if not counted.
    pub wait: Option<Vec<Bin>>,
}

/// Number of times off the CPU, or of waits for a CPU, whose length is in one bin.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Bin {
    /// Number of times in this bin.
    pub count: u64,
    /// Number of times in the bin as a share of all times off the CPU (or of all waits).
    pub share: f64,
}

/// Returns the distribution over all observed tasks; `None` if no times were counted.
pub fn spread(observation: &Observation) -> Option<Spread> {
    let off = Counts::sum(observed(observation).map(|tasks: &Tasks| &tasks.off));
    let wait = Counts::sum(observed(observation).map(|tasks| &tasks.wait));
    let is_used = |at: &usize| off.by_power[*at] > 0 || wait.by_power[*at] > 0;
    let first = (0..POWERS).find(is_used)?;
    let last = (first..POWERS).rfind(is_used)?;
    let is_open = |at| off.open == Some(at) || wait.open == Some(at);
    let bins = (first..=last).map(|at| (start(at), (!is_open(at)).then(|| start(at + 1))));
    Some(Spread {
        bins: bins.collect(),
        off: off.shares(first..=last),
        wait: wait.shares(first..=last),
    })
}

/// Number of bins: the first bucket of a histogram, and one bin for each higher power of two.
const POWERS: usize = 58;
const FIRST_LOG: usize = 8;

fn start(at: usize) -> f64 {
    if at == 0 {
        0.0
    } else {
        ((at + FIRST_LOG - 1) as f64).exp2()
    }
}

/// Numbers of times off the CPU, or of waits, by power of two of their length. The two buckets of
/// each power have unequal widths on a logarithmic axis, so their counts would alternate in a plot.
struct Counts {
    by_power: [u64; POWERS],
    /// Index of the bin with the histogram's last bucket, which has no end; `None` if that bucket
    /// is empty.
    open: Option<usize>,
}

impl Counts {
    fn sum<'a>(histograms: impl Iterator<Item = &'a Histogram>) -> Counts {
        let mut sum = Histogram::default();
        histograms.for_each(|histogram| sum.add(histogram));
        let mut counts = Counts {
            by_power: [0; POWERS],
            open: None,
        };
        for (from, to, count) in sum.buckets() {
            let power = from.0.max(1).ilog2() as usize;
            let at = (power + 1).saturating_sub(FIRST_LOG);
            counts.by_power[at] = counts.by_power[at].saturating_add(count);
            counts.open = to.is_none().then_some(at).or(counts.open);
        }
        counts
    }

    fn shares(&self, bins: std::ops::RangeInclusive<usize>) -> Option<Vec<Bin>> {
        let all = saturating_sum(self.by_power);
        let share = |count: &u64| Bin {
            count: *count,
            share: *count as f64 / all as f64,
        };
        (all > 0).then(|| self.by_power[bins].iter().map(share).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{observation, tasks};
    use super::*;

    fn spread_of(off: Histogram, wait: Histogram) -> Option<Spread> {
        spread(&observation(Tasks {
            off,
            wait,
            ..tasks(Vec::new())
        }))
    }

    #[test]
    fn two_buckets_are_one_power_of_two() {
        // The buckets are below 256, 256 to 384, 384 to 512, 512 to 768, 768 to 1024; the last has
        // no end.
        let found = spread_of(
            Histogram::new([0, 1, 2, 0, 3, 0]),
            Histogram::new([4, 0, 0]),
        )
        .expect("counted");
        assert_eq!(
            found.bins,
            [
                (0.0, Some(256.0)),
                (256.0, Some(512.0)),
                (512.0, Some(1024.0))
            ]
        );
        let bin = |count, share| Bin { count, share };
        assert_eq!(found.off, Some(vec![bin(0, 0.0), bin(3, 0.5), bin(3, 0.5)]));
        assert_eq!(
            found.wait,
            Some(vec![bin(4, 1.0), bin(0, 0.0), bin(0, 0.0)])
        );
    }

    #[test]
    fn what_is_longer_than_all_has_no_end() {
        let found =
            spread_of(Histogram::new([0, 0, 0, 1, 1]), Histogram::default()).expect("counted");
        assert_eq!((found.bins, found.wait), (vec![(512.0, None)], None));
        assert_eq!(spread_of(Histogram::default(), Histogram::default()), None);
    }

    #[test]
    fn a_record_may_have_any_number_of_buckets() {
        let long = Histogram::new((0..400).map(|at| u64::from(at > 100)));
        let found = spread_of(long, Histogram::default()).expect("counted");
        assert_eq!(
            found
                .off
                .expect("counted")
                .iter()
                .map(|bin| bin.count)
                .sum::<u64>(),
            299
        );
    }
}
