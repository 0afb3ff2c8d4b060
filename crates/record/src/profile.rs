//! Two files that together give the cost of a switch to a program: the program's *profile*, from its trace, and the *prices* of a machine,
//! from arrays.
//!
//! The input is values that `reuse` computes from a trace, and that `switchcost` measures; the output is a JSON file for each, and the same
//! values read back (`docs/formats/json.md`). This module has no statistics and no printing, and does not know the origin of either.

mod file;
mod prices;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use strum::{Display, EnumIter, IntoEnumIterator};
use switchcost_units::Bytes;

pub use file::{read_prices, read_profile};
pub use prices::{PRICES_SCHEMA, Price, Prices, SwitchPath};

/// Name and version of a profile.
pub const PROFILE_SCHEMA: &str = "switchcost.profile/2";

/// Way in which a program requests a line. The kind decides how far hardware can hide a miss, and so the price of the line.
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
    /// Lines next to one that was requested shortly before: hardware prefetches them.
    Sequential,
    /// Lines at equal distances, requested by one instruction.
    Strided,
    /// Loads from arbitrary places, several under way at once.
    Gathered,
    /// Loads from arbitrary places that come alone, or wait for the load before, if it is not known on what their addresses depend.
    Dependent,
    /// Loads from arbitrary places whose address depends on another line that must come first.
    Chained,
    /// Stores to arbitrary places.
    Stored,
    /// Instructions that are prefetched together with those of the lines before.
    Code,
    /// Instructions that are fetched alone, so that the core waits for them.
    CodeAlone,
}

impl Kind {
    /// Returns the kinds with prices of their own. A chained line costs as much as a dependent one.
    pub fn priced() -> impl Iterator<Item = Kind> {
        Kind::iter().filter(|kind| *kind != Kind::Chained)
    }
}

/// The lines that a program uses again after a switch point, with time and kind: the input of the
/// model.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Profile {
    /// Name and version of this JSON format.
    pub schema: String,
    /// Version of the program that wrote the profile.
    pub program_version: String,
    /// The commands that were traced.
    pub commands: Vec<Vec<String>>,
    /// Programs that ran, most instructions first.
    pub programs: Vec<Program>,
    /// Size of a cache line.
    pub line_bytes: Bytes,
    /// Number of instructions in the whole trace.
    pub instructions: u64,
    /// Distance between switch points, in instructions: there is a switch point at each multiple.
    pub cut_instructions: u64,
    /// Times since a switch point, in instructions: the columns of the lists below.
    pub times_instructions: Vec<u64>,
    /// Number of lines used within each of `times_instructions` after a switch point.
    pub lines: Vec<Spread>,
    /// Lines used before a switch point and again within each of `times_instructions` after it, by
    /// kind and age. Combinations of kind and age without lines are left out.
    pub reused: Vec<Reused>,
    /// Mean number of lines used within each of `times_instructions` for the first time, or for the
    /// first time since the program used more memory than the largest age. The cost of these lines
    /// is the same without a switch.
    pub new_lines: Vec<f64>,
    /// Whether it is known on which loads addresses depend. If so, loads from arbitrary places are gathered or chained; if not, gathered or
    /// dependent, by the distance to the load before.
    #[serde(default)]
    pub has_dependences: bool,
}

/// A program that ran in the trace.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct Program {
    /// Name of the program; hostile text until escaped.
    pub name: String,
    /// GNU build ID of the program's file, in hexadecimal.
    pub build_id: Option<String>,
    /// Instructions that the program executed.
    pub instructions: u64,
}

/// Distribution over switch points of the number of lines used within a time.
#[derive(Clone, Copy, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Spread {
    /// Mean over all switch points.
    pub mean: f64,
    /// 10th percentile over switch points that are far enough apart, with a resolution of 4 %.
    pub p10: f64,
    /// Median over switch points that are far enough apart.
    pub p50: f64,
    /// 90th percentile over switch points that are far enough apart.
    pub p90: f64,
}

/// Lines that were used before a switch point and are used again after it.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Reused {
    /// Way in which the program requests the lines.
    pub kind: Kind,
    /// Age of the lines: upper end of a doubling of the bytes that the program itself used since it
    /// last used the lines.
    pub age_bytes: Bytes,
    /// Mean number of lines within each of [`Profile::times_instructions`], over all switch points.
    pub lines: Vec<f64>,
}

impl Profile {
    /// Makes the profile of a program that uses no memory; `times_instructions` are the times since
    /// a switch point.
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

    /// Returns the program with most instructions.
    pub fn program(&self) -> Option<&Program> {
        self.programs.first()
    }
}
