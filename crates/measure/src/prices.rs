//! What a line of an array costs more right behind a footprint: arrays that time themselves, without a switch between.
//!
//! An experiment with a switch has the kernel's own way in it, which goes cold, too, and which is not the program's.

use std::collections::BTreeMap;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use host::clock::Clock;
use host::control::{StepsBelowTop, set_policy};
use host::jumps::Jumps;
use host::memory::{Memory, Reach};
use rand::seq::SliceRandom;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use record::Policy;
use units::{Bytes, Nanos, TickRate};
use workload::{Access, Pages, Pattern, Sharing, WorkingSet};

/// How an array is walked, one touch a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Walk {
    /// Loads from one line to the next.
    Sequential,
    /// Loads in steps of 5 lines.
    Strided,
    /// Loads in steps of the golden section of the array: no address depends on a load.
    Gathered,
    /// A pointer chase.
    Dependent,
    /// Stores in steps of the golden section.
    Stored,
    /// Jumps, in random order.
    Code,
}

impl Walk {
    /// All of them.
    pub const ALL: [Walk; 6] =
        [Walk::Sequential, Walk::Strided, Walk::Gathered, Walk::Dependent, Walk::Stored, Walk::Code];
}

/// Words of a line.
const LINE: usize = 8;
/// 5 lines: farther than the next ones that are fetched in any case.
const STRIDE: usize = 5;
/// An array is walked so often: behind the first time all of it is back, or was driven out once more by itself.
const PASSES: usize = 4;
/// Rounds of one array.
const FEWEST_ROUNDS: usize = 7;
const MOST_ROUNDS: usize = 64;
/// Pages taken at random before each array, so that none has the frames of the last.
const MOST_PAGES: u64 = 1024;

/// A walk, the size of the array, and the footprint.
pub type Point = (Walk, Bytes, Bytes);

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
    let largest = points.iter().map(|(_, _, away)| *away).max().unwrap_or(Bytes(0));
    let mut rounds = Rounds::new();
    for _ in 0..arrays {
        let others = touched(largest)?;
        points.shuffle(&mut random);
        for point @ (walk, own, away) in &points {
            if should_stop() {
                return Ok(rounds);
            }
            let away = &others[..away.as_usize() / size_of::<AtomicU64>()];
            // Code is for some processors alone: what is not measured has no price.
            if let Ok(of_array) = price_rounds(*walk, *own, away, time, clock, &mut random) {
                rounds.entry(*point).or_default().push(of_array);
            }
        }
    }
    Ok(rounds)
}

/// One array: how much longer a line took behind a footprint than right after that, round by round, in nanoseconds.
fn price_rounds(
    walk: Walk,
    own: Bytes,
    away: &[AtomicU64],
    time: Nanos,
    clock: (Clock, TickRate),
    random: &mut impl Rng,
) -> io::Result<Vec<f64>> {
    let _others = touched(Bytes(random.random_range(1..MOST_PAGES) << 12))?;
    let array = Array::lay(walk, own, random)?;
    let lines = (own.0 / 64) as f64;
    let timed = || {
        let before = clock.0.now();
        (0..PASSES).for_each(|_| array.walk());
        clock.1.nanos(units::Ticks(clock.0.now().0.saturating_sub(before.0))).0 as f64
    };
    timed();
    // Others would take the CPU, and the caches, between the two times. An array takes some milliseconds.
    let _policy = set_policy(Policy::Fifo, StepsBelowTop(1)).ok();
    let (began, mut rounds) = (host::clock::monotonic(), Vec::new());
    while rounds.len() < FEWEST_ROUNDS
        || (rounds.len() < MOST_ROUNDS && host::clock::monotonic().saturating_sub(began) < time)
    {
        touch(away);
        let behind = timed();
        rounds.push((behind - timed()) / lines);
    }
    Ok(rounds)
}

/// Memory that is there.
fn touched(size: Bytes) -> io::Result<Memory> {
    let memory = Memory::map(size, Reach::Private, Pages::Base).map_err(io::Error::other)?;
    memory.iter().step_by(LINE).for_each(|word| word.store(1, Relaxed));
    Ok(memory)
}

/// As a preemptor touches it: each line is loaded and stored to.
fn touch(away: &[AtomicU64]) {
    away.iter().step_by(LINE).for_each(|word| word.store(word.load(Relaxed) + 1, Relaxed));
}

enum Array {
    Data(Walk, Memory),
    Chase(WorkingSet, Memory),
    Code(Jumps),
}

impl Array {
    fn lay(walk: Walk, own: Bytes, random: &mut impl Rng) -> io::Result<Array> {
        Ok(match walk {
            Walk::Code => {
                let mut order: Vec<u32> = (0..(own.0 / 64) as u32).collect();
                order[1..].shuffle(random);
                Array::Code(Jumps::lay(&order)?)
            }
            Walk::Dependent => {
                let memory = touched(own)?;
                let set = chase(own);
                workload::prepare(&memory, &set, random.random());
                Array::Chase(set, memory)
            }
            _ => Array::Data(walk, touched(own)?),
        })
    }

    fn walk(&self) {
        match self {
            Array::Data(Walk::Sequential, memory) => strided(memory, 1),
            Array::Data(Walk::Strided, memory) => strided(memory, STRIDE),
            Array::Data(Walk::Stored, memory) => golden(memory, |word| {
                word.store(2, Relaxed);
                0
            }),
            Array::Data(_, memory) => golden(memory, |word| word.load(Relaxed)),
            Array::Chase(set, memory) => workload::walk(memory, set),
            Array::Code(jumps) => jumps.run(),
        }
    }
}

fn chase(own: Bytes) -> WorkingSet {
    WorkingSet {
        size_bytes: own,
        stride_bytes: Bytes(64),
        access: Access::Read,
        pattern: Pattern::Chase,
        sharing: Sharing::Private,
        pages: Pages::Base,
    }
}

#[inline(never)]
fn strided(memory: &[AtomicU64], lines: usize) {
    let mut sum = 0;
    for first in 0..lines {
        for word in memory.iter().skip(first * LINE).step_by(lines * LINE) {
            sum += word.load(Relaxed);
        }
    }
    std::hint::black_box(sum);
}

/// Each line once, none close behind its neighbours, and every address known beforehand.
#[inline(never)]
fn golden(memory: &[AtomicU64], touch: impl Fn(&AtomicU64) -> u64) {
    let lines = memory.len() / LINE;
    let step = golden_step(lines);
    let (mut line, mut sum) = (0, 0);
    for _ in 0..lines {
        sum += touch(&memory[line * LINE]);
        line += step;
        line -= if line >= lines { lines } else { 0 };
    }
    std::hint::black_box(sum);
}

/// About 0.618 of them, and without a divisor in common.
fn golden_step(lines: usize) -> usize {
    let about = (lines as f64 * 0.618_034) as usize;
    (about.max(1)..).find(|step| are_coprime(*step, lines)).unwrap_or(1)
}

fn are_coprime(a: usize, b: usize) -> bool {
    if b == 0 { a == 1 } else { are_coprime(b, a % b) }
}

/// The hidden argument that makes the program a loop without data; the number of its steps follows.
pub const SPIN_ARGUMENT: &str = "spin-without-data";

/// Multiplies again and again, and touches nothing.
pub fn spin(steps: u64) {
    let last = (0..steps).fold(1_u64, |value, _| std::hint::black_box(value).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    std::hint::black_box(last);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_walk_of_data_touches_each_line_once() {
        for lines in [1, 2, 3, 192, 768, 1000] {
            let memory: Vec<AtomicU64> = (0..lines * LINE).map(|_| AtomicU64::new(0)).collect();
            golden(&memory, |word| word.fetch_add(1, Relaxed));
            let counts: Vec<u64> = memory.iter().step_by(LINE).map(|word| word.load(Relaxed)).collect();
            assert_eq!(counts, vec![1; lines]);
        }
    }

    #[test]
    fn there_are_as_many_rounds_as_fit_and_a_few_at_least() {
        let (clock, _) = Clock::choose_for(&[], true);
        let away = touched(Bytes::kib(64)).expect("memory");
        let mut random = ChaCha8Rng::seed_from_u64(1);
        for walk in Walk::ALL {
            let clock = (clock, TickRate(1_000_000_000));
            let rounds = price_rounds(walk, Bytes::kib(12), &away, Nanos(0), clock, &mut random);
            match rounds {
                Ok(rounds) => assert_eq!(rounds.len(), FEWEST_ROUNDS, "{walk:?}"),
                Err(error) => assert_eq!((walk, error.kind()), (Walk::Code, io::ErrorKind::Unsupported)),
            }
        }
    }
}
