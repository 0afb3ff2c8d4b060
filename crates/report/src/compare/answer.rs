//! Renders the answer of a comparison in a few sentences, with its basis.

use std::collections::BTreeSet;

use itertools::Itertools;
use switchcost_analysis::compare::{
    Basis, Change, ChangedSwitches, Comparison, Difference, Origin, Outcome, Pair, Part, Quantity,
    RunSpread, Subject, differing,
};

use super::pairs::{changed, changed_numbers, costs, count, nothing};
use super::words::{design, label, percent, quantity, ratio, times};
use super::{calls, observed};
use crate::listing::first_few;
use crate::measure::conditions;
use crate::quantity::{confidence, number, rounded};

/// Maximum number of cases that the answer names.
const CASES_NAMED: usize = 4;

/// Maximum number of designs that the answer names.
const DESIGNS_NAMED: usize = 2;

/// Returns the first sentences of the report: the outcome of the comparison.
pub(super) fn answer(comparison: &Comparison) -> String {
    let shown = match comparison.basis {
        Basis::Runs => {
            runs_sentence(comparison) + &changed_switches(comparison) + &calls::sentence(comparison)
        }
        Basis::Injections => runs_sentence(comparison),
        Basis::Observations => observed::answer(comparison),
        Basis::SameTrace | Basis::SameTraces | Basis::OtherTraces | Basis::SingleTrace => {
            simulations_sentence(comparison)
        }
    };
    let has_change = [Change::Slower, Change::Faster]
        .into_iter()
        .any(|change| count(comparison, change) > 0);
    let across = across(comparison);
    let others = environment(&comparison.environment, has_change && across.is_empty());
    shown + &across + &others
}

/// Returns a sentence on the conditions that differ between the sides because `--across` joins
/// their cases.
fn across(comparison: &Comparison) -> String {
    let changed = comparison.pairs.iter().filter_map(|pair| {
        let conditions = differing(pair.case()?, pair.new_case.as_ref()?);
        let mut words = conditions
            .into_iter()
            .filter(|(base, new)| !base.is_empty() && !new.is_empty())
            .map(|(base, new)| format!("{new} instead of {base}"));
        Some(words.join(", "))
    });
    let changed: BTreeSet<String> = changed.collect();
    match changed.into_iter().collect::<Vec<_>>().as_slice() {
        [] => String::new(),
        [one] => format!(" New has {one}."),
        _ => " The sides differ in the conditions that --across names.".to_owned(),
    }
}

/// Maximum number of facts that the answer names.
const FACTS_NAMED: usize = 3;
const LONGEST_VALUE: usize = 60;

/// Returns a sentence on differences of the environment, which may have caused a change of the
/// costs.
fn environment(facts: &[Difference], may_be_cause: bool) -> String {
    let effective = facts.iter().filter(|fact| !fact.is_without_effect);
    let named: Vec<String> = effective.map(fact).collect();
    let (cause, causes) = match may_be_cause {
        true => (", which may be the cause", " may be the cause"),
        false => ("", " are in the table"),
    };
    match named.as_slice() {
        [] => String::new(),
        [one] => match traces(one) {
            Some(traces) => format!(" The traces differ{cause}: {traces}."),
            None => format!(" The sides also differ in one fact{cause}: {one}."),
        },
        few if few.len() <= FACTS_NAMED => {
            format!(
                " The sides also differ in {} facts{cause}: {}.",
                few.len(),
                few.join("; ")
            )
        }
        many => format!(" {} other differences{causes}.", many.len()),
    }
}

/// Returns the text in parentheses of a formatted fact `workload (a, now b)`; `None` for other
/// facts.
fn traces(fact: &str) -> Option<&str> {
    fact.strip_prefix("workload (")?.strip_suffix(')')
}

/// Formats a differing fact, such as `seccomp filters (0, now 5)`. Long values are left out.
fn fact(difference: &Difference) -> String {
    let [base, new] = [&difference.base, &difference.new].map(|values| values.join(" | "));
    match base.chars().count() + new.chars().count() <= LONGEST_VALUE {
        true => format!("{} ({base}, now {new})", difference.what),
        false => difference.what.clone(),
    }
}

fn runs_sentence(comparison: &Comparison) -> String {
    let (slower, faster) = (
        count(comparison, Change::Slower),
        count(comparison, Change::Faster),
    );
    let of = costs(comparison.compared);
    let all = match comparison.compared {
        2 => "both costs".to_owned(),
        _ => format!("all {of}"),
    };
    let changed = changed(slower, faster, &of);
    let largest = largest_change(comparison);
    match slower + faster {
        _ if comparison.compared == 0 => nothing(comparison),
        0 => format!(
            "No significant difference in {of}. A change smaller than the interval may still exist."
        ),
        1 => {
            let what = largest.map_or(String::new(), |(name, times)| {
                format!(": {name} takes {times}")
            });
            let verdict = if slower == 1 { "slower" } else { "faster" };
            match comparison.compared {
                1 => format!("New is {verdict}{what}."),
                all => format!("New is {changed}{what}. {}.", describe_others(all - 1)),
            }
        }
        _ => {
            let what = match (slower, faster) {
                _ if slower == comparison.compared => format!("New is slower in {all}."),
                _ if faster == comparison.compared => format!("New is faster in {all}."),
                (1.., 1..) => format!("New is {changed}."),
                _ => format!(
                    "New is {changed}. {}.",
                    describe_others(comparison.compared.saturating_sub(slower + faster))
                ),
            };
            what + &largest.map_or(String::new(), |(name, times)| {
                format!(" The most affected is {name}, which takes {times}.")
            })
        }
    }
}

/// Returns the sentence on the costs without a significant difference, whose number is `unchanged`.
fn describe_others(unchanged: usize) -> &'static str {
    match unchanged {
        1 => "The other shows no significant difference",
        _ => "The others show no significant difference",
    }
}

/// Returns the name and the ratio of the pair whose interval is furthest from 1, such as `pipe
/// process` and `1.200 times as long (1.150 to 1.250)`; `None` if no pair differs significantly.
fn largest_change(comparison: &Comparison) -> Option<(String, String)> {
    let is_changed = |pair: &&Pair| matches!(pair.outcome, Outcome::Compared { verdict, .. } if verdict != Change::NoDifferenceShown);
    let changed = comparison.pairs.iter().filter(is_changed);
    let largest = changed.max_by(|a, b| a.least_change().total_cmp(&b.least_change()))?;
    let name = match &largest.subject {
        Subject::Injected { .. } => format!("a preemption with {}", label(largest)),
        _ => label(largest),
    };
    Some((name, times(largest, "times as long")?))
}

/// Returns true if the answer names every fact in `facts` with its values, so that a table would
/// add nothing.
pub(super) fn names_all(facts: &[Difference]) -> bool {
    facts.len() <= FACTS_NAMED
        && facts
            .iter()
            .all(|one| !one.is_without_effect && fact(one) != one.what)
}

/// Returns a sentence on hand-offs whose number of switches changed. The switches are counted, not
/// timed.
fn changed_switches(comparison: &Comparison) -> String {
    let one = |changed: &ChangedSwitches| {
        format!(
            " A hand-off takes {} switches instead of {}: {}.",
            number(changed.new),
            number(changed.base),
            conditions::label(&changed.case)
        )
    };
    let more = comparison.switches.len().saturating_sub(CASES_NAMED);
    let mut text: String = comparison
        .switches
        .iter()
        .take(CASES_NAMED)
        .map(one)
        .collect();
    if more > 0 {
        text += &format!(" So do the hand-offs of {more} more cases.");
    }
    text
}

/// Returns sentences on the cost of a switch and the CPI under each design, and on how many of all
/// numbers differ.
fn simulations_sentence(comparison: &Comparison) -> String {
    let is_cpi = |pair: &&Pair| pair.quantity == Quantity::CyclesPerInstruction;
    let with_cost = |cpi: &Pair| {
        let cost = comparison
            .pairs
            .iter()
            .find(|pair| is_cost_of_a_switch(pair) && pair.subject == cpi.subject);
        design_sentences(cpi, cost)
    };
    let sentences: Vec<String> = comparison
        .pairs
        .iter()
        .filter(is_cpi)
        .filter_map(with_cost)
        .collect();
    if comparison.compared == 0 && sentences.is_empty() {
        return nothing(comparison);
    }
    // If more designs were compared than fit here, the table lists them, and the first design is
    // the example.
    let named = match sentences.len() {
        all if all > DESIGNS_NAMED => 1,
        all => all,
    };
    let more = sentences.len() - named;
    let mut text: String = sentences.into_iter().take(named).collect();
    if more > 0 {
        let (designs, are) = match more {
            1 => ("design", "is"),
            _ => ("designs", "are"),
        };
        text += &format!("The {more} other {designs} {are} in the table. ");
    }
    text + &changed_numbers(comparison)
}

fn is_cost_of_a_switch(pair: &Pair) -> bool {
    let is_all = matches!(&pair.subject, Subject::Simulated(place) if place.part == Part::All);
    is_all && pair.quantity == Quantity::AverageCost
}

fn design_sentences(cpi: &Pair, cost: Option<&Pair>) -> Option<String> {
    let Subject::Simulated(place) = &cpi.subject else {
        return None;
    };
    let design = design(place);
    let instruction = cpi_sentence(cpi);
    let switch = cost.and_then(|pair| switch_sentence(&design, pair));
    match (switch, instruction) {
        (None, None) => None,
        (Some(switch), instruction) => {
            Some(switch + &instruction.map_or(String::new(), |words| format!("The CPI {words}. ")))
        }
        (None, Some(words)) => Some(format!("On {design}, the CPI {words}. ")),
    }
}

/// Returns a sentence on the cost of a switch under a design; `None` if the cost has no verdict.
fn switch_sentence(design: &str, cost: &Pair) -> Option<String> {
    let [base, new] = [cost.base?, cost.new?].map(|cost| rounded(cost.value));
    let ratio = ratio(cost)?;
    Some(match &cost.outcome {
        Outcome::Compared {
            verdict: Change::NoDifferenceShown,
            ..
        } => format!(
            "On {design}, the cost of a switch shows no significant difference: {new} cycles instead of {base}; {ratio}. "
        ),
        _ => format!("On {design}, a switch now costs {new} cycles instead of {base}; {ratio}. "),
    })
}

/// Returns the predicate of a sentence on the CPI, such as `falls from 1.27 to 1.25`; `None` if a
/// side has no CPI.
fn cpi_sentence(cpi: &Pair) -> Option<String> {
    let (base, new) = cpi.base.zip(cpi.new)?;
    let [old, now] = [base, new].map(|cpi| number(cpi.value));
    let is_significant = matches!(cpi.outcome, Outcome::Compared { verdict, .. } if verdict != Change::NoDifferenceShown);
    Some(match now == old {
        true if is_significant => {
            let verb = if new.value > base.value {
                "rises"
            } else {
                "falls"
            };
            format!("rounds to {now} on both sides, but {verb} slightly (see the table)")
        }
        true => format!("remains {now}"),
        false => {
            let verb = if new.value > base.value {
                "rises"
            } else {
                "falls"
            };
            let doubt = match &cpi.outcome {
                Outcome::Compared {
                    verdict: Change::NoDifferenceShown,
                    ..
                } => ", which is not significant",
                _ => "",
            };
            format!("{verb} from {old} to {now}{doubt}")
        }
    })
}

/// Returns a sentence on the joint confidence of all intervals.
pub(super) fn intervals_hold(comparison: &Comparison) -> String {
    let percent = confidence(comparison.confidence);
    match comparison.compared {
        1 => format!("The interval holds with {percent} confidence."),
        2 => format!("Both intervals hold together with {percent} confidence."),
        all => format!("All {all} intervals together hold with {percent} confidence."),
    }
}

/// Returns a sentence on the source of the intervals' width; `None` if the width needs no
/// explanation.
pub(super) fn basis(comparison: &Comparison) -> Option<String> {
    let text = match comparison.basis {
        Basis::Runs | Basis::Injections => return run_spread_sentence(comparison),
        Basis::Observations => return Some(observed::basis(comparison)),
        Basis::SameTrace => {
            "The intervals hold for this trace only. For a more general result, give several traces."
        }
        Basis::SameTraces => "The intervals are from the spread of the differences between traces.",
        Basis::OtherTraces => "The intervals are from the spread between the traces of each side.",
        Basis::SingleTrace => {
            "With one trace per side, the spread between traces is unknown, so the intervals may be too narrow. Give the same trace \
             to both sides, or several to each."
        }
    };
    Some(text.to_owned())
}

fn run_spread_sentence(comparison: &Comparison) -> Option<String> {
    let spread = comparison.run_spread?;
    // A spread from the command line applies to all cases.
    let across = comparison
        .run_spread_across_cpus
        .filter(|across| *across != spread);
    let across = across.map(|across| {
        let (differ, share, origin) = spread_words(across);
        format!(" Hand-offs across CPUs {differ} by {share}{origin}.")
    });
    let clock = comparison.hertz.map(|hertz| {
        format!(
            " Costs are converted to a core clock of {:.2} GHz.",
            hertz / 1e9
        )
    });
    let how_measured = match spread.origin {
        Origin::Assumed => "; with more records of each side this is measured",
        _ => "",
    };
    let (differ, share, origin) = spread_words(spread);
    Some(format!(
        "Runs {differ} by {share} (standard deviation) in addition to their own intervals{origin}{how_measured}.{}{}",
        across.unwrap_or_default(),
        clock.unwrap_or_default()
    ))
}

/// Returns three phrases about the spread between runs: the verb, the spread in percent, and its
/// source.
fn spread_words(spread: RunSpread) -> (&'static str, String, &'static str) {
    let (differ, origin) = match spread.origin {
        Origin::Records => ("differ", ", from these records and typical values"),
        Origin::EarlierRecords => (
            "differ",
            ", from earlier records of this machine and typical values",
        ),
        Origin::Given => ("differ", ", as given with --run-spread"),
        Origin::Assumed => ("are assumed to differ", ""),
    };
    // At most two digits of the spread are significant.
    let share = percent((spread.share * 1000.0).round() / 1000.0);
    (differ, share, origin)
}

/// Returns a sentence on the result of `--fail-above`. The sentence names up to `most_named` costs
/// that grew by more than the limit.
pub(super) fn limit(comparison: &Comparison, share: f64, most_named: usize) -> String {
    let over: Vec<String> = comparison
        .slower_by_more_than(share)
        .map(|pair| format!("{} ({})", label(pair), quantity(pair.quantity)))
        .collect();
    let percent = percent(share);
    if !over.is_empty() {
        let over = first_few(&over, most_named, "; ");
        return format!("Grown by more than {percent}: {over}.");
    }
    let what = match comparison.basis {
        Basis::Observations => "number",
        _ => "cost",
    };
    if comparison.is_blind_to_limit() {
        return format!(
            "No verdict: growth by the limit of {percent} would not have been detected.{}",
            could_have_shown(comparison, share)
        );
    }
    let by = if share == 0.0 {
        String::new()
    } else {
        format!(" by more than the limit of {percent}")
    };
    format!(
        "No {what} grew significantly{by}.{}",
        could_have_shown(comparison, share)
    )
}

/// Least growth, as a share of 1, that is not printed as 0.0 %.
const SMALLEST_GROWTH: f64 = 0.0005;

/// Returns a sentence on the smallest growth that the gate `--fail-above` could have detected, if
/// no cost exceeded the limit.
fn could_have_shown(comparison: &Comparison, share: f64) -> String {
    // Numbers that are counted rather than sampled show any growth.
    let Some(shown) = comparison
        .shown_growths(share)
        .filter(|shown| shown.most >= SMALLEST_GROWTH)
    else {
        return String::new();
    };
    let percent = |growth: f64| format!("{:.1} %", growth * 100.0);
    let range = match (percent(shown.least), percent(shown.most)) {
        (least, _) if shown.most.is_infinite() => {
            format!("{least} or more would have been detected, but in some numbers none")
        }
        (least, most) if least == most => format!("{least} or more would have been detected"),
        (_, most) => format!("{most} or more would have been detected in each number"),
    };
    let missed = match shown.beyond_limit {
        0 => String::new(),
        // A limit of 0 is below every growth that can be shown.
        _ if share == 0.0 => String::new(),
        missed => {
            format!(
                " For {missed} of {} numbers this is more than the limit; give more records of each side.",
                shown.numbers
            )
        }
    };
    format!(" Growth of {range}.{missed}")
}
