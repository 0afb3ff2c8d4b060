use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A fact that the machine reports, or the reason why it does not.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[schemars(inline)]
#[serde(untagged)]
pub enum Fact<T> {
    /// The value that the machine reports.
    Known(T),
    /// The machine does not report it.
    Unknown {
        /// Why the fact is not known.
        unknown: String,
    },
}

impl<T> Fact<T> {
    /// The value, if it is known.
    pub fn known(&self) -> Option<&T> {
        match self {
            Fact::Known(value) => Some(value),
            Fact::Unknown { .. } => None,
        }
    }

    /// A fact that is not known, with the reason.
    pub fn unknown(why: impl Into<String>) -> Self {
        Fact::Unknown {
            unknown: why.into(),
        }
    }
}
