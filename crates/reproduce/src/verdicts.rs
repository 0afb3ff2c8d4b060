use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Exhibit;
use crate::claims::{Claim, Kind, Verdict};

/// How often an interval of 90 % lies wholly on the wrong side of a bound, at most.
const WRONG_BY_CHANCE: f64 = 0.05;

/// Verdicts by what they are worth. What is only shown has none.
#[derive(Clone, Copy, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Verdicts {
    /// Of claims whose numbers could have been otherwise.
    pub tested: Counts,
    /// Of claims for which something was fitted first.
    pub calibrated: Counts,
    /// Of questions that are not the paper's.
    #[serde(default)]
    pub own: Counts,
    /// So many of those whose numbers vary would be wrong by chance, at most: 5 %. Results of one kind of machine are not independent, and
    /// that two agree makes it no less.
    #[serde(default)]
    pub wrong_by_chance: f64,
}

/// How many claims have which verdict.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct Counts {
    /// Printed as "reproduced".
    pub holds: usize,
    /// Printed as "not reproduced".
    pub differs: usize,
    /// Printed as "inconclusive".
    #[serde(rename = "not_told")]
    pub undecided: usize,
}

impl Counts {
    /// Claims, whatever the verdict.
    pub fn total(self) -> usize {
        self.holds + self.differs + self.undecided
    }
}

impl Verdicts {
    /// Of all claims of these exhibits.
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
                undecided: count(Verdict::Undecided),
            }
        };
        let decided = exhibits
            .iter()
            .flat_map(|exhibit| &exhibit.claims)
            .filter(|claim| claim.entry.is_noisy() && claim.verdict != Verdict::Undecided);
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
