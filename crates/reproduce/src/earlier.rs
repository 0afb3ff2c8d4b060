//! Results of a paper from other days or machines. A verdict of the new result is kept only if the
//! other results agree.
//!
//! An interval covers the variation of a number within a run, or between runs within an hour, but
//! not between days or machines. So a verdict is inconclusive if another result has a different
//! verdict.

use crate::claims::{Cases, Claim, Other, cases};
use crate::stored::{EarlierError, StoredClaim, StoredPaper};
use crate::{Exhibit, Paper};

/// A result of a paper from another day or machine, read from its `PAPER.json`.
#[derive(Clone, Debug, PartialEq)]
pub struct Earlier {
    file: String,
    machine: String,
    claims: Vec<StoredClaim>,
}

impl Earlier {
    /// Reads a result from the text of a file that `reproduce` wrote.
    ///
    /// # Errors
    ///
    /// Returns an error if the file was not written by `reproduce`, or is about another paper.
    pub fn read(file: &str, text: &str, paper: Paper) -> Result<Earlier, EarlierError> {
        let found = StoredPaper::read(text, paper)?;
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

    /// Returns this result on a claim; `None` if it has no numbers of the same quantity.
    fn claim(&self, claim: &Claim) -> Option<&StoredClaim> {
        let entry = &claim.entry;
        let is_it =
            |stored: &&StoredClaim| stored.id == entry.id && stored.quantity == entry.quantity;
        let mut same = self.claims.iter().filter(is_it);
        same.next().filter(|stored| !stored.terms.is_empty())
    }

    /// Returns true if all numbers of this result equal those of `exhibits`, so that one is a copy
    /// of the other. Different results may share single counts, but not all numbers.
    fn is_same(&self, exhibits: &[Exhibit]) -> bool {
        let mut claims = exhibits.iter().flat_map(|exhibit| &exhibit.claims);
        claims.all(|claim| {
            self.claim(claim)
                .is_none_or(|stored| stored.terms == claim.terms)
        })
    }

    /// Judges a claim by this result and the present rule; `None` if the result has no number for
    /// the claim.
    fn of(&self, claim: &Claim) -> Option<Other> {
        let StoredClaim {
            terms, settings, ..
        } = self.claim(claim)?;
        Some(Other {
            file: self.file.clone(),
            machine: self.machine.clone(),
            terms: terms.clone(),
            settings: settings.clone(),
            verdict: claim.entry.judge_cases(&cases(terms, settings)),
        })
    }
}

/// Keeps only verdicts on which all `others` (except copies of this result) agree, for claims whose
/// numbers vary. If `others` is empty, all verdicts are kept. Each result is judged with intervals
/// that are widened by the differences between the results.
pub fn stand(exhibits: &mut [Exhibit], others: &[Earlier]) {
    if others.is_empty() {
        return;
    }
    let others: Vec<&Earlier> = others
        .iter()
        .filter(|other| !other.is_same(exhibits))
        .collect();
    for claim in exhibits.iter_mut().flat_map(|exhibit| &mut exhibit.claims) {
        if claim.entry.is_noisy() {
            claim.others = others.iter().filter_map(|other| other.of(claim)).collect();
            judge_beside(claim);
        }
    }
}

/// Returns the reason why a claim is inconclusive although another result has the same verdict: the
/// numbers differ too much.
fn differs_too_much(other: &Other) -> String {
    format!(
        "{} differs so much that the widened interval allows both verdicts: {}",
        other.file,
        other.numbers()
    )
}

fn judge_beside(claim: &mut Claim) {
    let others = claim.others.iter();
    let others = others.map(|other| cases(&other.terms, &other.settings));
    let results: Vec<Cases<'_>> = std::iter::once(cases(&claim.terms, &claim.settings))
        .chain(others)
        .collect();
    let verdicts = claim.entry.judge_results(&results);
    for (other, verdict) in claim.others.iter_mut().zip(&verdicts[1..]) {
        other.verdict = *verdict;
    }
    if !claim.alone.is_decided() {
        return;
    }
    let dissenting = claim
        .others
        .iter()
        .find(|other| other.verdict != claim.alone);
    let why = match dissenting {
        None if claim.others.is_empty() => "no other result has this number yet".to_owned(),
        None if verdicts[0] == claim.alone => return,
        None => {
            let others: Vec<String> = claim.others.iter().map(differs_too_much).collect();
            others.join("; ")
        }
        Some(other) => {
            // Another result's verdict in the report is that of its own intervals, which are not
            // widened.
            let own = claim
                .entry
                .judge_cases(&cases(&other.terms, &other.settings));
            let (file, numbers) = (&other.file, other.numbers());
            if !own.is_decided() {
                format!("{file} leaves the claim open: {numbers}")
            } else if own == claim.alone {
                differs_too_much(other)
            } else {
                format!("{file} has the opposite verdict: {numbers}")
            }
        }
    };
    claim.leave_open(why);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::claims::{Kind, Rule, Term, Verdict, table};
    use crate::exhibit::NO_COLUMNS;
    use crate::interval::Interval;

    fn term(low: f64, high: f64) -> Term {
        Term::new("us", Interval::new(f64::midpoint(low, high), low, high))
    }

    /// Lower and upper end of the interval of a result's number, in us.
    type Ends = (f64, f64);

    fn earlier((low, high): Ends) -> Earlier {
        let claim = StoredClaim {
            id: "direct-cost".to_owned(),
            quantity: table(Paper::Li2007).swap_remove(0).quantity,
            terms: vec![term(low, high)],
            ..StoredClaim::default()
        };
        Earlier {
            file: "earlier/li2007.json".to_owned(),
            machine: "another".to_owned(),
            claims: vec![claim],
        }
    }

    /// Judges the first claim of Li 2007, under a rule for tests (reproduced below 10 us), beside
    /// other results.
    fn judged((low, high): Ends, kind: Kind, varies: bool, others: &[Earlier]) -> Claim {
        let mut entry = table(Paper::Li2007).swap_remove(0);
        assert_eq!(entry.id, "direct-cost");
        (entry.kind, entry.rule) = (kind, Rule::Every([0.0, 10.0]));
        entry.varies |= varies;
        let terms = vec![term(low, high)];
        let verdict = entry.judge(&terms);
        let mut exhibit = Exhibit::new("section 3.1", "", NO_COLUMNS);
        exhibit.claims = vec![Claim {
            entry,
            terms,
            settings: Vec::new(),
            found: String::new(),
            verdict,
            alone: verdict,
            others: Vec::new(),
            missing: None,
            reasons: Vec::new(),
            why_not: None,
        }];
        stand(std::slice::from_mut(&mut exhibit), others);
        exhibit.claims.swap_remove(0)
    }

    fn tested(mine: Ends, others: &[Earlier]) -> Claim {
        judged(mine, Kind::Tested, false, others)
    }

    #[test]
    fn a_verdict_stands_only_where_another_result_agrees() {
        use Verdict::{Differs, Holds, Inconclusive};
        for (mine, theirs, alone, verdict) in [
            ((1.0, 2.0), (1.5, 2.5), Holds, Holds),
            ((11.0, 12.0), (11.5, 12.5), Differs, Differs),
            ((1.0, 2.0), (11.0, 13.0), Holds, Inconclusive),
            // The other is not sure.
            ((1.0, 2.0), (9.0, 13.0), Holds, Inconclusive),
        ] {
            let claim = tested(mine, &[earlier(theirs)]);
            assert_eq!((claim.alone, claim.verdict), (alone, verdict), "{theirs:?}");
        }
        let opposite = tested((1.0, 2.0), &[earlier((11.0, 13.0))]);
        assert_eq!(
            opposite.missing.as_deref(),
            Some("earlier/li2007.json has the opposite verdict: 12.0 (11.0 to 13.0)")
        );
        assert_eq!(tested((1.0, 2.0), &[earlier((1.5, 2.5))]).missing, None);
    }

    #[test]
    fn one_result_alone_or_the_same_once_more_is_not_two() {
        let mut otherwise = earlier((1.1, 2.1));
        otherwise.claims[0].quantity = "another number".to_owned();
        // The other results are the same bit by bit, and computed otherwise.
        for other in [earlier((1.0, 2.0)), otherwise] {
            let claim = tested((1.0, 2.0), &[other]);
            assert_eq!(
                (claim.verdict, claim.others.len()),
                (Verdict::Inconclusive, 0)
            );
        }
        let alone = tested((1.0, 2.0), &[]).verdict;
        assert_eq!(alone, Verdict::Holds, "of one result nothing else is asked");
    }

    /// The values are 7 and 9 us with intervals of 1 %: on another day the value may well exceed
    /// 10. Two results that agree widen nothing.
    #[test]
    fn what_results_differ_by_widens_the_interval() {
        let verdict = |mine: f64, theirs: f64| {
            let ends = |value: f64| (value * 0.99, value * 1.01);
            tested(ends(mine), &[earlier(ends(theirs))]).verdict
        };
        assert_eq!(verdict(9.0, 7.0), Verdict::Inconclusive);
        assert_eq!(verdict(9.8, 9.81), Verdict::Holds);
        assert_eq!(verdict(3.0, 4.0), Verdict::Holds);
    }

    /// A simulation over all free parameters gives the same numbers each time, unless the seed of
    /// its trace differs between results.
    #[test]
    fn what_does_not_vary_needs_no_second_result() {
        let verdict = |varies, theirs| {
            judged((1.0, 2.0), Kind::Calibrated, varies, &[earlier(theirs)]).verdict
        };
        assert_eq!(verdict(false, (11.0, 12.0)), Verdict::Holds);
        assert_eq!(verdict(true, (1.5, 2.5)), Verdict::Holds);
        assert_eq!(verdict(true, (11.0, 12.0)), Verdict::Inconclusive);
    }

    #[test]
    fn what_is_no_other_result_is_refused_with_what_is_needed() {
        let why = |text: &str| {
            Earlier::read("a", text, Paper::Li2007)
                .expect_err("none")
                .to_string()
        };
        assert!(
            why("{}").starts_with("this is no JSON of reproduce (missing field `papers`"),
            "{}",
            why("{}")
        );
        assert_eq!(why(r#"{"papers": []}"#), "this is no result of li2007");
    }
}
