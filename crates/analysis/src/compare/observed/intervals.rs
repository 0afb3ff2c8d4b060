//! The ratio of the new to the base side of compared observations, with an interval from the spread
//! of the records on each side.

use super::numbers::{Key, Number};
use crate::compare::candidate::{SIDES, require_both};
use crate::compare::ratio::{LogCost, LogRatio, Part};
use crate::compare::{Cost, Outcome, Quantity, Request, Who};
use crate::measurement::run_spread::FREEDOM;
use crate::statistics::estimate::mean_and_sd;

/// Least number of records from which a spread is estimated. Two records may agree by chance.
const FEWEST: usize = 3;
const NO_SPREAD: &str = "the spread between runs is unknown; run each side at least 3 times";

/// Least spread of a record's number, as a share. Closer agreement is regarded as chance.
const LEAST: f64 = 0.005;

/// Largest ratio of the upper to the lower end of a histogram bucket.
const BUCKET: f64 = 1.5;

/// Numbers of one side, one per record; `None` for a record without the number.
type Side = [Option<Number>];

/// Returns the ratio of new to base; the outcome without a verdict if there is no interval. `given`
/// is the spread between runs that the user gave.
pub(super) fn ratio(
    key: &Key,
    sides: &[Vec<Option<Number>>; 2],
    given: Option<f64>,
) -> Result<LogRatio, Outcome> {
    require_both([0, 1].map(|side| complete(key, &sides[side], SIDES[side])))
        .map_err(Outcome::incomparable)?;
    let [Some(base), Some(new)] = sides.each_ref().map(|side| logarithm(side, given)) else {
        let [base, new] = sides.each_ref().map(|side| mean_and_sd(&logs(side)).0);
        return Err(Outcome::NotJudged {
            ratio: (new - base).exp(),
            why: NO_SPREAD.to_owned(),
        });
    };
    let factor = if is_end_of_bucket(key.quantity) {
        BUCKET
    } else {
        // The ratio is lowest at the base's upper end and the new side's lower end, or conversely.
        let [base, new] = sides.each_ref().map(|side| within(side));
        (base[1] * new[0]).max(base[0] * new[1])
    };
    Ok(LogRatio::between(&[base, new]).known_within(factor))
}

/// Returns the number of one side for display: the geometric mean over records, or the arithmetic
/// mean without an interval if a number is 0.
pub(super) fn cost(key: &Key, side: &Side, request: Request<'_>) -> Option<Cost> {
    let known: Vec<Option<Number>> = side.iter().copied().filter(Option::is_some).collect();
    let values: Vec<f64> = known.iter().flatten().map(|number| number.value).collect();
    if values.is_empty() || values.iter().any(|value| *value <= 0.0) {
        return Cost::plain_mean(&values);
    }
    let [below, above] = within(&known);
    let Some(cost) = logarithm(&known, request.run_spread) else {
        let value = mean_and_sd(&logs(&known)).0.exp();
        return Some(Cost {
            value,
            interval: (below * above > 1.0).then(|| (value / below, value * above)),
            records: values.len(),
        });
    };
    let cost = cost.cost(request.confidence);
    let (below, above) = if is_end_of_bucket(key.quantity) {
        (BUCKET, 1.0)
    } else {
        (below, above)
    };
    Some(Cost {
        interval: cost.interval.map(|(low, high)| (low / below, high * above)),
        ..cost
    })
}

fn is_end_of_bucket(quantity: Quantity) -> bool {
    matches!(quantity, Quantity::WaitP50 | Quantity::WaitP99)
}

/// Returns the factors within which the numbers of a side are known, downwards and upwards, as
/// geometric means over the records.
fn within(side: &Side) -> [f64; 2] {
    [0, 1].map(|end| {
        let factors = side.iter().flatten().map(|number| number.within[end].ln());
        mean_and_sd(&factors.collect::<Vec<f64>>()).0.exp()
    })
}

fn logs(side: &Side) -> Vec<f64> {
    side.iter()
        .flatten()
        .map(|number| number.value.ln())
        .collect()
}

/// Returns the mean of the logarithms of a side's numbers, which are above 0, with its variance.
/// The variance follows from `given`, the standard deviation as a share, or else from the spread of
/// the records. Returns `None` if `given` is `None` and there are too few records.
fn logarithm(side: &Side, given: Option<f64>) -> Option<LogCost> {
    let logs = logs(side);
    let single = match given {
        Some(share) => Part {
            variance: share * share,
            freedom: FREEDOM,
        },
        None if logs.len() < FEWEST => return None,
        None => Part::from_values(&logs),
    };
    let variance = single.variance.max(chance_variance(side));
    Some(LogCost::new(&logs, Part { variance, ..single }))
}

/// Returns the variance that the logarithm of a record's number has because its events occur at
/// random times (a Poisson process): 1 / number of events, as the mean over the records, and at
/// least the square of [`LEAST`].
fn chance_variance(side: &Side) -> f64 {
    let numbers = side.iter().flatten();
    let of_events: f64 = numbers
        .filter_map(|number| number.events)
        .map(|events| 1.0 / events.max(1) as f64)
        .sum();
    (of_events / side.len().max(1) as f64).max(LEAST * LEAST)
}

/// Checks that every record of a side has a number above 0.
fn complete(key: &Key, side: &Side, name: &str) -> Result<(), String> {
    let known: Vec<f64> = side.iter().flatten().map(|number| number.value).collect();
    let zeros = known.iter().filter(|value| **value <= 0.0).count();
    Err(match (known.len(), zeros) {
        (0, _) => describe_missing(key, name),
        (count, _) if count < side.len() => format!(
            "only {count} of {} {name} records have a number, and all of them are needed",
            side.len()
        ),
        (_, 0) => return Ok(()),
        (1, _) => format!("the {name} number is 0, so it has no ratio"),
        (all, zeros) => {
            format!("the {name} number is 0 in {zeros} of {all} records, so it has no ratio")
        }
    })
}

fn describe_missing(key: &Key, name: &str) -> String {
    match (&key.who, key.quantity) {
        (Who::Name(_), Quantity::Switches) => format!("the {name} side has no such name"),
        (_, Quantity::DirectShare) => {
            format!("the cost of a switch is unknown on the {name} side")
        }
        (_, Quantity::CostShare) => format!("the likely cost is unknown on the {name} side"),
        (_, Quantity::ColdShare) => {
            format!("the cost of cold caches is unknown or only a range on the {name} side")
        }
        _ => format!("not counted on the {name} side"),
    }
}
