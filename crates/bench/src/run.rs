//! One program, run to its end: how long it took, and how much memory it had at most.

use std::fs::File;
use std::io;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use switchcost_host::usage;

/// What a run cost.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cost {
    pub(crate) wall: Duration,
    /// User and system time of the program and its children.
    pub(crate) cpu: Duration,
    pub(crate) peak_bytes: u64,
}

/// Runs a program with its output into a file, or nowhere; an error where it cannot be started or fails.
pub(crate) fn run(mut command: Command, output: Option<&Path>) -> Result<Cost, String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let mut outcome = || -> io::Result<_> {
        let into = output
            .map(File::create)
            .transpose()?
            .map_or_else(Stdio::null, Stdio::from);
        let start = Instant::now();
        let child = command
            .stdin(Stdio::null())
            .stdout(into)
            .stderr(Stdio::null())
            .spawn()?;
        let (status, used) = usage::wait(child)?;
        Ok((start.elapsed(), status, used))
    };
    let (wall, status, used) = outcome().map_err(|error| format!("{name}: {error}"))?;
    // 3 is our own: done, with a result that could not be had.
    if !(status.success() || status.code() == Some(3)) {
        return Err(format!("{name}: {status}"));
    }
    Ok(Cost {
        wall,
        cpu: used.cpu,
        peak_bytes: used.peak_bytes,
    })
}

/// A command line of plain words.
pub(crate) fn words(line: &[&str]) -> Command {
    let (program, arguments) = line.split_first().unwrap_or((&"true", &[]));
    let mut command = Command::new(program);
    command.args(arguments);
    command
}
