//! Reproduces publications: defines the commands to run, and compares their records with the
//! papers' figures and tables. Internal to switchcost.
//!
//! The input is the machine ([`Site`]), and the records of the [`Step`]s ([`Records`]). The output
//! is [`Exhibit`]s, one for each published figure or table: the published values, those found here,
//! and for each statement of the paper whether it is reproduced here ([`Claim`]). The crate is
//! pure: it uses no files and no machine, and prints nothing; estimates come from `analysis`, and
//! this crate compares them. The claims with their rules are a table ([`Entry`]).
//!
//! A claim is about a *shape* (an order, a knee, a ratio), which any machine can show, and not
//! about nanoseconds, which only the paper's machine can show.

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
pub use claims::{Claim, Entry, Kind, Other, Reason, ReasonEntry, Rule, Term, Verdict, table};
pub use earlier::{Earlier, stand};
pub use exhibit::{Cell, Exhibit, Table};
pub use paper::Paper;
pub use records::Records;
pub use step::{Effort, Site, Step};
pub use stored::{EarlierError, Stored};
pub use verdicts::{Counts, Verdicts};
