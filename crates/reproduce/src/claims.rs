//! The table of claims: what each paper says, and the rule by which intervals decide it, written down before a run.
//!
//! The table is data, a file a paper in `claims/`, and the only place that a verdict comes from: the papers' modules say how
//! large a quantity is, with its interval, and never what that means.

mod judged;
mod rule;
mod term;
mod variants;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Paper, Records};

pub use judged::{Claim, Other, Reason};
pub use rule::{Rule, Verdict};
pub use term::Term;
pub(crate) use term::{Found, exact, over, ranged, ratio, ratio_within_run};
pub(crate) use variants::NONE_REACHES;

/// What a verdict on a claim is worth.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// The numbers found could have been otherwise.
    Tested,
    /// Something was fitted to the paper first: at best consistent with it.
    Calibrated,
    /// It follows from how it is made here, or is met by any machine of today: the numbers are shown beside the published ones, and no rule
    /// judges them.
    Shown,
    /// A question of ours, or one that the papers leave open: answered, and not counted as theirs.
    Own,
}

/// A claim as the table has it.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Entry {
    /// Names it among the claims of its paper.
    pub id: String,
    /// The figure or table that it is about.
    pub exhibit: String,
    /// What a verdict on it is worth.
    pub kind: Kind,
    /// What the paper shows, as a statement about a shape.
    pub statement: String,
    /// The paper's words; none where they are a curve or a table.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quotation: Option<String>,
    /// Where in the paper.
    pub place: String,
    /// What is computed.
    pub quantity: String,
    /// Which numbers meet it; any, where they are only shown.
    #[serde(default)]
    pub rule: Rule,
    /// Where the rule's numbers come from, "ours" where the paper does not give them; why there is none, where numbers are only shown.
    pub bounds: String,
    /// The paper's own numbers; none where it prints none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub published: Vec<f64>,
    /// What was fitted or is free, to what, and in which range; for calibrated claims.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub free: Vec<String>,
    /// Why no number of today's experiment can decide it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub open: Option<String>,
    /// Whether it is judged over all that the paper leaves open, one setting at a time.
    #[serde(default, skip_serializing_if = "is_false")]
    pub over_free: bool,
    /// What might be behind a claim that is not met, each with a rule of its own.
    #[serde(default, rename = "reason", skip_serializing_if = "Vec::is_empty")]
    pub reasons: Vec<ReasonEntry>,
}

fn is_false(value: &bool) -> bool {
    !*value
}

impl Entry {
    /// Whether its numbers vary from run to run: then they need an interval, and a second result that agrees.
    pub fn is_noisy(&self) -> bool {
        self.over_free || matches!(self.kind, Kind::Tested | Kind::Own)
    }

    /// What several results say of it, each number with an interval that also has what it differs by from result to result.
    pub fn judge_results(&self, results: &[&[Term]]) -> Vec<Verdict> {
        let widened = |terms: &[Term]| -> Vec<Term> {
            let places = terms.iter().enumerate();
            let one = |(place, term): (usize, &Term)| {
                let same: Vec<&Term> = results
                    .iter()
                    .filter_map(|other| other.get(place))
                    .collect();
                term.with_spread(term::spread(&same))
            };
            places.map(one).collect()
        };
        results
            .iter()
            .map(|terms| self.judge(&widened(terms)))
            .collect()
    }

    /// The verdict of its rule on numbers. A number that varies and has no interval decides nothing.
    pub fn judge(&self, terms: &[Term]) -> Verdict {
        match self.kind {
            Kind::Shown => Verdict::Undecided,
            Kind::Tested if terms.iter().any(Term::is_exact) => Verdict::Undecided,
            _ if self.open.is_some() => Verdict::Undecided,
            _ if self.is_noisy() => self.rule.judge_noisy(terms),
            _ => self.rule.judge(terms),
        }
    }
}

/// A possible reason as the table has it: a statement about a run, which may turn out wrong.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct ReasonEntry {
    /// Names the quantity.
    pub id: String,
    /// The reason.
    pub statement: String,
    /// What is computed.
    pub quantity: String,
    /// Which numbers support it.
    pub rule: Rule,
    /// The step that shows it.
    pub run: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    claim: Vec<Entry>,
}

/// The claims of a paper, in the order of its exhibits.
pub fn table(paper: Paper) -> Vec<Entry> {
    let text = match paper {
        Paper::Li2007 => include_str!("../claims/li2007.toml"),
        Paper::Michigan => include_str!("../claims/michigan.toml"),
        Paper::Blog => include_str!("../claims/blog.toml"),
        Paper::Lmbench => include_str!("../claims/lmbench.toml"),
        Paper::Mogul1990 => include_str!("../claims/mogul1990.toml"),
        Paper::Today => include_str!("../claims/today.toml"),
    };
    let table: Table =
        toml::from_str(text).expect("a file of the program that the tests have read");
    table.claim
}

/// How large something is, by the records.
pub(crate) type Quantity = fn(&Records) -> Result<Found, String>;

/// Quantities by the ids of claims and reasons.
pub(crate) type Quantities = Vec<(&'static str, Quantity)>;

/// The claims of one exhibit, judged; over the variants of the records if a claim is to be.
pub(crate) fn judge(
    paper: Paper,
    exhibit: &str,
    quantities: &Quantities,
    records: &Records,
    variants: &Result<Vec<Records>, String>,
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
