//! The program under test, run as a user would.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::Value;

/// The program's binary and a folder for its records.
#[derive(Clone)]
pub(crate) struct Program {
    binary: PathBuf,
    folder: Arc<Folder>,
}

enum Folder {
    /// It goes when all is done.
    Own(tempfile::TempDir),
    /// It stays, and what is in it is not measured again.
    Kept(PathBuf),
}

impl Folder {
    fn path(&self) -> &Path {
        match self {
            Folder::Own(folder) => folder.path(),
            Folder::Kept(folder) => folder,
        }
    }
}

/// One run.
pub(crate) struct Ran {
    pub(crate) json: Value,
    pub(crate) elapsed: Duration,
}

impl Program {
    /// With a folder of its own, or one that is kept.
    pub(crate) fn beside_this_one(kept: Option<&Path>) -> Result<Program, String> {
        let own = std::env::current_exe().map_err(|error| error.to_string())?;
        let binary = own.with_file_name("switchcost");
        if !binary.is_file() {
            return Err(format!(
                "found no {}, need it built first: make build",
                binary.display()
            ));
        }
        let folder = match kept {
            Some(kept) => std::fs::create_dir_all(kept).map(|()| Folder::Kept(kept.to_owned())),
            None => tempfile::tempdir().map(Folder::Own),
        };
        Ok(Program {
            binary,
            folder: Arc::new(folder.map_err(|error| error.to_string())?),
        })
    }

    /// The same program as another profile of cargo builds it.
    pub(crate) fn of_profile(&self, profile: &str) -> Result<Program, String> {
        let target = self
            .binary
            .parent()
            .and_then(Path::parent)
            .unwrap_or(Path::new(""));
        let binary = target.join(profile).join("switchcost");
        match binary.is_file() {
            true => Ok(Program {
                binary,
                ..self.clone()
            }),
            false => Err(format!(
                "found no {}, need it built first: make bench builds it",
                binary.display()
            )),
        }
    }

    /// Which binary that is, and by which profile of cargo it was built.
    pub(crate) fn built(&self) -> String {
        let profile = self
            .binary
            .parent()
            .and_then(Path::file_name)
            .unwrap_or_default();
        format!(
            "{}, built by the profile {}",
            self.binary.display(),
            profile.display()
        )
    }

    /// The capture tool without its reader: an example of the crate that runs it, where it has been built.
    pub(crate) fn tool_alone(&self) -> Result<PathBuf, String> {
        let example = self.binary.with_file_name("examples").join("unread");
        match example.is_file() {
            true => Ok(example),
            false => Err(format!(
                "found no {}, need it built first: make bench builds it",
                example.display()
            )),
        }
    }

    /// A path in its folder.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// The program with these arguments, to be run.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(&self.binary);
        command
            .args(arguments)
            .env("XDG_STATE_HOME", self.folder.path());
        command
    }

    /// The same, on one CPU alone.
    pub(crate) fn command_on(&self, cpu: Option<&str>, arguments: &[&str]) -> Command {
        let Some(cpu) = cpu else {
            return self.command(arguments);
        };
        let mut command = Command::new("taskset");
        command
            .args(["-c", cpu])
            .arg(&self.binary)
            .args(arguments)
            .env("XDG_STATE_HOME", self.folder.path());
        command
    }

    /// Runs with these arguments, and reads what it prints as JSON.
    pub(crate) fn run(&self, arguments: &[&str]) -> Result<Ran, String> {
        let start = Instant::now();
        let output = self
            .command(arguments)
            .args(["--format", "json"])
            .output()
            .map_err(|error| error.to_string())?;
        let elapsed = start.elapsed();
        let json = serde_json::from_slice(&output.stdout).map_err(|_| {
            format!(
                "{}: {}",
                output.status,
                String::from_utf8_lossy(&output.stderr)
            )
        })?;
        Ok(Ran { json, elapsed })
    }

    /// One line on the machine and its load, to stand above the figures.
    pub(crate) fn machine(&self) -> String {
        let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
        let info = read("/proc/cpuinfo");
        let model = info
            .lines()
            .find_map(|line| line.strip_prefix("model name"))
            .unwrap_or(": unknown CPU");
        let count = info
            .lines()
            .filter(|line| line.starts_with("processor"))
            .count();
        let kernel = read("/proc/sys/kernel/osrelease");
        let load = read("/proc/loadavg");
        format!(
            "machine: {}, {count} CPUs, Linux {}, load {}",
            model.trim_start_matches([' ', '\t', ':']),
            kernel.trim(),
            load.split(' ').next().unwrap_or("unknown")
        )
    }
}

/// A number inside a result, by path: `results.0.direct_ns.estimate`.
pub(crate) fn number(json: &Value, path: &str) -> Option<f64> {
    let step = |value: &Value, name: &str| match name.parse::<usize>() {
        Ok(index) => value.get(index).cloned(),
        Err(_) => value.get(name).cloned(),
    };
    path.split('.')
        .try_fold(json.clone(), |value, name| step(&value, name))?
        .as_f64()
}

/// Whether the first result carries a flag.
pub(crate) fn has_flag(json: &Value, flag: &str) -> bool {
    let flags = json["results"][0]["flags"].as_array();
    flags.is_some_and(|flags| flags.iter().any(|found| found == flag))
}
