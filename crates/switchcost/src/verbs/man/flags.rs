//! Describes the subcommands and their flags as data, for programs that call switchcost
//! (`docs/formats/json.md`).

use std::any::TypeId;
use std::path::PathBuf;

use clap::{Arg, ArgAction, Command};
use schemars::JsonSchema;
use serde::Serialize;
use switchcost_units::{Bytes, CpuId, Nanos};

pub(crate) const SCHEMA: &str = "switchcost.flags/1";

/// Description of the program and its commands.
#[derive(JsonSchema, Serialize)]
pub(crate) struct Description {
    /// Name and version of this format.
    schema: &'static str,
    /// Version of this program.
    program_version: &'static str,
    #[serde(flatten)]
    verb: Verb,
}

/// A subcommand of the program.
#[derive(JsonSchema, Serialize)]
struct Verb {
    /// Name of the subcommand; `switchcost` for the program itself.
    name: String,
    /// Description of the subcommand in one sentence, without a full stop.
    about: String,
    /// Flags and positional arguments, in the order of the help; `--help` and `--version` are left out.
    arguments: Vec<Argument>,
    /// Subcommands of the subcommand.
    verbs: Vec<Verb>,
}

/// A flag or a positional argument.
#[derive(JsonSchema, Serialize)]
struct Argument {
    /// Name of the flag without `--`, or of the positional argument.
    name: String,
    /// Whether the argument has no flag.
    is_positional: bool,
    /// Whether the argument is required.
    is_required: bool,
    /// Name of the value in the help; null if the argument takes no value.
    value: Option<String>,
    /// Kind of the value: `flag` (no value), `name` (of a closed list), `size` (`64KiB`), `time` (`30s`), `percentage` (`5%`), `integer`,
    /// `path`, `text`.
    kind: &'static str,
    /// Allowed names, if the list is closed; otherwise empty.
    names: Vec<String>,
    /// Way of giving several values: separated by `commas`, or by repeating the flag (`repeated`); null for one value.
    several: Option<&'static str>,
    /// Whether the flag may be given without its value.
    is_value_optional: bool,
    /// Default value of the argument, if there is one.
    default: Option<String>,
    /// Heading of the help under which the argument appears.
    heading: Option<String>,
    /// Description of the argument in one sentence, without a full stop.
    help: String,
}

/// Returns the description of a command and its subcommands as JSON. The command must have been
/// built.
pub(super) fn json(command: &Command) -> String {
    let description = Description {
        schema: SCHEMA,
        program_version: env!("CARGO_PKG_VERSION"),
        verb: verb(command),
    };
    serde_json::to_string_pretty(&description).expect("texts and lists") + "\n"
}

fn verb(command: &Command) -> Verb {
    let is_reported = |name: &str| name != "help" && name != "version";
    Verb {
        name: command.get_name().to_owned(),
        about: command
            .get_about()
            .map(ToString::to_string)
            .unwrap_or_default(),
        arguments: command
            .get_arguments()
            .filter(|flag| is_reported(flag.get_id().as_str()))
            .map(argument)
            .collect(),
        verbs: command
            .get_subcommands()
            .filter(|verb| is_reported(verb.get_name()))
            .map(verb)
            .collect(),
    }
}

fn argument(argument: &Arg) -> Argument {
    let takes_value = argument.get_action().takes_values();
    let names = if takes_value {
        names(argument)
    } else {
        Vec::new()
    };
    Argument {
        name: argument
            .get_long()
            .unwrap_or_else(|| argument.get_id().as_str())
            .to_owned(),
        is_positional: argument.is_positional(),
        is_required: argument.is_required_set(),
        value: argument
            .get_value_names()
            .filter(|_| takes_value)
            .map(|names| names.join(" ")),
        kind: if names.is_empty() {
            kind(argument)
        } else {
            "name"
        },
        names,
        several: value_separator(argument),
        is_value_optional: argument
            .get_num_args()
            .is_some_and(|number| takes_value && number.min_values() == 0),
        default: argument
            .get_default_values()
            .first()
            .filter(|_| takes_value)
            .map(|value| value.to_string_lossy().into()),
        heading: argument.get_help_heading().map(str::to_owned),
        help: argument
            .get_help()
            .map(ToString::to_string)
            .unwrap_or_default(),
    }
}

/// Returns how several values are given: separated by `commas`, or by repeating the flag
/// (`repeated`); `None` for a single value.
fn value_separator(argument: &Arg) -> Option<&'static str> {
    match argument.get_action() {
        ArgAction::Append if argument.get_value_delimiter() == Some(',') => Some("commas"),
        ArgAction::Append => Some("repeated"),
        _ => None,
    }
}

/// Returns the kind of an argument's value, such as `size` or `time`.
fn kind(argument: &Arg) -> &'static str {
    let is_value_name = |name: &str| {
        argument
            .get_value_names()
            .is_some_and(|names| names.iter().any(|of| of == name))
    };
    if !argument.get_action().takes_values() {
        "flag"
    } else if is_value_name("PERCENT") {
        "percentage"
    } else if is::<Bytes>(argument) {
        "size"
    } else if is::<Nanos>(argument) {
        "time"
    } else if is::<PathBuf>(argument) {
        "path"
    } else if is::<u16>(argument)
        || is::<u32>(argument)
        || is::<u64>(argument)
        || is::<usize>(argument)
        || is::<CpuId>(argument)
    {
        "integer"
    } else {
        "text"
    }
}

fn is<T: 'static>(argument: &Arg) -> bool {
    argument.get_value_parser().type_id() == TypeId::of::<T>()
}

/// Returns the names that an argument accepts; empty if other values are accepted, too.
fn names(argument: &Arg) -> Vec<String> {
    let values = argument.get_possible_values();
    let names = values.iter().map(|value| value.get_name().to_owned());
    names.collect()
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;
    use serde_json::{Value, json};

    use crate::cli::Cli;

    /// A test of the Python package compares all flags with the flags from which the package was
    /// generated.
    #[test]
    fn a_flag_is_reported_with_what_its_value_is() {
        let mut command = Cli::command();
        command.build();
        let described: Value = serde_json::from_str(&super::json(&command)).expect("JSON");
        let named = |list: &Value, name: &str| {
            let mut list = list.as_array().expect("a list").iter();
            list.find(|one| one["name"] == name)
                .expect("it is there")
                .clone()
        };
        for (verb, flag, field, value) in [
            ("measure", "size", "kind", json!("size")),
            ("measure", "size", "several", json!("commas")),
            ("measure", "budget", "several", Value::Null),
            ("measure", "confidence", "kind", json!("percentage")),
            ("measure", "seed", "kind", json!("integer")),
            ("simulate", "vary", "several", json!("repeated")),
            ("report", "record", "kind", json!("path")),
            ("measure", "pages", "names", json!(["base", "huge"])),
            ("observe", "by", "default", json!("program")),
            ("observe", "stacks", "is_value_optional", json!(true)),
            ("observe", "requests", "is_value_optional", json!(false)),
        ] {
            let verb = named(&described["verbs"], verb);
            let reported = named(&verb["arguments"], flag);
            assert_eq!(reported[field], value, "{flag}: {reported}");
        }
    }
}
