use schemars::JsonSchema;
use serde::Serialize;
use switchcost_analysis::Conditions;
use switchcost_analysis::compare::{
    Basis, ChangedSwitches, Comparison, Cost, Difference, Origin, Outcome, Pair, Part, Pricing, Quantity, RunSpread,
    Subject, Unit, Who,
};
use switchcost_units::Bytes;

use super::{COMPARE_SCHEMA, Request};
use crate::for_programs::json;

/// What comparing records comes to.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "Report")]
pub(crate) struct View<'a> {
    /// Name and version of this form.
    schema: &'static str,
    /// What the intervals are based on.
    basis: Basis,
    /// The files of the base.
    base_records: &'a [String],
    /// The files that are compared with them.
    new_records: &'a [String],
    /// Of all verdicts together.
    confidence: f64,
    /// Pairs with a verdict.
    compared: usize,
    /// The share of `run_spread`, where it was assumed.
    assumed_run_spread: Option<f64>,
    /// How much runs of a measurement differ beyond their own intervals.
    run_spread: Option<RunSpread>,
    /// Core cycles a second at which the costs of a measurement are given.
    hertz: Option<f64>,
    /// Of observations: what their costs are from.
    pricing: Option<Pricing>,
    /// The share asked for: 0.05 is 5 %.
    fail_above: Option<f64>,
    /// Pairs that are slower by more.
    slower_than_allowed: Option<usize>,
    /// Facts that differ between the sides.
    environment: &'a [Difference],
    /// A growth by this share would have been shown in each number that was compared.
    could_have_shown: Option<f64>,
    /// Measured cases whose hand-offs take another number of switches.
    switches: Vec<SwitchesView<'a>>,
    /// One for each case of either side; of simulations, for each number of a pair of designs.
    pairs: Vec<PairView<'a>>,
}

/// A case whose hand-offs take another number of switches.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "Switches")]
struct SwitchesView<'a> {
    #[serde(flatten)]
    case: Conditions<'a>,
    /// Switches a hand-off.
    base: f64,
    /// The same in the new records.
    new: f64,
}

fn switches(changed: &ChangedSwitches) -> SwitchesView<'_> {
    SwitchesView { case: Conditions::from(&changed.case), base: changed.base, new: changed.new }
}

/// A cost of both sides. A pair of measurements has the conditions of a case. A pair of simulations has designs,
/// `kind` and `name` instead, one of observations `kind` and `name`.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "Pair")]
struct PairView<'a> {
    #[serde(flatten)]
    subject: SubjectView<'a>,
    /// What is compared.
    quantity: Quantity,
    /// Of its numbers.
    unit: Unit,
    /// Whether a number behind it is suspect in its own record, or was measured beside other tasks.
    is_suspect: bool,
    /// Those records.
    suspect_records: Vec<&'a str>,
    /// The base; null where it has no such number.
    base: Option<CostView>,
    /// The new records; null where they have no such number.
    new: Option<CostView>,
    #[serde(flatten)]
    outcome: &'a Outcome,
}

/// What is compared: a measured case; a number of two designs; or live tasks.
#[derive(JsonSchema, Serialize)]
#[serde(untagged)]
enum SubjectView<'a> {
    Case(Conditions<'a>),
    Simulated {
        /// The design's name in the base.
        base_design: Option<&'a str>,
        /// The same in the new records.
        new_design: Option<&'a str>,
        /// Simulated: `all` switches, those of a `class` or a `cause`, of a `program`; a `level` of the caches and TLBs, or the
        /// `kernel`. Observed: `all` tasks, those of a `name`, or a `neighbour` that preempted them.
        kind: &'static str,
        /// Of the class, cause, program, level, tasks or neighbour; null for the kernel's threads.
        name: Option<&'a str>,
    },
    Observed {
        /// `all`, `name` or `neighbour`.
        kind: &'static str,
        /// Of the tasks or of the neighbour; null for the kernel's threads.
        name: Option<&'a str>,
    },
    Injected {
        /// What the other task touches.
        footprint_bytes: Bytes,
    },
}

/// One side of a pair.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "Side")]
struct CostView {
    /// The number.
    value: f64,
    /// Lower end of the interval of this side alone.
    low: Option<f64>,
    /// Upper end.
    high: Option<f64>,
    /// Records behind it.
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
        Subject::Case(case) => SubjectView::Case(Conditions::from(case)),
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
