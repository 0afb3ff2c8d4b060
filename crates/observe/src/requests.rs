//! How many requests were served meanwhile: as the user says, or as a command counts them.

use std::io::{self, Read};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::run::ObserveError;

/// A command has so long to print its number ...
const PATIENCE: Duration = Duration::from_secs(10);
/// ... in so many bytes.
const LONGEST: u64 = 4096;

/// Where the number of requests comes from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Requests {
    /// From nowhere.
    #[default]
    Unknown,
    /// It is known.
    Known(u64),
    /// A shell command prints how many were served so far.
    Counted(String),
}

/// The number before the observation.
pub(crate) struct Before {
    requests: Requests,
    before: u64,
}

impl Requests {
    pub(crate) fn begin(self) -> Result<Before, ObserveError> {
        let before = if let Requests::Counted(command) = &self { counted(command)? } else { 0 };
        Ok(Before { requests: self, before })
    }
}

impl Before {
    pub(crate) fn end(self) -> Result<Option<u64>, ObserveError> {
        match &self.requests {
            Requests::Unknown => Ok(None),
            Requests::Known(requests) => Ok(Some(*requests)),
            Requests::Counted(command) => Ok(Some(counted(command)?.saturating_sub(self.before))),
        }
    }
}

/// The number that a command prints, and nothing else.
fn counted(command: &str) -> Result<u64, ObserveError> {
    let unfit = |found: String| ObserveError::Requests { command: command.to_owned(), found };
    let text = output_of(command).map_err(|error| unfit(error.to_string()))?;
    let text = text.trim();
    text.parse().map_err(|_| unfit(format!("'{}'", text.chars().take(40).collect::<String>())))
}

/// What a shell command prints, in time. It ends when we have read what we want, or by SIGKILL.
fn output_of(command: &str) -> io::Result<String> {
    let mut shell = Command::new("sh");
    shell.args(["-c", command]).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::inherit());
    let mut child = Bounded(shell.spawn()?);
    let output = child.0.stdout.take().ok_or_else(|| io::Error::other("no pipe"))?;
    let reader = std::thread::Builder::new().spawn(move || {
        let mut bytes = Vec::new();
        output.take(LONGEST + 1).read_to_end(&mut bytes).map(|_| bytes)
    })?;
    let began = Instant::now();
    while !reader.is_finished() {
        if began.elapsed() > PATIENCE {
            return Err(io::Error::other(format!("nothing within {} s", PATIENCE.as_secs())));
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    let bytes = reader.join().unwrap_or_else(|_| Err(io::Error::other("the reader failed")))?;
    if bytes.len() as u64 > LONGEST {
        return Err(io::Error::other(format!("more than {LONGEST} bytes")));
    }
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Ended and waited for when dropped.
struct Bounded(Child);

impl Drop for Bounded {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(command: &str) -> String {
        match counted(command).expect_err("it is no number") {
            ObserveError::Requests { found, .. } => found,
            other => other.to_string(),
        }
    }

    #[test]
    fn a_command_prints_a_number_and_nothing_else() {
        assert_eq!(counted("echo ' 17'").ok(), Some(17));
        assert_eq!(found("echo many"), "'many'");
        assert_eq!(found("true"), "''");
    }

    #[test]
    fn one_that_prints_without_end_is_not_read_to_its_end() {
        assert_eq!(found("yes"), "more than 4096 bytes");
    }
}
