//! Other results of a paper, of another day or another machine: a verdict stands only where they agree.
//!
//! An interval says by how much a number varies within a run, or from run to run of an hour. What a day or a machine changes, no
//! interval of one result has seen: a verdict that another result does not share is inconclusive.

use serde::Deserialize;

use crate::claims::{Claim, Other, Term, Verdict};
use crate::{Exhibit, Paper};

/// Another result of a paper: its `PAPER.json`.
#[derive(Clone, Debug, PartialEq)]
pub struct Earlier {
    file: String,
    machine: String,
    claims: Vec<StoredClaim>,
}

/// Why a file is no other result of a paper. Reads well behind "failed to read another result: ".
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EarlierError {
    /// It is not of this form.
    Form(String),
    /// It has another paper.
    Paper(Paper),
}

impl std::fmt::Display for EarlierError {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            EarlierError::Form(why) => {
                write!(
                    to,
                    "found no JSON of reproduce ({why}), need a PAPER.json that it wrote; give its path"
                )
            }
            EarlierError::Paper(paper) => {
                write!(
                    to,
                    "found no {paper} in it, need a result of the same paper; give the path of its PAPER.json"
                )
            }
        }
    }
}

impl std::error::Error for EarlierError {}

#[derive(Deserialize)]
struct StoredReport {
    papers: Vec<StoredPaper>,
}

#[derive(Deserialize)]
struct StoredPaper {
    paper: String,
    machine: String,
    exhibits: Vec<StoredExhibit>,
}

#[derive(Deserialize)]
struct StoredExhibit {
    claims: Vec<StoredClaim>,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
struct StoredClaim {
    id: String,
    quantity: String,
    terms: Vec<Term>,
}

impl Earlier {
    /// Of the text of a file that `reproduce` wrote.
    ///
    /// # Errors
    /// Where the file is none of these, or of another paper.
    pub fn read(file: &str, text: &str, paper: Paper) -> Result<Earlier, EarlierError> {
        let report: StoredReport =
            serde_json::from_str(text).map_err(|error| EarlierError::Form(error.to_string()))?;
        let found = report
            .papers
            .into_iter()
            .find(|found| found.paper == paper.to_string());
        let found = found.ok_or(EarlierError::Paper(paper))?;
        let claims = found
            .exhibits
            .into_iter()
            .flat_map(|exhibit| exhibit.claims)
            .collect();
        Ok(Earlier {
            file: file.to_owned(),
            machine: found.machine,
            claims,
        })
    }

    /// What it says of a claim, by the rule as it is now; nothing where it had no such number, computed another, or is the same result.
    fn of(&self, claim: &Claim) -> Option<Other> {
        let entry = &claim.entry;
        let is_it =
            |stored: &&StoredClaim| stored.id == entry.id && stored.quantity == entry.quantity;
        let stored = self.claims.iter().find(is_it)?;
        let is_another = !stored.terms.is_empty() && stored.terms != claim.terms;
        let (file, machine) = (self.file.clone(), self.machine.clone());
        is_another.then(|| Other {
            file,
            machine,
            terms: stored.terms.clone(),
            verdict: entry.judge(&stored.terms),
        })
    }
}

/// Lets only those verdicts stand on which other results agree.
pub fn stand(exhibits: &mut [Exhibit], others: &[Earlier]) {
    for claim in exhibits.iter_mut().flat_map(|exhibit| &mut exhibit.claims) {
        if claim.entry.kind.is_noisy() && !others.is_empty() {
            claim.others = others.iter().filter_map(|other| other.of(claim)).collect();
            judge_beside(claim);
        }
    }
}

fn judge_beside(claim: &mut Claim) {
    let dissenting = claim
        .others
        .iter()
        .find(|other| other.verdict != claim.alone);
    let why = match dissenting {
        _ if claim.alone == Verdict::Undecided => return,
        None if claim.others.is_empty() => "no other result has this number yet".to_owned(),
        None => return,
        Some(other) => {
            let terms: Vec<String> = other.terms.iter().map(Term::words).collect();
            format!("{} says otherwise: {}", other.file, terms.join("; "))
        }
    };
    claim.leave_open(why);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::claims::{Kind, table};

    fn term(low: f64, high: f64) -> Term {
        Term::new("us", f64::midpoint(low, high), low, high)
    }

    /// `direct-cost` of Li 2007 is reproduced below 10 us.
    fn exhibits(low: f64, high: f64, kind: Kind) -> Vec<Exhibit> {
        let mut entry = table(Paper::Li2007).swap_remove(0);
        assert_eq!(entry.id, "direct-cost");
        entry.kind = kind;
        let terms = vec![term(low, high)];
        let verdict = entry.judge(&terms);
        let found = String::new();
        let (missing, others, reasons) = (None, Vec::new(), Vec::new());
        let mut exhibit = Exhibit::new("section 3.1", "");
        let why_not = None;
        exhibit.claims = vec![Claim {
            entry,
            terms,
            found,
            verdict,
            alone: verdict,
            others,
            missing,
            reasons,
            why_not,
        }];
        vec![exhibit]
    }

    fn earlier(low: f64, high: f64, quantity: &str) -> Earlier {
        let (id, terms) = ("direct-cost".to_owned(), vec![term(low, high)]);
        let claims = vec![StoredClaim {
            id,
            quantity: quantity.to_owned(),
            terms,
        }];
        Earlier {
            file: "earlier/li2007.json".to_owned(),
            machine: "another".to_owned(),
            claims,
        }
    }

    fn quantity() -> String {
        table(Paper::Li2007).swap_remove(0).quantity
    }

    #[test]
    fn a_verdict_stands_only_where_another_result_agrees() {
        let judged = |mine: (f64, f64), theirs: (f64, f64)| {
            let mut exhibits = exhibits(mine.0, mine.1, Kind::Tested);
            stand(&mut exhibits, &[earlier(theirs.0, theirs.1, &quantity())]);
            let claim = exhibits.swap_remove(0).claims.swap_remove(0);
            (claim.alone, claim.verdict, claim.missing)
        };
        assert_eq!(
            judged((1.0, 2.0), (1.5, 2.5)),
            (Verdict::Holds, Verdict::Holds, None)
        );
        assert_eq!(
            judged((11.0, 12.0), (11.5, 12.5)),
            (Verdict::Differs, Verdict::Differs, None)
        );
        let why = Some("earlier/li2007.json says otherwise: us: 12.0 (11.0 to 13.0)".to_owned());
        assert_eq!(
            judged((1.0, 2.0), (11.0, 13.0)),
            (Verdict::Holds, Verdict::Undecided, why)
        );
        assert_eq!(
            judged((1.0, 2.0), (9.0, 13.0)).1,
            Verdict::Undecided,
            "the other is not sure"
        );
    }

    #[test]
    fn one_result_alone_or_the_same_once_more_is_not_two() {
        let judged = |other: Earlier| {
            let mut exhibits = exhibits(1.0, 2.0, Kind::Tested);
            stand(&mut exhibits, &[other]);
            let claim = exhibits.swap_remove(0).claims.swap_remove(0);
            (claim.verdict, claim.others.len())
        };
        assert_eq!(
            judged(earlier(1.0, 2.0, &quantity())),
            (Verdict::Undecided, 0),
            "bit by bit the same"
        );
        assert_eq!(
            judged(earlier(1.1, 2.1, "another number")),
            (Verdict::Undecided, 0),
            "computed otherwise"
        );
        let mut alone = exhibits(1.0, 2.0, Kind::Tested);
        stand(&mut alone, &[]);
        assert_eq!(
            alone[0].claims[0].verdict,
            Verdict::Holds,
            "of one result nothing else is asked"
        );
    }

    /// A simulation over all that is free is the same each time.
    #[test]
    fn what_does_not_vary_needs_no_second_result() {
        let mut exhibits = exhibits(1.0, 2.0, Kind::Calibrated);
        stand(&mut exhibits, &[earlier(11.0, 12.0, &quantity())]);
        assert_eq!(exhibits[0].claims[0].verdict, Verdict::Holds);
    }

    #[test]
    fn what_is_no_other_result_is_refused_with_what_is_needed() {
        let why = |text: &str| {
            Earlier::read("a", text, Paper::Li2007)
                .expect_err("none")
                .to_string()
        };
        assert!(
            why("{}").starts_with("found no JSON of reproduce (missing field `papers`"),
            "{}",
            why("{}")
        );
        assert_eq!(
            why(r#"{"papers": []}"#),
            "found no li2007 in it, need a result of the same paper; give the path of its PAPER.json"
        );
    }
}
