//! A shell command that prints a number: how much work was done so far.

use std::io::{self, Read};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::task::tie;

/// A command has so long to print its number ...
const TIMEOUT: Duration = Duration::from_secs(10);
/// ... and to end when it has closed its output ...
const END: Duration = Duration::from_secs(1);
/// ... in so many bytes.
const LONGEST: u64 = 4096;

/// The number that a command prints, and nothing else.
///
/// # Errors
/// What was found in its place: hostile text until escaped.
pub fn counted(command: &str) -> Result<u64, String> {
    let text = output_of(command).map_err(|error| error.to_string())?;
    let text = text.trim();
    text.parse()
        .map_err(|_| format!("'{}'", text.chars().take(40).collect::<String>()))
}
/// What a shell command prints, in time. It ends when we have read what we want, or by SIGKILL.
fn output_of(command: &str) -> io::Result<String> {
    let mut shell = Command::new("sh");
    shell
        .args(["-c", command])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::inherit());
    tie(&mut shell);
    let mut child = Bounded(shell.spawn()?);
    let output = child
        .0
        .stdout
        .take()
        .ok_or_else(|| io::Error::other("no pipe"))?;
    let reader = std::thread::Builder::new().spawn(move || {
        let mut bytes = Vec::new();
        output
            .take(LONGEST + 1)
            .read_to_end(&mut bytes)
            .map(|_| bytes)
    })?;
    let began = Instant::now();
    while !reader.is_finished() {
        if began.elapsed() > TIMEOUT {
            return Err(io::Error::other(format!(
                "nothing within {} s",
                TIMEOUT.as_secs()
            )));
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    let bytes = reader
        .join()
        .unwrap_or_else(|_| Err(io::Error::other("the reader failed")))?;
    if bytes.len() as u64 > LONGEST {
        return Err(io::Error::other(format!("more than {LONGEST} bytes")));
    }
    // What fails may have printed something all the same.
    let closed = Instant::now();
    while closed.elapsed() < END {
        match child.0.try_wait()? {
            Some(status) if status.success() => break,
            Some(status) => return Err(io::Error::other(status.to_string())),
            None => std::thread::sleep(Duration::from_millis(1)),
        }
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

    #[test]
    fn a_command_prints_a_number_and_nothing_else() {
        assert_eq!(counted("echo ' 17'"), Ok(17));
        assert_eq!(counted("echo many"), Err("'many'".to_owned()));
        assert_eq!(counted("true"), Err("''".to_owned()));
        assert_eq!(counted("echo 17; exit 3"), Err("exit status: 3".to_owned()));
        assert_eq!(
            counted("echo 17; exec >&-; sleep 0.1; exit 3"),
            Err("exit status: 3".to_owned())
        );
    }

    #[test]
    fn one_that_prints_without_end_is_not_read_to_its_end() {
        assert_eq!(counted("yes"), Err("more than 4096 bytes".to_owned()));
    }
}
