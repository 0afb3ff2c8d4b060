use schemars::JsonSchema;
use serde::Serialize;

use super::{Entry, Found, Kind, Quantities, ReasonEntry, Rule, Term, Verdict};
use crate::Records;

/// A statement of a paper, and whether it is reproduced here.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct Claim {
    /// Entry of the claim in the table, without its reasons.
    #[serde(flatten)]
    pub entry: Entry,
    /// Numbers found in this result.
    pub terms: Vec<Term>,
    /// Numbers found, in words, with notes; empty if there are none.
    pub found: String,
    /// Verdict of the rule; if there are other results, the verdict on which all agree.
    pub verdict: Verdict,
    /// Verdict of the rule on this result alone.
    pub alone: Verdict,
    /// Results of the claim from other days or machines.
    pub others: Vec<Other>,
    /// Data that is missing, if the claim cannot be judged.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub missing: Option<String>,
    /// Evidence of the runs on each possible reason, for a claim that is not met.
    pub reasons: Vec<Reason>,
    /// Reasons that the runs support, or "no reason found", for a claim that is not met.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why_not: Option<String>,
}

/// Text for a claim that is not met, if it has no possible reasons or the runs refute all of them.
const NO_REASON: &str = "no reason found";

/// Returns the statements of the reasons that the runs support, or else of the reasons that the
/// runs neither support nor refute.
fn supported(reasons: &[Reason]) -> String {
    let with = |verdict: Verdict| {
        let found = reasons
            .iter()
            .filter(move |reason| reason.verdict == verdict);
        let statements: Vec<&str> = found.map(|reason| reason.statement.as_str()).collect();
        statements.join("; ")
    };
    match (with(Verdict::Holds), with(Verdict::Inconclusive)) {
        (shown, _) if !shown.is_empty() => shown,
        (_, open) if !open.is_empty() => format!("no confirmed reason; a possible one: {open}"),
        _ => NO_REASON.to_owned(),
    }
}

/// Another result on a claim.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct Other {
    /// File of the result.
    pub file: String,
    /// Machine of the result, in one line.
    pub machine: String,
    /// Numbers of the result.
    pub terms: Vec<Term>,
    /// Verdict of the rule on this result.
    pub verdict: Verdict,
}

impl Other {
    /// Formats the numbers of the result. A single number is formatted without its name.
    pub(crate) fn numbers(&self) -> String {
        match &self.terms[..] {
            [one] => one.value_words(),
            all => all.iter().map(Term::words).collect::<Vec<_>>().join("; "),
        }
    }
}

/// A possible reason, tested.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct Reason {
    /// Reason for the verdict, as a sentence.
    pub statement: String,
    /// Name of the computed quantity.
    pub quantity: String,
    /// Rule for the numbers that support the reason.
    pub rule: Rule,
    /// Step whose run shows the reason.
    pub run: String,
    /// Numbers found for the reason.
    pub terms: Vec<Term>,
    /// Numbers found, in words, or what is missing.
    pub found: String,
    /// Whether the run supports the reason.
    pub verdict: Verdict,
}

impl Claim {
    /// Returns true if the claim is the paper's own and has a rule, so that its verdict is counted.
    pub fn counts(&self) -> bool {
        matches!(self.entry.kind, Kind::Tested | Kind::Calibrated)
    }

    /// Returns the first number whose interval leaves the claim inconclusive; `None` if there is
    /// none.
    pub fn open_term(&self) -> Option<&Term> {
        let is_open = |term: &&Term| {
            let verdict = self.entry.judge(std::slice::from_ref(*term));
            verdict == Verdict::Inconclusive && !term.is_exact()
        };
        let is_judged = self.entry.kind != Kind::Shown && self.entry.open.is_none();
        let mut terms = self.terms.iter().filter(is_open);
        terms
            .next()
            .filter(|_| is_judged && self.alone == Verdict::Inconclusive)
    }

    /// Removes the verdict and the reasons. A quick run only shows that the steps work.
    pub fn withhold(&mut self) {
        self.leave_open(
            "not judged: --quick has too few sizes and too little time for verdicts".to_owned(),
        );
        self.reasons.clear();
    }

    /// Makes the verdict inconclusive, because of what is `missing`.
    pub(crate) fn leave_open(&mut self, missing: String) {
        (self.verdict, self.missing, self.why_not) = (Verdict::Inconclusive, Some(missing), None);
    }
}

pub(super) fn claim(
    entry: Entry,
    quantities: &Quantities,
    records: &Records,
    variants: &Result<Vec<Records>, String>,
) -> Claim {
    let found = if entry.over_free {
        over_variants(&entry.id, quantities, records, variants)
    } else {
        quantity(&entry.id, quantities, records)
    };
    judge_numbers(entry, found, &|reason| {
        quantity(&reason.id, quantities, records)
    })
}

/// Judges a claim by the numbers found. If the claim is not met, each possible reason is judged,
/// too.
pub(crate) fn judge_numbers(
    mut entry: Entry,
    found: Result<Found, String>,
    of_reason: &dyn Fn(&ReasonEntry) -> Result<Found, String>,
) -> Claim {
    let (terms, words, verdict, missing) = judged(&|terms| entry.judge(terms), found);
    let missing = entry
        .open
        .clone()
        .or(missing)
        .filter(|_| entry.kind != Kind::Shown || terms.is_empty());
    let untested = std::mem::take(&mut entry.reasons);
    let tested = untested
        .into_iter()
        .filter(|_| verdict == Verdict::Differs)
        .map(|reason| {
            let found = of_reason(&reason);
            let (terms, words, verdict, missing) =
                judged(&|terms| reason.rule.judge_noisy(terms), found);
            let found = if terms.is_empty() {
                missing.unwrap_or_default()
            } else {
                words
            };
            let (statement, quantity) = (reason.statement, reason.quantity);
            Reason {
                statement,
                quantity,
                rule: reason.rule,
                run: reason.run,
                terms,
                found,
                verdict,
            }
        });
    let reasons: Vec<Reason> = tested.collect();
    let why_not = (verdict == Verdict::Differs).then(|| supported(&reasons));
    Claim {
        entry,
        terms,
        found: words,
        verdict,
        alone: verdict,
        others: Vec::new(),
        missing,
        reasons,
        why_not,
    }
}

fn over_variants(
    id: &str,
    quantities: &Quantities,
    records: &Records,
    variants: &Result<Vec<Records>, String>,
) -> Result<Found, String> {
    let (_, quantity) = quantities
        .iter()
        .find(|(name, _)| *name == id)
        .ok_or("nothing computes it")?;
    super::variants::over_variants(*quantity, records, variants)
}

fn quantity(id: &str, quantities: &Quantities, records: &Records) -> Result<Found, String> {
    let found = quantities.iter().find(|(name, _)| *name == id);
    found.map_or_else(
        || Err("nothing computes it".to_owned()),
        |(_, quantity)| quantity(records),
    )
}

type Judged = (Vec<Term>, String, Verdict, Option<String>);

/// Applies a rule to numbers. Numbers that are not finite count as missing.
fn judged(judge: &dyn Fn(&[Term]) -> Verdict, found: Result<Found, String>) -> Judged {
    let is_finite = |term: &Term| {
        [term.value, term.low, term.high]
            .iter()
            .all(|number| number.is_finite())
    };
    let none = |why: String| (Vec::new(), String::new(), Verdict::Inconclusive, Some(why));
    match found {
        Err(why) => none(why),
        Ok(found) if !found.terms.iter().all(is_finite) => {
            none("a number is missing, or has no interval".to_owned())
        }
        Ok(found) => {
            let verdict = judge(&found.terms);
            let missing = (verdict == Verdict::Inconclusive).then(|| open(judge, &found.terms));
            (found.terms.clone(), found.words(), verdict, missing)
        }
    }
}

/// Explains why a verdict is inconclusive, by the first number whose interval allows both verdicts.
fn open(judge: &dyn Fn(&[Term]) -> Verdict, terms: &[Term]) -> String {
    let is_open = |term: &&Term| judge(std::slice::from_ref(*term)) == Verdict::Inconclusive;
    match terms.iter().find(is_open) {
        Some(term) if term.is_exact() => {
            "a number that varies from run to run has no interval".to_owned()
        }
        Some(term) => format!(
            "the interval, {}, allows both verdicts",
            term.interval_words()
        ),
        None if terms.is_empty() => "no number was found".to_owned(),
        None => format!(
            "after correction for {} numbers, the deciding interval allows both verdicts",
            terms.len()
        ),
    }
}
