//! Arrays of cache lines, for pointer chases in random order and for touching in sequence.

use std::hint::black_box;

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;

/// Number of 8-byte words in a cache line.
const LINE: usize = 8;

/// Creates an array of this many bytes, but at least one line. The first word of each line is the
/// index of another line's first word, so that a single cycle leads through all lines.
pub(crate) fn cycle(bytes: usize) -> Vec<u64> {
    let mut array = zeros(bytes.max(8 * LINE));
    let mut lines: Vec<usize> = (0..array.len()).step_by(LINE).collect();
    lines.shuffle(&mut ChaCha8Rng::seed_from_u64(bytes as u64));
    for (here, next) in lines.iter().zip(lines.iter().cycle().skip(1)) {
        array[*here] = *next as u64;
    }
    array
}

/// Follows a cycle from line to line, and returns the index reached after `steps` steps.
pub(crate) fn follow(cycle: &[u64], from: u64, steps: u64) -> u64 {
    (0..steps).fold(from, |at, _| cycle[at as usize])
}

/// Creates an array of this many bytes, filled with zeros.
pub(crate) fn zeros(bytes: usize) -> Vec<u64> {
    vec![0; bytes / 8]
}

/// Reads and writes one word of each line of an array.
pub(crate) fn touch(array: &mut [u64]) {
    for word in array.iter_mut().step_by(LINE) {
        *word = black_box(*word + 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_line_is_touched_once() {
        let mut array = zeros(64 << 10);
        touch(&mut array);
        assert_eq!((array[LINE], array.iter().sum()), (1, 1_024));
    }

    #[test]
    fn a_cycle_comes_by_every_line_before_it_is_back() {
        let array = cycle(64 << 10);
        let back = (1..).find(|steps| follow(&array, 0, *steps) == 0);
        assert_eq!(back, Some(1_024));
        assert_eq!(cycle(0), [0; LINE]);
    }
}
