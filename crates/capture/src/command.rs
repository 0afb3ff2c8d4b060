//! A command that is to be traced, and the check that Valgrind can run its program.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::process::{getegid, geteuid, getgid, getuid};
use switchcost_record::trust::search_path;

use crate::error::CaptureError;

/// A program to trace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Command {
    /// Program and arguments of the command.
    pub words: Vec<OsString>,
    /// Folder in which the program starts; `None` for the current folder.
    pub directory: Option<PathBuf>,
    /// Environment variables that the program gets in addition to those of this process.
    pub environment: Vec<(OsString, OsString)>,
}

impl Command {
    /// Creates a command that starts in the current folder, with this process's environment.
    pub fn new<W: Into<OsString>>(words: impl IntoIterator<Item = W>) -> Command {
        Command {
            words: words.into_iter().map(Into::into).collect(),
            ..Command::default()
        }
    }

    /// Returns the command for messages: its words, separated by spaces.
    pub(crate) fn shown(&self) -> String {
        self.words
            .join(OsStr::new(" "))
            .to_string_lossy()
            .into_owned()
    }

    /// Returns the last part of the program's path, as the name of the task.
    pub(crate) fn name(&self) -> Vec<u8> {
        let program = self
            .words
            .first()
            .map(OsString::as_os_str)
            .unwrap_or_default();
        Path::new(program)
            .file_name()
            .unwrap_or(program)
            .as_bytes()
            .to_vec()
    }

    /// Returns the path of the command's program.
    pub(crate) fn program(&self) -> Result<PathBuf, CaptureError> {
        let Some(program) = self.words.first() else {
            return Err(CaptureError::NoCommand);
        };
        let found = self.find(program).and_then(|path| match path.metadata() {
            Ok(facts) if facts.is_file() => Ok(path),
            Ok(_) => Err(unfit(
                format!("{} is no file", path.display()),
                "name a program",
            )),
            Err(error) => Err(unfit(
                format!("{}: {error}", path.display()),
                "name a program that is there",
            )),
        });
        found.map_err(|Unfit { reason, need }| CaptureError::Unfit {
            command: self.shown(),
            reason,
            need,
        })
    }

    /// Fails if Valgrind would not run the program, with the reason.
    pub(crate) fn check(&self) -> Result<(), CaptureError> {
        let Some(program) = self.words.first() else {
            return Err(CaptureError::NoCommand);
        };
        self.find(program)
            .and_then(|path| check_file(&path, MOST_INTERPRETERS))
            .map_err(|Unfit { reason, need }| CaptureError::Unfit {
                command: self.shown(),
                reason,
                need,
            })
    }

    fn find(&self, program: &OsStr) -> Result<PathBuf, Unfit> {
        if program.as_bytes().contains(&b'/') {
            let directory = self.directory.as_deref().unwrap_or(Path::new(""));
            return Ok(directory.join(program));
        }
        let of_command = self
            .environment
            .iter()
            .rev()
            .find(|(name, _)| name == "PATH")
            .map(|(_, path)| path.clone());
        let path = of_command
            .or_else(|| std::env::var_os("PATH"))
            .unwrap_or_default();
        search_path(&path, program).ok_or_else(|| {
            unfit(
                format!("{} is not in PATH", program.to_string_lossy()),
                "check PATH, or give the full path",
            )
        })
    }
}

struct Unfit {
    reason: String,
    need: String,
}

fn unfit(reason: impl Into<String>, need: &str) -> Unfit {
    Unfit {
        reason: reason.into(),
        need: need.to_owned(),
    }
}

/// Maximum depth of scripts whose interpreters are scripts, as in the kernel.
const MOST_INTERPRETERS: u32 = 4;
const SET_USER: u32 = 0o4000;
const SET_GROUP: u32 = 0o2000;

/// Whether executing a file changes the rights of a process. `mode`, `user` and `group` are the
/// mode, owner and group of the file. `users` and `groups` are the real and effective IDs of the
/// process. Files of root give root no additional rights.
fn gives_rights(mode: u32, user: u32, group: u32, users: [u32; 2], groups: [u32; 2]) -> bool {
    (mode & SET_USER != 0 && users != [user; 2]) || (mode & SET_GROUP != 0 && groups != [group; 2])
}

fn check_file(path: &Path, interpreters: u32) -> Result<(), Unfit> {
    let shown = path.display();
    let facts = path
        .metadata()
        .map_err(|error| unfit(format!("{shown}: {error}"), "name a program that is there"))?;
    if !facts.is_file() {
        return Err(unfit(format!("{shown} is no file"), "name a program"));
    }
    let users = [getuid().as_raw(), geteuid().as_raw()];
    let groups = [getgid().as_raw(), getegid().as_raw()];
    if gives_rights(facts.mode(), facts.uid(), facts.gid(), users, groups) {
        return Err(unfit(
            format!(
                "{shown} has the set-user-ID or set-group-ID bit, and a traced program gets no special rights"
            ),
            "trace as root, or trace a copy of the file",
        ));
    }
    let mut start = [0; 256];
    let bytes = File::open(path)
        .and_then(|mut file| file.read(&mut start))
        .map_err(|error| {
            unfit(
                format!("{shown} cannot be read: {error}"),
                "ask its owner for the right to read it (chmod a+r)",
            )
        })?;
    if facts.mode() & 0o111 == 0 {
        return Err(unfit(
            format!("{shown} may not be executed"),
            "give it execute permission (chmod +x)",
        ));
    }
    check_start(&start[..bytes], path, interpreters)
}

fn check_start(start: &[u8], path: &Path, interpreters: u32) -> Result<(), Unfit> {
    const ELF_64_LITTLE_ENDIAN: &[u8] = b"\x7fELF\x02\x01";
    const ELF_32: &[u8] = b"\x7fELF\x01";
    const X86_64: [u8; 2] = [62, 0];
    let shown = path.display();
    if let Some(line) = start.strip_prefix(b"#!") {
        let interpreter = line
            .trim_ascii_start()
            .split(u8::is_ascii_whitespace)
            .next()
            .unwrap_or_default();
        if interpreters == 0 || interpreter.is_empty() {
            return Err(unfit(
                format!("the script {shown} has no interpreter"),
                "name one after its #!",
            ));
        }
        return check_file(Path::new(OsStr::from_bytes(interpreter)), interpreters - 1);
    }
    if !start.starts_with(b"\x7fELF") {
        return Err(unfit(
            format!("{shown} is neither an ELF file nor a script with #!"),
            "name a program",
        ));
    }
    if start.starts_with(ELF_32) {
        return Err(unfit(
            format!("{shown} is a program of 32 bits"),
            "name a 64-bit x86 program",
        ));
    }
    if !start.starts_with(ELF_64_LITTLE_ENDIAN) || start.get(18..20) != Some(&X86_64) {
        return Err(unfit(
            format!("{shown} is for another kind of processor"),
            "name a 64-bit x86 program",
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests;
