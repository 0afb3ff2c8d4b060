//! Shows the length that a trace needs, by the cost of a switch in successive parts of a trace.

use super::sample::{Sample, costs_of};
use super::{SETS, Set, trials};
use crate::exhibit::Cell;
use crate::interval::{Interval, mean_interval};
use crate::{Exhibit, Outcome, Records};

/// Number of parts of a trace, each with the same number of batches of segments.
const PARTS: usize = 5;

/// Cost of a switch in each part of the longest trial, and the trial's number of switches.
struct ByPart {
    switches: u64,
    parts: Vec<Interval>,
}

/// Returns the jackknife pseudo-value of each batch: n times the statistic minus n - 1 times the
/// statistic without the batch, where n is the number of batches.
fn batches(sample: &Sample) -> Vec<f64> {
    let n = sample.without_one.len() as f64;
    sample
        .without_one
        .iter()
        .map(|without| n * sample.value - (n - 1.0) * without)
        .collect()
}

fn lengths_by_part(records: &Records, set: &Set) -> Outcome<ByPart> {
    let all = trials(records, set)?;
    let longest = all
        .into_iter()
        .max_by_key(super::Trial::switches)
        .ok_or("no trial")?;
    let switches = longest.switches();
    let sample = costs_of(&[longest], "1a", |design| &design.average_cost_cycles)?.swap_remove(0);
    let batches = batches(&sample);
    let length = batches.len() / PARTS;
    let parts = (length >= 2).then(|| {
        batches
            .chunks_exact(length)
            .map(mean_interval)
            .collect::<Option<Vec<Interval>>>()
    });
    let mut parts = parts.flatten().ok_or("the trial is too short for parts")?;
    parts.truncate(PARTS);
    Ok(ByPart { switches, parts })
}

/// Returns the index of the first part from which on all intervals overlap the interval of the last
/// part; `None` if this is only true of the last part.
fn settled(parts: &[Interval]) -> Option<usize> {
    let last = parts.last()?;
    let meets = |part: &Interval| part.low <= last.high && last.low <= part.high;
    let unsettled = parts
        .iter()
        .rposition(|part| !meets(part))
        .map_or(0, |place| place + 1);
    (unsettled + 1 < parts.len()).then_some(unsettled)
}

pub(super) fn exhibit(records: &Records) -> Exhibit {
    let title = "Average cost on 1a in one fifth of the longest trial after the other";
    let columns = [
        "set",
        "switches",
        "fifth",
        "cycles",
        "low",
        "high",
        "settled after switches",
    ];
    let mut exhibit = Exhibit::new("Cost over length", title, columns);
    for set in &SETS {
        match lengths_by_part(records, set) {
            Ok(found) => rows(set, &found)
                .into_iter()
                .for_each(|row| exhibit.row(row)),
            Err(why) => {
                let missing = vec![Cell::Missing { why }; columns.len() - 1];
                exhibit.row([vec![set.published.into()], missing].concat());
            }
        }
    }
    exhibit.add_note("Switches between starting programs cost less than switches after their memory has grown. Settled: from this \
         fifth on, each interval overlaps that of the last fifth. Costs that have not settled depend on the length of \
         the trace, as in the paper.");
    exhibit
}

fn rows(set: &Set, found: &ByPart) -> Vec<Vec<Cell>> {
    let settled =
        settled(&found.parts).map(|part| found.switches as f64 * part as f64 / PARTS as f64);
    let row = |(part, cost): (usize, &Interval)| {
        let settled = if part == 0 {
            Cell::or_missing(settled, 0, "not settled")
        } else {
            "".into()
        };
        let numbers = [
            (found.switches as f64, 0),
            (part as f64 + 1.0, 0),
            (cost.estimate, 0),
            (cost.low, 0),
            (cost.high, 0),
        ];
        let numbers = numbers.map(|(value, decimals)| Cell::number(value, decimals));
        [vec![set.published.into()], numbers.to_vec(), vec![settled]].concat()
    };
    found.parts.iter().enumerate().map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cost_that_grows_to_the_end_has_not_settled() {
        let part = |mean: f64| Interval::symmetric(mean, 1.0);
        let of = |means: [f64; 5]| settled(&means.map(part));
        assert_eq!(of([10.0, 20.0, 30.0, 30.5, 30.2]), Some(2));
        assert_eq!(of([30.0, 30.1, 30.0, 30.5, 30.2]), Some(0));
        assert_eq!(of([10.0, 15.0, 20.0, 25.0, 30.0]), None);
    }

    #[test]
    fn a_batch_is_reported_by_what_is_missing_without_it() {
        let own = [1.0, 2.0, 6.0];
        let without_one = own.map(|one| (9.0 - one) / 2.0).to_vec();
        let found = batches(&Sample::from_batches(3.0, without_one));
        assert!(
            found
                .iter()
                .zip(own)
                .all(|(found, own)| (found - own).abs() < 1e-12),
            "{found:?}"
        );
    }
}
