//! Two kinds of file that together give the cost of a switch for a program: the program's
//! *profile*, from its trace, and the *prices* of a machine, which are the costs of lost lines
//! measured with arrays.
//!
//! The crate `reuse` computes profiles, and `switchcost measure --prices` measures prices. The
//! writer stores each as a JSON file (`docs/formats/json.md`), and the reader returns the same
//! values. This module computes no statistics and prints nothing.

mod file;
mod prices;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use strum::{Display, EnumIter, IntoEnumIterator};
use switchcost_units::Bytes;

pub use file::{read_prices, read_profile};
pub use prices::{PRICES_SCHEMA, Price, Prices, SwitchPath};

/// Name and version of the profile's format.
pub const PROFILE_SCHEMA: &str = "switchcost.profile/2";

/// Kind of access by which a program requests a line. The kind decides how much of a miss the
/// hardware can hide, and so the cost of losing the line.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Display,
    EnumIter,
    JsonSchema,
    Serialize,
    Deserialize,
)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum Kind {
    /// Lines next to one that was requested shortly before, which the hardware prefetches.
    Sequential,
    /// Lines at equal distances, which one instruction requests.
    Strided,
    /// Loads from arbitrary addresses, of which several are in flight at the same time.
    Gathered,
    /// Loads from arbitrary addresses that come alone, or wait for the load before. Used if
    /// dependences between loads are unknown.
    Dependent,
    /// Loads from arbitrary addresses, each of which depends on the value of another line.
    Chained,
    /// Stores to arbitrary addresses.
    Stored,
    /// Instruction fetches that are prefetched together with those of the lines before.
    Code,
    /// Instruction fetches that come alone, for which the core waits.
    CodeAlone,
}

impl Kind {
    /// Returns the kinds that have a measured cost. A chained line costs as much as a dependent
    /// one.
    pub fn priced() -> impl Iterator<Item = Kind> {
        Kind::iter().filter(|kind| *kind != Kind::Chained)
    }
}

/// Lines that a program uses again after a switch point, by time, kind and age. A profile is the
/// input of the model (docs/method/model.md).
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Profile {
    /// Name and version of this JSON format, [`PROFILE_SCHEMA`].
    pub schema: String,
    /// Version of the program that wrote the profile.
    pub program_version: String,
    /// Command lines that were traced, as lists of arguments.
    pub commands: Vec<Vec<String>>,
    /// Programs that ran in the trace, most instructions first.
    pub programs: Vec<Program>,
    /// Size of a cache line in bytes.
    pub line_bytes: Bytes,
    /// Number of instructions in the whole trace.
    pub instructions: u64,
    /// Distance between two switch points in instructions. A switch point is an instruction at
    /// which a switch is assumed.
    pub cut_instructions: u64,
    /// Times after a switch point, in instructions. Each list below has one entry or column per
    /// time.
    pub times_instructions: Vec<u64>,
    /// Number of lines used within each of `times_instructions` after a switch point, over all
    /// switch points.
    pub lines: Vec<Spread>,
    /// Lines used before a switch point and again within each of `times_instructions` after it, by
    /// kind and age. Combinations without lines are left out.
    pub reused: Vec<Reused>,
    /// Mean number of lines used within each of `times_instructions` that were new: used for the
    /// first time, or not since the program used more memory than the largest age. A switch does
    /// not change the cost of new lines.
    pub new_lines: Vec<f64>,
    /// Whether dependences between loads are known. If so, loads from arbitrary addresses are
    /// gathered or chained. Otherwise the loads are gathered or dependent, by the distance to the
    /// load before.
    #[serde(default)]
    pub has_dependences: bool,
}

/// A program that ran in the trace, and its instructions.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct Program {
    /// Name of the program; untrusted text that must be escaped before it is shown.
    pub name: String,
    /// GNU build ID of the program's file, in hexadecimal.
    pub build_id: Option<String>,
    /// Number of instructions that the program executed.
    pub instructions: u64,
}

/// Mean and percentiles of the number of lines used within a time, over switch points.
#[derive(Clone, Copy, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Spread {
    /// Mean number of lines used within a time, over all switch points.
    pub mean: f64,
    /// 10th percentile of the number of lines over switch points that are far enough apart, with a
    /// resolution of 4 %.
    pub p10: f64,
    /// Median number of lines over switch points that are far enough apart, with a resolution of 4
    /// %.
    pub p50: f64,
    /// 90th percentile of the number of lines over switch points that are far enough apart, with a
    /// resolution of 4 %.
    pub p90: f64,
}

/// Lines of one kind and age that were used before a switch point and are used again afterwards.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Reused {
    /// Kind of access by which the program requests the lines.
    pub kind: Kind,
    /// Largest age of the lines in bytes: the amount of memory that the program itself used since
    /// it last used the lines. Each entry covers a doubling of the age.
    pub age_bytes: Bytes,
    /// Mean number of lines within each of [`Profile::times_instructions`] after a switch point.
    pub lines: Vec<f64>,
}

impl Profile {
    /// Returns the profile of a program that uses no memory, with these switch points and times.
    pub fn empty(cut_instructions: u64, times_instructions: Vec<u64>) -> Profile {
        let columns = times_instructions.len();
        Profile {
            schema: PROFILE_SCHEMA.to_owned(),
            program_version: String::new(),
            commands: Vec::new(),
            programs: Vec::new(),
            line_bytes: Bytes(64),
            instructions: 0,
            cut_instructions,
            times_instructions,
            lines: vec![
                Spread {
                    mean: 0.0,
                    p10: 0.0,
                    p50: 0.0,
                    p90: 0.0
                };
                columns
            ],
            reused: Vec::new(),
            new_lines: vec![0.0; columns],
            has_dependences: false,
        }
    }

    /// Returns the program with the most instructions; `None` if no program ran.
    pub fn program(&self) -> Option<&Program> {
        self.programs.first()
    }
}
