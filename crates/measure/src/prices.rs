//! What a line of an array costs more right behind a footprint: arrays that time themselves, without a switch between.
//!
//! An experiment with a switch has the kernel's own way in it, which goes cold, too, and which is not the program's.

mod arrays;

use std::collections::BTreeMap;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use rand::seq::SliceRandom;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use switchcost_host::clock::Clock;
use switchcost_host::control::{StepsBelowTop, set_policy};
use switchcost_record::Policy;
use switchcost_record::profile::Kind;
use switchcost_units::{Bytes, Nanos, TickRate};

use arrays::{Array, LINE, touched};

/// An array is walked so often: behind the first time all of it is back, or was driven out once more by itself.
const PASSES: usize = 4;
/// Rounds of one array.
const FEWEST_ROUNDS: usize = 7;
const MOST_ROUNDS: usize = 64;
/// Pages taken at random before each array, so that none has the frames of the last.
const MOST_PAGES: u64 = 1024;

/// How the array is walked, one touch a line, its size, and the footprint.
pub type Point = (Kind, Bytes, Bytes);

/// Of each point the rounds of each of its arrays, in nanoseconds a line.
pub type Rounds = BTreeMap<Point, Vec<Vec<f64>>>;

/// Every point once for each array, in random order, on this CPU; what was not done when it is to stop is left out.
///
/// # Errors
/// Where there is no memory for a footprint.
pub fn price_points(
    mut points: Vec<Point>,
    arrays: usize,
    time: Nanos,
    clock: (Clock, TickRate),
    seed: u64,
    should_stop: &dyn Fn() -> bool,
) -> io::Result<Rounds> {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let largest = points
        .iter()
        .map(|(_, _, away)| *away)
        .max()
        .unwrap_or(Bytes(0));
    let mut rounds = Rounds::new();
    for _ in 0..arrays {
        let others = touched(largest)?;
        points.shuffle(&mut random);
        for point @ (kind, own, away) in &points {
            if should_stop() {
                return Ok(rounds);
            }
            let away = &others[..away.as_usize() / size_of::<AtomicU64>()];
            // Code is for some processors alone: what is not measured has no price.
            if let Ok(of_array) = price_rounds(*kind, *own, away, time, clock, &mut random) {
                rounds.entry(*point).or_default().push(of_array);
            }
        }
    }
    Ok(rounds)
}

/// One array: how much longer a line took behind a footprint than right after that, round by round, in nanoseconds.
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
    // Others would take the CPU, and the caches, between the two times. An array takes some milliseconds.
    let _policy = set_policy(Policy::Fifo, StepsBelowTop(1)).ok();
    let (began, mut rounds) = (switchcost_host::clock::monotonic(), Vec::new());
    while rounds.len() < FEWEST_ROUNDS
        || (rounds.len() < MOST_ROUNDS
            && switchcost_host::clock::monotonic().saturating_sub(began) < time)
    {
        touch(away);
        let behind = timed();
        rounds.push((behind - timed()) / lines);
    }
    Ok(rounds)
}

/// As a preemptor touches it: each line is loaded and stored to.
fn touch(away: &[AtomicU64]) {
    away.iter()
        .step_by(LINE)
        .for_each(|word| word.store(word.load(Relaxed) + 1, Relaxed));
}

/// The hidden argument that makes the program a loop without data; the number of its steps follows.
pub const SPIN_ARGUMENT: &str = "spin-without-data";

/// Multiplies again and again, and touches nothing.
pub fn spin(steps: u64) {
    let last = (0..steps).fold(1_u64, |value, _| {
        std::hint::black_box(value).wrapping_mul(0x9e37_79b9_7f4a_7c15)
    });
    std::hint::black_box(last);
}

#[cfg(test)]
mod tests {
    use strum::IntoEnumIterator;

    use super::*;

    #[test]
    fn there_are_as_many_rounds_as_fit_and_a_few_at_least() {
        let (clock, _) = Clock::choose_for(&[], true);
        let away = touched(Bytes::kib(64)).expect("memory");
        let mut random = ChaCha8Rng::seed_from_u64(1);
        for kind in Kind::iter() {
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
