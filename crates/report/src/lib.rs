//! Internal to switchcost: findings to text: tables for people, JSON and CSV for programs, and a page of HTML with figures.
//!
//! What comes in: a record, the findings drawn from it, a [`Format`] and a [`Style`]. What goes out: a `String` that
//! ends in a newline. No files, no machine, no statistics: a number that is not in the findings is not in the report,
//! and what could not be measured is said in words. Names and reasons from a record are hostile text: no control
//! character of theirs reaches a terminal.

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
pub use format::Format;
pub use plain::{as_argument, plain};
pub use style::Style;
