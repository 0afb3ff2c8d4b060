//! Measures two sides in interleaved runs, until the result is good enough or the time is over.

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use switchcost_units::Nanos;

/// One of the two sides that are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The side with which the other one is compared.
    Base,
    /// The side under test.
    New,
}

/// Limits for interleaved runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Least number of runs of each side, even if the budget is exceeded.
    pub least_runs: u32,
    /// Time for all runs. A pair of runs that would end later is not begun.
    pub budget: Nanos,
}

/// Why interleaved runs ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// The result was good enough.
    Enough,
    /// The next pair of runs would have exceeded the budget.
    Budget,
    /// The caller asked the runs to stop.
    Interrupted,
}

/// Executor of one side at a time, which decides when the result is good enough.
pub trait Runs {
    /// Error of a run.
    type Error;

    /// Runs one side once.
    fn run(&mut self, side: Side) -> Result<(), Self::Error>;

    /// Returns whether the result is good enough. Called after each pair of runs.
    fn is_enough(&mut self) -> Result<bool, Self::Error>;

    /// Returns the time since the start of the first run.
    fn elapsed(&self) -> Nanos;

    /// Returns whether the runs should stop immediately.
    fn should_stop(&self) -> bool;
}

/// Returns a random order of pairs of sides. Each second pair mirrors the first (ABBA or BAAB), so
/// that a drift affects both sides alike.
pub fn order(seed: u64) -> impl Iterator<Item = [Side; 2]> {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    std::iter::repeat_with(move || {
        let (first, second) = if random.random() {
            (Side::Base, Side::New)
        } else {
            (Side::New, Side::Base)
        };
        [[first, second], [second, first]]
    })
    .flatten()
}

/// Runs both sides interleaved, in the order of [`order`].
///
/// # Errors
///
/// If a run fails.
pub fn interleave<R: Runs>(runs: &mut R, limits: Limits, seed: u64) -> Result<Ended, R::Error> {
    for (done, pair) in (1..).zip(order(seed)) {
        for side in pair {
            if runs.should_stop() {
                return Ok(Ended::Interrupted);
            }
            runs.run(side)?;
        }
        if done < limits.least_runs || runs.should_stop() {
            continue;
        }
        if runs.is_enough()? {
            return Ok(Ended::Enough);
        }
        let elapsed = runs.elapsed().0;
        if elapsed.saturating_add(elapsed / u64::from(done)) > limits.budget.0 {
            return Ok(Ended::Budget);
        }
    }
    Ok(Ended::Budget)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Scripted runs of a second each. The result is good enough after `enough_behind` runs, and
    /// the runs are asked to stop after `stop_behind` runs.
    #[derive(Default)]
    struct Script {
        done: Vec<Side>,
        enough_behind: Option<usize>,
        stop_behind: Option<usize>,
    }

    impl Runs for Script {
        type Error = String;

        fn run(&mut self, side: Side) -> Result<(), String> {
            self.done.push(side);
            Ok(())
        }

        fn is_enough(&mut self) -> Result<bool, String> {
            Ok(self
                .enough_behind
                .is_some_and(|runs| self.done.len() >= runs))
        }

        fn elapsed(&self) -> Nanos {
            Nanos::seconds(self.done.len() as u64)
        }

        fn should_stop(&self) -> bool {
            self.stop_behind.is_some_and(|runs| self.done.len() >= runs)
        }
    }

    fn ended(mut script: Script, least_runs: u32, budget: u64) -> (Ended, usize) {
        let limits = Limits {
            least_runs,
            budget: Nanos::seconds(budget),
        };
        let ended = interleave(&mut script, limits, 1).expect("no run fails");
        (ended, script.done.len())
    }

    #[test]
    fn each_four_runs_are_a_mirror_and_both_orders_occur() {
        let fours: Vec<[Side; 2]> = order(7).take(200).collect();
        for four in fours.chunks(2) {
            assert_eq!([four[1][1], four[1][0]], four[0]);
        }
        let base_first = fours
            .chunks(2)
            .filter(|four| four[0][0] == Side::Base)
            .count();
        assert!((30..=70).contains(&base_first), "{base_first} of 100");
    }

    #[test]
    fn it_ends_when_enough_is_known_and_not_before_the_least_runs() {
        assert_eq!(
            ended(
                Script {
                    enough_behind: Some(2),
                    ..Script::default()
                },
                5,
                100
            ),
            (Ended::Enough, 10)
        );
        assert_eq!(
            ended(
                Script {
                    enough_behind: Some(15),
                    ..Script::default()
                },
                5,
                100
            ),
            (Ended::Enough, 16)
        );
    }

    #[test]
    fn no_pair_begins_that_would_end_behind_the_budget() {
        assert_eq!(ended(Script::default(), 2, 13), (Ended::Budget, 12));
        assert_eq!(
            ended(Script::default(), 5, 3),
            (Ended::Budget, 10),
            "the least runs come first"
        );
    }

    #[test]
    fn told_to_stop_it_begins_no_run() {
        assert_eq!(
            ended(
                Script {
                    stop_behind: Some(3),
                    ..Script::default()
                },
                5,
                100
            ),
            (Ended::Interrupted, 3)
        );
    }
}
