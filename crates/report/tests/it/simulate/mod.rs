//! What the reports on a simulation look like, on a record made by hand.

mod comparison;
pub(crate) mod fixture;
mod for_programs;
mod html;
mod table;
