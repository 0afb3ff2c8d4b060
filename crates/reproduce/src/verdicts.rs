use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Exhibit;
use crate::claims::{Claim, Kind, Verdict};

/// Share of 90 % intervals that lie entirely on the wrong side of a bound by chance.
const WRONG_BY_CHANCE: f64 = 0.05;

/// Counts of verdicts, by kind of evidence. Claims that are only shown, or for which the
/// machine has no counter, are not counted.
#[derive(Clone, Copy, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Verdicts {
    /// Verdicts on claims whose numbers could have been otherwise.
    pub tested: Counts,
    /// Verdicts on claims for which something was fitted first.
    pub calibrated: Counts,
    /// Verdicts on questions that are not from the paper.
    #[serde(default)]
    pub own: Counts,
    /// Upper limit on the expected number of verdicts that are wrong by chance, among those whose
    /// numbers vary: 5 %. Results of one kind of machine are not independent, so an agreement of
    /// two does not reduce it.
    #[serde(default)]
    pub wrong_by_chance: f64,
}

/// Number of claims by verdict.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct Counts {
    /// Claims printed as "reproduced".
    pub holds: usize,
    /// Claims printed as "not reproduced".
    pub differs: usize,
    /// Claims printed as "inconclusive".
    pub inconclusive: usize,
}

impl Counts {
    /// Returns the number of claims with any verdict, including "inconclusive".
    pub fn total(self) -> usize {
        self.holds + self.differs + self.inconclusive
    }
}

impl Verdicts {
    /// Counts the verdicts on all claims of the exhibits.
    pub fn count(exhibits: &[Exhibit]) -> Verdicts {
        let counts = |kind| {
            let claims = || {
                exhibits
                    .iter()
                    .flat_map(|exhibit| &exhibit.claims)
                    .filter(|claim| claim.entry.kind == kind)
            };
            let count = |verdict| {
                claims()
                    .filter(|claim: &&Claim| claim.verdict == verdict)
                    .count()
            };
            Counts {
                holds: count(Verdict::Holds),
                differs: count(Verdict::Differs),
                inconclusive: count(Verdict::Inconclusive),
            }
        };
        let decided = exhibits
            .iter()
            .flat_map(|exhibit| &exhibit.claims)
            .filter(|claim| claim.entry.is_noisy() && claim.verdict.is_decided());
        let wrong_by_chance = decided.count() as f64 * WRONG_BY_CHANCE;
        let [tested, calibrated, own] = [Kind::Tested, Kind::Calibrated, Kind::Own].map(counts);
        Verdicts {
            tested,
            calibrated,
            own,
            wrong_by_chance,
        }
    }
}
