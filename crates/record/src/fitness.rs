use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use strum::Display;

/// Name and version of the check-up's form.
pub const DOCTOR_SCHEMA: &str = "switchcost.doctor/1";

/// How one condition of the machine bears on measuring.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, JsonSchema, Serialize, Deserialize, Display,
)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum Severity {
    /// As wanted.
    Fit,
    /// Measurable, with something to know.
    Caveat,
    /// Not measurable as it is.
    Unfit,
}

/// One line of the machine's check-up.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct Check {
    /// What is looked at.
    pub name: String,
    /// What was found.
    pub found: String,
    /// What is wanted for measuring.
    pub wanted: String,
    /// The judgement.
    pub severity: Severity,
    /// What helps now; empty if nothing need be or can be done.
    pub fix: String,
    /// What makes it last.
    pub lasting_fix: String,
}

/// The whole check-up.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct Fitness {
    /// Name and version of this form.
    pub schema: String,
    /// The worst of the checks.
    pub verdict: Severity,
    /// In the order in which they are shown.
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
