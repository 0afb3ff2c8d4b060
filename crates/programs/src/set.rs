use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;
use strum::{Display, EnumIter, EnumString};

use crate::{interactive, magic, make, pingpong, scheme, verifier};

/// A set of programs that run together: Table 2 of the paper.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Display, EnumString, EnumIter)]
#[strum(serialize_all = "kebab-case")]
pub enum Set {
    /// A few busy users: layout system, tree search, two makes, a shell.
    Timesharing,
    /// Two large programs: a larger tree search and a timing verifier.
    ComputeBound,
    /// Two processes that exchange messages, as a client and a file server do.
    ClientServer,
}

/// One command of a set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    /// Its name in the paper.
    pub name: &'static str,
    /// The program and its arguments.
    pub arguments: Vec<OsString>,
    /// Where to run it.
    pub folder: PathBuf,
}

/// A program that is not installed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MissingProgram {
    /// The program.
    pub program: &'static str,
    /// The Debian package that brings it.
    pub package: &'static str,
}

/// Why a set cannot be set up. Reads well behind "failed to set up the programs: ".
#[derive(Debug, thiserror::Error)]
pub enum PrepareError {
    /// Programs are not installed.
    #[error(
        "found no {}, need {}; sudo apt-get install --no-install-recommends {}",
        list(.0, |missing| missing.program),
        if .0.len() == 1 { "it" } else { "them" },
        packages(.0)
    )]
    Missing(Vec<MissingProgram>),
    /// The compiler does not say which files it uses.
    #[error(
        "found a gcc that does not say which files it uses ({0}), need a working one; sudo apt-get install gcc libc6-dev"
    )]
    Compiler(io::Error),
    /// The compiler does not translate the pair of client and server.
    #[error(
        "found a gcc that does not translate a client and a server ({0}), need one with a static C library; sudo apt-get \
         install gcc libc6-dev"
    )]
    Pair(io::Error),
    /// An input cannot be written.
    #[error(
        "found {path} not to be written ({source}), {}",
        switchcost_remedies::for_writing(source, "another folder with TMPDIR")
    )]
    Write {
        /// The file.
        path: PathBuf,
        /// What the system said.
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

impl Set {
    /// The programs that the set needs, each with the Debian package that brings it.
    pub fn needs(self) -> Vec<MissingProgram> {
        let parts: &[&[(&'static str, &'static str)]] = match self {
            Set::Timesharing => &[magic::NEEDS, scheme::NEEDS, make::NEEDS, interactive::NEEDS],
            Set::ComputeBound => &[scheme::NEEDS, verifier::NEEDS],
            Set::ClientServer => &[pingpong::NEEDS],
        };
        parts.concat().into_iter().map(|(program, package)| MissingProgram { program, package }).collect()
    }

    /// The programs that the set needs and that are in none of the folders of `path` (the value of PATH).
    pub fn missing(self, path: &OsStr) -> Vec<MissingProgram> {
        self.needs().into_iter().filter(|needed| find_in(path, needed.program).is_none()).collect()
    }

    /// Files and folders of this machine that the programs use beside their inputs and libraries, for where these are not at hand:
    /// programs that others start by name, and what they read by themselves.
    ///
    /// # Errors
    /// Where the compiler does not say what it uses.
    pub fn uses(self) -> Result<Vec<PathBuf>, PrepareError> {
        let parts: &[&[&str]] = match self {
            Set::Timesharing => &[magic::USES, scheme::USES, make::USES, interactive::USES],
            Set::ComputeBound => &[scheme::USES, verifier::USES],
            Set::ClientServer => &[],
        };
        let mut files: Vec<PathBuf> = parts.concat().into_iter().map(find).collect();
        if self == Set::Timesharing {
            files.extend(make::compiler()?);
        }
        Ok(files)
    }

    /// Writes the inputs into `folder`, all drawn from `seed`, which also draws how large they are and which command begins, and names
    /// the commands.
    pub fn prepare(self, folder: &Path, seed: u64) -> Result<Vec<Program>, PrepareError> {
        let missing = self.missing(&std::env::var_os("PATH").unwrap_or_default());
        if !missing.is_empty() {
            return Err(PrepareError::Missing(missing));
        }
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let mut inputs = Inputs { folder, random: &mut random };
        let mut programs = match self {
            Set::Timesharing => vec![
                magic::prepare(&mut inputs)?,
                scheme::prepare(&mut inputs, "Tree", scheme::TREE_DEPTHS)?,
                make::prepare_compile(&mut inputs)?,
                make::prepare_link(&mut inputs)?,
                interactive::prepare(&mut inputs)?,
            ],
            Set::ComputeBound => {
                vec![scheme::prepare(&mut inputs, "BigTree", scheme::BIG_TREE_DEPTHS)?, verifier::prepare(&mut inputs)?]
            }
            Set::ClientServer => vec![pingpong::prepare(&mut inputs)?],
        };
        programs.shuffle(&mut random);
        Ok(programs)
    }
}

fn find_in(path: &OsStr, program: &str) -> Option<PathBuf> {
    std::env::split_paths(path).map(|folder| folder.join(program)).find(|file| file.is_file())
}

/// The file of a program in PATH; a path, and what is not there, is itself.
pub(crate) fn find(program: &str) -> PathBuf {
    find_in(&std::env::var_os("PATH").unwrap_or_default(), program).unwrap_or_else(|| program.into())
}

/// Where inputs go and what they are drawn from.
pub(crate) struct Inputs<'a> {
    folder: &'a Path,
    pub(crate) random: &'a mut ChaCha8Rng,
}

impl Inputs<'_> {
    /// A folder of its own for one program.
    pub(crate) fn folder(&self, name: &str) -> Result<PathBuf, PrepareError> {
        let path = self.folder.join(name);
        fs::create_dir_all(&path).map_err(|source| PrepareError::Write { path: path.clone(), source })?;
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_what_is_missing_and_how_to_install_it() {
        let error = PrepareError::Missing(Set::ComputeBound.missing(OsStr::new("/nonexistent")));
        assert_eq!(
            error.to_string(),
            "found no scm, sta, need them; sudo apt-get install --no-install-recommends opensta scm"
        );
        let of_pair = Set::ClientServer.missing(OsStr::new("/nonexistent"));
        assert_eq!(of_pair[0], MissingProgram { program: "gcc", package: "gcc" });
    }

    #[test]
    fn same_seed_same_inputs_another_seed_others() {
        let text = |seed| {
            let folder = tempfile::tempdir().expect("temporary folder");
            let mut random = ChaCha8Rng::seed_from_u64(seed);
            magic::prepare(&mut Inputs { folder: folder.path(), random: &mut random }).expect("written");
            fs::read_to_string(folder.path().join("magic/layout.mag")).expect("there")
        };
        assert_eq!(text(1), text(1));
        assert_ne!(text(1).lines().count(), text(2).lines().count(), "of another size, too");
    }
}
