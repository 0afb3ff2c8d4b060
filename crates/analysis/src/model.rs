//! What a switch costs a program by the model: lines that were lost and are used again before the next switch, each at the price that
//! the machine asks for its kind of access (docs/method/model.md).

mod arrays;
mod known;
mod lines;
mod table;
#[cfg(test)]
mod tests;

use switchcost_profile::{Kind, Prices, Profile};
use switchcost_units::Bytes;

use table::Table;

pub use arrays::across_arrays;
pub use known::{most_lines, points};

/// Cold caches, as the model predicts them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reload {
    /// Lines that are used again until the next switch, lost or not.
    pub lines: f64,
    /// Bringing the program's own lines back, in nanoseconds, if all loads from anywhere overlap with others; with the lower ends of the
    /// intervals of prices.
    pub low_ns: f64,
    /// The same as the profile distinguishes them.
    pub likely_ns: f64,
    /// The same if each of them waits for the one before; with the upper ends.
    pub high_ns: f64,
    /// What the kernel's own way through the switch takes longer, where its price is known.
    pub switch_path_ns: Option<f64>,
}

impl Reload {
    /// All that cold caches cost, as `inject` finds it: low, likely and high.
    pub fn with_switch_path(&self) -> [f64; 3] {
        let path = self.switch_path_ns.unwrap_or(0.0);
        [self.low_ns, self.likely_ns, self.high_ns].map(|ns| ns + path)
    }
}

/// What cold caches cost a program where others touched so much, and it then runs for so many instructions.
pub fn reload(profile: &Profile, prices: &Prices, away: Bytes, instructions: f64) -> Reload {
    // What is not distinguishable from 0 is 0; of arrays that drive themselves out there is no more to see.
    let tables = [
        Table::of(prices, |price| price.low_ns.max(0.0)),
        Table::of(prices, |price| if price.low_ns > 0.0 { price.ns } else { 0.0 }),
        Table::of(prices, |price| price.high_ns.max(0.0)),
    ];
    let sum = |table: &Table, paid: &dyn Fn(Kind) -> Vec<Kind>| -> f64 {
        let row = |row: &switchcost_profile::Reused| {
            let lines = lines::within(&profile.times_instructions, &row.lines, instructions);
            let paid = paid(row.kind);
            let ns = paid.iter().map(|kind| table.ns(*kind, typical(row.age_bytes), away)).sum::<f64>();
            lines * ns / paid.len() as f64
        };
        profile.reused.iter().map(row).sum()
    };
    let lines = profile.reused.iter().map(|row| lines::within(&profile.times_instructions, &row.lines, instructions));
    Reload {
        lines: lines.sum(),
        low_ns: sum(&tables[0], &|kind| vec![overlapping(kind)]),
        likely_ns: sum(&tables[1], &likely),
        high_ns: sum(&tables[2], &|kind| vec![one_by_one(kind)]),
        switch_path_ns: table::switch_path(prices, away),
    }
}

/// The middle of a class of ages.
fn typical(age: Bytes) -> f64 {
    age.0 as f64 * 0.75
}

/// Of loads that come alone half are waited for: which they are depends on values, which are not known.
fn likely(kind: Kind) -> Vec<Kind> {
    if kind == Kind::Dependent { vec![Kind::Gathered, Kind::Dependent] } else { vec![kind] }
}

fn overlapping(kind: Kind) -> Kind {
    match kind {
        Kind::Dependent => Kind::Gathered,
        Kind::CodeAlone => Kind::Code,
        kind => kind,
    }
}

fn one_by_one(kind: Kind) -> Kind {
    match kind {
        Kind::Gathered => Kind::Dependent,
        Kind::Code => Kind::CodeAlone,
        kind => kind,
    }
}
