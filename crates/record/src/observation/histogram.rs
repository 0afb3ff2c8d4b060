use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use switchcost_units::Nanos;

/// Binary logarithm of the upper end of the first bucket in nanoseconds.
const FIRST_LOG: u32 = 8;

/// A histogram of durations. The first bucket holds durations below 256 ns. Then there are two
/// buckets for each power of two. The last bucket has no upper end.
#[derive(Clone, Debug, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Histogram {
    counts: Vec<u64>,
}

impl Histogram {
    /// Returns a histogram with these counts, one per bucket.
    pub fn new(counts: impl IntoIterator<Item = u64>) -> Histogram {
        Histogram {
            counts: counts.into_iter().collect(),
        }
    }

    /// Adds the counts of another histogram, bucket by bucket.
    pub fn add(&mut self, other: &Histogram) {
        self.counts
            .resize(self.counts.len().max(other.counts.len()), 0);
        for (sum, count) in self.counts.iter_mut().zip(&other.counts) {
            *sum = sum.saturating_add(*count);
        }
    }

    /// Subtracts as much of an earlier state as there is, also from that state, bucket by bucket.
    pub(crate) fn subtract(&mut self, earlier: &mut Histogram) {
        self.counts
            .iter_mut()
            .zip(&mut earlier.counts)
            .for_each(cancel);
    }

    /// Returns the number of durations in the histogram.
    pub fn count(&self) -> u64 {
        self.counts
            .iter()
            .fold(0, |sum, count| sum.saturating_add(*count))
    }

    /// Returns each bucket that is not empty: its lower end, its upper end (`None` for the last
    /// bucket), and its count.
    pub fn buckets(&self) -> impl Iterator<Item = (Nanos, Option<Nanos>, u64)> + '_ {
        let last = self.counts.len().saturating_sub(1);
        let end = move |at| (at < last).then(|| start(at + 1));
        self.counts
            .iter()
            .enumerate()
            .filter(|(_, count)| **count > 0)
            .map(move |(at, &count)| (start(at), end(at), count))
    }

    /// Returns the lower end of the last bucket, which has no upper end.
    pub fn last(&self) -> Nanos {
        start(self.counts.len().saturating_sub(1))
    }

    /// Returns the ends of the bucket that contains the quantile `share` (0.5 is the median);
    /// `None` if the histogram is empty. The upper end is `None` for the last bucket.
    pub fn quantile(&self, share: f64) -> Option<(Nanos, Option<Nanos>)> {
        let rank = (self.count() as f64 * share).ceil().max(1.0) as u64;
        let mut below = 0u64;
        self.buckets().find_map(|(from, to, count)| {
            below = below.saturating_add(count);
            (below >= rank).then_some((from, to))
        })
    }
}

/// Subtracts the smaller of two counts from both.
pub(super) fn cancel((a, b): (&mut u64, &mut u64)) {
    let both = (*a).min(*b);
    *a -= both;
    *b -= both;
}

/// Returns the index of the bucket for the duration `time`, in a histogram with `buckets` buckets.
pub fn bucket_of(time: Nanos, buckets: usize) -> usize {
    let log = time.0.max(1).ilog2();
    let half = (time.0 >> log.saturating_sub(1)) as usize & 1;
    let at = log
        .checked_sub(FIRST_LOG)
        .map_or(0, |log| 1 + log as usize * 2 + half);
    at.min(buckets.saturating_sub(1))
}

/// Returns the lower end of the bucket with index `at`.
fn start(at: usize) -> Nanos {
    let Some(half) = at.checked_sub(1) else {
        return Nanos(0);
    };
    // The sums saturate, because a record may have any number of buckets.
    let power = u32::try_from(half / 2)
        .ok()
        .and_then(|log| 1u64.checked_shl(FIRST_LOG.saturating_add(log)))
        .unwrap_or(u64::MAX);
    Nanos(power.saturating_add(power / 2 * (half as u64 % 2)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_are_half_powers_of_two() {
        let starts: Vec<u64> = (0..6).map(|at| start(at).0).collect();
        assert_eq!(starts, [0, 256, 384, 512, 768, 1024]);
        assert_eq!(
            [start(111), start(112), start(usize::MAX)].map(|start| start.0),
            [1 << 63, 3 << 62, u64::MAX]
        );
    }

    #[test]
    fn a_time_is_in_the_bucket_that_begins_before_it_and_ends_behind_it() {
        for time in
            (0..2_000).chain((0..64).flat_map(|log| [(1 << log) - 1, 1 << log, 3 << log >> 1]))
        {
            let at = bucket_of(Nanos(time), 200);
            assert!(
                start(at) <= Nanos(time) && Nanos(time) < start(at + 1),
                "{time} is not in bucket {at}"
            );
        }
        assert_eq!(
            (bucket_of(Nanos(u64::MAX), 56), bucket_of(Nanos(700), 0)),
            (55, 0),
            "the last is for all that is longer"
        );
    }

    #[test]
    fn a_quantile_lies_in_the_bucket_of_its_rank() {
        let histogram = Histogram::new([1, 2, 0, 7, 0, 1]);
        assert_eq!(histogram.count(), 11);
        assert_eq!(histogram.quantile(0.0), Some((Nanos(0), Some(Nanos(256)))));
        assert_eq!(
            histogram.quantile(0.27),
            Some((Nanos(256), Some(Nanos(384))))
        );
        assert_eq!(
            histogram.quantile(0.5),
            Some((Nanos(512), Some(Nanos(768))))
        );
        assert_eq!(histogram.quantile(1.0), Some((Nanos(1024), None)));
        assert_eq!(Histogram::default().quantile(0.5), None);
    }

    #[test]
    fn sums_are_of_each_bucket() {
        let mut sum = Histogram::new([1, 2]);
        sum.add(&Histogram::new([10, 20, 30]));
        assert_eq!(sum, Histogram::new([11, 22, 30]));
    }
}
