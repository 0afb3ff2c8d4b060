use std::borrow::Cow;

use schemars::JsonSchema;
use serde::{Serialize, Serializer};
use switchcost_record::Case;
use switchcost_units::{Bytes, Nanos};

use crate::measurement::serialised::{Conditions, conditions};

/// Subject of a comparison: a measured case, a part of a simulation, observed tasks, or a preempted
/// program.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
#[serde(untagged)]
pub enum Subject {
    /// A case of a measurement, with the conditions in the first record that has the case.
    Case(
        #[serde(serialize_with = "conditions")]
        #[schemars(with = "Conditions<'static>")]
        Case,
    ),
    /// A part of a simulation of two designs.
    Simulated(Place),
    /// Observed tasks, or tasks that preempted them.
    Observed(#[schemars(with = "KindAndName<'static>")] Who),
    /// A program that was preempted by `inject`.
    Injected {
        /// Number of bytes that the preempting task touches.
        footprint_bytes: Bytes,
        /// Time between two preemptions in nanoseconds; `None` if a record has only one period.
        /// Without a value, the costs at the first period of each record are compared.
        #[serde(skip_serializing_if = "Option::is_none")]
        period_ns: Option<Nanos>,
    },
}

impl Subject {
    /// Whether the subject is a main one: a case, a whole design, all observed tasks, or a
    /// preempted program.
    pub(super) fn is_main(&self) -> bool {
        match self {
            Subject::Case(_) | Subject::Injected { .. } => true,
            Subject::Simulated(place) => place.part == Part::All,
            Subject::Observed(who) => *who == Who::All,
        }
    }

    /// Whether the subject is a kernel function, or a function's misses in one level.
    pub(super) fn is_of_a_function(&self) -> bool {
        matches!(self, Subject::Simulated(place) if place.part.is_of_a_function())
    }
}

/// Tasks to which a compared number belongs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Who {
    /// All observed tasks together.
    All,
    /// Observed tasks of one name; untrusted text that must be escaped before it is shown.
    Name(String),
    /// Tasks of one name that ran between time slices of the observed tasks; untrusted text that
    /// must be escaped before it is shown. Empty for kernel threads.
    Neighbour(String),
}

/// A part of a simulation, with the names of the compared designs.
#[derive(Clone, Debug, PartialEq, JsonSchema, Serialize)]
pub struct Place {
    /// Name of the design in the base records; `None` if they have none.
    pub base_design: Option<String>,
    /// Name of the design in the new records; `None` if they have none.
    pub new_design: Option<String>,
    /// The switches, level or function to which the number belongs.
    #[serde(flatten)]
    #[schemars(with = "KindAndName<'static>")]
    pub part: Part,
}

/// Part of a simulation to which a compared number belongs.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Part {
    /// All switches of the trace.
    All,
    /// Switches of one class, in the classes of Mogul and Borg 1990.
    Class(String),
    /// Switches with one cause, such as `voluntary syscall read`.
    Cause(String),
    /// Switches of processes with one name; untrusted text that must be escaped before it is shown.
    Program(String),
    /// All references to one cache or TLB.
    Level(String),
    /// All instructions of the kernel.
    Kernel,
    /// All instructions of one kernel function; untrusted text that must be escaped before it is
    /// shown.
    Function(String),
    /// Misses of one kernel function in one cache or TLB.
    FunctionLevel {
        /// Name of the kernel function; untrusted text that must be escaped before it is shown.
        function: String,
        /// Name of the cache or TLB.
        level: String,
    },
}

/// Kind and name of a compared part, as in all machine-readable formats.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize)]
pub struct KindAndName<'a> {
    /// Kind of the part. In a simulation: `all` switches, those of a `class`, `cause` or `program`;
    /// a `level` (cache or TLB); the `kernel`, a `function` of the kernel, or a function's misses
    /// in a level (`function-level`, with the name `function, level`). In an observation: `all`
    /// tasks, those of a `name`, or a `neighbour` (another program that preempted them).
    pub kind: &'static str,
    /// Name of the class, cause, program, level or tasks; `None` if the kind has no name, and for
    /// kernel threads.
    pub name: Option<Cow<'a, str>>,
}

impl Part {
    /// Whether the part belongs to a kernel function.
    pub fn is_of_a_function(&self) -> bool {
        matches!(self, Part::Function(_) | Part::FunctionLevel { .. })
    }

    /// Returns the kind and name of this part of a simulation.
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
