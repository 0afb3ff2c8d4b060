//! Tests of how the reports look, on synthetic findings.

pub(crate) mod compared;
mod comparison;
mod doctor;
pub(crate) mod fixture;
mod for_programs;
mod html;
mod ladder;
pub(crate) mod recorded;
mod screen;
mod table;
