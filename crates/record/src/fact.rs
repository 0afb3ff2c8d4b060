use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A fact about the machine, or the reason why the fact is unknown.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[schemars(inline)]
#[serde(untagged)]
pub enum Fact<T> {
    /// The value of the fact, as the machine reports it.
    Known(T),
    /// The fact is unknown.
    Unknown {
        /// Reason why the fact is unknown.
        unknown: String,
    },
}

impl<T> Fact<T> {
    /// Returns the value of the fact; `None` if the fact is unknown.
    pub fn known(&self) -> Option<&T> {
        match self {
            Fact::Known(value) => Some(value),
            Fact::Unknown { .. } => None,
        }
    }

    /// Returns an unknown fact with the reason `why`.
    pub fn unknown(why: impl Into<String>) -> Self {
        Fact::Unknown {
            unknown: why.into(),
        }
    }
}
