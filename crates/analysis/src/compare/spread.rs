//! Estimates the spread between runs of one machine beyond the runs' own intervals, and compares
//! costs with this spread.
//!
//! The interval of a record covers only the variation within its run. Page placement, boot, CPU
//! placement and other load add variance from run to run, in proportion to the cost. This variance
//! is estimated from all cases of repeated records together. Without repeated records, another
//! source is used ([`Origin`]). The spread is never 0.

use super::ratio::{LogCost, LogRatio, Part};
use super::{Origin, RunSpread};
use crate::measurement::run_spread::FREEDOM;
use crate::statistics::Estimate;

/// Least spread between runs, as a share, whatever the records show.
const LEAST: f64 = 0.005;

/// Number of bisection steps for the spread: enough to exhaust the precision of a float.
const HALVINGS: usize = 60;

/// Logarithm of a case's number in one record, with its variance within the run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Run {
    log: f64,
    /// Variance of the logarithm within the run.
    within: f64,
}

impl Run {
    /// Returns the logarithm of `value`; `None` if the value is not above 0, or if the variance
    /// within the run is unknown.
    pub(super) fn new(value: f64, estimate: &Estimate) -> Option<Run> {
        let within = estimate.log_variance_within_run()?;
        (value > 0.0).then(|| Run {
            log: value.ln(),
            within,
        })
    }
}

/// Estimates the spread between runs from repeated records over all cases, by the method of Paule
/// and Mandel ("Consensus values and weighting factors", Journal of Research of the NBS 87, 1982).
/// The result is the spread that, together with the runs' own intervals, explains the variance
/// between records on average, pooled with the assumed spread. `None` if no case has several
/// records.
pub(super) fn learned(sides: &[Vec<Run>], origin: Origin, assumed: f64) -> Option<RunSpread> {
    let groups: Vec<Group> = sides.iter().filter_map(|side| Group::new(side)).collect();
    let freedom: f64 = groups.iter().map(|group| group.freedom).sum();
    let excess = |variance: f64| {
        groups
            .iter()
            .map(|group| group.freedom * group.between / (group.within + variance))
            .sum::<f64>()
            - freedom
    };
    let largest = groups.iter().map(|group| group.between).fold(0.0, f64::max);
    if groups.is_empty() {
        return None;
    }
    let (mut low, mut high) = (LEAST.powi(2), largest.max(LEAST.powi(2)));
    for _ in 0..HALVINGS {
        let middle = (low + high) / 2.0;
        if excess(middle) > 0.0 {
            low = middle
        } else {
            high = middle
        }
    }
    let runs = groups.iter().map(|group| group.freedom).fold(0.0, f64::max);
    Some(RunSpread {
        share: spread_with_assumed(low, runs, assumed).sqrt(),
        origin,
    })
}

/// Returns the variance between runs, pooled from the shown variance and the assumed spread,
/// because a few successive runs may agree by chance. `runs` is the number of degrees of freedom of
/// `shown`.
fn spread_with_assumed(shown: f64, runs: f64, assumed: f64) -> f64 {
    (FREEDOM * assumed.powi(2) + runs * shown) / (FREEDOM + runs)
}

/// Variances of a case that has several records on one side.
struct Group {
    /// Variance of the number's logarithm between records.
    between: f64,
    /// Mean variance of the number's logarithm within a run.
    within: f64,
    freedom: f64,
}

impl Group {
    fn new(runs: &[Run]) -> Option<Group> {
        let Part { variance, freedom } = Part::from_values(&logs(runs));
        (freedom > 0.0).then(|| Group {
            between: variance,
            within: mean_within(runs),
            freedom,
        })
    }
}

fn logs(runs: &[Run]) -> Vec<f64> {
    runs.iter().map(|run| run.log).collect()
}

fn mean_within(runs: &[Run]) -> f64 {
    runs.iter().map(|run| run.within).sum::<f64>() / runs.len() as f64
}

/// Returns the variance of one record's number. Two variances are pooled: the one between the
/// case's own records, including earlier ones of the machine, and the expected one with [`FREEDOM`]
/// degrees of freedom.
fn single_part(sides: &[Vec<Run>], earlier: &[Run], spread: RunSpread) -> Part {
    let expected = mean_within(&sides.concat()) + spread.share.max(LEAST).powi(2);
    let groups: Vec<Group> = sides
        .iter()
        .map(Vec::as_slice)
        .chain([earlier])
        .filter_map(Group::new)
        .collect();
    let own: f64 = groups.iter().map(|group| group.freedom).sum();
    let squares: f64 = groups
        .iter()
        .map(|group| group.freedom * group.between)
        .sum();
    Part {
        variance: (FREEDOM * expected + squares) / (FREEDOM + own),
        freedom: FREEDOM + own,
    }
}

/// Returns the costs of both sides of a case, and the ratio of new to base. Both sides must have
/// runs.
pub(super) fn compared(
    sides: &[Vec<Run>; 2],
    earlier: &[Run],
    spread: RunSpread,
) -> ([LogCost; 2], LogRatio) {
    let single = single_part(sides, earlier, spread);
    let costs = sides
        .each_ref()
        .map(|side| LogCost::new(&logs(side), single));
    let ratio = LogRatio::pooled(&costs, single.freedom);
    (costs, ratio)
}

/// Returns the cost of one side of a case that has no number on the other side; `None` without
/// runs.
pub(super) fn alone(side: &[Run], earlier: &[Run], spread: RunSpread) -> Option<LogCost> {
    let single = || single_part(&[side.to_vec()], earlier, spread);
    (!side.is_empty()).then(|| LogCost::new(&logs(side), single()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::{Outcome, Ratio};
    use crate::measurement::run_spread::ASSUMED_RUN_SPREAD;
    use crate::testing::{assert_is_near, normal, seeded};
    use rand_chacha::ChaCha8Rng;

    fn runs(random: &mut ChaCha8Rng, count: usize, within: f64, between: f64) -> Vec<Run> {
        let spread = (within * within + between * between).sqrt();
        (0..count)
            .map(|_| Run {
                log: spread * normal(random),
                within: within * within,
            })
            .collect()
    }

    fn run(within: f64) -> Run {
        Run { log: 1.0, within }
    }

    #[test]
    fn the_spread_is_learned_beside_cases_of_any_noise() {
        let mut random = seeded(5);
        let withins = [0.001, 0.005, 0.01, 0.1, 0.3];
        let sides: Vec<Vec<Run>> = (0..40)
            .map(|case| runs(&mut random, 4, withins[case % withins.len()], 0.02))
            .collect();
        let found = learned(&sides, Origin::Records, ASSUMED_RUN_SPREAD).expect("repeated records");
        assert_is_near(found.share, 0.02, 0.15);
        assert_eq!(found.origin, Origin::Records);
    }

    /// Shows that a few identical records reduce the assumed spread only in part, and many
    /// identical records more.
    #[test]
    fn a_few_runs_that_were_alike_are_believed_in_part() {
        let share = |count| {
            let alike = vec![vec![run(1e-8); count]; 20];
            let found = learned(&alike, Origin::EarlierRecords, ASSUMED_RUN_SPREAD);
            found.expect("repeated records").share
        };
        assert!(
            (0.012..0.018).contains(&share(5)) && share(200) < 0.007,
            "{} {}",
            share(5),
            share(200)
        );
    }

    #[test]
    fn it_is_never_0_and_nothing_without_repeated_records() {
        let found = |sides: &[Vec<Run>]| learned(sides, Origin::Records, ASSUMED_RUN_SPREAD);
        let alike = vec![vec![run(0.0); 5]; 3];
        assert!(found(&alike).is_some_and(|found| found.share >= LEAST));
        assert_eq!((found(&[vec![run(0.0)]]), found(&[])), (None, None));
    }

    fn ratio(sides: &[Vec<Run>; 2], earlier: &[Run], spread: RunSpread) -> Ratio {
        match compared(sides, earlier, spread).1.judge(0.9) {
            Outcome::Compared { ratio, .. } => ratio,
            other => panic!("no interval: {other:?}"),
        }
    }

    /// Shows that a case whose runs differ more than those of other cases is judged by its own
    /// earlier records.
    #[test]
    fn a_case_that_differs_more_is_known_by_its_history() {
        let mut random = seeded(7);
        let history = runs(&mut random, 12, 0.01, 0.08);
        let sides = [(); 2].map(|()| runs(&mut random, 1, 0.01, 0.08));
        let spread = RunSpread {
            share: 0.01,
            origin: Origin::EarlierRecords,
        };
        let width = |earlier: &[Run]| {
            let found = ratio(&sides, earlier, spread);
            (found.high / found.low).ln()
        };
        assert!(
            width(&history) > 2.0 * width(&[]),
            "{} {}",
            width(&history),
            width(&[])
        );
    }

    /// Shows that intervals of 90 % cover the truth in about 90 of 100 comparisons, if runs differ
    /// by the assumed spread.
    #[test]
    fn intervals_cover() {
        let mut random = seeded(6);
        for (base, new) in [(1, 1), (3, 3), (1, 5)] {
            let trials = 2_000;
            let covers = (0..trials).filter(|_| {
                let sides = [base, new].map(|count| runs(&mut random, count, 0.01, 0.02));
                let spread = RunSpread {
                    share: 0.02,
                    origin: Origin::Assumed,
                };
                let found = ratio(&sides, &[], spread);
                found.low <= 1.0 && 1.0 <= found.high
            });
            let share = covers.count() as f64 / f64::from(trials);
            assert!(
                (0.89..0.97).contains(&share),
                "{base} and {new} records: {share}"
            );
        }
    }
}
