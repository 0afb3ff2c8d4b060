//! Computes the distribution of Wilcoxon's signed-rank statistic V, and the rank of the Walsh
//! average at which an interval ends.
//!
//! V is the sum of the ranks of the positive values among n values that are symmetric about 0
//! (Wilcoxon 1945, "Individual comparisons by ranking methods"). Each of the ranks 1 to n is in the
//! sum with a probability of 1/2. So the distribution of V is computed by adding one rank after
//! another.

use statrs::distribution::{ContinuousCDF, Normal};

/// Largest number of values for which the exact distribution of V is computed. For more values, the
/// normal approximation is wrong by less than 0.005.
pub(crate) const EXACT_UP_TO: usize = 60;

/// Tolerance for the rounding error of a probability, which is a sum of at most 1,830 terms (as in
/// R's qsignrank).
const FUZZ: f64 = 10.0 * f64::EPSILON;

/// Rank of the Walsh average at which an interval ends, with the confidence that the interval has.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct CriticalRank {
    /// Rank of the Walsh average at which the interval begins, from 1. The interval ends at the
    /// same rank from the top.
    pub(crate) rank: usize,
    /// Confidence of the interval, which is at least the requested one.
    pub(crate) confidence: f64,
    /// Whether the exact distribution of V was used.
    pub(crate) is_exact: bool,
}

/// Returns the rank for `n` values, as defined by R's `wilcox.test(conf.int = TRUE)`: the smallest
/// q with P(V <= q) >= (1 - confidence) / 2. `None` if even the range of all values has less than
/// the confidence.
pub(crate) fn critical_rank(n: usize, confidence: f64) -> Option<CriticalRank> {
    if n < smallest_n(confidence) {
        return None;
    }
    let tail = (1.0 - confidence) / 2.0;
    Some(if n <= EXACT_UP_TO {
        exact(n, tail)
    } else {
        approximate(n, tail)
    })
}

/// Returns the least number of values for which an interval exists. All n values have the same sign
/// with a probability of 2/2^n.
pub(crate) fn smallest_n(confidence: f64) -> usize {
    let alpha = 1.0 - confidence;
    (1..=EXACT_UP_TO)
        .find(|n| 0.5_f64.powi(*n as i32 - 1) <= alpha + FUZZ)
        .unwrap_or(usize::MAX)
}

fn exact(n: usize, tail: f64) -> CriticalRank {
    let mut sum = 0.0;
    let cumulate = |probability| {
        sum += probability;
        sum
    };
    let at_most: Vec<f64> = probabilities(n).into_iter().map(cumulate).collect();
    let rank = at_most
        .partition_point(|probability| *probability < tail - FUZZ)
        .max(1);
    CriticalRank {
        rank,
        confidence: 1.0 - 2.0 * at_most[rank - 1],
        is_exact: true,
    }
}

/// Returns P(V = v) for each v from 0 to n (n + 1) / 2. V is Wilcoxon's signed-rank statistic of
/// `n` values that are symmetric about 0.
fn probabilities(n: usize) -> Vec<f64> {
    let mut probabilities = vec![0.0; n * (n + 1) / 2 + 1];
    probabilities[0] = 1.0;
    for rank in 1..=n {
        for v in (0..=rank * (rank + 1) / 2).rev() {
            let with_it = if v >= rank {
                probabilities[v - rank]
            } else {
                0.0
            };
            probabilities[v] = (probabilities[v] + with_it) / 2.0;
        }
    }
    probabilities
}

/// Returns the rank by the normal approximation. The mean of V is `n(n+1)/4`, and its variance is
/// `n(n+1)(2n+1)/24`. The continuity correction is one half (Hollander and Wolfe, "Nonparametric
/// statistical methods", chapter 3).
fn approximate(n: usize, tail: f64) -> CriticalRank {
    let n = n as f64;
    let mean = n * (n + 1.0) / 4.0;
    let sd = (n * (n + 1.0) * (2.0 * n + 1.0) / 24.0).sqrt();
    let normal = Normal::standard();
    let rank = (mean + sd * normal.inverse_cdf(tail) - 0.5).ceil().max(1.0);
    let below = normal.cdf((rank - 0.5 - mean) / sd);
    CriticalRank {
        rank: rank as usize,
        confidence: 1.0 - 2.0 * below,
        is_exact: false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::assert_within;

    /// Returns P(V = v) for each v, by enumeration of all 2^n assignments of signs to the ranks.
    fn enumerated(n: usize) -> Vec<f64> {
        let mut counts = vec![0_u32; n * (n + 1) / 2 + 1];
        for signs in 0..1_u32 << n {
            let v: usize = (0..n)
                .filter(|bit| signs >> bit & 1 == 1)
                .map(|bit| bit + 1)
                .sum();
            counts[v] += 1;
        }
        counts
            .into_iter()
            .map(|count| f64::from(count) / f64::from(1_u32 << n))
            .collect()
    }

    #[test]
    fn the_distribution_is_that_of_all_signs() {
        for n in 1..=14 {
            assert_eq!(probabilities(n), enumerated(n), "n = {n}");
        }
    }

    #[test]
    fn the_rank_is_that_of_the_definition() {
        for n in 1..=14 {
            for confidence in [0.5, 0.8, 0.9, 0.95, 0.99, 0.999] {
                let tail = (1.0 - confidence) / 2.0;
                let mut cumulative = enumerated(n);
                for v in 1..cumulative.len() {
                    cumulative[v] += cumulative[v - 1];
                }
                let q = cumulative
                    .iter()
                    .position(|p| *p >= tail - 1e-12)
                    .expect("they add up to 1");
                let reached = 1.0 - 2.0 * cumulative[q.max(1) - 1];
                match critical_rank(n, confidence) {
                    Some(found) => {
                        assert_eq!(found.rank, q.max(1), "n = {n}, {confidence}");
                        assert!(
                            (found.confidence - reached).abs() < 1e-12
                                && reached >= confidence - 1e-12
                        );
                    }
                    None => assert!(q == 0 && reached < confidence, "n = {n}, {confidence}"),
                }
            }
        }
    }

    #[test]
    fn the_approximation_meets_the_distribution() {
        for n in [40, 50, 60] {
            for confidence in [0.8, 0.9, 0.95, 0.99] {
                let tail = (1.0 - confidence) / 2.0;
                let (exact, near) = (exact(n, tail), approximate(n, tail));
                assert!(
                    exact.rank.abs_diff(near.rank) <= 3,
                    "n = {n}: {exact:?} {near:?}"
                );
                assert_within(exact.confidence, near.confidence, 5e-3);
            }
        }
    }
}
