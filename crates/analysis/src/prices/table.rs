//! Interpolates prices (costs of a lost line) between measured sizes and footprints.

use std::collections::BTreeMap;

use switchcost_record::prices::{Kind, Price, Prices};
use switchcost_units::Bytes;

/// Prices by kind of access and array size. Each row has pairs of footprint in bytes and price in
/// nanoseconds, by ascending footprint.
pub(super) struct Table(BTreeMap<Kind, BTreeMap<u64, Vec<(f64, f64)>>>);

impl Table {
    pub(super) fn new(prices: &Prices, read: fn(&Price) -> f64) -> Table {
        let mut table = Table(BTreeMap::new());
        for price in &prices.lines {
            let rows = table.0.entry(price.kind).or_default();
            rows.entry(price.own_bytes.0)
                .or_default()
                .push((price.away_bytes.0 as f64, read(price)));
        }
        let rows = table.0.values_mut().flat_map(BTreeMap::values_mut);
        rows.for_each(|row| row.sort_by(|a, b| a.0.total_cmp(&b.0)));
        table
    }

    /// Returns the price of one line in nanoseconds, in an array of `own` bytes, after a footprint
    /// of `away` bytes. A kind without measured prices has those of its unspaced kind, or of
    /// dependent loads.
    pub(super) fn ns(&self, kind: Kind, own: f64, away: Bytes) -> f64 {
        let kinds = [kind, kind.unspaced(), Kind::Dependent];
        let rows = kinds.iter().find_map(|kind| self.0.get(kind));
        let by_own: Vec<(f64, f64)> = rows
            .into_iter()
            .flatten()
            .map(|(size, row)| (*size as f64, between(&prepend_zero(row), away.0 as f64)))
            .collect();
        between(&by_own, own)
    }
}

/// Returns the row with an additional price of 0 for a footprint of 0, which evicts nothing.
fn prepend_zero(row: &[(f64, f64)]) -> Vec<(f64, f64)> {
    std::iter::once((0.0, 0.0))
        .chain(row.iter().copied().filter(|(at, _)| *at > 0.0))
        .collect()
}

/// Returns the value at `at`, interpolated between two points over the logarithm, or linearly if
/// the first is at 0. The value is constant outside of the points.
fn between(points: &[(f64, f64)], at: f64) -> f64 {
    let Some(next) = points.iter().position(|(point, _)| *point >= at) else {
        return points.last().map_or(0.0, |(_, value)| *value);
    };
    if next == 0 {
        return points[0].1;
    }
    let ((from, below), (to, above)) = (points[next - 1], points[next]);
    let share = if from > 0.0 {
        (at / from).log2() / (to / from).log2()
    } else {
        at / to
    };
    below + share * (above - below)
}
