//! Renders a comparison as JUnit XML, with one test for each main number ([`Pair::is_main`]). CI
//! systems display the file as test results.
//!
//! A test fails if its number has grown by more than the limit. A test is an error if its number
//! could not be compared, or if a growth by the limit could not have been detected.

use std::fmt::Write as _;

use switchcost_analysis::compare::{Comparison, Outcome, Pair};

use super::answer;
use super::words::{judged, label, percent, quantity, side};
use crate::plain::plain;

/// Renders a comparison as a JUnit XML file.
pub fn junit(comparison: &Comparison) -> String {
    let tests: Vec<&Pair> = comparison
        .pairs
        .iter()
        .filter(|pair| pair.is_main())
        .collect();
    let count = |is: &dyn Fn(&Pair) -> bool| tests.iter().filter(|pair| is(pair)).count();
    let (failures, errors) = (
        count(&|pair| is_grown(comparison, pair)),
        count(&|pair| pair.is_open() || comparison.is_blind_to_limit()),
    );
    let numbers = format!(
        "tests=\"{}\" failures=\"{failures}\" errors=\"{errors}\"",
        tests.len()
    );
    let mut text = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n".to_owned();
    let _ = writeln!(text, "<testsuites name=\"switchcost\" {numbers}>");
    let _ = writeln!(
        text,
        "  <testsuite name=\"switchcost compare\" {numbers} skipped=\"0\">"
    );
    text.push_str(&properties(comparison));
    tests
        .iter()
        .for_each(|pair| text.push_str(&test(comparison, pair)));
    let _ = writeln!(
        text,
        "    <system-out>{}</system-out>",
        escaped(&answer::answer(comparison))
    );
    text + "  </testsuite>\n</testsuites>\n"
}

/// Returns XML properties that list the differing facts.
fn properties(comparison: &Comparison) -> String {
    let facts = comparison.environment.iter().map(|fact| {
        let values = format!("{}, now {}", fact.base.join(" | "), fact.new.join(" | "));
        format!(
            "      <property name=\"{}\" value=\"{}\"/>\n",
            escaped(&fact.what),
            escaped(&values)
        )
    });
    let facts: String = facts.collect();
    if facts.is_empty() {
        facts
    } else {
        format!("    <properties>\n{facts}    </properties>\n")
    }
}

fn test(comparison: &Comparison, pair: &Pair) -> String {
    let name = format!(
        "    <testcase classname=\"{}\" name=\"{}\"",
        escaped(quantity(pair.quantity)),
        escaped(&label(pair))
    );
    let said = format!("      <system-out>{}</system-out>\n", escaped(&said(pair)));
    let outcome = match &pair.outcome {
        _ if is_grown(comparison, pair) => {
            let limit = percent(comparison.fail_above.unwrap_or_default());
            let message = escaped(&format!("grown by more than {limit}: {}", self::said(pair)));
            format!("      <failure type=\"grown\" message=\"{message}\"/>\n")
        }
        Outcome::NotComparable { why } | Outcome::NotJudged { why, .. } if pair.is_open() => {
            format!(
                "      <error type=\"not-comparable\" message=\"{}\"/>\n",
                escaped(why)
            )
        }
        _ if comparison.is_blind_to_limit() => {
            let limit = percent(comparison.fail_above.unwrap_or_default());
            format!(
                "      <error type=\"no-verdict\" message=\"a growth by the limit of {limit} would not have been shown\"/>\n"
            )
        }
        _ => String::new(),
    };
    format!("{name}>\n{outcome}{said}    </testcase>\n")
}

fn is_grown(comparison: &Comparison, pair: &Pair) -> bool {
    comparison.fail_above.is_some_and(|share| {
        comparison
            .slower_by_more_than(share)
            .any(|grown| std::ptr::eq(grown, pair))
    })
}

/// Formats a pair, such as `2.06 us, now 2.25 us: 1.090 times (1.084 to 1.096), slower`.
fn said(pair: &Pair) -> String {
    let sides = format!(
        "{}, now {}",
        side(pair.base.as_ref(), pair),
        side(pair.new.as_ref(), pair)
    );
    match (judged(pair, "times"), pair.ratio()) {
        (Some(words), _) => format!("{sides}: {words}"),
        (None, Some(ratio)) => format!("{sides}: {ratio:.3} times, without a verdict"),
        (None, None) => sides,
    }
}

/// Escapes text for use between tags and in attributes.
fn escaped(text: &str) -> String {
    plain(text)
        .replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}
