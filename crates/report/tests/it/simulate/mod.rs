//! Tests of how the reports on a simulation look, on a synthetic record.

mod comparison;
pub(crate) mod fixture;
mod for_programs;
mod html;
mod table;
