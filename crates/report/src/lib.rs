//! Renders findings as tables for people, as JSON and CSV for programs, and as HTML pages with
//! figures. Internal to switchcost.
//!
//! The input is a record, its findings, a [`Format`] and a [`Style`]. The output is a `String` that
//! ends in a newline. This crate uses no files, reads nothing from the machine, and computes no
//! statistics. A report contains only numbers from the findings, and states what could not be
//! measured. Names and reasons from a record are untrusted, so their control characters are
//! removed.
#[macro_use]
mod entry;

mod ascii;
pub mod compare;
pub mod doctor;
mod figure;
mod for_programs;
mod format;
mod grid;
pub mod html;
pub mod inject;
mod listing;
pub mod measure;
pub mod observe;
mod page;
mod plain;
mod quantity;
pub mod reproduce;
pub mod schema;
pub mod simulate;
mod slug;
mod sparkline;
mod style;
pub mod trace;

#[cfg(test)]
#[path = "../tests/it/conformity.rs"]
mod conformity;
#[cfg(test)]
#[path = "../tests/it/text.rs"]
mod text;
#[cfg(test)]
use schema::schemas;

pub use ascii::ascii;
pub(crate) use entry::{Entry, Tone};
pub(crate) use for_programs::{Document, OutputFormat, Table};
pub use format::Format;
pub(crate) use format::InEveryFormat;
pub(crate) use grid::Grid;
pub(crate) use page::Page;
pub use plain::{as_argument, plain};
pub use style::Style;
