//! The table of claims: the statements of each paper, and for each statement the rule that judges
//! it. Rules are written before a run.
//!
//! The table is data, with one file per paper in `claims/`, and the only source of verdicts. The
//! papers' modules compute quantities with intervals, but no verdicts.

mod judged;
mod rule;
mod term;
mod variants;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Paper, Records};

pub(crate) use judged::judge_numbers;
pub use judged::{Claim, Other, Reason};
pub use rule::{Rule, Verdict};
pub(crate) use term::{Found, exact, ranged, ratio, ratio_within_run};
pub use term::{Setting, Term};
pub(crate) use variants::Variants;

/// Kind of evidence that a verdict on a claim gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// The claim is tested: the numbers found could have been otherwise.
    Tested,
    /// The claim is calibrated: something was fitted to the paper first, so the result is at best
    /// consistent with the claim.
    Calibrated,
    /// The claim is only shown: it follows from the construction of the reproduction, or any
    /// current machine meets it. Its numbers are shown next to the published ones, without a rule.
    Shown,
    /// The claim is a question of switchcost's own, or one that the papers leave open: it is
    /// answered, but not counted among the papers' claims.
    Own,
}

/// A claim, as the table of claims lists it.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Entry {
    /// ID of the claim among those of its paper.
    pub id: String,
    /// Figure or table of the claim.
    pub exhibit: String,
    /// Kind of evidence that a verdict gives.
    pub kind: Kind,
    /// The paper's statement, about a shape.
    pub statement: String,
    /// The paper's words; `None` if the statement is a curve or a table.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quotation: Option<String>,
    /// Position in the paper.
    pub place: String,
    /// Name of the computed quantity.
    pub quantity: String,
    /// The rule in words, with `{low}` and `{high}` for the ends of its range; `None` if the claim
    /// has no rule. It is only for the screen.
    #[serde(default, skip_serializing)]
    #[schemars(skip)]
    pub condition: Option<String>,
    /// Rule for the numbers; any number meets the rule of a claim that is only shown.
    #[serde(default)]
    pub rule: Rule,
    /// Source of the rule's numbers: "ours" if the paper does not give them. For a claim without a
    /// rule, the reason.
    pub bounds: String,
    /// Published numbers; empty if the paper prints none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub published: Vec<f64>,
    /// Fitted or free parameters, with their targets and ranges, for calibrated claims.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub free: Vec<String>,
    /// Whether the claim is judged over all open parameters, one setting at a time.
    #[serde(default, skip_serializing_if = "is_false")]
    pub over_free: bool,
    /// Whether the inputs of the simulation vary from result to result, such as the seed of a trace
    /// or a guest's kernel.
    #[serde(default, skip_serializing_if = "is_false")]
    pub varies: bool,
    /// Possible reasons if the claim is not met, each with its own rule.
    #[serde(default, rename = "reason", skip_serializing_if = "Vec::is_empty")]
    pub reasons: Vec<ReasonEntry>,
}

fn is_false(value: &bool) -> bool {
    !*value
}

impl Entry {
    /// Returns true if the claim's numbers vary from run to run. Such numbers need an interval, and
    /// a second result that agrees.
    pub fn is_noisy(&self) -> bool {
        self.over_free || self.varies || matches!(self.kind, Kind::Tested | Kind::Own)
    }

    /// Returns the condition under which the claim is reproduced, with the ends of its range;
    /// `None` if the claim has no rule.
    pub fn condition(&self) -> Option<String> {
        Some(self.rule.complete(self.condition.as_ref()?))
    }

    /// Judges the claim by each of several results, and returns one verdict per result. Each
    /// interval is widened by the differences between the results, at each setting.
    pub(crate) fn judge_results(&self, results: &[Cases<'_>]) -> Vec<Verdict> {
        let widened = |number: usize, terms: &[Term]| -> Vec<Term> {
            let same = |place: usize| -> Vec<&Term> {
                let found = results.iter().map(|cases| cases.get(number)?.get(place));
                found.flatten().collect()
            };
            let places = terms.iter().enumerate();
            places
                .map(|(place, term)| term.with_spread(term::spread(&same(place))))
                .collect()
        };
        let judge = |cases: &Cases<'_>| {
            let cases = cases.iter().enumerate();
            agreed(cases.map(|(number, terms)| self.judge(&widened(number, terms))))
        };
        results.iter().map(judge).collect()
    }

    /// Returns the verdict on which the numbers of all settings agree, each judged by its own
    /// intervals; inconclusive if they do not agree.
    pub(crate) fn judge_cases(&self, cases: &Cases<'_>) -> Verdict {
        agreed(cases.iter().map(|terms| self.judge(terms)))
    }

    /// Returns the verdict of the claim's rule on `terms`; inconclusive if the claim is only
    /// shown, or if a tested number has no interval. A simulated number, whose inputs vary from
    /// result to result, has none.
    pub fn judge(&self, terms: &[Term]) -> Verdict {
        match self.kind {
            Kind::Shown => Verdict::Inconclusive,
            Kind::Tested if !self.varies && terms.iter().any(Term::is_exact) => {
                Verdict::Inconclusive
            }
            _ if self.is_noisy() => self.rule.judge_noisy(terms),
            _ => self.rule.judge(terms),
        }
    }
}

/// Numbers of a result at each setting of its open parameters; only one list if it has none.
pub(crate) type Cases<'a> = Vec<&'a [Term]>;

/// Returns the numbers of a result at each of its settings.
pub(crate) fn cases<'a>(terms: &'a [Term], settings: &'a [Setting]) -> Cases<'a> {
    if settings.is_empty() {
        return vec![terms];
    }
    settings.iter().map(|setting| &setting.terms[..]).collect()
}

/// Returns the verdict that all settings have; inconclusive if they differ.
fn agreed(mut verdicts: impl Iterator<Item = Verdict>) -> Verdict {
    let first = verdicts.next().unwrap_or(Verdict::Inconclusive);
    if verdicts.all(|verdict| verdict == first) {
        first
    } else {
        Verdict::Inconclusive
    }
}

/// A possible reason: a statement about a run, which may turn out wrong.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct ReasonEntry {
    /// ID of the computed quantity; reasons of several claims may have the same.
    pub id: String,
    /// Reason for the verdict, as a sentence.
    pub statement: String,
    /// Name of the computed quantity.
    pub quantity: String,
    /// Rule for the numbers that support the reason.
    pub rule: Rule,
    /// Step whose run shows the reason.
    pub run: String,
}

/// Open parameters of Mogul and Borg 1990, over which some claims are judged.
const OPEN_PARAMETERS: [&str; 4] = [
    "lengths of time slices: shorter and longer",
    "tags: physical ones, too",
    "whether stores allocate lines",
    "time to drain a write buffer: 2 or 5 cycles",
];

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    claim: Vec<Entry>,
}

/// Returns the claims of a paper, in the order of its figures and tables.
pub fn table(paper: Paper) -> Vec<Entry> {
    let text = match paper {
        Paper::Li2007 => include_str!("../claims/li2007.toml"),
        Paper::Michigan => include_str!("../claims/michigan.toml"),
        Paper::Blog => include_str!("../claims/blog.toml"),
        Paper::Lmbench => include_str!("../claims/lmbench.toml"),
        Paper::Mogul1990 => include_str!("../claims/mogul1990.toml"),
        Paper::Today => include_str!("../claims/today.toml"),
    };
    let mut table: Table =
        toml::from_str(text).expect("a file of the program that the tests have read");
    for entry in table.claim.iter_mut().filter(|entry| entry.over_free) {
        entry.free = OPEN_PARAMETERS.map(str::to_owned).to_vec();
    }
    table.claim
}

/// A number or another value, or the reason why it is missing.
pub(crate) type Outcome<T = Found> = Result<T, String>;

/// Function that computes a quantity from the records, or returns the reason why it cannot.
pub(crate) type Quantity = fn(&Records) -> Outcome;

/// Functions that compute quantities, by the IDs of claims and reasons.
pub(crate) type Quantities = Vec<(&'static str, Quantity)>;

/// Judges the claims of one exhibit. A claim over open parameters is also judged by the `variants`
/// of the records.
pub(crate) fn judge(
    paper: Paper,
    exhibit: &str,
    quantities: &Quantities,
    records: &Records,
    variants: &Outcome<Variants>,
) -> Vec<Claim> {
    let entries = table(paper)
        .into_iter()
        .filter(|entry| entry.exhibit == exhibit);
    entries
        .map(|entry| judged::claim(entry, quantities, records, variants))
        .collect()
}

#[cfg(test)]
mod tests;
