//! Compares a sequence of states of a program or machine: each state with the one before and with
//! the first.
//!
//! The confidence holds for all these comparisons together (Bonferroni), as for the pairs of a
//! single comparison.

use schemars::JsonSchema;
use serde::Serialize;
use switchcost_record::Case;

use super::pairs::is_same;
use super::{
    Analysed, Comparison, Cost, Outcome, Pair, Quantity, Request, common_hertz, compare_at,
    quantity,
};
use crate::lists::find_or_add;
use crate::measurement::serialised::{Conditions, conditions};

/// One state of a program or machine, with its measurement records.
#[derive(Clone, Debug)]
pub struct State<'a> {
    /// Name of the state's folder, such as a commit or a version; untrusted text that must be
    /// escaped before it is shown.
    pub name: String,
    /// Records of the state with their findings, oldest first.
    pub records: Vec<Analysed<'a>>,
}

/// Name, date and number of records of a state.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize)]
#[schemars(rename = "State")]
pub struct Dated {
    /// Name of the state's folder, or of its record; untrusted text that must be escaped before it
    /// is shown.
    pub name: String,
    /// Start of the state's first record (RFC 3339, UTC).
    pub started_at: String,
    /// Number of measurement records of the state.
    pub records: usize,
}

/// A cost in one of several states, with comparisons.
#[derive(Clone, Debug, Default, PartialEq, JsonSchema, Serialize)]
pub struct Step {
    /// Cost scaled to a core clock that all states share; `None` if the state has no number.
    pub cost: Option<Cost>,
    /// Comparison with the state before. `None` for the first state.
    pub to_before: Option<Outcome>,
    /// Comparison with the first state. `None` for the first state itself.
    pub to_first: Option<Outcome>,
}

/// A cost in each of several states of a program or machine.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct Trend {
    /// The measured case: mechanism, tasks, working set, scheduling policy and CPUs.
    #[serde(flatten, serialize_with = "conditions")]
    #[schemars(with = "Conditions<'static>")]
    pub case: Case,
    /// Quantity that is compared.
    #[serde(flatten, serialize_with = "quantity::with_unit")]
    #[schemars(with = "quantity::WithUnit")]
    pub quantity: Quantity,
    /// The cost in each state, in the order of states.
    pub steps: Vec<Step>,
}

/// Result of the comparison of a sequence of states.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct History {
    /// The compared states, oldest first.
    pub states: Vec<Dated>,
    /// Confidence of all verdicts together, from 0 to 1.
    pub confidence: f64,
    /// Number of comparisons of two states, among which the allowed error is divided.
    pub comparisons: usize,
    /// Core clock in hertz to which costs are scaled; `None` if costs are not scaled.
    pub hertz: Option<f64>,
    /// Largest allowed growth of a cost, as a share (0.05 is 5 %); `None` for no limit.
    pub fail_above: Option<f64>,
    /// Number of costs that have risen by more than the limit in the newest state, compared with
    /// the state before or with the first; `None` without a limit.
    pub grown: Option<usize>,
    /// Costs over the states, one entry per case and quantity.
    pub trends: Vec<Trend>,
}

impl Step {
    fn outcomes(&self) -> impl Iterator<Item = &Outcome> {
        self.to_before.iter().chain(&self.to_first)
    }

    /// Whether the cost is shown to have risen by more than `share` since the state before, or
    /// since the first state.
    pub fn is_slower_by_more_than(&self, share: f64) -> bool {
        self.outcomes()
            .any(|outcome| outcome.is_slower_by_more_than(share))
    }

    /// Whether the comparison with the state before, or the one with the first state, lacks a
    /// verdict.
    pub fn is_open(&self) -> bool {
        self.outcomes().any(|outcome| outcome.interval().is_none())
    }
}

impl History {
    /// Returns each compared cost together with its value and comparisons in the newest state.
    pub fn newest(&self) -> impl Iterator<Item = (&Trend, &Step)> {
        self.trends
            .iter()
            .filter_map(|trend| Some((trend, trend.steps.last()?)))
    }
}

/// Compares states, which must be sorted from oldest to newest.
pub fn history(states: &[State<'_>], request: Request<'_>) -> History {
    let count = states.len();
    let comparisons = (2 * count).saturating_sub(3).max(1);
    let of_each = Request {
        confidence: 1.0 - (1.0 - request.confidence) / comparisons as f64,
        ..request
    };
    let hertz = common_hertz(
        states
            .iter()
            .flat_map(|state| &state.records)
            .map(|(_, findings)| *findings),
    );
    let compared = |base: usize, new: usize| {
        compare_at(
            hertz,
            &states[base].records,
            &states[new].records,
            &[],
            of_each,
        )
    };
    let mut trends = Vec::new();
    for place in 1..count {
        let before = compared(place - 1, place);
        let first = if place > 1 {
            compared(0, place)
        } else {
            before.clone()
        };
        add(&mut trends, count, place, before, first);
    }
    let mut history = History {
        states: states.iter().map(dated).collect(),
        confidence: request.confidence,
        comparisons,
        hertz,
        fail_above: request.fail_above,
        grown: None,
        trends,
    };
    history.grown = request.fail_above.map(|share| {
        history
            .newest()
            .filter(|(_, step)| step.is_slower_by_more_than(share))
            .count()
    });
    history
}

fn dated(state: &State<'_>) -> Dated {
    let started_at = state
        .records
        .first()
        .map(|(record, _)| record.header.started_at.clone())
        .unwrap_or_default();
    Dated {
        name: state.name.clone(),
        started_at,
        records: state.records.len(),
    }
}

fn add(
    trends: &mut Vec<Trend>,
    states: usize,
    place: usize,
    before: Comparison,
    first: Comparison,
) {
    for pair in before.pairs {
        if let Some(steps) = steps_of(trends, states, &pair) {
            if place == 1 {
                steps[0].cost = pair.base;
            }
            steps[place].cost = pair.new;
            steps[place].to_before = Some(pair.outcome);
        }
    }
    for pair in first.pairs {
        if let Some(steps) = steps_of(trends, states, &pair) {
            steps[place].to_first = Some(pair.outcome);
        }
    }
}

/// Returns the steps of the pair's cost. Adds an empty entry if there is none yet. `None` if the
/// pair is not of a measured case.
fn steps_of<'a>(
    trends: &'a mut Vec<Trend>,
    states: usize,
    pair: &Pair,
) -> Option<&'a mut Vec<Step>> {
    let case = pair.case()?;
    let is_it = |trend: &Trend| is_same(&trend.case, case) && trend.quantity == pair.quantity;
    let new = || Trend {
        case: case.clone(),
        quantity: pair.quantity,
        steps: vec![Step::default(); states],
    };
    Some(&mut find_or_add(trends, is_it, new).steps)
}

#[cfg(test)]
mod tests {
    use super::super::tests::runs;
    use super::*;
    use crate::compare::Change;
    use crate::measurement::findings::Findings;
    use crate::testing::pipe;
    use switchcost_record::MeasureRecord;

    type Runs = Vec<(MeasureRecord, Findings)>;

    fn state(runs: &Runs) -> State<'_> {
        let records = runs.iter();
        State {
            name: String::new(),
            records: records
                .map(|(record, findings)| (record, findings))
                .collect(),
        }
    }

    fn found_in(all: &[Runs]) -> History {
        let request = Request {
            fail_above: Some(0.05),
            ..Request::default()
        };
        history(&all.iter().map(state).collect::<Vec<_>>(), request)
    }

    fn found(factors: &[f64]) -> History {
        let of = |(seed, factor): (u64, &f64)| runs(4, seed, 0.005, *factor, &[pipe()]);
        found_in(&(1..).zip(factors).map(of).collect::<Vec<_>>())
    }

    fn verdicts(history: &History, of: fn(&Step) -> &Option<Outcome>) -> Vec<Option<Change>> {
        let verdict = |step: &Step| match of(step) {
            Some(Outcome::Compared { verdict, .. }) => Some(*verdict),
            _ => None,
        };
        history.trends[0].steps.iter().map(verdict).collect()
    }

    #[test]
    fn a_jump_is_shown_where_it_is_and_stays_against_the_first() {
        use Change::{NoDifferenceShown as None_, Slower};
        let found = found(&[1.0, 1.0, 1.1, 1.1]);
        assert_eq!(
            (found.states.len(), found.comparisons, found.trends.len()),
            (4, 5, 1)
        );
        assert_eq!(
            verdicts(&found, |step| &step.to_before),
            [None, Some(None_), Some(Slower), Some(None_)]
        );
        assert_eq!(
            verdicts(&found, |step| &step.to_first),
            [None, Some(None_), Some(Slower), Some(Slower)]
        );
        assert_eq!(found.grown, Some(1), "the newest is slower than the first");
        assert!(found.trends[0].steps.iter().all(|step| step.cost.is_some()));
    }

    #[test]
    fn what_creeps_is_shown_against_the_first_and_not_from_step_to_step() {
        let creeping: Vec<f64> = (0..8).map(|step| 1.0 + 0.012 * f64::from(step)).collect();
        let found = found(&creeping);
        assert!(
            verdicts(&found, |step| &step.to_before)[1..]
                .iter()
                .all(|one| *one == Some(Change::NoDifferenceShown))
        );
        assert_eq!(
            verdicts(&found, |step| &step.to_first).last(),
            Some(&Some(Change::Slower))
        );
        assert_eq!(found.grown, Some(1));
    }

    /// Tests that equal states seldom differ: 6 of 60 histories may show a difference at 90 %
    /// confidence, and two standard deviations more make the limit 10.
    #[test]
    fn states_that_are_the_same_seldom_differ() {
        let is_alarm = |trial: &u64| {
            let all: Vec<Runs> = (1..=4)
                .map(|seed| runs(3, 100 * trial + seed, 0.02, 1.0, &[pipe()]))
                .collect();
            let found = found_in(&all);
            let [before, first] = [
                verdicts(&found, |step| &step.to_before),
                verdicts(&found, |step| &step.to_first),
            ];
            let mut called = before[1..].iter().chain(&first[1..]);
            called.any(|verdict| *verdict != Some(Change::NoDifferenceShown))
        };
        let alarms = (1..=60).filter(is_alarm).count();
        assert!(alarms <= 10, "{alarms} of 60");
    }
}
