//! Measures the miss-cost table: the additional time per line of an array right after a footprint
//! was touched. The arrays time themselves, and there is no switch in between.
//!
//! A switch would add the kernel's own path, which also runs with cold caches, and which is not
//! part of the program.

mod arrays;

use std::collections::BTreeMap;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use rand::seq::SliceRandom;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use switchcost_host::clock::{Clock, monotonic};
use switchcost_host::control::{StepsBelowTop, set_policy};
use switchcost_record::Policy;
use switchcost_record::prices::Kind;
use switchcost_units::{Bytes, Nanos, TickRate};

use arrays::{Array, LINE, touched};

/// Number of walks of an array per round. After the first walk, all lines are in the cache again,
/// or the array itself has evicted them.
const PASSES: usize = 4;
/// Least number of rounds for one array. A round of the largest takes tenths of a second.
const FEWEST_ROUNDS: usize = 3;
const MOST_ROUNDS: usize = 64;
/// Time in which an array has more rounds than the fewest, however little is left.
const LEAST_TIME: Nanos = Nanos(20_000_000);
/// Exclusive upper limit of the random number of pages that are allocated before each array, so
/// that each array has other page frames.
const MOST_PAGES: u64 = 1024;

/// A point of the miss-cost table: kind of walk (one touch per line), size of the array, and size
/// of the footprint that is touched before.
pub type Point = (Kind, Bytes, Bytes);

/// Additional time per line in nanoseconds, by point: a list for each array, with one value per
/// round.
pub type Rounds = BTreeMap<Point, Vec<Vec<f64>>>;

/// Measures all points of a table, once for each array, in random order, on this CPU. Points that
/// are not done by `latest`, or when `should_stop` returns true, are left out.
///
/// # Errors
///
/// If there is no memory for a footprint.
pub fn price_points(
    grids: Vec<Vec<Point>>,
    arrays: usize,
    latest: Nanos,
    clock: (Clock, TickRate),
    seed: u64,
    should_stop: &dyn Fn() -> bool,
) -> io::Result<Rounds> {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let largest = grids
        .iter()
        .flatten()
        .map(|(_, _, away)| *away)
        .max()
        .unwrap_or(Bytes(0));
    let mut rounds = Rounds::new();
    let mut left = (grids.iter().map(Vec::len).sum::<usize>() * arrays) as u64;
    for mut points in grids {
        for _ in 0..arrays {
            let others = touched(largest)?;
            points.shuffle(&mut random);
            for point @ (kind, own, away) in &points {
                let time_left = latest.saturating_sub(monotonic());
                if should_stop() || time_left == Nanos(0) {
                    return Ok(rounds);
                }
                let away = &others[..away.as_usize() / size_of::<AtomicU64>()];
                // Laying out an array takes about as long as its rounds.
                let time = LEAST_TIME.max(Nanos(time_left.0 / left / 2));
                // On some processors code cannot be measured. Such a kind has no value.
                if let Ok(of_array) = price_rounds(*kind, *own, away, time, clock, &mut random) {
                    rounds.entry(*point).or_default().push(of_array);
                }
                left -= 1;
            }
        }
    }
    Ok(rounds)
}

/// Returns, for each round of one array, how much longer a line takes right after a footprint was
/// touched than in later walks, in nanoseconds.
fn price_rounds(
    kind: Kind,
    own: Bytes,
    away: &[AtomicU64],
    time: Nanos,
    clock: (Clock, TickRate),
    random: &mut impl Rng,
) -> io::Result<Vec<f64>> {
    let _others = touched(Bytes(random.random_range(1..MOST_PAGES) << 12))?;
    let array = Array::lay(kind, own, random)?;
    let lines = (own.0 / 64) as f64;
    let timed = || {
        let before = clock.0.now();
        (0..PASSES).for_each(|_| array.walk());
        clock
            .1
            .nanos(switchcost_units::Ticks(
                clock.0.now().0.saturating_sub(before.0),
            ))
            .0 as f64
    };
    timed();
    // Another task would take the CPU and the caches between the two times. An array takes some
    // milliseconds.
    let _policy = set_policy(Policy::Fifo, StepsBelowTop(1)).ok();
    let (began, mut rounds) = (monotonic(), Vec::new());
    while rounds.len() < FEWEST_ROUNDS
        || (rounds.len() < MOST_ROUNDS && monotonic().saturating_sub(began) < time)
    {
        touch(away);
        let behind = timed();
        rounds.push((behind - timed()) / lines);
    }
    Ok(rounds)
}

/// Touches memory as a preemptor does: loads and stores in each line.
fn touch(away: &[AtomicU64]) {
    away.iter()
        .step_by(LINE)
        .for_each(|word| word.store(word.load(Relaxed) + 1, Relaxed));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_measured_in_time_is_left_out() {
        let (clock, _) = Clock::choose_for(&[], true);
        let clock = (clock, TickRate(1_000_000_000));
        let point = |away| (Kind::Sequential, Bytes::kib(12), Bytes::kib(away));
        let measured = |latest| {
            let grids = vec![vec![point(64), point(128)], vec![point(256)]];
            price_points(grids, 3, latest, clock, 1, &|| false).expect("memory")
        };
        assert_eq!(measured(monotonic()), Rounds::new());
        let all = measured(monotonic() + Nanos::seconds(60));
        assert_eq!(all.values().map(Vec::len).collect::<Vec<_>>(), [3, 3, 3]);
    }

    #[test]
    fn there_are_as_many_rounds_as_fit_and_a_few_at_least() {
        let (clock, _) = Clock::choose_for(&[], true);
        let away = touched(Bytes::kib(64)).expect("memory");
        let mut random = ChaCha8Rng::seed_from_u64(1);
        for kind in Kind::priced() {
            let clock = (clock, TickRate(1_000_000_000));
            let rounds = price_rounds(kind, Bytes::kib(12), &away, Nanos(0), clock, &mut random);
            match rounds {
                Ok(rounds) => assert_eq!(rounds.len(), FEWEST_ROUNDS, "{kind:?}"),
                Err(error) => {
                    assert!(
                        matches!(kind, Kind::Code | Kind::CodeAlone)
                            && error.kind() == io::ErrorKind::Unsupported
                    );
                }
            }
        }
    }
}
