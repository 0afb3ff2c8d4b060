//! Types of the tables that define the trials.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::verb::Verb;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Verbs {
    verb: Vec<Verb>,
}

/// Reads the table of all subcommands under attack.
pub(crate) fn verbs() -> Vec<Verb> {
    read::<Verbs>(include_str!("../tables/verbs.toml")).verb
}

/// Reads a table that is built into this program.
pub(crate) fn read<T: DeserializeOwned>(text: &str) -> T {
    toml::from_str(text)
        .unwrap_or_else(|error| panic!("a table of this program cannot be read: {error}"))
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Kills {
    pub(crate) kill: Vec<Kill>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Kill {
    pub(crate) signal: String,
    pub(crate) victim: Victim,
    pub(crate) moments: u32,
    /// Whether the program catches the signal, and ends with 128 plus the signal's number.
    #[serde(default)]
    pub(crate) answers: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Victim {
    Program,
    Child,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Injections {
    pub(crate) injection: Vec<Injection>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Injection {
    pub(crate) call: String,
    pub(crate) errors: Vec<String>,
    pub(crate) runs: usize,
    #[serde(default)]
    pub(crate) not_in_captures: bool,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Environments {
    pub(crate) environment: Vec<Environment>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Environment {
    pub(crate) name: String,
    #[serde(default)]
    pub(crate) wrap: Vec<String>,
    #[serde(default)]
    pub(crate) set: BTreeMap<String, String>,
    #[serde(default)]
    pub(crate) unset: Vec<String>,
    #[serde(default)]
    pub(crate) works: bool,
    #[serde(default)]
    pub(crate) silent: bool,
    #[serde(default)]
    pub(crate) killed: bool,
    pub(crate) says: Option<String>,
    pub(crate) forbids: Option<String>,
    #[serde(default)]
    pub(crate) not_in: Vec<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Planted {
    pub(crate) read: Vec<Read>,
    pub(crate) executed: Vec<Executed>,
    pub(crate) kept: Vec<Kept>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Read {
    pub(crate) name: String,
    pub(crate) at: String,
    pub(crate) like: String,
    pub(crate) words: Vec<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Executed {
    pub(crate) name: String,
    pub(crate) at: String,
    #[serde(default)]
    pub(crate) beside: Vec<String>,
    #[serde(default)]
    pub(crate) copied: bool,
    pub(crate) words: Vec<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Kept {
    pub(crate) name: String,
    pub(crate) words: Vec<String>,
    #[serde(default)]
    pub(crate) unset: Vec<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Clients {
    pub(crate) client: Vec<Client>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Client {
    pub(crate) name: String,
    pub(crate) count: usize,
    #[serde(default)]
    pub(crate) sends: String,
    #[serde(default = "default_once")]
    pub(crate) repeat: usize,
    pub(crate) every_ms: Option<u64>,
    #[serde(default)]
    pub(crate) reads: bool,
    #[serde(default)]
    pub(crate) then: Then,
    #[serde(default)]
    pub(crate) answers: Vec<String>,
}

fn default_once() -> usize {
    1
}

/// What a client does after it has sent its request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Then {
    #[default]
    Close,
    Reset,
    Stay,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Mutants {
    pub(crate) format: Vec<Format>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Format {
    pub(crate) name: String,
    pub(crate) sample: String,
    pub(crate) form: Form,
    pub(crate) readers: Vec<Vec<String>>,
    pub(crate) codes: Vec<i32>,
    pub(crate) changes: BTreeMap<Change, usize>,
    #[serde(default)]
    pub(crate) confined: Vec<Confined>,
}

/// A part of a record whose change may affect only some parts of the report.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Confined {
    pub(crate) of: String,
    pub(crate) to: Vec<String>,
}

/// Format of a file, which determines how its checksums are computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Form {
    Lines,
    Document,
    Parquet,
    Trace,
    Text,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Change {
    Number,
    Word,
    Field,
    Kind,
    Byte,
    Cut,
    Piece,
    Cell,
}

impl Change {
    /// Returns the change with this name in the names of trials; `None` if there is none.
    pub(crate) fn named(name: &str) -> Option<Change> {
        Change::deserialize(serde::de::value::StrDeserializer::<serde::de::value::Error>::new(name))
            .ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_name_stands_for_two_trials() {
        let environments =
            read::<Environments>(include_str!("../tables/environments.toml")).environment;
        let clients = read::<Clients>(include_str!("../tables/clients.toml")).client;
        let verbs = verbs();
        let mut names: Vec<&str> = environments
            .iter()
            .map(|environment| environment.name.as_str())
            .collect();
        names.extend(clients.iter().map(|client| client.name.as_str()));
        names.extend(verbs.iter().map(|verb| verb.name.as_str()));
        let all = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), all);
        assert!(names.iter().all(|name| !name.contains('/')));
    }
}
