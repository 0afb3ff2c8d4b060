use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A fact that the machine reports, or the reason why the fact is unknown.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[schemars(inline)]
#[serde(untagged)]
pub enum Fact<T> {
    /// The value that the machine reports.
    Known(T),
    /// The machine does not report the fact.
    Unknown {
        /// Why the fact is not known.
        unknown: String,
    },
}

impl<T> Fact<T> {
    /// Returns the value, if the fact is known.
    pub fn known(&self) -> Option<&T> {
        match self {
            Fact::Known(value) => Some(value),
            Fact::Unknown { .. } => None,
        }
    }

    /// Makes an unknown fact with this reason.
    pub fn unknown(why: impl Into<String>) -> Self {
        Fact::Unknown {
            unknown: why.into(),
        }
    }
}
