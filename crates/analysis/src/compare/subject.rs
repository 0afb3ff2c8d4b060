use std::borrow::Cow;

use schemars::JsonSchema;
use serde::{Serialize, Serializer};
use switchcost_record::Case;
use switchcost_units::{Bytes, Nanos};

use crate::measurement::serialised::{Conditions, conditions};

/// What is compared: a measured case; a number of two designs; or live tasks.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
#[serde(untagged)]
pub enum Subject {
    /// A case of a measurement: the conditions, as the first record with this case has them.
    Case(
        #[serde(serialize_with = "conditions")]
        #[schemars(with = "Conditions<'static>")]
        Case,
    ),
    /// A part of a simulated machine.
    Simulated(Place),
    /// Live tasks.
    Observed(#[schemars(with = "KindAndName<'static>")] Who),
    /// A program that is preempted.
    Injected {
        /// What the other task touches.
        footprint_bytes: Bytes,
        /// How long the program runs until it is preempted; `None` if a record has one period alone: of others the first is compared.
        #[serde(skip_serializing_if = "Option::is_none")]
        period_ns: Option<Nanos>,
    },
}

/// Which live tasks, or who preempted them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Who {
    /// All that were observed.
    All,
    /// Those of one name; hostile data.
    Name(String),
    /// Others of one name that ran in between; hostile data, and empty for the kernel's threads.
    Neighbour(String),
}

/// A part of what was simulated.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct Place {
    /// The design's name in the base.
    pub base_design: Option<String>,
    /// The same in the new records.
    pub new_design: Option<String>,
    /// The part.
    #[serde(flatten)]
    #[schemars(with = "KindAndName<'static>")]
    pub part: Part,
}

/// Which switches, or which level.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Part {
    /// All switches.
    All,
    /// Those of one class of Mogul and Borg.
    Class(String),
    /// Those of one cause.
    Cause(String),
    /// Those of processes of one name; hostile data.
    Program(String),
    /// All references to one level of the caches or TLBs.
    Level(String),
    /// What the kernel does.
    Kernel,
    /// What a function of the kernel's executes; hostile data.
    Function(String),
    /// What a function of the kernel's misses in a level.
    FunctionLevel {
        /// The function; hostile data.
        function: String,
        /// The level.
        level: String,
    },
}

/// What a part is, in every format for programs.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize)]
pub struct KindAndName<'a> {
    /// Simulated: `all` switches, those of a `class` or a `cause`, of a `program`; a `level` of the caches and TLBs; the `kernel`, or a
    /// `function` of it, and what one misses in a level (`function-level`: `function, level`).
    /// Observed: `all` tasks, those of a `name`, or a `neighbour` that preempted them.
    pub kind: &'static str,
    /// Of the class, cause, program, level, tasks or neighbour; `None` for the kernel's threads.
    pub name: Option<Cow<'a, str>>,
}

impl Part {
    /// Whether it is a function of the kernel's.
    pub fn is_of_a_function(&self) -> bool {
        matches!(self, Part::Function(_) | Part::FunctionLevel { .. })
    }

    /// The part by its kind.
    pub fn kind_and_name(&self) -> KindAndName<'_> {
        let (kind, name) = match self {
            Part::All => ("all", None),
            Part::Class(name) => ("class", Some(name.as_str())),
            Part::Cause(name) => ("cause", Some(name.as_str())),
            Part::Program(name) => ("program", Some(name.as_str())),
            Part::Level(name) => ("level", Some(name.as_str())),
            Part::Kernel => ("kernel", None),
            Part::Function(name) => ("function", Some(name.as_str())),
            Part::FunctionLevel { function, level } => {
                return KindAndName {
                    kind: "function-level",
                    name: Some(format!("{function}, {level}").into()),
                };
            }
        };
        KindAndName {
            kind,
            name: name.map(Cow::Borrowed),
        }
    }
}

impl Who {
    /// The tasks by their kind.
    pub fn kind_and_name(&self) -> KindAndName<'_> {
        let (kind, name) = match self {
            Who::All => ("all", None),
            Who::Name(name) => ("name", Some(name.as_str())),
            Who::Neighbour(name) => (
                "neighbour",
                Some(name.as_str()).filter(|name| !name.is_empty()),
            ),
        };
        KindAndName {
            kind,
            name: name.map(Cow::Borrowed),
        }
    }
}

impl Serialize for Part {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.kind_and_name().serialize(serializer)
    }
}

impl Serialize for Who {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.kind_and_name().serialize(serializer)
    }
}
