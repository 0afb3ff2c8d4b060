//! Runs commands as a user types them: `sh` runs each command in a folder of the bench. PATH
//! contains the program under test and the bench.
//!
//! The variable `$out` is an empty folder that is new for each command. `$release` is the folder of
//! the program that `make build` builds.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use serde_json::Value;
use switchcost_host::usage;

/// Exit code of a run that ended normally, but could not measure some result.
const DONE_IN_PART: i32 = 3;

pub(crate) struct Shell {
    folder: PathBuf,
    programs: PathBuf,
    path: OsString,
}

/// Resources and output of one run of a command.
#[derive(Clone, Debug)]
pub(crate) struct Run {
    pub(crate) seconds: f64,
    /// User and system time of the command and its children, in seconds.
    pub(crate) cpu_seconds: f64,
    pub(crate) peak_mib: f64,
    /// Output of the command as JSON; null if it is not JSON.
    pub(crate) json: Value,
    pub(crate) errors: String,
}

impl Shell {
    /// Creates a shell that runs commands in `folder`, with the programs next to this one.
    pub(crate) fn new(folder: &Path) -> io::Result<Shell> {
        let programs = std::env::current_exe()?.with_file_name("");
        let before = std::env::var_os("PATH").unwrap_or_default();
        let folders = std::iter::once(programs.clone()).chain(std::env::split_paths(&before));
        Ok(Shell {
            folder: folder.canonicalize()?,
            path: std::env::join_paths(folders).map_err(io::Error::other)?,
            programs,
        })
    }

    /// Returns the path of a file in the shell's folder.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    pub(crate) fn command(&self, line: &str) -> Command {
        let mut command = Command::new("sh");
        command
            .args(["-c", line])
            .current_dir(&self.folder)
            .env("PATH", &self.path)
            .env("XDG_STATE_HOME", &self.folder)
            .env("out", self.path("out"))
            .env("release", self.programs.join("../release"))
            .stdin(Stdio::null());
        command
    }

    /// Runs a command to its end, and returns its output and resources.
    ///
    /// # Errors
    ///
    /// Returns an error if the command fails and prints no JSON.
    pub(crate) fn run(&self, line: &str) -> Result<Run, String> {
        let outcome = || -> io::Result<_> {
            let _ = fs::remove_dir_all(self.path("out"));
            fs::create_dir(self.path("out"))?;
            let [output, errors] = ["output", "errors"].map(|name| self.path(name));
            let mut command = self.command(line);
            command
                .stdout(File::create(&output)?)
                .stderr(File::create(&errors)?);
            let start = Instant::now();
            let (status, used) = usage::wait(command.spawn()?)?;
            let run = Run {
                seconds: start.elapsed().as_secs_f64(),
                cpu_seconds: used.cpu.as_secs_f64(),
                peak_mib: used.peak_bytes as f64 / f64::from(1 << 20),
                json: serde_json::from_slice(&fs::read(&output)?).unwrap_or_default(),
                errors: String::from_utf8_lossy(&fs::read(&errors)?).into_owned(),
            };
            Ok((status, run))
        };
        let (status, run) = outcome().map_err(|error| format!("{line}: {error}"))?;
        let is_done = status.success() || status.code() == Some(DONE_IN_PART);
        if is_done || !run.json.is_null() {
            Ok(run)
        } else {
            Err(format!("{line}: {status}: {}", run.errors.trim()))
        }
    }

    /// Runs a command, and returns its output as JSON; an error if the output is not JSON.
    pub(crate) fn json(&self, line: &str) -> Result<Value, String> {
        let run = self.run(line)?;
        if run.json.is_null() {
            Err(format!("{line}: no JSON: {}", run.errors.trim()))
        } else {
            Ok(run.json)
        }
    }

    /// Describes the program under test, the machine and the load.
    pub(crate) fn describe(&self) -> String {
        let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
        let info = read("/proc/cpuinfo");
        let model = info
            .lines()
            .find_map(|line| line.strip_prefix("model name"))
            .unwrap_or(": unknown CPU");
        let count = info
            .lines()
            .filter(|line| line.starts_with("processor"))
            .count();
        let (kernel, load) = (read("/proc/sys/kernel/osrelease"), read("/proc/loadavg"));
        format!(
            "program: {}, built by the profile {}\nmachine: {}, {count} CPUs, Linux {}, load {}",
            self.programs.join("switchcost").display(),
            self.programs.file_name().unwrap_or_default().display(),
            model.trim_start_matches([' ', '\t', ':']),
            kernel.trim(),
            load.split(' ').next().unwrap_or("unknown")
        )
    }
}

/// Returns the number at a path in JSON, such as `results.0.direct_ns.estimate`; `None` if there is
/// none.
pub(crate) fn number(json: &Value, path: &str) -> Option<f64> {
    let pointer = format!("/{}", path.replace('.', "/"));
    json.pointer(&pointer)?.as_f64()
}

/// Returns the number at a path in JSON; an error that names the path if there is none.
pub(crate) fn need(json: &Value, path: &str) -> Result<f64, String> {
    number(json, path).ok_or_else(|| format!("no number {path} in what was printed"))
}

/// Returns three numbers at a path in JSON: `low`, the number that `middle` names, and `high`.
pub(crate) fn interval(json: &Value, path: &str, middle: &str) -> Result<[f64; 3], String> {
    let end = |name: &str| need(json, &format!("{path}.{name}"));
    Ok([end("low")?, end(middle)?, end("high")?])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_found_by_its_path() {
        let json =
            serde_json::json!({"results": [{"direct_ns": {"low": 1, "estimate": 2.5, "high": 4}}]});
        assert_eq!(number(&json, "results.0.direct_ns.estimate"), Some(2.5));
        assert_eq!(
            interval(&json, "results.0.direct_ns", "estimate"),
            Ok([1.0, 2.5, 4.0])
        );
        assert!(need(&json, "results.1.direct_ns.low").is_err());
    }
}
