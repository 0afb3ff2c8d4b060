//! How many requests were served meanwhile: as the user says, or as a command counts them.

use std::process::{Command, Stdio};

use crate::cli::observe::ObserveArguments;
use crate::exit::Failure;

pub(super) enum Requests<'a> {
    Unknown,
    Known(u64),
    Counted { command: &'a str, before: u64 },
}

impl Requests<'_> {
    pub(super) fn begin(arguments: &ObserveArguments) -> Result<Requests<'_>, Failure> {
        match (&arguments.rate_cmd, arguments.requests) {
            (Some(command), _) => Ok(Requests::Counted { command, before: counted(command)? }),
            (None, Some(requests)) => Ok(Requests::Known(requests)),
            (None, None) => Ok(Requests::Unknown),
        }
    }

    pub(super) fn end(self) -> Result<Option<u64>, Failure> {
        match self {
            Requests::Unknown => Ok(None),
            Requests::Known(requests) => Ok(Some(requests)),
            Requests::Counted { command, before } => Ok(Some(counted(command)?.saturating_sub(before))),
        }
    }
}

/// The number that a command prints, and nothing else.
fn counted(command: &str) -> Result<u64, Failure> {
    let output = Command::new("sh").args(["-c", command]).stdin(Stdio::null()).stderr(Stdio::inherit()).output();
    let text = output.as_ref().map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned());
    let unfit = |found: String| Failure::Requests { command: record::printable(command), found };
    let text = text.map_err(|error| unfit(error.to_string()))?;
    text.parse().map_err(|_| unfit(format!("'{}'", record::printable(&text.chars().take(40).collect::<String>()))))
}
