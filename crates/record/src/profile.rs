//! Two files that together say what a switch costs a program: its *profile*, from its trace, and the *prices* of a machine, from arrays.
//!
//! What comes in: values as `reuse` makes them of a trace, and as `switchcost` measures them. What goes out: a file of JSON each, and
//! the same values read back (`docs/formats/json.md`). No statistics, no printing, and nothing about how either comes about.

mod file;
mod prices;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use strum::{Display, EnumIter};
use switchcost_units::Bytes;

pub use file::{read_prices, read_profile};
pub use prices::{PRICES_SCHEMA, Price, Prices, SwitchPath};

/// Name and version of a profile.
pub const PROFILE_SCHEMA: &str = "switchcost.profile/1";

/// How a line is asked for: what hardware can do about a miss, and so its price, depends on it.
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
    /// A line beside one that came shortly before: fetched ahead.
    Sequential,
    /// The same instruction has come from one line to the next by the same distance, and so again.
    Strided,
    /// A load from anywhere, while others of the kind are under way.
    Gathered,
    /// A load from anywhere that comes alone, or waits for the one before it.
    Dependent,
    /// A store to anywhere.
    Stored,
    /// Instructions, fetched ahead with those of the lines before.
    Code,
    /// Instructions that come alone: the core waits for them.
    CodeAlone,
}

/// What of a program's lines is used again after a cut, when, and how: all that the model needs of it.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Profile {
    /// Name and version of this form.
    pub schema: String,
    /// Version of the program that made it.
    pub program_version: String,
    /// The commands that were traced.
    pub commands: Vec<Vec<String>>,
    /// What ran, most instructions first.
    pub programs: Vec<Program>,
    /// Size of a line.
    pub line_bytes: Bytes,
    /// Instructions of the whole trace.
    pub instructions: u64,
    /// Distance of cuts in instructions: there is one at each multiple.
    pub cut_instructions: u64,
    /// Times since a cut, in instructions: the columns of all that follows.
    pub times_instructions: Vec<u64>,
    /// All lines that are used within each time.
    pub lines: Vec<Spread>,
    /// Lines that are used again within each time, by how they are asked for and by their age; those of which there are none are left
    /// out.
    pub reused: Vec<Reused>,
    /// Lines that are used for the first time within each time, or after more than the largest age: as dear without a switch.
    pub new_lines: Vec<f64>,
}

/// A program that ran in the trace.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct Program {
    /// Its name; hostile data.
    pub name: String,
    /// Its file's GNU build ID, in hexadecimal digits.
    pub build_id: Option<String>,
    /// Its instructions.
    pub instructions: u64,
}

/// Over cuts, how many lines are used within a time.
#[derive(Clone, Copy, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Spread {
    /// Over all cuts.
    pub mean: f64,
    /// A tenth, over cuts that are so far apart, to 4 %.
    pub p10: f64,
    /// The median of these.
    pub p50: f64,
    /// Nine tenths.
    pub p90: f64,
}

/// Lines that were used before a cut and are used again after it.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct Reused {
    /// How they are asked for.
    pub kind: Kind,
    /// What the program itself used since their last use is at most so much, and more than half of it.
    pub age_bytes: Bytes,
    /// Mean over all cuts, within each time.
    pub lines: Vec<f64>,
}

impl Profile {
    /// Of a program that does nothing, for as long as these times.
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
        }
    }

    /// The program with most instructions.
    pub fn program(&self) -> Option<&Program> {
        self.programs.first()
    }
}
