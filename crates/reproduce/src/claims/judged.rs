use schemars::JsonSchema;
use serde::Serialize;

use super::{
    Entry, Found, Kind, Quantities, ReasonEntry, Rule, Setting, Term, Variants, Verdict, agreed,
    cases,
};
use crate::{Outcome, Records};

/// A statement of a paper, and whether it is reproduced here.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct Claim {
    /// Entry of the claim in the table, without its reasons.
    #[serde(flatten)]
    pub entry: Entry,
    /// Numbers found in this result.
    pub terms: Vec<Term>,
    /// The numbers at each setting of the open parameters; the verdict is that on which all agree.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub settings: Vec<Setting>,
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

/// Beginning of the reason why a record has no counts, on a machine that lacks the counter.
const NO_COUNTER: &str = "no such counter";

/// Returns the statements of the reasons with this verdict.
fn statements(reasons: &[Reason], verdict: Verdict) -> String {
    let found = reasons.iter().filter(|reason| reason.verdict == verdict);
    let statements: Vec<&str> = found.map(|reason| reason.statement.as_str()).collect();
    statements.join("; ")
}

/// Returns why a claim is not met: the statements of the reasons that the runs support, or else of
/// the reasons that the runs neither support nor refute, or else of those that they refute.
fn supported(reasons: &[Reason]) -> String {
    let [shown, open, refuted] = [Verdict::Holds, Verdict::Inconclusive, Verdict::Differs]
        .map(|verdict| statements(reasons, verdict));
    if !shown.is_empty() {
        shown
    } else if !open.is_empty() {
        format!("no confirmed reason; a possible one: {open}")
    } else if !refuted.is_empty() {
        format!("no reason found; refuted by a run: {refuted}")
    } else {
        "no reason was tested".to_owned()
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
    /// Numbers of the result at each setting of the open parameters.
    #[serde(skip)]
    pub settings: Vec<Setting>,
    /// Verdict of the rule on this result.
    pub verdict: Verdict,
}

impl Other {
    /// Formats up to two numbers of the result, or the count of more. A single number is formatted
    /// without its name.
    pub(crate) fn numbers(&self) -> String {
        match &self.terms[..] {
            [one] => one.value_words(),
            [one, two] => format!("{}; {}", one.words(), two.words()),
            all => format!("{} numbers", all.len()),
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
    /// Returns true if the claim is the paper's own, has a rule, and can be measured on this
    /// machine, so that its verdict is counted.
    pub fn counts(&self) -> bool {
        let is_of_paper = matches!(self.entry.kind, Kind::Tested | Kind::Calibrated);
        is_of_paper && self.verdict != Verdict::NotMeasured
    }

    /// Returns the first number whose interval leaves the claim inconclusive; `None` if there is
    /// none.
    pub fn open_term(&self) -> Option<&Term> {
        let is_open = |term: &&Term| {
            let verdict = self.entry.judge(std::slice::from_ref(*term));
            verdict == Verdict::Inconclusive && !term.is_exact()
        };
        let is_judged = self.entry.kind != Kind::Shown;
        let mut terms = self.terms.iter().filter(is_open);
        terms
            .next()
            .filter(|_| is_judged && self.alone == Verdict::Inconclusive)
    }

    /// Returns the first number that does not meet the rule; `None` if each number meets it, or may.
    pub fn unmet_term(&self) -> Option<&Term> {
        let is_unmet =
            |term: &&Term| self.entry.judge(std::slice::from_ref(*term)) == Verdict::Differs;
        self.terms.iter().find(is_unmet)
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
    variants: &Outcome<Variants>,
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
/// too; if it is inconclusive, each reason that has numbers.
pub(crate) fn judge_numbers(
    mut entry: Entry,
    found: Outcome,
    of_reason: &dyn Fn(&ReasonEntry) -> Outcome,
) -> Claim {
    let (found, verdict, missing) = judged(&|terms| entry.judge(terms), found);
    let missing = missing.filter(|_| entry.kind != Kind::Shown || found.terms.is_empty());
    let untested = std::mem::take(&mut entry.reasons);
    let tested = untested
        .into_iter()
        .filter(|_| verdict != Verdict::Holds && !found.terms.is_empty())
        .map(|reason| test_reason(reason, of_reason))
        .filter(|reason| verdict == Verdict::Differs || !reason.terms.is_empty());
    let reasons: Vec<Reason> = tested.collect();
    let why_not = match verdict {
        Verdict::Differs => Some(supported(&reasons)),
        _ => Some(statements(&reasons, Verdict::Holds)).filter(|shown| !shown.is_empty()),
    };
    Claim {
        entry,
        found: found.words(),
        terms: found.terms,
        settings: found.settings,
        verdict,
        alone: verdict,
        others: Vec::new(),
        missing,
        reasons,
        why_not,
    }
}

fn test_reason(reason: ReasonEntry, of_reason: &dyn Fn(&ReasonEntry) -> Outcome) -> Reason {
    let numbers = of_reason(&reason);
    let (found, verdict, missing) = judged(&|terms| reason.rule.judge_noisy(terms), numbers);
    let words = if found.terms.is_empty() {
        missing.unwrap_or_default()
    } else {
        found.words()
    };
    Reason {
        statement: reason.statement,
        quantity: reason.quantity,
        rule: reason.rule,
        run: reason.run,
        terms: found.terms,
        found: words,
        verdict,
    }
}

fn over_variants(
    id: &str,
    quantities: &Quantities,
    records: &Records,
    variants: &Outcome<Variants>,
) -> Outcome {
    let (_, quantity) = quantities
        .iter()
        .find(|(name, _)| *name == id)
        .ok_or("nothing computes it")?;
    super::variants::over_variants(*quantity, records, variants)
}

fn quantity(id: &str, quantities: &Quantities, records: &Records) -> Outcome {
    let found = quantities.iter().find(|(name, _)| *name == id);
    found.map_or_else(
        || Err("nothing computes it".to_owned()),
        |(_, quantity)| quantity(records),
    )
}

/// Applies a rule to numbers, at each setting of open parameters. Returns the numbers, the verdict,
/// and what is missing for a verdict. Numbers that are not finite count as missing.
fn judged(judge: &dyn Fn(&[Term]) -> Verdict, found: Outcome) -> (Found, Verdict, Option<String>) {
    let is_finite = |term: &Term| {
        [term.value, term.low, term.high]
            .iter()
            .all(|number| number.is_finite())
    };
    match found {
        Err(why) if why.starts_with(NO_COUNTER) => {
            (Found::default(), Verdict::NotMeasured, Some(why))
        }
        Err(why) => (Found::default(), Verdict::Inconclusive, Some(why)),
        Ok(found) if !found.terms.iter().all(is_finite) => {
            let why = "a number is missing, or has no interval".to_owned();
            (Found::default(), Verdict::Inconclusive, Some(why))
        }
        Ok(found) => {
            let cases = cases(&found.terms, &found.settings);
            let verdict = agreed(cases.into_iter().map(judge));
            let missing = (verdict == Verdict::Inconclusive).then(|| open(judge, &found));
            (found, verdict, missing)
        }
    }
}

/// Explains why a verdict is inconclusive: by the first number whose interval allows both verdicts,
/// at the settings where it is smallest and largest.
fn open(judge: &dyn Fn(&[Term]) -> Verdict, found: &Found) -> String {
    let terms = &found.terms;
    let is_open = |term: &Term| judge(std::slice::from_ref(term)) == Verdict::Inconclusive;
    let Some(place) = terms.iter().position(is_open) else {
        return match terms.len() {
            0 => "no number was found".to_owned(),
            many => format!(
                "after correction for {many} numbers, the deciding interval allows both verdicts"
            ),
        };
    };
    let term = &terms[place];
    match found.extremes(place) {
        Some(settings) if terms.len() == 1 => settings,
        Some(settings) => format!("{}: {settings}", term.name.replace(" over ", " / ")),
        None if term.is_exact() => {
            "a number that varies from run to run has no interval".to_owned()
        }
        None => format!(
            "the interval, {}, allows both verdicts",
            term.interval_words()
        ),
    }
}
