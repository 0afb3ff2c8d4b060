use analysis::compare::{Comparison, Cost, Difference, Outcome, Quantity};
use serde::Serialize;

use super::{COMPARE_SCHEMA, Request};
use crate::case::CaseView;
use crate::for_programs::json;

#[derive(Serialize)]
struct View<'a> {
    schema: &'static str,
    base_records: &'a [String],
    new_records: &'a [String],
    confidence: f64,
    compared: usize,
    assumed_run_spread: Option<f64>,
    fail_above: Option<f64>,
    slower_than_allowed: Option<usize>,
    environment: &'a [Difference],
    pairs: Vec<PairView<'a>>,
}

#[derive(Serialize)]
struct PairView<'a> {
    #[serde(flatten)]
    case: CaseView<'a>,
    quantity: Quantity,
    is_suspect: bool,
    base: Option<CostView>,
    new: Option<CostView>,
    #[serde(flatten)]
    outcome: &'a Outcome,
}

#[derive(Serialize)]
struct CostView {
    ns: f64,
    low_ns: Option<f64>,
    high_ns: Option<f64>,
    records: usize,
}

impl From<Cost> for CostView {
    fn from(cost: Cost) -> Self {
        let (low_ns, high_ns) = cost.interval.unzip();
        CostView { ns: cost.value, low_ns, high_ns, records: cost.records }
    }
}

pub(super) fn render(comparison: &Comparison, request: &Request<'_>) -> String {
    let pairs = comparison.pairs.iter().map(|pair| PairView {
        case: CaseView::from(&pair.case),
        quantity: pair.quantity,
        is_suspect: pair.is_suspect,
        base: pair.base.map(CostView::from),
        new: pair.new.map(CostView::from),
        outcome: &pair.outcome,
    });
    json(&View {
        schema: COMPARE_SCHEMA,
        base_records: request.base,
        new_records: request.new,
        confidence: comparison.confidence,
        compared: comparison.compared,
        assumed_run_spread: comparison.assumed_run_spread,
        fail_above: request.fail_above,
        slower_than_allowed: request.fail_above.map(|share| comparison.slower_by_more_than(share).count()),
        environment: &comparison.environment,
        pairs: pairs.collect(),
    })
}
