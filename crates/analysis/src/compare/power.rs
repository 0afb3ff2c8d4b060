//! Computes which changes a comparison would have shown if they existed.

use statrs::distribution::{ContinuousCDF, Normal};

use super::{Comparison, Outcome, Pair};

impl Comparison {
    /// Returns the smallest change, as a share such as 0.02, that would be shown with this power in
    /// each requested number; `None` if a number has no interval.
    ///
    /// An interval of half-width *h* at confidence *C* leaves out 1 with probability *P* if the
    /// true logarithm is *h* (1 + z(P) / z(C)) away, where z are quantiles of the normal
    /// distribution. With few runs the true threshold is a little larger.
    pub fn detectable(&self, power: f64) -> Option<f64> {
        let main: Vec<&Pair> = self.pairs.iter().filter(|pair| pair.is_main()).collect();
        let each = 1.0 - (1.0 - self.confidence) / self.compared.max(1) as f64;
        let normal = Normal::standard();
        let beyond = 1.0 + normal.inverse_cdf(power) / normal.inverse_cdf(0.5 + each / 2.0);
        let changes: Option<Vec<f64>> = main
            .iter()
            .map(|pair| Some((half_width(pair)? * beyond).exp_m1()))
            .collect();
        changes?.into_iter().reduce(f64::max)
    }
}

/// Returns the half-width of the interval of the ratio's logarithm.
fn half_width(pair: &Pair) -> Option<f64> {
    match &pair.outcome {
        Outcome::Compared { ratio, .. } => Some((ratio.high / ratio.low).ln() / 2.0),
        Outcome::NotJudged { .. } | Outcome::NotComparable { .. } => None,
    }
}
