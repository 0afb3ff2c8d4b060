//! Compiles programs and runs them under Valgrind's tools, each with a time limit and with the same
//! addresses in each run.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use switchcost_design::Level;
use tempfile::TempDir;

/// Cachegrind's totals by the names of its events.
pub(crate) struct Counts(HashMap<String, u64>);

impl Counts {
    pub(crate) fn get(&self, event: &str) -> u64 {
        self.0[event]
    }
}

/// A folder with compiled programs.
pub(crate) struct Workshop(TempDir);

const LONGEST_RUN_SECONDS: &str = "600";

impl Workshop {
    /// Creates the folder; returns `None`, with a message, if a tool is missing.
    pub(crate) fn open() -> Option<Workshop> {
        for tool in ["valgrind", "cc", "setarch", "timeout"] {
            if Command::new(tool)
                .arg("--version")
                .stdout(Stdio::null())
                .status()
                .is_err()
            {
                eprintln!("skipped: {tool} is not installed");
                return None;
            }
        }
        Some(Workshop(
            tempfile::tempdir().expect("a folder for programs"),
        ))
    }

    pub(crate) fn compile(&self, name: &str, flags: &[&str]) -> PathBuf {
        let source = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("tests/cachegrind")
            .join(format!("{name}.c"));
        let program = self.0.path().join(name);
        let compiler = Command::new("cc")
            .arg("-O1")
            .args(flags)
            .arg("-o")
            .arg(&program)
            .arg(source)
            .output();
        succeeded(compiler.expect("cc"));
        program
    }

    /// Returns the output of Lackey with `--trace-mem=yes`.
    pub(crate) fn lackey(&self, program: &Path) -> Vec<u8> {
        let options = ["--tool=lackey", "--trace-mem=yes", "--basic-counts=no"];
        succeeded(run(&options.map(str::to_owned), program)).stderr
    }

    pub(crate) fn cachegrind(&self, program: &Path, caches: &[Level]) -> Counts {
        let file = self.0.path().join("counts");
        let cache = |level: &Level| {
            let ways = level.ways.of(0);
            format!("--{}={},{ways},{}", level.name, level.size.0, level.line.0)
        };
        let mut options: Vec<String> = caches.iter().map(cache).collect();
        options.extend(["--tool=cachegrind", "--cache-sim=yes"].map(str::to_owned));
        options.push(format!("--cachegrind-out-file={}", file.display()));
        succeeded(run(&options, program));
        counts(&std::fs::read_to_string(file).expect("cachegrind writes its counts"))
    }
}

/// Runs a program without address randomization and with almost no environment, so that stacks and
/// heaps have the same addresses in every run.
fn run(options: &[String], program: &Path) -> Output {
    let command = Command::new("timeout")
        .args([
            "--signal=KILL",
            LONGEST_RUN_SECONDS,
            "setarch",
            "--addr-no-randomize",
            "valgrind",
        ])
        .args(options)
        .arg(program)
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .stdin(Stdio::null())
        .output();
    command.expect("timeout starts")
}

fn succeeded(output: Output) -> Output {
    let start = output.stderr.len().min(2000);
    assert!(
        output.status.success(),
        "{}: {}",
        output.status,
        String::from_utf8_lossy(&output.stderr[..start])
    );
    output
}

fn counts(text: &str) -> Counts {
    let line = |start: &str| {
        text.lines()
            .find_map(|line| line.strip_prefix(start))
            .expect("a line of totals")
    };
    let names = line("events:").split_whitespace().map(str::to_owned);
    let numbers = line("summary:")
        .split_whitespace()
        .map(|number| number.parse().expect("a number"));
    Counts(names.zip(numbers).collect())
}

/// Counts the instructions that read and then write the same place.
pub(crate) fn modifies(lackey: &[u8]) -> u64 {
    lackey
        .split(|&byte| byte == b'\n')
        .filter(|line| line.starts_with(b" M "))
        .count() as u64
}
