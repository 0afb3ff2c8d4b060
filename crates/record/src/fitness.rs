use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use strum::Display;

/// Name and version of the check-up's format.
pub const DOCTOR_SCHEMA: &str = "switchcost.doctor/1";

/// Effect of a condition of the machine on measuring.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, JsonSchema, Serialize, Deserialize, Display,
)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum Severity {
    /// The condition is as wanted.
    Fit,
    /// The machine can be measured, with a caveat.
    Caveat,
    /// The machine cannot be measured in its present state.
    Unfit,
}

/// A line of the machine's check-up.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct Check {
    /// Name of the condition.
    pub name: String,
    /// State of the condition.
    pub found: String,
    /// State wanted for measuring.
    pub wanted: String,
    /// Judgement of the condition.
    pub severity: Severity,
    /// Command or action that removes the fault until the next boot; empty if there is none.
    pub fix: String,
    /// Command or action that removes the fault permanently; empty if there is none.
    pub lasting_fix: String,
}

/// All checks of the machine.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct Fitness {
    /// Name and version of this JSON format.
    pub schema: String,
    /// Worst severity of the checks.
    pub verdict: Severity,
    /// Checks of the machine, in the order in which they are shown.
    pub checks: Vec<Check>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_worst_is_the_greatest() {
        let found = [Severity::Caveat, Severity::Unfit, Severity::Fit];
        assert_eq!(found.into_iter().max(), Some(Severity::Unfit));
        assert_eq!(
            serde_json::to_string(&found).expect("JSON"),
            r#"["caveat","unfit","fit"]"#
        );
    }
}
