//! Arrays that are walked with one touch per line, or eight if lines are spaced, for each kind of
//! access.

use std::hint::black_box;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use rand::Rng;
use rand::seq::SliceRandom;
use switchcost_host::jumps::Jumps;
use switchcost_host::memory::{MapType, Memory};
use switchcost_record::prices::Kind;
use switchcost_units::Bytes;
use switchcost_workload::Pages;

/// Number of 64-bit words in a line.
pub(super) const LINE: usize = 8;
/// Distance, in lines, between two consecutive touches. The distance is larger than the number of
/// adjacent lines that are always prefetched.
const STRIDE: usize = 5;
/// Number of lines of which only one is touched in a sparse array, because adjacent lines would be
/// prefetched. A power of two.
const SPREAD: usize = 8;

/// Number of passes of the loop before each jump, about 50 instructions in all. With so many left,
/// a core does not fetch the code after the loop.
const TURNS: u32 = 24;

pub(super) enum Array {
    /// An array in adjacent lines, with its kind of access.
    Dense(Kind, Memory),
    /// An array in lines whose neighbours are not used, with its kind of access.
    Sparse(Kind, Memory),
    Code(Jumps),
}

impl Array {
    /// Lays out an array with as many lines as fit into `own` bytes.
    pub(super) fn lay(kind: Kind, own: Bytes, random: &mut impl Rng) -> io::Result<Array> {
        let lines = (own.0 / 64) as usize;
        Ok(match kind {
            Kind::Code => Array::Code(Jumps::lay(&order(lines, random), 0)?),
            Kind::CodeAlone => {
                let alone = |line: &u32| (word_of(*line as usize) / LINE) as u32;
                let order: Vec<u32> = order(lines, random).iter().map(alone).collect();
                Array::Code(Jumps::lay(&order, TURNS)?)
            }
            Kind::Sequential | Kind::SequentialSpaced | Kind::Strided | Kind::StridedSpaced => {
                Array::Dense(kind, touched(own)?)
            }
            _ => {
                let memory = touched(Bytes(own.0 * SPREAD as u64))?;
                if kind == Kind::Dependent {
                    chain(&memory, &order(lines, random));
                }
                Array::Sparse(kind, memory)
            }
        })
    }

    pub(super) fn walk(&self) {
        match self {
            Array::Dense(Kind::Sequential, memory) => strided(memory, 1, load_one),
            Array::Dense(Kind::SequentialSpaced, memory) => strided(memory, 1, load_all),
            Array::Dense(Kind::Strided, memory) => strided(memory, STRIDE, load_one),
            Array::Dense(_, memory) => strided(memory, STRIDE, load_all),
            Array::Sparse(Kind::Dependent, memory) => chase(memory),
            Array::Sparse(Kind::Stored, memory) => golden(memory, store_one),
            Array::Sparse(Kind::StoredSpaced, memory) => golden(memory, store_all),
            Array::Sparse(Kind::GatheredSpaced, memory) => golden(memory, load_all),
            Array::Sparse(_, memory) => golden(memory, load_one),
            Array::Code(jumps) => jumps.run(),
        }
    }
}

/// Maps memory and touches all its pages.
pub(super) fn touched(size: Bytes) -> io::Result<Memory> {
    let memory = Memory::map(size, MapType::Private, Pages::Base).map_err(io::Error::other)?;
    memory
        .iter()
        .step_by(LINE)
        .for_each(|word| word.store(1, Relaxed));
    Ok(memory)
}

/// Returns the numbers of all lines in random order, beginning with line 0.
fn order(lines: usize, random: &mut impl Rng) -> Vec<u32> {
    let mut order: Vec<u32> = (0..lines as u32).collect();
    order[1..].shuffle(random);
    order
}

/// Returns the index of the word in a sparse array that stands for a line: in a pseudo-random line
/// of each group of [`SPREAD`] (multiplicative hashing after Knuth).
#[inline]
fn word_of(line: usize) -> usize {
    let within = (line.wrapping_mul(MULTIPLIER as usize) >> 40) % SPREAD;
    (line * SPREAD + within) * LINE
}

/// Stores in each line the position of the next one in `order`, and in the last line the position
/// of the first.
fn chain(memory: &[AtomicU64], order: &[u32]) {
    let nexts = order.iter().cycle().skip(1);
    for (line, next) in order.iter().zip(nexts) {
        memory[word_of(*line as usize)].store(word_of(*next as usize) as u64, Relaxed);
    }
}

#[inline(never)]
fn chase(memory: &[AtomicU64]) {
    let lines = memory.len() / LINE / SPREAD;
    let last = (0..lines).fold(word_of(0), |word, _| memory[word].load(Relaxed) as usize);
    black_box(last);
}

/// Odd number of no pattern, near the golden section of 2^64 (Knuth).
const MULTIPLIER: u64 = 0x9e37_79b9_7f4a_7c15;

fn load_one(sum: u64, line: &[AtomicU64]) -> u64 {
    sum + line[0].load(Relaxed)
}

fn store_one(sum: u64, line: &[AtomicU64]) -> u64 {
    line[0].store(2, Relaxed);
    sum
}

/// Hashes the words of a line, in about five instructions per word, of which each waits for the one
/// before. Only the loads do not wait.
fn load_all(hash: u64, line: &[AtomicU64]) -> u64 {
    line.iter()
        .fold(hash, |hash, word| mix(hash ^ word.load(Relaxed)))
}

/// Stores a different number in each word of a line. Each number waits for the one before.
fn store_all(number: u64, line: &[AtomicU64]) -> u64 {
    line.iter().fold(number, |number, word| {
        word.store(number, Relaxed);
        mix(number)
    })
}

fn mix(number: u64) -> u64 {
    (number ^ number >> 32).wrapping_mul(MULTIPLIER)
}

#[inline(never)]
fn strided(memory: &[AtomicU64], lines: usize, touch: impl Fn(u64, &[AtomicU64]) -> u64) {
    let mut sum = 0;
    for first in 0..lines {
        for line in memory.chunks_exact(LINE).skip(first).step_by(lines) {
            sum = touch(sum, line);
        }
    }
    black_box(sum);
}

/// Touches each line of a sparse array once, no line shortly after its neighbours. Every address is
/// known in advance.
#[inline(never)]
fn golden(memory: &[AtomicU64], touch: impl Fn(u64, &[AtomicU64]) -> u64) {
    let lines = memory.len() / LINE / SPREAD;
    let step = golden_step(lines);
    // Not 0, which `store_all` would keep, so that no number would wait for another.
    let (mut line, mut sum) = (0, 1);
    for _ in 0..lines {
        sum = touch(sum, &memory[word_of(line)..][..LINE]);
        line += step;
        line -= if line >= lines { lines } else { 0 };
    }
    black_box(sum);
}

/// Returns the step of a walk by the golden section: about 0.618 of `lines`, and coprime to
/// `lines`.
fn golden_step(lines: usize) -> usize {
    let about = (lines as f64 * 0.618_034) as usize;
    (about.max(1)..)
        .find(|step| are_coprime(*step, lines))
        .unwrap_or(1)
}

fn are_coprime(a: usize, b: usize) -> bool {
    if b == 0 {
        a == 1
    } else {
        are_coprime(b, a % b)
    }
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;
    use rand_chacha::ChaCha8Rng;

    use super::*;

    #[test]
    fn every_walk_of_lines_that_stand_alone_touches_each_once_and_none_beside_it() {
        for lines in [1, 2, 3, 192, 768, 1000] {
            let memory: Vec<AtomicU64> = (0..lines * LINE * SPREAD)
                .map(|_| AtomicU64::new(0))
                .collect();
            golden(&memory, |_, line| {
                assert_eq!(line.len(), LINE);
                line[0].fetch_add(1, Relaxed)
            });
            let counts: Vec<u64> = memory.chunks(LINE * SPREAD).map(sum).collect();
            assert_eq!(counts, vec![1; lines]);
        }
    }

    #[test]
    fn a_chain_leads_through_all_lines_and_back() {
        let memory: Vec<AtomicU64> = (0..100 * LINE * SPREAD)
            .map(|_| AtomicU64::new(u64::MAX))
            .collect();
        chain(&memory, &order(100, &mut ChaCha8Rng::seed_from_u64(1)));
        let (mut word, mut met) = (word_of(0), std::collections::BTreeSet::new());
        for _ in 0..100 {
            assert!(met.insert(word / LINE / SPREAD));
            word = memory[word].load(Relaxed) as usize;
        }
        assert_eq!(word, word_of(0));
    }

    fn sum(words: &[AtomicU64]) -> u64 {
        words.iter().map(|word| word.load(Relaxed)).sum()
    }
}
