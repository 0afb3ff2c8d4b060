//! Interpolates prices between measured ones.

use std::collections::BTreeMap;

use switchcost_record::profile::{Kind, Price, Prices};
use switchcost_units::Bytes;

/// Rows by kind and size, in ascending order of footprints.
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

    /// Returns the price of a line in an array of this size. A kind that was not measured costs as
    /// much as a load that waits for the load before it.
    pub(super) fn ns(&self, kind: Kind, own: f64, away: Bytes) -> f64 {
        let rows = self.0.get(&kind).or_else(|| self.0.get(&Kind::Dependent));
        let by_own: Vec<(f64, f64)> = rows
            .into_iter()
            .flatten()
            .map(|(size, row)| (*size as f64, between(&prepend_zero(row), away.0 as f64)))
            .collect();
        between(&by_own, own)
    }
}

/// Returns the price of the kernel's switch path; `None` if not measured.
pub(super) fn switch_path(prices: &Prices, away: Bytes) -> Option<f64> {
    let mut row: Vec<(f64, f64)> = prices
        .switch_path
        .iter()
        .map(|path| (path.away_bytes.0 as f64, path.ns))
        .collect();
    row.sort_by(|a, b| a.0.total_cmp(&b.0));
    (!row.is_empty()).then(|| between(&prepend_zero(&row), away.0 as f64))
}

/// Adds a footprint of 0, which evicts nothing.
fn prepend_zero(row: &[(f64, f64)]) -> Vec<(f64, f64)> {
    std::iter::once((0.0, 0.0))
        .chain(row.iter().copied().filter(|(at, _)| *at > 0.0))
        .collect()
}

/// Interpolates between two points on a scale of doublings, on a linear scale from 0; constant
/// outside.
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
