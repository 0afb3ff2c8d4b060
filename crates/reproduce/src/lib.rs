//! Reproduces publications: defines the commands to run, and compares their results with the
//! figures and tables of the papers. Internal to switchcost.
//!
//! The input is the machine ([`Site`]) and the records of the [`Step`]s ([`Records`]). The output
//! is [`Exhibit`]s, one for each published figure or table: the published values, the values found
//! here, and for each statement of the paper a verdict ([`Claim`]). This crate is pure: it uses no
//! files, reads nothing from the machine, and prints nothing. Estimates come from `analysis`, and
//! this crate compares them. The claims and their rules are a table ([`Entry`]).
//!
//! A claim is about a *shape* (an order, a knee, a ratio), which any machine can show. Absolute
//! times can only be shown by the paper's machine.

mod arm;
mod blog;
mod chart;
mod claims;
mod earlier;
mod exhibit;
mod interval;
mod li2007;
mod lmbench;
mod michigan;
mod mogul1990;
mod paper;
mod papers;
mod published;
mod records;
mod step;
mod stored;
#[cfg(test)]
mod testing;
mod text;
mod today;
mod verdicts;

pub use chart::{Axis, Chart, Series, Style};
pub(crate) use claims::Outcome;
pub use claims::{
    Claim, Entry, Kind, Other, Reason, ReasonEntry, Rule, Setting, Term, Verdict, table,
};
pub use earlier::{Earlier, stand};
pub use exhibit::{Cell, Exhibit, Table};
pub use paper::Paper;
pub use records::Records;
pub use step::{Effort, Site, Step};
pub use stored::{EarlierError, Stored};
pub use verdicts::{Counts, Verdicts};
