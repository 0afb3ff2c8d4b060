//! Computes how large a change must have been for a comparison to show it.

use statrs::distribution::{ContinuousCDF, Normal};

use super::{Comparison, Pair};
use crate::statistics::quantiles::normal;

impl Comparison {
    /// Returns the smallest change that would be shown in every requested cost with the probability
    /// `power`, as a share such as 0.02; `None` if a cost has no interval.
    ///
    /// An interval with half-width *h* and confidence *C* excludes 1 with probability *P* if the
    /// true logarithm of the ratio is *h* (1 + z(P) / z(C)), where z are quantiles of the normal
    /// distribution. With few runs, the true threshold is slightly larger.
    pub fn detectable(&self, power: f64) -> Option<f64> {
        let each = 1.0 - (1.0 - self.confidence) / self.compared.max(1) as f64;
        let beyond = 1.0 + Normal::standard().inverse_cdf(power) / normal(each);
        let change = |pair: &Pair| {
            let ratio = pair.outcome.interval()?;
            Some(((ratio.high / ratio.low).ln() / 2.0 * beyond).exp_m1())
        };
        let main = self.pairs.iter().filter(|pair| pair.is_main());
        let changes: Option<Vec<f64>> = main.map(change).collect();
        changes?.into_iter().reduce(f64::max)
    }
}
