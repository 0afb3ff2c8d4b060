//! Quantiles of values, accurate to 2.2 %, in memory that does not depend on the number of values.

/// Number of classes per doubling of the value.
const PARTS: f64 = 16.0;

#[derive(Clone, Debug, Default)]
pub(crate) struct Quantiles {
    counts: Vec<u64>,
    all: u64,
}

impl Quantiles {
    pub(crate) fn add(&mut self, value: u64) {
        let class = if value == 0 {
            0
        } else {
            1 + ((value as f64).log2() * PARTS).round() as usize
        };
        if self.counts.len() <= class {
            self.counts.resize(class + 1, 0);
        }
        self.counts[class] += 1;
        self.all += 1;
    }

    /// Returns the quantile for `share`: the value that this share of all values does not exceed.
    pub(crate) fn value_at(&self, share: f64) -> f64 {
        let rank = (self.all as f64 * share).ceil().max(1.0) as u64;
        let mut below = 0;
        let class = self.counts.iter().position(|count| {
            below += count;
            below >= rank
        });
        class.map_or(0.0, |class| {
            if class == 0 {
                0.0
            } else {
                ((class - 1) as f64 / PARTS).exp2()
            }
        })
    }
}
