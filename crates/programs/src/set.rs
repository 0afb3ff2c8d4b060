use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;
use strum::{Display, EnumIter, EnumString};

use crate::program::{Inputs, MissingProgram, PrepareError, Program, find, find_in};
use crate::{interactive, magic, make, pingpong, scheme, verifier};

/// A set of programs that run together, as in Table 2 of Mogul and Borg 1990.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Display, EnumString, EnumIter)]
#[strum(serialize_all = "kebab-case")]
pub enum Set {
    /// A few busy users: a layout system, a tree search, two runs of make, and a shell.
    Timesharing,
    /// Two large programs: a larger tree search and a timing verifier.
    ComputeBound,
    /// Two processes that exchange messages, as a client and its file server do.
    ClientServer,
}

impl Set {
    /// Returns the programs that the set needs, each with the Debian package that has it.
    pub fn needs(self) -> Vec<MissingProgram> {
        let parts: &[&[(&'static str, &'static str)]] = match self {
            Set::Timesharing => &[magic::NEEDS, scheme::NEEDS, make::NEEDS, interactive::NEEDS],
            Set::ComputeBound => &[scheme::NEEDS, verifier::NEEDS],
            Set::ClientServer => &[pingpong::NEEDS],
        };
        parts
            .concat()
            .into_iter()
            .map(|(program, package)| MissingProgram { program, package })
            .collect()
    }

    /// Returns the programs that the set needs and that are in no folder of `path`, a value of
    /// PATH.
    pub fn missing(self, path: &OsStr) -> Vec<MissingProgram> {
        self.needs()
            .into_iter()
            .filter(|needed| find_in(path, needed.program).is_none())
            .collect()
    }

    /// Returns files and folders of this machine that the programs use besides their inputs and
    /// libraries: programs that they start by name, and files that they read. A guest needs copies
    /// of the files.
    ///
    /// # Errors
    ///
    /// If the compiler does not report which files it uses.
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

    /// Writes the inputs to `folder`, and returns the commands. `seed` determines the inputs, their
    /// sizes, and which command is first.
    pub fn prepare(self, folder: &Path, seed: u64) -> Result<Vec<Program>, PrepareError> {
        let missing = self.missing(&std::env::var_os("PATH").unwrap_or_default());
        if !missing.is_empty() {
            return Err(PrepareError::Missing(missing));
        }
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let mut inputs = Inputs {
            folder,
            random: &mut random,
        };
        let mut programs = match self {
            Set::Timesharing => vec![
                magic::prepare(&mut inputs)?,
                scheme::prepare(&mut inputs, "Tree", scheme::TREE_DEPTHS)?,
                make::prepare_compile(&mut inputs)?,
                make::prepare_link(&mut inputs)?,
                interactive::prepare(&mut inputs)?,
            ],
            Set::ComputeBound => {
                vec![
                    scheme::prepare(&mut inputs, "BigTree", scheme::BIG_TREE_DEPTHS)?,
                    verifier::prepare(&mut inputs)?,
                ]
            }
            Set::ClientServer => vec![pingpong::prepare(&mut inputs)?],
        };
        programs.shuffle(&mut random);
        Ok(programs)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn names_what_is_missing_and_how_to_install_it() {
        let error = PrepareError::Missing(Set::ComputeBound.missing(OsStr::new("/nonexistent")));
        assert_eq!(
            error.to_string(),
            "scm, sta must be installed; sudo apt-get install --no-install-recommends opensta scm"
        );
        let of_pair = Set::ClientServer.missing(OsStr::new("/nonexistent"));
        assert_eq!(
            of_pair[0],
            MissingProgram {
                program: "gcc",
                package: "gcc"
            }
        );
    }

    #[test]
    fn same_seed_same_inputs_another_seed_others() {
        let text = |seed| {
            let folder = tempfile::tempdir().expect("temporary folder");
            let mut random = ChaCha8Rng::seed_from_u64(seed);
            magic::prepare(&mut Inputs {
                folder: folder.path(),
                random: &mut random,
            })
            .expect("written");
            fs::read_to_string(folder.path().join("magic/layout.mag")).expect("there")
        };
        assert_eq!(text(1), text(1));
        assert_ne!(
            text(1).lines().count(),
            text(2).lines().count(),
            "of another size, too"
        );
    }
}
