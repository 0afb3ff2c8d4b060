use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Claim, Kind, Verdict};
use crate::Exhibit;

/// Verdicts by what they are worth. Definitions are not counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct Verdicts {
    /// Of claims whose numbers could have been otherwise.
    pub tested: Counts,
    /// Of claims for which something was fitted first.
    pub calibrated: Counts,
}

/// How many claims have which verdict.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
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
    pub fn all(self) -> usize {
        self.holds + self.differs + self.undecided
    }
}

impl Verdicts {
    /// Of all claims of these exhibits.
    pub fn of(exhibits: &[Exhibit]) -> Verdicts {
        let counts = |kind| {
            let claims =
                || exhibits.iter().flat_map(|exhibit| &exhibit.claims).filter(|claim| claim.entry.kind == kind);
            let count = |verdict| claims().filter(|claim: &&Claim| claim.verdict == verdict).count();
            Counts {
                holds: count(Verdict::Holds),
                differs: count(Verdict::Differs),
                undecided: count(Verdict::Undecided),
            }
        };
        Verdicts { tested: counts(Kind::Tested), calibrated: counts(Kind::Calibrated) }
    }
}
