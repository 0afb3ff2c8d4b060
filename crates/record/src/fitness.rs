use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use strum::Display;

/// Name and version of the JSON format of the doctor's report.
pub const DOCTOR_SCHEMA: &str = "switchcost.doctor/1";

/// Severity of a condition of the machine for measurements.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, JsonSchema, Serialize, Deserialize, Display,
)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum Severity {
    /// The condition is suitable for measurements.
    Fit,
    /// Measurements are possible, but their results need a caveat.
    Caveat,
    /// Measurements are not possible in the present state of the machine.
    Unfit,
}

/// One line of the doctor's report: a condition of the machine, and its judgement.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct Check {
    /// Name of the condition that is checked.
    pub name: String,
    /// Present state of the condition, as text.
    pub found: String,
    /// State of the condition that measurements need, as text.
    pub wanted: String,
    /// Severity of the present state.
    pub severity: Severity,
    /// Command or action that corrects the condition until the next boot; empty if there is none.
    pub fix: String,
    /// Command or action that corrects the condition permanently; empty if there is none.
    pub lasting_fix: String,
}

/// The doctor's report: all checks of the machine.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct Fitness {
    /// Name and version of this JSON format, [`DOCTOR_SCHEMA`].
    pub schema: String,
    /// Highest severity of all checks.
    pub verdict: Severity,
    /// Checks of the machine, in the order in which they are shown.
    pub checks: Vec<Check>,
}
