//! What is observed of a command.

use std::process::Command;

use serde_json::Value;

use crate::program::Program;

/// The CPU of what is observed; another is left to the observer.
pub(crate) const CPU: &str = "1";

pub(crate) fn observed(program: &Program, workload: &Command) -> Result<Value, String> {
    let record = program.path("observed.json");
    let _ = std::fs::remove_file(&record);
    let mut observe = program.command(&["observe", "--format", "json", "--record"]);
    observe
        .arg(&record)
        .arg("--")
        .arg(workload.get_program())
        .args(workload.get_args());
    let output = observe.output().map_err(|error| error.to_string())?;
    serde_json::from_slice(&output.stdout)
        .map_err(|_| String::from_utf8_lossy(&output.stderr).into_owned())
}
