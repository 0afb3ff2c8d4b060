//! Turns findings into text: tables for people, JSON and CSV for programs, and an HTML page with
//! figures. Internal to switchcost.
//!
//! The input is a record, its findings, a [`Format`] and a [`Style`]; the output is a `String` that
//! ends in a newline. This crate uses no files, no machine and no statistics: the report has only
//! numbers from the findings, and words for what could not be measured. Names and reasons from a
//! record are hostile text: none of their control characters reaches a terminal.
#[macro_use]
mod entry;

mod ascii;
mod case;
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
mod style;
pub mod trace;

#[cfg(test)]
#[path = "../tests/it/conformity.rs"]
mod conformity;
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
