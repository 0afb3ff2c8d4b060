//! Lengths of time slices in scheduled captures. Equal seeds give equal lengths.

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use switchcost_trace::Preemptions;

/// Divisor of the quantum. The quotient is the largest difference between a time slice and the
/// quantum. If all time slices were equal, threads that run the same loop could stop at the same
/// place each time. A thread that waits for a lock might then never find the lock free.
const LARGEST_DIFFERENCE: u64 = 16;

/// Longest time slice in instructions. The tool counts the rest of a time slice in a signed number
/// of 64 bits, and adds to it.
const LONGEST: u64 = u64::MAX / 4;

/// Generator of the lengths of time slices.
#[derive(Debug, Default)]
pub(crate) struct Turns {
    quantum_instructions: u64,
    dice: Option<ChaCha8Rng>,
    preemptions: Option<Preemptions>,
}

impl Turns {
    /// Creates a generator of lengths of about `quantum_instructions`. Without a seed, every length
    /// is exactly `quantum_instructions`.
    pub(crate) fn new(quantum_instructions: u64, seed: Option<u64>) -> Turns {
        Turns {
            quantum_instructions,
            dice: seed.map(ChaCha8Rng::seed_from_u64),
            preemptions: None,
        }
    }

    /// Adds preemptions: time slices also end at the random moments of `preemptions`.
    pub(crate) fn preempted(self, preemptions: Option<Preemptions>) -> Turns {
        Turns {
            preemptions,
            ..self
        }
    }

    /// Returns the length of the next time slice in instructions.
    pub(crate) fn next_length(&mut self) -> u64 {
        let quantum = self.quantum_instructions;
        let most = quantum / LARGEST_DIFFERENCE;
        let length = self.dice.as_mut().map_or(quantum, |dice| {
            dice.random_range(quantum - most..=quantum.saturating_add(most))
        });
        let distance = self.preemptions.as_mut().map(Preemptions::next_distance);
        distance.unwrap_or(length).min(length).min(LONGEST)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lengths(seed: Option<u64>) -> Vec<u64> {
        let mut turns = Turns::new(3000, seed);
        (0..1000).map(|_| turns.next_length()).collect()
    }

    #[test]
    fn lengths_vary_by_a_sixteenth_about_the_quantum_the_same_for_the_same_seed() {
        let of_one = lengths(Some(1));
        assert_eq!(of_one, lengths(Some(1)));
        assert_ne!(of_one, lengths(Some(2)));
        assert!(of_one.iter().all(|length| (2813..=3187).contains(length)));
        let mean = of_one.iter().sum::<u64>() / 1000;
        assert!((2985..=3015).contains(&mean), "{mean}");
        assert_eq!(lengths(None), [3000; 1000]);
    }

    #[test]
    fn the_longest_quantum_is_one_that_the_tool_can_count() {
        let length = Turns::new(u64::MAX, Some(1)).next_length();
        assert!(i64::try_from(length).is_ok(), "{length}");
    }

    /// An exponential distance that the quantum cuts off has the mean `mean * (1 - exp(-quantum /
    /// mean))`.
    #[test]
    fn preempted_turns_end_at_the_quantum_or_before() {
        let mut turns = Turns::new(3150, None).preempted(Some(Preemptions::new(1500, 1)));
        let found: Vec<u64> = (0..10_000).map(|_| turns.next_length()).collect();
        let mean = found.iter().sum::<u64>() as f64 / 1e4;
        let whole = found.iter().filter(|length| **length == 3150).count();
        assert!((1280.0..1350.0).contains(&mean), "{mean}");
        assert!((1100..1350).contains(&whole), "{whole}");
        assert!(found.iter().all(|length| *length <= 3150));
    }
}
