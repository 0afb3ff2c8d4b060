//! Prices: costs of a lost cache line on a machine, by the kind of access (docs/method/prices.md).

mod arrays;
mod table;
#[cfg(test)]
mod tests;

use switchcost_record::prices::{Kind, Prices};
use switchcost_units::Bytes;

use table::Table;

pub use arrays::across_arrays;

/// Prices (costs of a lost line), interpolated between the measured sizes.
pub(crate) struct LinePrices([Table; 3]);

impl LinePrices {
    pub(crate) fn new(prices: &Prices) -> LinePrices {
        // A price that is not distinguishable from 0 counts as 0. Such prices occur in arrays
        // larger than the caches: a walk over the array itself evicts the array's lines, so that
        // the footprint evicts no further ones.
        LinePrices([
            Table::new(prices, |price| price.low_ns.max(0.0)),
            Table::new(
                prices,
                |price| if price.low_ns > 0.0 { price.ns } else { 0.0 },
            ),
            Table::new(prices, |price| price.high_ns.max(0.0)),
        ])
    }

    /// Returns the low, likely and high price of one line in nanoseconds, for an array of `own`
    /// bytes after other tasks touched `away` bytes.
    pub(crate) fn ns(&self, kind: Kind, own: f64, away: Bytes) -> [f64; 3] {
        let LinePrices([low, middle, high]) = self;
        let unspaced = kind.unspaced();
        // How long the instructions between two lines take, and which lines are prefetched, is
        // unknown.
        let costs = |table: &Table, other: Kind| {
            [unspaced, unspaced.spaced(), other, other.spaced()]
                .map(|kind| table.ns(kind, own, away))
        };
        let lowest = costs(low, overlapping(unspaced));
        let highest = costs(high, one_by_one(unspaced));
        let paid = likely(kind);
        let likely = paid
            .iter()
            .map(|kind| middle.ns(*kind, own, away))
            .sum::<f64>()
            / paid.len() as f64;
        [
            lowest.into_iter().fold(f64::INFINITY, f64::min),
            likely,
            highest.into_iter().fold(0.0, f64::max),
        ]
    }
}

/// Returns the kinds of access whose mean price is the likely price of `kind`. Half of the loads
/// that come alone are assumed to be waited for, because dependences are unknown.
fn likely(kind: Kind) -> Vec<Kind> {
    match kind {
        Kind::Dependent => vec![Kind::Gathered, Kind::Dependent],
        Kind::Chained => vec![Kind::Dependent],
        kind => vec![kind],
    }
}

fn overlapping(kind: Kind) -> Kind {
    match kind {
        Kind::Strided | Kind::Gathered => Kind::Sequential,
        Kind::Dependent | Kind::Chained => Kind::Gathered,
        Kind::CodeAlone => Kind::Code,
        kind => kind,
    }
}

fn one_by_one(kind: Kind) -> Kind {
    match kind {
        Kind::Strided => Kind::Gathered,
        Kind::Gathered | Kind::Chained => Kind::Dependent,
        Kind::Code => Kind::CodeAlone,
        kind => kind,
    }
}
