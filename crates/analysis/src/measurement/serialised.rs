//! Serialises findings whose JSON differs from their types: flattened fields, or a number without
//! the reason for its absence.

mod conditions;

use serde::{Serialize, Serializer};

pub use conditions::Conditions;
pub(crate) use conditions::{conditions, conditions_if_any};

/// Serialises the number, or null if there is none, whatever the reason.
pub(crate) fn or_null<T: Serialize, S: Serializer>(
    found: &Option<Result<T, String>>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    found
        .as_ref()
        .and_then(|found| found.as_ref().ok())
        .serialize(serializer)
}
