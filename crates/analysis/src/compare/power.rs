//! Computes which changes a comparison would have shown if they existed.

use statrs::distribution::{ContinuousCDF, Normal};

use super::{Comparison, Pair};
use crate::statistics::quantiles::normal;

impl Comparison {
    /// Returns the smallest change, as a share such as 0.02, that would be shown with this power in
    /// each requested number; `None` if a number has no interval.
    ///
    /// An interval of half-width *h* at confidence *C* leaves out 1 with probability *P* if the
    /// true logarithm is *h* (1 + z(P) / z(C)) away, where z are quantiles of the normal
    /// distribution. With few runs the true threshold is a little larger.
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
