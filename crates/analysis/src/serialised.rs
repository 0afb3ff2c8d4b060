//! Findings whose JSON has another shape than they have: one level of fields, or a number without the reason why there is none.

mod conditions;

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Serialize, Serializer};

use crate::findings::{Flag, Verdict};

pub use conditions::Conditions;
pub(crate) use conditions::{conditions, conditions_if_any};

/// A number, or null where there is none, whatever the reason.
pub(crate) fn or_null<T: Serialize, S: Serializer>(
    found: &Option<Result<T, String>>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    found.as_ref().and_then(|found| found.as_ref().ok()).serialize(serializer)
}

#[derive(JsonSchema, Serialize)]
pub(crate) struct Status<'a> {
    /// `measured`; `suspect`: there are numbers, read them with the flags; `not-measured`: no number.
    status: &'static str,
    /// If `not-measured`: the reason, and what to do.
    why: Option<&'a str>,
}

/// A verdict as two fields that are always there.
pub(crate) fn status<S: Serializer>(verdict: &Verdict, serializer: S) -> Result<S::Ok, S::Error> {
    Status { status: verdict.name(), why: verdict.why() }.serialize(serializer)
}

#[derive(JsonSchema, Serialize)]
pub(crate) struct FlagsByName {
    /// Names of the flags below.
    flags: Vec<&'static str>,
    /// One sentence by name: what was seen, what it means.
    flag_details: BTreeMap<&'static str, String>,
}

/// The sentences of a name that is there twice stand one behind the other.
pub(crate) fn flags_by_name<S: Serializer>(flags: &[Flag], serializer: S) -> Result<S::Ok, S::Error> {
    let mut flag_details: BTreeMap<&str, String> = BTreeMap::new();
    for flag in flags {
        let detail = flag_details.entry(flag.name).or_default();
        if !detail.is_empty() {
            detail.push(' ');
        }
        detail.push_str(&flag.detail);
    }
    FlagsByName { flags: flags.iter().map(|flag| flag.name).collect(), flag_details }.serialize(serializer)
}
