//! Estimates a whole trace from parts of it: chooses the parts to simulate, and extrapolates their
//! results.
//!
//! The method is systematic sampling as in SMARTS (Wunderlich, Wenisch, Falsafi, Hoe 2003), with a
//! random position in each stratum: the trace is divided into stretches of equal length, and one
//! tile of each stretch is simulated. The counts of the last uses alone are known for every tile;
//! the simulated parts show how far the whole is from these counts (difference and regression
//! estimators: W. G. Cochran, *Sampling Techniques*, 1977, chapter 7).

use std::ops::Range;

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use schemars::JsonSchema;
use serde::Serialize;
use switchcost_design::result::{DesignResult, PartResult, View};

use super::findings::Cost;
use super::interval::around;

/// Wanted instructions per part, if that makes neither too few parts nor more than needed: in
/// shorter parts, last uses are hardly fewer than all uses.
const PART_INSTRUCTIONS: u64 = 1_000_000;
const FEWEST_PARTS: u64 = 50;
const MOST_PARTS: u64 = 400;
/// Least number of instructions of a part: in shorter parts, the last uses take as long to simulate
/// as all uses.
const SHORTEST_PART: u64 = 50_000;
/// Least number of parts with a difference at which their spread can be trusted.
const FEWEST_SEEN: usize = 10;
/// Allowance for the state of caches at the start of a part, as a share of the estimate. The largest error found is smaller:
/// `docs/method/parts.md` has the trials.
const WARM_UP_ALLOWANCE: f64 = 0.005;
const DIFFERENCE: &str =
    "difference to last uses over parts, Student's t, and 0.5 % for the warm-up";
const REGRESSION: &str =
    "regression on last uses over parts, Student's t, and 0.5 % for the warm-up";
/// Upper 95 % limit for the number of outcomes that no part has shown, if parts are drawn alike
/// (the rule of three).
const UNSEEN: f64 = 3.0;
/// Factor beyond the largest value of a regression up to which the regression is trusted.
const MOST_BEYOND: f64 = 2.0;

/// Error for a trace that is too short for the wanted parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooShort {
    /// Number of instructions in the trace.
    pub found: u64,
    /// Number of instructions needed.
    pub needed: u64,
}

/// The tiles of a trace that are simulated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choice {
    /// First instructions of all tiles, then the end of the trace.
    pub tiles: Vec<u64>,
    /// Indices of the simulated tiles, ascending.
    pub parts: Vec<usize>,
}

impl Choice {
    /// Returns the instruction ranges of the simulated tiles.
    pub fn ranges(&self) -> Vec<Range<u64>> {
        self.parts
            .iter()
            .map(|&part| self.tiles[part]..self.tiles[part + 1])
            .collect()
    }

    /// Returns the index of the tile that contains an instruction.
    pub fn tile_of(&self, instruction: u64) -> usize {
        self.tiles
            .partition_point(|start| *start <= instruction)
            .saturating_sub(1)
    }
}

/// Chooses tiles of a trace to simulate: 1 tile in n, where n is the next whole number below 1 / `share`.
///
/// # Errors
///
/// If the trace is too short.
pub fn choose_parts(instructions: u64, share: f64, seed: u64) -> Result<Choice, TooShort> {
    let stretch = (1.0 / share + 1e-9).max(1.0) as u64;
    let parts = (instructions / stretch / PART_INSTRUCTIONS).clamp(FEWEST_PARTS, MOST_PARTS);
    let needed = parts.saturating_mul(stretch).saturating_mul(SHORTEST_PART);
    if instructions < needed {
        return Err(TooShort {
            found: instructions,
            needed,
        });
    }
    let all = parts * stretch;
    let start = |tile: u64| (u128::from(instructions) * u128::from(tile) / u128::from(all)) as u64;
    let mut dice = ChaCha8Rng::seed_from_u64(seed);
    let parts = (0..parts)
        .map(|part| (part * stretch + dice.random_range(0..stretch)) as usize)
        .collect();
    Ok(Choice {
        tiles: (0..=all).map(start).collect(),
        parts,
    })
}

/// A number of a design, estimated for the whole trace.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct SampleQuantity {
    /// Name of the number: `misses`, `cycles`, `excess_cycles` (shared minus private, without first
    /// touches), `lost_cycles`, `gained_cycles`.
    pub what: &'static str,
    /// View of the number, if it belongs to one.
    pub view: Option<View>,
    /// Cache or TLB, for misses.
    pub level: Option<String>,
    /// Estimate for the whole trace.
    pub total: Cost,
    /// Estimate per thousand instructions.
    pub per_thousand_instructions: Option<f64>,
}

/// Estimates of a design from parts of a trace.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct SampleFinding {
    /// Name of the design.
    pub name: String,
    /// Estimated numbers of the design.
    pub quantities: Vec<SampleQuantity>,
}

/// A quantity of each part: its name, view, level and value.
type Taken = (&'static str, Option<View>, Option<String>, f64);

/// Returns estimates for each design. `parts` are the findings of the tiles of `choice`,
/// `last_uses` the counts of every tile's last uses alone.
pub fn over_parts(
    choice: &Choice,
    parts: &[PartResult],
    last_uses: &[PartResult],
    confidence: f64,
) -> Vec<SampleFinding> {
    let designs = parts.first().map_or(0, |part| part.designs.len());
    (0..designs)
        .map(|place| finding(choice, parts, last_uses, place, confidence))
        .collect()
}

fn finding(
    choice: &Choice,
    parts: &[PartResult],
    last_uses: &[PartResult],
    place: usize,
    confidence: f64,
) -> SampleFinding {
    let each = |results: &[PartResult]| -> Vec<Vec<Taken>> {
        results
            .iter()
            .map(|part| taken(&part.designs[place].1))
            .collect()
    };
    let (of_parts, of_all) = (each(parts), each(last_uses));
    let lengths: Vec<f64> = parts.iter().map(|part| part.instructions as f64).collect();
    let instructions = choice.tiles.last().copied().unwrap_or_default() as f64;
    let quantity = |number: usize| {
        let (what, view, ref level, _) = of_parts[0][number];
        let known: Vec<f64> = of_all.iter().map(|of_tile| of_tile[number].3).collect();
        let seen = Seen {
            values: of_parts.iter().map(|of_part| of_part[number].3).collect(),
            known: choice.parts.iter().map(|&tile| known[tile]).collect(),
            lengths: lengths.clone(),
        };
        let total = seen.total(&known, instructions, confidence);
        let per_thousand_instructions = total.estimate.map(|total| total / instructions * 1000.0);
        SampleQuantity {
            what,
            view,
            level: level.clone(),
            total,
            per_thousand_instructions,
        }
    };
    let name = parts[0].designs[place].1.design.name.clone();
    SampleFinding {
        name,
        quantities: (0..of_parts[0].len()).map(quantity).collect(),
    }
}

pub(super) fn taken(result: &DesignResult) -> Vec<Taken> {
    let mut all: Vec<Taken> = Vec::new();
    for view in [View::Shared, View::Private] {
        let of = result.hierarchies.get(view);
        let misses = of.levels.iter().chain(&of.tlbs);
        all.extend(misses.map(|level| {
            (
                "misses",
                Some(view),
                Some(level.name.clone()),
                level.misses() as f64,
            )
        }));
    }
    let cycles = |view| result.hierarchies.get(view).cycles as f64;
    let views = [View::Shared, View::Private, View::Flushed];
    all.extend(views.map(|view| ("cycles", Some(view), None, cycles(view))));
    // As for a whole trace, no cost contains first touches.
    let first_touches = result
        .detail
        .as_ref()
        .map_or(0, |detail| detail.gained_cycles.first_touches());
    let excess = cycles(View::Shared) + first_touches as f64 - cycles(View::Private);
    all.push(("excess_cycles", None, None, excess));
    if let Some(detail) = &result.detail {
        all.push((
            "lost_cycles",
            None,
            None,
            detail.lost_cycles.to_others() as f64,
        ));
        all.push((
            "gained_cycles",
            None,
            None,
            detail.gained_cycles.others as f64,
        ));
    }
    all
}

/// One quantity in the simulated parts and in their last uses alone, with their instructions.
struct Seen {
    values: Vec<f64>,
    known: Vec<f64>,
    lengths: Vec<f64>,
}

/// An estimated total, with the residuals of the parts.
struct Fit {
    total: f64,
    residuals: Vec<f64>,
    freedom: f64,
    method: &'static str,
}

impl Fit {
    fn variance(&self) -> f64 {
        self.residuals.iter().map(|left| left * left).sum::<f64>() / self.freedom
    }
}

impl Seen {
    /// Returns the estimated total of all tiles; `all` is the known count of last uses.
    fn total(&self, all: &[f64], instructions: f64, confidence: f64) -> Cost {
        let n = self.values.len();
        let (tiles, left) = (all.len() as f64, 1.0 - n as f64 / all.len() as f64);
        let fit = self.fit(all, instructions);
        let cost = Cost {
            estimate: Some(fit.total),
            n: Some(n),
            ..Cost::default()
        };
        let error = tiles * (left * fit.variance() / n as f64).sqrt();
        let freedom = fit.freedom.max(1.0) as usize + 1;
        let Some((low, high)) = around(fit.total, error, freedom, confidence) else {
            return Cost {
                why: Some("one part gives no interval, two are needed".to_owned()),
                ..cost
            };
        };
        let more =
            WARM_UP_ALLOWANCE * fit.total.abs() + if left > 0.0 { self.unseen(all) } else { 0.0 };
        Cost {
            low: Some(low - more),
            high: Some(high + more),
            confidence: Some(confidence),
            method: Some(fit.method),
            ..cost
        }
    }

    fn fit(&self, all: &[f64], instructions: f64) -> Fit {
        let difference = self.difference(all, instructions);
        let (most, most_seen) = (largest(all), largest(&self.known));
        match self.regression(all, instructions) {
            Some(regression)
                if most <= MOST_BEYOND * most_seen
                    && regression.variance() < difference.variance() / 2.0 =>
            {
                regression
            }
            _ => difference,
        }
    }

    /// Returns the estimate by the last uses plus the parts' difference from them, in proportion to
    /// instructions.
    fn difference(&self, all: &[f64], instructions: f64) -> Fit {
        let beyond: Vec<f64> = self.beyond().collect();
        let rate = beyond.iter().sum::<f64>() / self.lengths.iter().sum::<f64>().max(1.0);
        let residuals = beyond
            .iter()
            .zip(&self.lengths)
            .map(|(beyond, length)| beyond - rate * length)
            .collect();
        let total = all.iter().sum::<f64>() + rate * instructions;
        Fit {
            total,
            residuals,
            freedom: self.values.len() as f64 - 1.0,
            method: DIFFERENCE,
        }
    }

    /// Returns the estimate in proportion to instructions and last uses, by least squares; `None`
    /// if these are collinear.
    fn regression(&self, all: &[f64], instructions: f64) -> Option<Fit> {
        let product = |one: &[f64], other: &[f64]| {
            one.iter()
                .zip(other)
                .map(|(one, other)| one * other)
                .sum::<f64>()
        };
        let (of_lengths, of_known) = (
            product(&self.lengths, &self.lengths),
            product(&self.known, &self.known),
        );
        let (both, known) = (
            product(&self.lengths, &self.known),
            product(&self.known, &self.values),
        );
        let lengths = product(&self.lengths, &self.values);
        let determinant = of_lengths * of_known - both * both;
        if determinant <= 1e-9 * of_lengths * of_known {
            return None;
        }
        let rate = (lengths * of_known - both * known) / determinant;
        let slope = (of_lengths * known - both * lengths) / determinant;
        let at = |place: usize| {
            self.values[place] - rate * self.lengths[place] - slope * self.known[place]
        };
        let residuals = (0..self.values.len()).map(at).collect();
        let total = rate * instructions + slope * all.iter().sum::<f64>();
        Some(Fit {
            total,
            residuals,
            freedom: self.values.len() as f64 - 2.0,
            method: REGRESSION,
        })
    }

    fn beyond(&self) -> impl Iterator<Item = f64> {
        self.values
            .iter()
            .zip(&self.known)
            .map(|(value, known)| value - known)
    }

    /// Returns the allowance for unseen differences: if few parts differ from their last uses,
    /// their spread says little about the others.
    fn unseen(&self, all: &[f64]) -> f64 {
        let differing = self.beyond().filter(|beyond| *beyond != 0.0).count();
        if differing >= FEWEST_SEEN {
            return 0.0;
        }
        let most = self.beyond().map(f64::abs).fold(1.0, f64::max);
        let at_most: f64 = all.iter().map(|known| known.abs() + most).sum();
        UNSEEN / self.values.len() as f64 * at_most
    }
}

fn largest(values: &[f64]) -> f64 {
    values.iter().copied().fold(0.0, f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_each_stretch_one_tile_is_taken_at_random() {
        let total = 10_000_000_007;
        let choice = choose_parts(total, 0.05, 1).expect("long enough");
        assert_eq!((choice.tiles.len(), choice.parts.len()), (8001, 400));
        let is_in_stretch = |(number, &tile): (usize, &usize)| tile / 20 == number;
        assert!(choice.parts.iter().enumerate().all(is_in_stretch));
        let places: std::collections::BTreeSet<usize> =
            choice.parts.iter().map(|tile| tile % 20).collect();
        assert_eq!(places.len(), 20, "every tile has its chance");
        assert!(
            choice
                .ranges()
                .iter()
                .all(|part| (1_249_999..=1_250_002).contains(&(part.end - part.start)))
        );
        assert_eq!(
            [0, total - 1].map(|instruction| choice.tile_of(instruction)),
            [0, 7999]
        );
        assert_ne!(choose_parts(total, 0.05, 2).expect("long enough"), choice);
        assert_eq!(choose_parts(total, 0.05, 1).expect("long enough"), choice);
        let whole = choose_parts(total, 1.0, 1).expect("long enough").ranges();
        assert_eq!(
            whole.iter().map(|part| part.end - part.start).sum::<u64>(),
            total
        );
        let short = TooShort {
            found: 49_999_999,
            needed: 50_000_000,
        };
        assert_eq!(choose_parts(49_999_999, 0.05, 1), Err(short));
    }

    /// Makes tiles of 100 instructions each, of which every tenth is a part.
    fn seen(of_tile: impl Fn(usize) -> (f64, f64)) -> (Seen, Vec<f64>, f64) {
        let all: Vec<(f64, f64)> = (0..1000).map(of_tile).collect();
        let parts = || all.iter().step_by(10);
        let values = parts().map(|(_, value)| *value).collect();
        let known = parts().map(|(known, _)| *known).collect();
        let truth = all.iter().map(|(_, value)| value).sum();
        (
            Seen {
                values,
                known,
                lengths: vec![100.0; 100],
            },
            all.iter().map(|(known, _)| *known).collect(),
            truth,
        )
    }

    #[test]
    fn what_last_uses_tell_needs_no_part_that_has_seen_it() {
        // The burst lies in no part.
        let (seen, all, truth) = seen(|tile| {
            if (201..209).contains(&tile) {
                (5000.0, 5000.0)
            } else {
                (1.0, 1.0)
            }
        });
        let cost = seen.total(&all, 100_000.0, 0.95);
        assert_eq!(cost.estimate, Some(truth));
        // The difference is 0.5 %, and 3 of 100 parts with one more miss, or with no known use.
        let more = 0.005 * truth + 0.03 * (1000.0 + truth);
        let (low, high) = (
            cost.low.expect("an interval"),
            cost.high.expect("an interval"),
        );
        assert!(
            (low - truth + more).abs() < 1e-6 && (high - truth - more).abs() < 1e-6,
            "{low} {high}"
        );
        assert_eq!(cost.method, Some(DIFFERENCE));
    }

    #[test]
    fn what_is_in_proportion_to_last_uses_is_found_by_regression() {
        let noise = |tile: usize| ((tile * 7919) % 101) as f64 - 50.0;
        let (seen, all, truth) = seen(|tile| {
            let known = 1000.0 + 500.0 * ((tile / 10) % 7) as f64;
            (known, 4.0 * known + noise(tile))
        });
        let cost = seen.total(&all, 100_000.0, 0.95);
        assert_eq!(cost.method, Some(REGRESSION));
        let (low, high) = (
            cost.low.expect("an interval"),
            cost.high.expect("an interval"),
        );
        assert!(
            low < truth && truth < high && high - low < 0.012 * truth,
            "{low} {truth} {high}"
        );
        // The expected error of the mean of residuals with 98 degrees of freedom was calculated by
        // hand: 0.5 % of the width leaves about this.
        let own = (high - low) / 2.0 - 0.005 * cost.estimate.expect("a number");
        let sd = 29.2;
        let expected = 1.984 * 1000.0 * (0.9_f64 / 100.0).sqrt() * sd;
        assert!((own / expected - 1.0).abs() < 0.1, "{own} {expected}");
    }

    #[test]
    fn a_share_of_all_is_the_whole() {
        let lengths = vec![100.0; 60];
        let values: Vec<f64> = (0..60).map(f64::from).collect();
        let seen = Seen {
            known: vec![0.0; 60],
            values: values.clone(),
            lengths,
        };
        let cost = seen.total(&[0.0; 60], 6000.0, 0.95);
        let sum: f64 = values.iter().sum();
        assert!((cost.estimate.expect("a number") - sum).abs() < 1e-9);
        assert!((cost.high.expect("an interval") - 1.005 * sum).abs() < 1e-6);
    }
}
