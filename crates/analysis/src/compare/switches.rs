//! Compares the numbers of switches per hand-off on both sides. The numbers are exact counts
//! without an interval. If a kernel makes two switches instead of one, the case has changed, even
//! if each switch takes as long as before.

use schemars::JsonSchema;
use serde::Serialize;
use switchcost_record::Case;

use crate::measurement::serialised::{Conditions, conditions};

/// Least change of switches per hand-off that is reported, as a share of the base number, or of 1
/// if that is larger. Smaller changes may be chance: ordinary tasks that are woken while a lock is
/// held may yield the CPU once more or less. If only few switches are counted (tasks in one
/// thread), other activity of the threads dominates.
const LEAST_CHANGE: f64 = 0.05;

/// A case whose number of switches per hand-off differs between the sides.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
#[schemars(rename = "Switches")]
pub struct ChangedSwitches {
    /// The measured case, as in the base records.
    #[serde(flatten, serialize_with = "conditions")]
    #[schemars(with = "Conditions<'static>")]
    pub case: Case,
    /// Mean number of switches per hand-off over the base records.
    pub base: f64,
    /// Mean number of switches per hand-off over the new records.
    pub new: f64,
}

/// Returns the numbers of switches per hand-off if their change exceeds both [`LEAST_CHANGE`] and
/// the differences between the records of a side. `base` and `new` have one number per record.
pub(super) fn changed(case: &Case, [base, new]: [Vec<f64>; 2]) -> Option<ChangedSwitches> {
    let (base_mean, new_mean) = (mean(&base)?, mean(&new)?);
    let is_apart = most(&base) < least(&new) || most(&new) < least(&base);
    let is_large = (new_mean - base_mean).abs() > LEAST_CHANGE * base_mean.max(1.0);
    (is_apart && is_large).then(|| ChangedSwitches {
        case: case.clone(),
        base: base_mean,
        new: new_mean,
    })
}

fn mean(counts: &[f64]) -> Option<f64> {
    (!counts.is_empty()).then(|| counts.iter().sum::<f64>() / counts.len() as f64)
}

fn least(counts: &[f64]) -> f64 {
    counts.iter().copied().fold(f64::INFINITY, f64::min)
}

fn most(counts: &[f64]) -> f64 {
    counts.iter().copied().fold(0.0, f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::pipe;

    #[test]
    fn a_change_is_larger_than_chance_and_than_a_side_spreads() {
        let case = pipe().case;
        let is_changed =
            |base: &[f64], new: &[f64]| changed(&case, [base, new].map(<[f64]>::to_vec)).is_some();
        assert!(
            is_changed(&[1.0], &[2.0])
                && is_changed(&[1.0, 1.01], &[1.1, 1.2])
                && is_changed(&[2.0], &[1.0])
        );
        assert!(
            !is_changed(&[1.0], &[1.04]) && !is_changed(&[0.0], &[0.002]),
            "chance"
        );
        assert!(
            is_changed(&[0.0], &[1.0]),
            "each hand-off blocks its thread"
        );
        assert!(
            !is_changed(&[2.0, 2.4], &[2.3, 2.7]),
            "a mutex differs by as much from run to run"
        );
        assert!(
            !is_changed(&[], &[1.0]) && !is_changed(&[1.0], &[]),
            "nothing to compare with"
        );
    }
}
