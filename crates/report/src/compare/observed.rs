//! Renders the answer on observed programs: the cost and the number of their switches on both
//! sides, and whether the differences are significant.

use switchcost_analysis::compare::{Change, Comparison, Outcome, Pair, Pricing, Quantity};

use super::pairs::{changed_numbers, nothing};
use super::words::{bare, percent, ratio};

/// Returns the first sentences of the report: the outcome of the comparison.
pub(super) fn answer(comparison: &Comparison) -> String {
    let reported = [cost(comparison), often(comparison)];
    let mut text: String = reported
        .into_iter()
        .flatten()
        .map(|sentence| sentence + " ")
        .collect();
    if comparison.pricing == Some(Pricing::Nothing) {
        text += "Costs are not compared, because there is no calibration for them. ";
    }
    text + &verdicts(comparison)
}

fn pair_of_all(comparison: &Comparison, quantity: Quantity) -> Option<&Pair> {
    comparison
        .pairs
        .iter()
        .find(|pair| pair.is_main() && pair.quantity == quantity && pair.ratio().is_some())
}

/// Returns a sentence on the likely cost of switching, or on the direct cost if no likely cost is
/// compared; `None` if neither cost is compared.
fn cost(comparison: &Comparison) -> Option<String> {
    let likely = pair_of_all(comparison, Quantity::CostShare).map(|pair| (pair, ""));
    let direct = || pair_of_all(comparison, Quantity::DirectShare).map(|pair| (pair, "directly "));
    let (pair, what) = likely.or_else(direct)?;
    Some(format!(
        "Switches {what}cost {} of the CPU time in new, {} in base: {}.",
        new(pair)?,
        base(pair)?,
        doubted_ratio(pair)?
    ))
}

fn often(comparison: &Comparison) -> Option<String> {
    let pair = pair_of_all(comparison, Quantity::Switches)?;
    Some(format!(
        "There are {} switches per second in new, {} in base: {}.",
        new(pair)?,
        base(pair)?,
        doubted_ratio(pair)?
    ))
}

fn new(pair: &Pair) -> Option<String> {
    Some(bare(pair.new?.value, pair.quantity.unit()))
}

fn base(pair: &Pair) -> Option<String> {
    Some(bare(pair.base?.value, pair.quantity.unit()))
}

/// Formats the ratio of a pair, and says if it is not significant; `None` without a ratio.
fn doubted_ratio(pair: &Pair) -> Option<String> {
    let difference = match &pair.outcome {
        Outcome::Compared {
            verdict: Change::NoDifferenceShown,
            ..
        } => ", not significant",
        _ => "",
    };
    ratio(pair)
        .map(|words| words + difference)
        .or_else(|| Some(format!("new/base is {:.3}", pair.ratio()?)))
}

fn verdicts(comparison: &Comparison) -> String {
    let not_judged = comparison
        .pairs
        .iter()
        .find_map(|pair| match &pair.outcome {
            Outcome::NotJudged { why, .. } => Some(why),
            _ => None,
        });
    match not_judged {
        Some(why) => {
            format!("These may be usual differences between two runs of the same program: {why}.")
        }
        None if comparison.compared == 0 => nothing(comparison),
        None => changed_numbers(comparison),
    }
}

/// Returns a sentence on the source of the intervals.
pub(super) fn basis(comparison: &Comparison) -> String {
    match comparison.run_spread {
        Some(spread) => format!(
            "Intervals are from a spread of {} between runs (standard deviation), as given with --run-spread.",
            percent(spread.share)
        ),
        None => "Intervals are from the spread between the records of each side.".to_owned(),
    }
}

/// Returns a sentence on the calibrations that the costs of both sides are computed with; `None` if
/// no cost is compared.
pub(super) fn pricing(comparison: &Comparison) -> Option<&'static str> {
    let is_cost = |pair: &Pair| {
        matches!(pair.quantity, Quantity::DirectShare | Quantity::CostShare)
            && pair.ratio().is_some()
    };
    if !comparison.pairs.iter().any(is_cost) {
        return None;
    }
    match comparison.pricing? {
        Pricing::OneCalibration => Some(
            "Both sides are priced with one calibration, so direct costs differ only by the numbers and causes of switches.",
        ),
        Pricing::OwnCalibrations => Some(
            "The machines differ, so each record is priced with its own calibration; intervals do not include its uncertainty.",
        ),
        Pricing::Nothing => None,
    }
}
