use analysis::compare::{
    Basis, ChangedSwitches, Comparison, Cost, Difference, Origin, Outcome, Pair, Part, Pricing, Quantity, RunSpread,
    Subject, Unit, Who,
};
use serde::Serialize;
use units::Bytes;

use super::{COMPARE_SCHEMA, Request};
use crate::case::CaseView;
use crate::for_programs::json;

#[derive(Serialize)]
struct View<'a> {
    schema: &'static str,
    basis: Basis,
    base_records: &'a [String],
    new_records: &'a [String],
    confidence: f64,
    compared: usize,
    assumed_run_spread: Option<f64>,
    run_spread: Option<RunSpread>,
    hertz: Option<f64>,
    pricing: Option<Pricing>,
    fail_above: Option<f64>,
    slower_than_allowed: Option<usize>,
    environment: &'a [Difference],
    /// The growth that each of the compared numbers would have been shown to have.
    could_have_shown: Option<f64>,
    switches: Vec<SwitchesView<'a>>,
    pairs: Vec<PairView<'a>>,
}

#[derive(Serialize)]
struct SwitchesView<'a> {
    #[serde(flatten)]
    case: CaseView<'a>,
    base: f64,
    new: f64,
}

fn switches(changed: &ChangedSwitches) -> SwitchesView<'_> {
    SwitchesView { case: CaseView::from(&changed.case), base: changed.base, new: changed.new }
}

#[derive(Serialize)]
struct PairView<'a> {
    #[serde(flatten)]
    subject: SubjectView<'a>,
    quantity: Quantity,
    unit: Unit,
    is_suspect: bool,
    suspect_records: Vec<&'a str>,
    base: Option<CostView>,
    new: Option<CostView>,
    #[serde(flatten)]
    outcome: &'a Outcome,
}

#[derive(Serialize)]
#[serde(untagged)]
enum SubjectView<'a> {
    Case(CaseView<'a>),
    Simulated { base_design: Option<&'a str>, new_design: Option<&'a str>, kind: &'static str, name: Option<&'a str> },
    Observed { kind: &'static str, name: Option<&'a str> },
    Injected { footprint_bytes: Bytes },
}

#[derive(Serialize)]
struct CostView {
    value: f64,
    low: Option<f64>,
    high: Option<f64>,
    records: usize,
}

impl From<Cost> for CostView {
    fn from(cost: Cost) -> Self {
        let (low, high) = cost.interval.unzip();
        CostView { value: cost.value, low, high, records: cost.records }
    }
}

fn pair<'a>(pair: &'a Pair, request: &Request<'a>) -> PairView<'a> {
    let names = |all: &'a [String], places: &[usize]| -> Vec<&'a str> {
        places.iter().filter_map(|place| all.get(*place)).map(String::as_str).collect()
    };
    let suspects = &pair.suspects;
    PairView {
        subject: subject(&pair.subject),
        quantity: pair.quantity,
        unit: pair.quantity.unit(),
        is_suspect: pair.is_suspect(),
        suspect_records: [names(request.base, &suspects.base), names(request.new, &suspects.new)].concat(),
        base: pair.base.map(CostView::from),
        new: pair.new.map(CostView::from),
        outcome: &pair.outcome,
    }
}

fn subject(subject: &Subject) -> SubjectView<'_> {
    match subject {
        Subject::Case(case) => SubjectView::Case(CaseView::from(case)),
        Subject::Simulated(place) => {
            let (kind, name) = kind_and_name(&place.part);
            let (base_design, new_design) = (place.base_design.as_deref(), place.new_design.as_deref());
            SubjectView::Simulated { base_design, new_design, kind, name }
        }
        Subject::Injected(size) => SubjectView::Injected { footprint_bytes: *size },
        Subject::Observed(of) => {
            let (kind, name) = who(of);
            SubjectView::Observed { kind, name }
        }
    }
}

/// What a part is, in every format for programs.
pub(super) fn kind_and_name(part: &Part) -> (&'static str, Option<&str>) {
    match part {
        Part::All => ("all", None),
        Part::Class(name) => ("class", Some(name)),
        Part::Cause(name) => ("cause", Some(name)),
        Part::Program(name) => ("program", Some(name)),
        Part::Level(name) => ("level", Some(name)),
        Part::Kernel => ("kernel", None),
    }
}

/// The same of live tasks; the kernel's threads have no name.
pub(super) fn who(who: &Who) -> (&'static str, Option<&str>) {
    match who {
        Who::All => ("all", None),
        Who::Name(name) => ("name", Some(name)),
        Who::Neighbour(name) => ("neighbour", Some(name.as_str()).filter(|name| !name.is_empty())),
    }
}

pub(super) fn render(comparison: &Comparison, request: &Request<'_>) -> String {
    json(&View {
        schema: COMPARE_SCHEMA,
        basis: comparison.basis,
        base_records: request.base,
        new_records: request.new,
        confidence: comparison.confidence,
        compared: comparison.compared,
        assumed_run_spread: comparison
            .run_spread
            .filter(|spread| spread.origin == Origin::Assumed)
            .map(|spread| spread.share),
        run_spread: comparison.run_spread,
        hertz: comparison.hertz,
        pricing: comparison.pricing,
        fail_above: request.fail_above,
        slower_than_allowed: request.fail_above.map(|share| comparison.slower_by_more_than(share).count()),
        environment: &comparison.environment,
        could_have_shown: comparison.could_have_shown(request.fail_above.unwrap_or(0.0)).map(|shown| shown.most),
        switches: comparison.switches.iter().map(switches).collect(),
        pairs: comparison.pairs.iter().map(|one| pair(one, request)).collect(),
    })
}
