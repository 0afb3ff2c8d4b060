//! Sums over all switch points: the lines that are used again within each time after a switch.

use std::collections::BTreeMap;

use switchcost_record::profile::{Kind, Reused, Spread};
use switchcost_units::Bytes;

use crate::CUT;
use crate::quantiles::Quantiles;
use crate::recency::{Use, bytes};

/// Number of the times after a switch point for which used lines are counted: 1, 2, 4, ...
/// intervals between switch points. The longest has 2^27 instructions, which take some tens of
/// milliseconds.
pub(crate) const TIMES: usize = 18;
/// Binary logarithm of the upper end of the first class of ages (16 KiB). Each further class ends
/// at twice the age of the class before.
const FIRST_AGE_BITS: u32 = 14;
const AGES: usize = 13;
const KINDS: usize = 8;

/// Number of uses by the number of intervals since the previous use: 1, 2, 3 to 4, 5 to 8 and so
/// on.
#[derive(Clone, Copy, Debug, Default)]
struct ByGap {
    uses: [u64; TIMES + 1],
    gaps: [u64; TIMES + 1],
}

impl ByGap {
    fn add(&mut self, gap: u64) {
        let place = (gap.next_power_of_two().trailing_zeros() as usize).min(TIMES);
        self.uses[place] += 1;
        self.gaps[place] += gap;
    }

    /// Returns, added up over all uses, the number of switch points after which the use was the
    /// first within 2^`time` intervals. For one use this is the number of intervals since the
    /// previous use, but at most 2^`time`.
    fn firsts(&self, time: usize) -> u64 {
        let shorter: u64 = self.gaps[..=time].iter().sum();
        let longer: u64 = self.uses[time + 1..].iter().sum();
        shorter + (longer << time)
    }
}

#[derive(Debug)]
pub(crate) struct OverCuts {
    cuts: u64,
    reused: Vec<ByGap>,
    new: ByGap,
    quantiles: Vec<Quantiles>,
    /// Number of lines used since the beginning of the current window, for each time.
    windows: [u64; TIMES],
}

impl Default for OverCuts {
    fn default() -> OverCuts {
        OverCuts {
            cuts: 0,
            reused: vec![ByGap::default(); KINDS * AGES],
            new: ByGap::default(),
            quantiles: vec![Quantiles::default(); TIMES],
            windows: [0; TIMES],
        }
    }
}

impl OverCuts {
    pub(crate) fn add(&mut self, kind: Kind, found: Use) {
        let now = u64::from(found.interval);
        match found.before {
            Some((before, others)) => {
                let place = kind as usize * AGES + age_class(others + 1);
                self.reused[place].add(now - u64::from(before));
                self.count(now ^ u64::from(before));
            }
            None => {
                self.new.add(now + 1);
                self.count(u64::MAX);
            }
        }
    }

    /// Counts a use. `differ` has the bits in which the interval numbers of the use and of the
    /// previous use differ. Windows that contain both intervals have already counted the line: such
    /// windows are longer than the highest bit of `differ`.
    fn count(&mut self, differ: u64) {
        let windows = ((u64::BITS - differ.leading_zeros()) as usize).min(TIMES);
        self.windows[..windows]
            .iter_mut()
            .for_each(|window| *window += 1);
    }

    pub(crate) fn cut(&mut self) {
        self.cuts += 1;
        let ended = (self.cuts.trailing_zeros() as usize + 1).min(TIMES);
        for time in 0..ended {
            self.quantiles[time].add(std::mem::take(&mut self.windows[time]));
        }
    }

    /// Returns how many of the times after a switch point have enough windows in the trace, so that
    /// the trace's end cuts off at most one window in sixteen.
    pub(crate) fn times(&self) -> usize {
        (1..TIMES)
            .find(|time| 16 << time > self.cuts)
            .unwrap_or(TIMES)
    }

    pub(crate) fn times_instructions(&self) -> Vec<u64> {
        (0..self.times()).map(|time| CUT << time).collect()
    }

    /// Returns the mean number of lines over all switch points, for each time. The start of the
    /// trace counts as a switch point.
    fn mean(&self, by_gap: &ByGap) -> Vec<f64> {
        let cuts = (self.cuts + 1) as f64;
        (0..self.times())
            .map(|time| rounded(by_gap.firsts(time) as f64 / cuts))
            .collect()
    }

    /// Returns how often lines of a kind were used again, for all ages together.
    #[cfg(test)]
    pub(crate) fn uses(&self, kind: Kind) -> u64 {
        let rows = &self.reused[kind as usize * AGES..][..AGES];
        rows.iter().flat_map(|by_gap| by_gap.uses).sum()
    }

    pub(crate) fn new_lines(&self) -> Vec<f64> {
        self.mean(&self.new)
    }

    pub(crate) fn reused(&self) -> Vec<Reused> {
        let rows = (0..KINDS).flat_map(|kind| (0..AGES).map(move |age| (kind, age)));
        rows.filter_map(|(kind, age)| {
            let lines = self.mean(&self.reused[kind * AGES + age]);
            let age_bytes = Bytes(1 << (FIRST_AGE_BITS as usize + age));
            lines.iter().any(|lines| *lines > 0.0).then(|| Reused {
                kind: KIND_NAMES[kind],
                age_bytes,
                lines,
            })
        })
        .collect()
    }

    pub(crate) fn spreads(&self) -> Vec<Spread> {
        let all: BTreeMap<usize, f64> = self.totals();
        (0..self.times())
            .map(|time| {
                let [p10, p50, p90] =
                    [0.1, 0.5, 0.9].map(|share| rounded(self.quantiles[time].value_at(share)));
                Spread {
                    mean: rounded(all[&time]),
                    p10,
                    p50,
                    p90,
                }
            })
            .collect()
    }

    fn totals(&self) -> BTreeMap<usize, f64> {
        let cuts = (self.cuts + 1) as f64;
        let firsts = |time: usize| -> u64 {
            self.reused
                .iter()
                .chain([&self.new])
                .map(|by_gap| by_gap.firsts(time))
                .sum()
        };
        (0..self.times())
            .map(|time| (time, firsts(time) as f64 / cuts))
            .collect()
    }
}

/// Kinds of lines in the order of their numbers.
const KIND_NAMES: [Kind; KINDS] = [
    Kind::Sequential,
    Kind::Strided,
    Kind::Gathered,
    Kind::Dependent,
    Kind::Chained,
    Kind::Stored,
    Kind::Code,
    Kind::CodeAlone,
];

fn age_class(lines: u32) -> usize {
    let bits = bytes(lines).next_power_of_two().trailing_zeros();
    (bits.saturating_sub(FIRST_AGE_BITS) as usize).min(AGES - 1)
}

/// Rounds a number of lines to a thousandth.
fn rounded(lines: f64) -> f64 {
    (lines * 1e3).round() / 1e3
}
