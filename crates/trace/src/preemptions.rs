use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{RngCore, SeedableRng};

/// Random moments at which the running task is preempted, whatever it does (a Poisson process).
/// Random preemptions model those that a scheduled order lacks. Equal seeds give equal moments.
#[derive(Clone, Debug)]
pub struct Preemptions {
    mean_instructions: u64,
    dice: ChaCha8Rng,
}

impl Preemptions {
    /// Creates moments at a mean distance of `mean_instructions`.
    pub fn new(mean_instructions: u64, seed: u64) -> Preemptions {
        let dice = ChaCha8Rng::seed_from_u64(seed);
        Preemptions {
            mean_instructions,
            dice,
        }
    }

    /// Returns the number of instructions until the next moment, at least 1.
    pub fn next_distance(&mut self) -> u64 {
        // The share is greater than 0 and at most 1, so that its logarithm is finite.
        let share = ((self.dice.next_u64() >> 11) + 1) as f64 / (1_u64 << 53) as f64;
        ((-share.ln() * self.mean_instructions as f64).round() as u64).max(1)
    }

    /// Returns a description of the preemptions for traces and records.
    pub fn words(mean_instructions: u64) -> String {
        format!("preempted at random every {mean_instructions} instructions")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn distances(seed: u64) -> Vec<u64> {
        let mut preemptions = Preemptions::new(1000, seed);
        (0..20_000).map(|_| preemptions.next_distance()).collect()
    }

    /// Shows that distances are exponential, and the same for the same seed. For exponential
    /// distances, the share that exceeds x means is exp(-x), and the standard deviation is the
    /// mean.
    #[test]
    fn distances_are_exponential_and_the_same_for_the_same_seed() {
        let found = distances(7);
        assert_eq!(found, distances(7));
        assert_ne!(found, distances(8));
        let n = found.len() as f64;
        let mean = found.iter().sum::<u64>() as f64 / n;
        let variance = found
            .iter()
            .map(|one| (*one as f64 - mean).powi(2))
            .sum::<f64>()
            / n;
        assert!((980.0..1020.0).contains(&mean), "{mean}");
        assert!((970.0..1030.0).contains(&variance.sqrt()), "{variance}");
        for means in [0.5_f64, 1.0, 2.3] {
            let longer = found
                .iter()
                .filter(|one| **one as f64 > 1000.0 * means)
                .count() as f64
                / n;
            assert!((longer - (-means).exp()).abs() < 0.01, "{means}: {longer}");
        }
    }
}
