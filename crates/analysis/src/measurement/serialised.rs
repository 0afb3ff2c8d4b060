//! Serializes findings whose JSON form differs from the Rust type: flattened fields, and numbers
//! without the reason for their absence.

mod conditions;

use serde::{Serialize, Serializer};

pub use conditions::Conditions;
pub(crate) use conditions::{conditions, conditions_if_any};

/// Serializes the number, or null if there is none. The reason for its absence is left out.
pub(crate) fn or_null<T: Serialize, S: Serializer>(
    found: &Option<Result<T, String>>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    found
        .as_ref()
        .and_then(|found| found.as_ref().ok())
        .serialize(serializer)
}
