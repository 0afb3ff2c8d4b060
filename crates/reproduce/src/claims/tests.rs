use std::collections::{BTreeMap, BTreeSet};

use strum::IntoEnumIterator;

use super::{Entry, Found, Kind, Rule, Setting, Term, exact, judge_numbers, table};
use crate::interval::Interval;
use crate::testing::Shown;
use crate::{Paper, Records, Verdict};

/// Returns all claims, with their papers and names.
fn entries() -> impl Iterator<Item = (String, Entry)> {
    Paper::iter().flat_map(|paper| {
        let named = move |entry: Entry| (format!("{paper}, {}", entry.id), entry);
        table(paper).into_iter().map(named)
    })
}

#[test]
fn each_claim_has_a_name_an_exhibit_and_a_quantity() {
    for paper in Paper::iter() {
        let table = table(paper);
        let ids: BTreeSet<&str> = table.iter().map(|entry| entry.id.as_str()).collect();
        assert_eq!(ids.len(), table.len(), "{paper}: a name twice");
        let reasons = table
            .iter()
            .flat_map(|entry| &entry.reasons)
            .map(|reason| reason.id.as_str());
        let named: BTreeSet<&str> = ids.iter().copied().chain(reasons).collect();
        let computed: BTreeSet<&str> = paper.quantities().iter().map(|(id, _)| *id).collect();
        assert_eq!(named, computed, "{paper}");
        assert_eq!(
            paper.quantities().len(),
            computed.len(),
            "{paper}: a quantity twice"
        );
        let shown: Vec<String> = paper
            .exhibits(&Records::default())
            .into_iter()
            .map(|exhibit| exhibit.name)
            .collect();
        for entry in &table {
            assert!(
                shown.contains(&entry.exhibit),
                "{paper}, {}: no exhibit {}",
                entry.id,
                entry.exhibit
            );
        }
    }
}

#[test]
fn each_rule_says_where_its_numbers_come_from_and_can_fail() {
    for (name, entry) in entries() {
        assert!(
            !entry.bounds.is_empty() && !entry.place.is_empty(),
            "{name}"
        );
        // Our own claims may depend on open parameters, too.
        let has_free = !entry.free.is_empty();
        assert!(
            entry.kind == Kind::Own || has_free == (entry.kind == Kind::Calibrated),
            "{name}"
        );
        let is_short = |condition: &String| condition.len() <= 125;
        assert_eq!(
            entry.condition.as_ref().map(is_short),
            (entry.kind != Kind::Shown).then_some(true),
            "{name}"
        );
        let (Rule::Every([low, high]) | Rule::Some([low, high])) = entry.rule;
        let condition = entry.condition.as_deref().unwrap_or_default();
        for (place, end) in [("{low", low), ("{high", high)] {
            // An end of 0 or 1 may be an order in words, such as "higher than".
            let is_named = condition.contains(place);
            let is_needed = end.is_finite() && end != 0.0 && end != 1.0;
            assert!(
                is_named == is_needed || (is_named && end == 1.0),
                "{name}: {condition}"
            );
        }
        assert_eq!(
            (entry.kind == Kind::Shown, low < high),
            (!low.is_finite() && !high.is_finite(), true),
            "{name}"
        );
    }
}

/// If a paper prints the numbers of a claim, they must meet the claim's rule, and numbers outside
/// the rule's range must not.
#[test]
fn the_papers_own_numbers_meet_their_rules() {
    let mut with_numbers = 0;
    let judged = entries().filter(|(_, entry)| entry.kind != Kind::Shown);
    for (name, entry) in judged.filter(|(_, entry)| !entry.published.is_empty()) {
        let terms = |numbers: &[f64]| {
            numbers
                .iter()
                .map(|number| exact("", *number))
                .collect::<Vec<_>>()
        };
        let is_bound =
            |number: &f64| matches!(entry.rule, Rule::Every([_, high]) if high == *number);
        // A published bound is not itself below it.
        let found = if entry.published.iter().all(is_bound) {
            vec![entry.published[0] * 0.999]
        } else {
            entry.published.clone()
        };
        assert_eq!(entry.rule.judge(&terms(&found)), Verdict::Holds, "{name}");
        let (Rule::Every([low, high]) | Rule::Some([low, high])) = entry.rule;
        let outside = if high.is_finite() {
            high * 1.1
        } else {
            low * 0.9 - 0.1
        };
        let wrong = vec![outside; entry.published.len()];
        assert_eq!(entry.rule.judge(&terms(&wrong)), Verdict::Differs, "{name}");
        with_numbers += 1;
    }
    assert!(with_numbers > 30, "{with_numbers}");
}

/// A claim whose counter the machine lacks is not counted as inconclusive; one whose step was not
/// run is.
#[test]
fn what_this_machine_cannot_count_is_not_measured() {
    let judged = |why: &str| {
        let entry = table(Paper::Michigan).into_iter();
        let mut counted = entry.filter(|entry| entry.id == "counted-dtlb-kernel");
        let entry = counted.next().expect("a claim of this name");
        judge_numbers(entry, Err(why.to_owned()), &|_| Err(String::new()))
    };
    let lacking = judged("no such counter on this CPU, as in most virtual machines");
    assert_eq!(lacking.verdict, Verdict::NotMeasured);
    assert!(!lacking.counts());
    let not_run = judged("the step michigan-kernel was not run");
    assert_eq!(not_run.verdict, Verdict::Inconclusive);
    assert!(not_run.counts());
}

/// The range over settings is no noise, so it is not widened for several numbers; the interval at
/// each setting is.
#[test]
fn each_setting_is_judged_by_its_own_intervals() {
    let judged = |values: [[f64; 3]; 2]| {
        let mut entries = table(Paper::Mogul1990).into_iter();
        let entry = entries.find(|entry| entry.id == "timesharing-improves");
        let setting = |(name, [value, low, high]): (&str, [f64; 3])| Setting {
            name: name.to_owned(),
            terms: vec![
                Term::new("1b over 1a", Interval::new(0.5, 0.4, 0.6)),
                Term::new("2b over 2a", Interval::new(value, low, high)),
            ],
        };
        let settings = ["usual", "physical-tags"].into_iter().zip(values);
        let found = Found::over(settings.map(setting).collect(), "");
        let claim = judge_numbers(entry.expect("a claim of this name"), Ok(found), &|_| {
            Err(String::new())
        });
        (claim.verdict, claim.missing)
    };
    let above = [1.34, 1.30, 1.38];
    // As one interval, 1.03 to 1.38 about 1.34 would begin at 0.98 after the correction.
    assert_eq!(judged([above, [1.05, 1.03, 1.07]]).0, Verdict::Differs);
    // After the correction for two numbers, 1.001 is 0.992.
    let (verdict, _) = judged([above, [1.05, 1.001, 1.1]]);
    assert_eq!(verdict, Verdict::Inconclusive);
    assert_eq!(judged([[0.8, 0.7, 0.9]; 2]), (Verdict::Holds, None));
    let why = "2b / 2a: physical tags 0.900, usual 1.34";
    assert_eq!(
        judged([above, [0.9, 0.85, 0.95]]),
        (Verdict::Inconclusive, Some(why.to_owned()))
    );
}

#[test]
fn a_quotation_is_short() {
    for (name, entry) in entries() {
        let words = entry
            .quotation
            .iter()
            .flat_map(|words| words.split_whitespace())
            .count();
        assert!(words <= 24, "{name}: {words} words");
    }
}

#[test]
fn without_records_nothing_is_reported() {
    for paper in Paper::iter() {
        let exhibits = paper.exhibits(&Records::default()).into_iter();
        for claim in exhibits.flat_map(|exhibit| exhibit.claims) {
            let id = claim.entry.id;
            assert_eq!(claim.verdict, Verdict::Inconclusive, "{paper}, {id}");
            let is_missing = claim.missing.is_some_and(|why| !why.is_empty());
            assert!(
                is_missing && claim.reasons.is_empty() && claim.found.is_empty(),
                "{paper}, {id}"
            );
        }
    }
}

/// Returns the verdicts on each claim of a paper, by the paper's own numbers and by invented
/// numbers; empty for [`Paper::Lmbench`], which has no claims with a rule.
fn reported(paper: Paper) -> BTreeMap<String, Shown> {
    match paper {
        Paper::Li2007 => crate::li2007::tests::reported(),
        Paper::Michigan => crate::michigan::tests::reported(),
        Paper::Blog => crate::blog::tests::reported(),
        Paper::Lmbench => BTreeMap::new(),
        Paper::Mogul1990 => crate::mogul1990::tests::reported(),
        Paper::Today => crate::today::tests::reported(),
    }
}

/// Checks that every claim with a rule holds by the paper's own numbers
/// and differs by some invented numbers.
#[test]
fn every_claim_holds_by_the_papers_own_numbers_and_differs_by_others() {
    let mut untested = Vec::new();
    for paper in Paper::iter() {
        let reported = reported(paper);
        for entry in table(paper)
            .into_iter()
            .filter(|entry| entry.kind != Kind::Shown)
        {
            let is_tested = reported.get(&entry.id).is_some_and(|reported| {
                reported.by_paper == Verdict::Holds
                    && reported.by_others.contains(&Verdict::Differs)
            });
            if !is_tested {
                untested.push(format!(
                    "{paper}, {}: {:?}",
                    entry.id,
                    reported.get(&entry.id)
                ));
            }
        }
    }
    assert!(
        untested.is_empty(),
        "{} claims without a test of both sides:\n{}",
        untested.len(),
        untested.join("\n")
    );
}
