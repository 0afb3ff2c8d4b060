//! Predicts the cost of a switch for a program by the reload model. In the model, a line has a cost
//! if it was lost and is used again before the next switch. The cost depends on the machine and the
//! kind of access (docs/method/model.md).

mod arrays;
mod lines;
mod table;
#[cfg(test)]
mod tests;

use switchcost_record::profile::{Kind, Prices, Profile};
use switchcost_units::Bytes;

use table::Table;

pub use arrays::across_arrays;

/// Cost of cold caches after one switch, as the model predicts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reload {
    /// Number of lines that are used again before the next switch, lost or not.
    pub lines: f64,
    /// Time to reload the program's own lines in nanoseconds, if loads from arbitrary addresses
    /// overlap, with the lower ends of the intervals of prices.
    pub low_ns: f64,
    /// Time to reload the program's own lines in nanoseconds, with the price of each line's kind of
    /// access.
    pub likely_ns: f64,
    /// Time to reload the program's own lines in nanoseconds, if each load waits for the one
    /// before, with the upper ends of the intervals of prices.
    pub high_ns: f64,
    /// Additional time of the kernel's switch path due to cold caches, in nanoseconds; `None` if
    /// not measured.
    pub switch_path_ns: Option<f64>,
}

impl Reload {
    /// Returns the whole cost of cold caches, as `inject` measures it, in nanoseconds: low, likely
    /// and high.
    pub fn with_switch_path(&self) -> [f64; 3] {
        let path = self.switch_path_ns.unwrap_or(0.0);
        [self.low_ns, self.likely_ns, self.high_ns].map(|ns| ns + path)
    }
}

/// Predicts the cost of cold caches after a switch, for a program that then runs `instructions`
/// instructions. Other tasks have touched `away` bytes before.
pub fn reload(profile: &Profile, prices: &Prices, away: Bytes, instructions: f64) -> Reload {
    let of_a_line = LinePrices::new(prices);
    let (mut all, mut sums) = (0.0, [0.0; 3]);
    for row in &profile.reused {
        let lines = lines::within(&profile.times_instructions, &row.lines, instructions);
        let ns = of_a_line.ns(row.kind, typical(row.age_bytes), away);
        all += lines;
        sums.iter_mut()
            .zip(ns)
            .for_each(|(sum, ns)| *sum += lines * ns);
    }
    let [low_ns, likely_ns, high_ns] = sums;
    Reload {
        lines: all,
        low_ns,
        likely_ns,
        high_ns,
        switch_path_ns: table::switch_path(prices, away),
    }
}

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
        let paid = likely(kind);
        let likely = paid
            .iter()
            .map(|kind| middle.ns(*kind, own, away))
            .sum::<f64>()
            / paid.len() as f64;
        [
            low.ns(overlapping(kind), own, away),
            likely,
            high.ns(one_by_one(kind), own, away),
        ]
    }
}

/// Returns the middle of an age class in bytes, given the upper end `age`. Each class covers a
/// doubling.
fn typical(age: Bytes) -> f64 {
    age.0 as f64 * 0.75
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
        Kind::Dependent | Kind::Chained => Kind::Gathered,
        Kind::CodeAlone => Kind::Code,
        kind => kind,
    }
}

fn one_by_one(kind: Kind) -> Kind {
    match kind {
        Kind::Gathered | Kind::Chained => Kind::Dependent,
        Kind::Code => Kind::CodeAlone,
        kind => kind,
    }
}
