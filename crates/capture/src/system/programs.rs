//! Adds programs to the guest, each with its interpreter, its shared libraries, and the programs
//! that it starts by name.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::archive::{Archive, Entry};
use super::files::{file, file_as_old, read_start, unusable};
use super::libraries::libraries;
use super::python::{self, Python};
use super::starts::{self, FirstLine};
use crate::command::Command;
use crate::guest_error::GuestError;

/// Maximum depth of interpreters that need an interpreter, as in the kernel.
const MOST_INTERPRETERS: u32 = 4;
/// Maximum number of programs that are added for the names in one text. A text that names more is
/// probably no script.
const MOST_STARTED: usize = 64;
/// Number of bytes of a script in which names of programs are searched.
const MOST_TEXT: u64 = 64 << 10;

/// Adds a program with its interpreter, its libraries and the programs that it starts. Returns the
/// absolute path to execute.
pub(super) fn program(archive: &mut Archive, path: &Path) -> Result<PathBuf, GuestError> {
    program_for(archive, path, MOST_INTERPRETERS)
}

/// Adds a program that may need at most `interpreters` nested interpreters.
fn program_for(
    archive: &mut Archive,
    path: &Path,
    interpreters: u32,
) -> Result<PathBuf, GuestError> {
    let path = std::path::absolute(path).map_err(|error| unusable(path, error))?;
    if let Some(known) = archive.program(&path) {
        return Ok(known);
    }
    // Recorded before its needs are added, because scripts may start each other.
    archive.add_program(&path, &path);
    if python::is_python(&path)
        && let Some(python) = Python::ask(&path)
    {
        return add_python(archive, &path, &python);
    }
    file(archive, &path)?;
    interpreter(archive, &path, interpreters)?;
    Ok(path)
}

/// Adds the interpreter or the libraries of a program, and the programs that it starts, but not the
/// program itself.
pub(super) fn interpreter_of(archive: &mut Archive, path: &Path) -> Result<(), GuestError> {
    interpreter(archive, path, MOST_INTERPRETERS)
}

fn interpreter(archive: &mut Archive, path: &Path, interpreters: u32) -> Result<(), GuestError> {
    let start = read_start(path, 256)?;
    let Some(FirstLine {
        interpreter,
        by_name,
    }) = starts::first_line(&start)
    else {
        return libraries(archive, path);
    };
    let missing = |name: &str| GuestError::Interpreter {
        script: path.to_owned(),
        interpreter: name.to_owned(),
    };
    if interpreters == 0 || !interpreter.is_file() {
        return Err(missing(&interpreter.to_string_lossy()));
    }
    program_for(archive, &interpreter, interpreters - 1)?;
    let named = by_name
        .as_deref()
        .map(|name| find_by_name(archive, name)?.ok_or_else(|| missing(name)))
        .transpose()?;
    if starts::is_shell(named.as_deref().unwrap_or(&interpreter)) {
        started(archive, &find_in_script(path), &path.to_string_lossy());
    }
    Ok(())
}

/// Returns the names of programs that a shell script may start.
fn find_in_script(path: &Path) -> Vec<String> {
    let text = read_start(path, MOST_TEXT).unwrap_or_default();
    starts::find_in_text(&String::from_utf8_lossy(&text))
}

/// Finds a program in `PATH`, and adds its folder to the guest's `PATH`; `None` if there is no such
/// program.
fn find_by_name(archive: &mut Archive, name: &str) -> Result<Option<PathBuf>, GuestError> {
    let Ok(path) = Command::new([name]).program() else {
        return Ok(None);
    };
    let path = program(archive, &path)?;
    archive.look_in(path.parent().unwrap_or(Path::new("/")));
    Ok(Some(path))
}

/// Adds the first [`MOST_STARTED`] of the programs `names` that exist. `by` names what may start
/// the programs, for messages. A failure is only a warning, because a word that is a program's name
/// need not start the program.
fn started(archive: &mut Archive, names: &[String], by: &str) {
    let mut found = 0;
    for name in names.iter().collect::<BTreeSet<_>>() {
        match find_by_name(archive, name) {
            Ok(path) => found += usize::from(path.is_some()),
            Err(error) => archive.remark(format!(
                "{by} may start {name}, which will not run in the guest: {error}"
            )),
        }
        if found == MOST_STARTED {
            return archive.remark(format!(
                "{by} names more than {MOST_STARTED} programs: name those that it starts with --file"
            ));
        }
    }
}

/// Adds the programs that a command starts by name.
pub(super) fn started_by(archive: &mut Archive, command: &Command) {
    let mut names = starts::find_in_command(command);
    let is_shell = command
        .words
        .first()
        .is_some_and(|program| starts::is_shell(Path::new(program)));
    let script = command
        .words
        .iter()
        .skip(1)
        .filter(|_| is_shell)
        .map(Path::new)
        .find(|path| path.is_file());
    names.extend(script.map(find_in_script).unwrap_or_default());
    started(archive, &names, &command.shown());
}

/// Adds a Python interpreter with its standard library. `path` is the path by which the interpreter
/// was found.
fn add_python(archive: &mut Archive, path: &Path, python: &Python) -> Result<PathBuf, GuestError> {
    let program = &python.program;
    archive.add_program(path, program);
    file(archive, program)?;
    libraries(archive, program)?;
    if path != program && !archive.has(path) {
        archive.add(path, Entry::Link(program.as_os_str().as_bytes().to_vec()));
    }
    let environment = program
        .ancestors()
        .nth(2)
        .map(|folder| folder.join("pyvenv.cfg"));
    if let Some(facts) = environment.filter(|facts| facts.is_file()) {
        file(archive, &facts)?;
    }
    let (files, has_all) = python.files();
    for library in &files {
        file_as_old(archive, library)?;
        if library.extension() == Some(OsStr::new("so")) {
            // A library may be missing for a module that is never imported; Python then names the
            // module.
            let _ = libraries(archive, library);
        }
    }
    if !has_all {
        archive.remark(format!(
            "the standard library of {} is larger than {} MiB: name what else is imported with --file",
            program.display(),
            python::MOST_BYTES >> 20
        ));
    }
    Ok(program.clone())
}

/// Adds a program that may never run. If something that the program needs is missing, a warning is
/// recorded.
pub(super) fn add_optional(archive: &mut Archive, path: &Path) -> Result<(), GuestError> {
    match program(archive, path) {
        Err(error @ (GuestError::Library { .. } | GuestError::Interpreter { .. })) => {
            archive.remark(format!(
                "{} will not run in the guest: {error}",
                path.display()
            ));
            Ok(())
        }
        other => other.map(drop),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use super::super::needs::named;
    use super::*;

    #[test]
    fn a_program_comes_with_its_libraries_and_links() {
        let mut archive = Archive::default();
        let path = program(&mut archive, Path::new("/bin/sh")).expect("there is a shell");
        assert!(archive.has(&fs::canonicalize(&path).expect("it is there")));
        assert!(
            archive.has(Path::new("/lib64"))
                || archive.has(Path::new("/lib64/ld-linux-x86-64.so.2"))
        );
    }

    fn executable(path: &Path, text: &str) {
        fs::write(path, text).expect("written");
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).expect("may be executed");
    }

    #[test]
    fn a_script_comes_with_who_runs_it_and_what_it_starts() {
        let folder = tempfile::tempdir().expect("a folder");
        let script = folder.path().join("script");
        executable(&script, "#!/usr/bin/env sh\n# cat\nseq 3 | sort\n");
        let mut archive = Archive::default();
        program(&mut archive, &script).expect("there is a shell");
        let has = |name: &str| {
            let path = Command::new([name]).program().expect("it is in PATH");
            archive.has(&path.canonicalize().expect("it is there"))
        };
        assert!(has("env") && has("sh") && has("seq") && has("sort"));
        assert!(!has("cat"), "in a comment");
    }

    #[test]
    fn who_lacks_something_is_named_and_of_a_folder_remarked() {
        let folder = tempfile::tempdir().expect("a folder");
        let script = folder.path().join("script");
        for missing in ["/no/such/interpreter", "/usr/bin/env no-such-program"] {
            executable(&script, &format!("#!{missing}\n"));
            let said = program(&mut Archive::default(), &script)
                .expect_err("nothing runs it")
                .to_string();
            let name = missing.trim_start_matches("/usr/bin/env ");
            assert!(
                said.contains(name) && said.contains(&*script.to_string_lossy()),
                "{said}"
            );
        }
        executable(
            &script,
            &format!("#!/bin/sh\n{name}\n", name = script.display()),
        );
        program(&mut Archive::default(), &script).expect("it starts itself");
        executable(&script, "#!/no/such/interpreter\n");
        let mut archive = Archive::default();
        named(&mut archive, folder.path()).expect("it may never run");
        assert!(archive.has(&fs::canonicalize(&script).expect("it is there")));
        assert_eq!(archive.remarks().len(), 1);
    }
}
