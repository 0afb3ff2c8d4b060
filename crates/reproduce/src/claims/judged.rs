use schemars::JsonSchema;
use serde::Serialize;

use super::{Entry, Found, Kind, Quantities, Rule, Term, Verdict};
use crate::Records;
use crate::text::number;

/// One thing that a paper shows, and whether it shows here.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct Claim {
    /// The claim as the table has it, without its reasons.
    #[serde(flatten)]
    pub entry: Entry,
    /// The numbers found here.
    pub terms: Vec<Term>,
    /// The same in words, with what to know about them; empty where there are none.
    pub found: String,
    /// What the rule makes of them; where other results are at hand, what all of them agree on.
    pub verdict: Verdict,
    /// What the rule makes of this result alone.
    pub alone: Verdict,
    /// What other results say, of other days or machines.
    pub others: Vec<Other>,
    /// What is missing, if it is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub missing: Option<String>,
    /// For a claim that is not met: what the runs say of each possible reason.
    pub reasons: Vec<Reason>,
    /// For a claim that is not met: the reasons that runs support, or "no reason found".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why_not: Option<String>,
}

/// Where no possible reason is supported, or none was tested.
const NO_REASON: &str = "no reason found";

/// The supported ones.
fn supported(reasons: &[Reason]) -> String {
    let shown = reasons
        .iter()
        .filter(|reason| reason.verdict == Verdict::Holds);
    let statements: Vec<&str> = shown.map(|reason| reason.statement.as_str()).collect();
    if statements.is_empty() {
        NO_REASON.to_owned()
    } else {
        statements.join("; ")
    }
}

/// What another result says of a claim.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct Other {
    /// The file that it is kept in.
    pub file: String,
    /// Its machine, in one line.
    pub machine: String,
    /// The numbers found there.
    pub terms: Vec<Term>,
    /// What the rule makes of them.
    pub verdict: Verdict,
}

/// A possible reason, tested.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct Reason {
    /// The reason.
    pub statement: String,
    /// What is computed.
    pub quantity: String,
    /// Which numbers support it.
    pub rule: Rule,
    /// The step that shows it.
    pub run: String,
    /// The numbers found.
    pub terms: Vec<Term>,
    /// The same in words, or what is missing.
    pub found: String,
    /// Whether the run supports it.
    pub verdict: Verdict,
}

impl Claim {
    /// Whether a verdict on it counts: it is the paper's, and has a rule.
    pub fn counts(&self) -> bool {
        matches!(self.entry.kind, Kind::Tested | Kind::Calibrated)
    }

    /// Takes the verdict back, and with it the reasons: what was found shows that it works, and no more.
    pub fn withhold(&mut self) {
        self.leave_open(
            "not judged: --quick has too few sizes and too little time for verdicts".to_owned(),
        );
        self.reasons.clear();
    }

    /// Takes the verdict back, for want of something.
    pub(crate) fn leave_open(&mut self, missing: String) {
        (self.verdict, self.missing, self.why_not) = (Verdict::Undecided, Some(missing), None);
    }
}

pub(super) fn claim(
    mut entry: Entry,
    quantities: &Quantities,
    records: &Records,
    variants: &Result<Vec<Records>, String>,
) -> Claim {
    let found = if entry.over_free {
        over_variants(&entry.id, quantities, records, variants)
    } else {
        quantity(&entry.id, quantities, records)
    };
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
            let found = self::quantity(&reason.id, quantities, records);
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

/// Numbers that are not finite are none.
fn judged(judge: &dyn Fn(&[Term]) -> Verdict, found: Result<Found, String>) -> Judged {
    let is_finite = |term: &Term| {
        [term.value, term.low, term.high]
            .iter()
            .all(|number| number.is_finite())
    };
    let none = |why: String| (Vec::new(), String::new(), Verdict::Undecided, Some(why));
    match found {
        Err(why) => none(why),
        Ok(found) if !found.terms.iter().all(is_finite) => {
            none("a number has no interval, or is none".to_owned())
        }
        Ok(found) => {
            let verdict = judge(&found.terms);
            let missing = (verdict == Verdict::Undecided).then(|| open(judge, &found.terms));
            (found.terms.clone(), found.words(), verdict, missing)
        }
    }
}

/// Which interval allows both.
fn open(judge: &dyn Fn(&[Term]) -> Verdict, terms: &[Term]) -> String {
    let is_open = |term: &&Term| judge(std::slice::from_ref(*term)) == Verdict::Undecided;
    match terms.iter().find(is_open) {
        Some(term) if term.is_exact() => {
            "a number that varies from run to run has no interval".to_owned()
        }
        Some(term) => {
            let [low, high] = [term.low, term.high].map(number);
            format!("the interval, {low} to {high}, allows both")
        }
        None if terms.is_empty() => "no number was found".to_owned(),
        None => format!(
            "one of {} numbers decides, and its interval among so many allows both",
            terms.len()
        ),
    }
}
