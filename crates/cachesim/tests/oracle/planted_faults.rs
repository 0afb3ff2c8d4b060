//! Tests the property tests: they must detect each of a set of small faults planted in the oracle.

use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::TestRunner;
use strum::IntoEnumIterator;

use crate::agreement::options;
use crate::findings::{compare, of_oracle, run_oracle};
use crate::random::designs::design;
use crate::random::streams::stream;
use crate::support::fault::Fault;

/// Number of cases, as in the test `any_design_on_any_stream`.
const MOST_CASES: u32 = 300;

#[test]
fn each_planted_fault_is_noticed() {
    let mut runner = TestRunner::deterministic();
    let cases = (design(), options(), stream(150));
    let mut unnoticed: Vec<Fault> = Fault::iter().collect();
    let count = unnoticed.len();
    assert!(count >= 10);
    for case in 1..=MOST_CASES {
        let (design, options, stream) = cases.new_tree(&mut runner).expect("a case").current();
        let findings = |fault| {
            let oracle = run_oracle(
                std::slice::from_ref(&design),
                &options,
                std::slice::from_ref(&stream),
                fault,
            );
            of_oracle(&oracle, &[true], options.places)
        };
        let right = findings(None);
        unnoticed.retain(|&fault| match compare(&findings(Some(fault)), &right) {
            Ok(()) => true,
            Err(report) => {
                println!("{fault:?} noticed in case {case}: {report}");
                false
            }
        });
    }
    assert!(
        unnoticed.is_empty(),
        "{} of {count} not noticed in {MOST_CASES} cases: {unnoticed:?}",
        unnoticed.len()
    );
}
