use std::borrow::Cow;

use schemars::JsonSchema;
use serde::{Serialize, Serializer};
use switchcost_record::Case;
use switchcost_units::{Bytes, Nanos};

use crate::measurement::serialised::{Conditions, conditions};

/// Subject of a comparison: a measured case, a number of two designs, or live tasks.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
#[serde(untagged)]
pub enum Subject {
    /// A case of a measurement, with the conditions of the first record that has it.
    Case(
        #[serde(serialize_with = "conditions")]
        #[schemars(with = "Conditions<'static>")]
        Case,
    ),
    /// A part of a simulated machine.
    Simulated(Place),
    /// Live tasks, which were observed.
    Observed(#[schemars(with = "KindAndName<'static>")] Who),
    /// A program that is preempted.
    Injected {
        /// Bytes that the preempting task touches.
        footprint_bytes: Bytes,
        /// Time that the program runs until it is preempted; `None` if a record has only one
        /// period. Then the first period is compared.
        #[serde(skip_serializing_if = "Option::is_none")]
        period_ns: Option<Nanos>,
    },
}

impl Subject {
    /// Whether the subject is a main one: a case, a whole design, or all tasks.
    pub(super) fn is_main(&self) -> bool {
        match self {
            Subject::Case(_) | Subject::Injected { .. } => true,
            Subject::Simulated(place) => place.part == Part::All,
            Subject::Observed(who) => *who == Who::All,
        }
    }

    /// Whether the subject is a kernel function.
    pub(super) fn is_of_a_function(&self) -> bool {
        matches!(self, Subject::Simulated(place) if place.part.is_of_a_function())
    }
}

/// Tasks to which a number belongs: live tasks, or tasks that preempted live ones.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Who {
    /// All observed tasks together.
    All,
    /// Observed tasks of one name; hostile text until escaped.
    Name(String),
    /// Tasks of one name that ran between time slices of the observed ones; hostile text until
    /// escaped, empty for kernel threads.
    Neighbour(String),
}

/// A part of a simulation.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct Place {
    /// Name of the design in the base records.
    pub base_design: Option<String>,
    /// Name of the design in the new records.
    pub new_design: Option<String>,
    /// The switches, level or function that the number belongs to.
    #[serde(flatten)]
    #[schemars(with = "KindAndName<'static>")]
    pub part: Part,
}

/// Switches, a level, or a part of the kernel in a simulation.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Part {
    /// All switches together.
    All,
    /// Switches of one class, as Mogul and Borg 1990 define classes.
    Class(String),
    /// Switches of one cause.
    Cause(String),
    /// Switches of processes of one name; hostile text until escaped.
    Program(String),
    /// All references to one level of the caches or TLBs.
    Level(String),
    /// All work of the kernel.
    Kernel,
    /// All code of one kernel function; hostile text until escaped.
    Function(String),
    /// Misses of a kernel function in a level.
    FunctionLevel {
        /// Name of the function; hostile text until escaped.
        function: String,
        /// Name of the level.
        level: String,
    },
}

/// Kind and name of a compared part, as in all machine-readable formats.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize)]
pub struct KindAndName<'a> {
    /// Kind of the part. In a simulation: `all` switches, those of a `class`, `cause` or `program`;
    /// a `level` of the caches and TLBs; the `kernel`, a `function` of the kernel, or a function's
    /// misses in a level (`function-level`: `function, level`). In an observation: `all` tasks,
    /// those of a `name`, or a `neighbour` (another task that preempted them).
    pub kind: &'static str,
    /// Name of the class, cause, program, level or tasks; `None` for kernel threads.
    pub name: Option<Cow<'a, str>>,
}

impl Part {
    /// Whether the part is a kernel function.
    pub fn is_of_a_function(&self) -> bool {
        matches!(self, Part::Function(_) | Part::FunctionLevel { .. })
    }

    /// Returns the kind and name of the part.
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
    /// Returns the kind and name of the tasks.
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
