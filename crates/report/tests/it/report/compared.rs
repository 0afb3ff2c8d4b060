//! A synthetic comparison: mechanisms, a curve over sizes, a pair without a verdict.

use switchcost_analysis::compare::{
    Basis, Change, Comparison, Cost, Difference, Outcome, Pair, Quantity, Ratio, Request, Subject,
};
use switchcost_record::{Between, Case, Mechanism};

use super::fixture::{case, sized};

fn cost(ns: f64) -> Option<Cost> {
    Some(Cost {
        value: ns,
        interval: Some((ns * 0.97, ns * 1.04)),
        records: 3,
    })
}

fn pair(case: Case, quantity: Quantity, base_ns: f64, ratio: f64) -> Pair {
    let verdict = match ratio {
        ratio if ratio > 1.05 => Change::Slower,
        ratio if ratio < 0.95 => Change::Faster,
        _ => Change::NoDifferenceShown,
    };
    let outcome = Outcome::Compared {
        ratio: Ratio {
            ratio,
            low: ratio - 0.05,
            high: ratio + 0.05,
        },
        verdict,
    };
    Pair {
        subject: Subject::Case(case),
        new_case: None,
        quantity,
        is_suspect: false,
        suspect_records: Vec::new(),
        base: cost(base_ns),
        new: cost(base_ns * ratio),
        outcome,
    }
}

/// Makes a comparison whose environment differs in one fact, with these values.
pub(crate) fn comparison(base: &str, new: &str, request: Request<'_>) -> Comparison {
    use Between::{Process, Thread};
    let hand_off = |mechanism, between, ns, ratio| {
        pair(case(mechanism, between), Quantity::HandOff, ns, ratio)
    };
    let mut pairs = vec![
        hand_off(Mechanism::Pipe, Process, 1_740.0, 1.2),
        hand_off(Mechanism::Futex, Thread, 1_400.0, 0.8),
        hand_off(Mechanism::Tcp, Process, 6_000.0, 1.0),
    ];
    pairs[2].new = None;
    pairs[2].outcome = Outcome::NotComparable {
        why: "the new record has no such case".to_owned(),
    };
    pairs.extend([4, 16, 64, 256].map(|kib| {
        let ns = 2_000.0 + 40.0 * kib as f64;
        pair(sized(2, kib), Quantity::Total, ns, 1.0)
    }));
    Comparison {
        environment: vec![Difference {
            what: "kernel".to_owned(),
            base: vec![base.to_owned()],
            new: vec![new.to_owned()],
            ..Difference::default()
        }],
        ..Comparison::new(Basis::Runs, (pairs, 6), None, request)
    }
}
