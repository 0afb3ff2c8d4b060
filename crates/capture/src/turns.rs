//! How long turns are. The same seed gives the same lengths.

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// Turns are longer or shorter than the quantum by up to this part of it. In turns of one length, threads that run the same loop may each
/// time stop at the same place: one that waits for a lock may then never find it free.
const LARGEST_DIFFERENCE: u64 = 16;

/// The lengths of turns, one after the other.
#[derive(Debug, Default)]
pub(crate) struct Turns {
    quantum_instructions: u64,
    dice: Option<ChaCha8Rng>,
}

impl Turns {
    /// Turns of about `quantum_instructions`; without a seed of exactly so many.
    pub(crate) fn new(quantum_instructions: u64, seed: Option<u64>) -> Turns {
        Turns {
            quantum_instructions,
            dice: seed.map(ChaCha8Rng::seed_from_u64),
        }
    }

    /// Instructions of the next turn.
    pub(crate) fn next_length(&mut self) -> u64 {
        let quantum = self.quantum_instructions;
        let most = quantum / LARGEST_DIFFERENCE;
        self.dice.as_mut().map_or(quantum, |dice| {
            dice.random_range(quantum - most..=quantum.saturating_add(most))
        })
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
}
