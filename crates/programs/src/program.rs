//! A program of one of the sets in Mogul and Borg 1990: its command and the folder of its inputs.
//! Also the errors of preparing a program.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use rand_chacha::ChaCha8Rng;

/// A command of a set of programs (see [`Set`](crate::Set)), with the folder in which it must run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    /// Name of the program in Mogul and Borg 1990.
    pub name: &'static str,
    /// The program and its arguments.
    pub arguments: Vec<OsString>,
    /// Folder in which the command must run, with its inputs.
    pub folder: PathBuf,
}

/// A program that is not installed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MissingProgram {
    /// Name of the program.
    pub program: &'static str,
    /// Debian package with the program.
    pub package: &'static str,
}

/// Returns the remedy for a compiler that failed, as its output suggests.
fn compiler_remedy(error: &io::Error) -> &'static str {
    match error.to_string().contains("File size limit exceeded") {
        true => "raise the limit on the length of files (ulimit -f unlimited)",
        false => "sudo apt-get install gcc libc6-dev",
    }
}

/// Why a set of programs cannot be prepared.
#[derive(Debug, thiserror::Error)]
pub enum PrepareError {
    /// Programs are not installed.
    #[error(
        "{} must be installed; sudo apt-get install --no-install-recommends {}",
        list(.0, |missing| missing.program),
        packages(.0)
    )]
    Missing(Vec<MissingProgram>),
    /// The compiler does not report which files it uses.
    #[error("gcc does not say which files it uses ({0}); sudo apt-get install gcc libc6-dev")]
    Compiler(io::Error),
    /// The compiler cannot compile a static program.
    #[error(
        "gcc cannot compile a C program with a static C library ({0}); {remedy}",
        remedy = compiler_remedy(.0)
    )]
    Static(io::Error),
    /// An input cannot be written.
    #[error(
        "{path} cannot be written: {source}; {}",
        switchcost_remedies::write_remedy(source, "another folder with TMPDIR")
    )]
    Write {
        /// Path of the input.
        path: PathBuf,
        /// Error of the operating system.
        source: io::Error,
    },
}

fn list(missing: &[MissingProgram], name: impl Fn(&MissingProgram) -> &'static str) -> String {
    missing.iter().map(name).collect::<Vec<_>>().join(", ")
}

fn packages(missing: &[MissingProgram]) -> String {
    let mut names: Vec<_> = missing.iter().map(|missing| missing.package).collect();
    names.sort_unstable();
    names.dedup();
    names.join(" ")
}

pub(crate) fn find_in(path: &OsStr, program: &str) -> Option<PathBuf> {
    std::env::split_paths(path)
        .map(|folder| folder.join(program))
        .find(|file| file.is_file())
}

/// Returns the path of a program on the PATH. Returns a path, or the name of a missing program,
/// unchanged.
pub(crate) fn find(program: &str) -> PathBuf {
    find_in(&std::env::var_os("PATH").unwrap_or_default(), program)
        .unwrap_or_else(|| program.into())
}

/// Folder of the inputs, and the random generator that makes them.
pub(crate) struct Inputs<'a> {
    pub(crate) folder: &'a Path,
    pub(crate) random: &'a mut ChaCha8Rng,
}

impl Inputs<'_> {
    /// Makes a folder for the inputs of one program.
    pub(crate) fn folder(&self, name: &str) -> Result<PathBuf, PrepareError> {
        let path = self.folder.join(name);
        fs::create_dir_all(&path).map_err(|source| PrepareError::Write {
            path: path.clone(),
            source,
        })?;
        Ok(path)
    }
}

pub(crate) fn write(folder: &Path, name: &str, text: &str) -> Result<(), PrepareError> {
    let path = folder.join(name);
    fs::write(&path, text).map_err(|source| PrepareError::Write { path, source })
}

pub(crate) fn arguments<const N: usize>(words: [&str; N]) -> Vec<OsString> {
    words.into_iter().map(OsString::from).collect()
}
