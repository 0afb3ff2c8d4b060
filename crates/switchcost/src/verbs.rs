//! One file a verb.

pub(crate) mod compare;
pub(crate) mod completions;
pub(crate) mod doctor;
pub(crate) mod man;
pub(crate) mod measure;
pub(crate) mod observe;
pub(crate) mod report;
pub(crate) mod reproduce;
pub(crate) mod schema;
pub(crate) mod simulate;
pub(crate) mod trace;
pub(crate) mod workload;
