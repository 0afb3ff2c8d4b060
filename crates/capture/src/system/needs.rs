//! Which files of this machine a command needs: its program, whatever interprets that, their shared libraries, and the files
//! that its arguments name.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::path::{Component, Path, PathBuf};

use super::archive::{Archive, Entry};
use super::error::GuestError;
use crate::command::Command;

/// As deep as links lead to links.
const MOST_LINKS: u32 = 40;
/// The guest has its own.
const NOT_OURS: [&str; 4] = ["/dev", "/proc", "/sys", "/run"];
/// They work in any guest.
const ITS_DEVICES: [&str; 5] = ["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"];

/// Folders that are links to those in /usr on most machines: programs name files either way.
const USUAL: [&str; 4] = ["/bin", "/sbin", "/lib", "/lib64"];

/// The links that lead to most programs.
pub(super) fn usual_links(archive: &mut Archive) -> Result<(), GuestError> {
    USUAL.iter().map(Path::new).filter(|path| path.is_symlink()).try_for_each(|path| folder(archive, path).map(drop))
}

/// Adds a program with all that it needs; gives its absolute path.
pub(super) fn program(archive: &mut Archive, path: &Path) -> Result<PathBuf, GuestError> {
    let path = std::path::absolute(path).map_err(|error| unusable(path, error))?;
    file(archive, &path)?;
    interpreter_of(archive, &path)?;
    Ok(path)
}

/// The files that its arguments name.
pub(super) fn arguments(archive: &mut Archive, command: &Command) -> Result<(), GuestError> {
    let directory = directory_of(command)?;
    folder(archive, &directory)?;
    command.words.iter().skip(1).try_for_each(|word| argument(archive, &directory.join(word)))
}

pub(super) fn directory_of(command: &Command) -> Result<PathBuf, GuestError> {
    let here = Path::new(".");
    let named = command.directory.as_deref().unwrap_or(here);
    std::path::absolute(named).map_err(|error| unusable(named, error))
}

fn argument(archive: &mut Archive, path: &Path) -> Result<(), GuestError> {
    let Ok(facts) = path.metadata() else { return Ok(()) };
    let kind = facts.file_type();
    if ITS_DEVICES.iter().any(|its| path == Path::new(its)) {
        return Ok(());
    }
    if kind.is_char_device() || kind.is_block_device() {
        return Err(GuestError::Device(path.to_owned()));
    }
    if NOT_OURS.iter().any(|not| path.starts_with(not)) {
        return Ok(());
    }
    if kind.is_dir() { folder(archive, path).map(drop) } else { file(archive, path) }
}

/// A file or a folder with all in it that the user has named, programs with what they need.
pub(super) fn named(archive: &mut Archive, path: &Path) -> Result<(), GuestError> {
    named_once(archive, path, &mut BTreeSet::new())
}

/// Links may lead to a folder that they are in.
fn named_once(archive: &mut Archive, path: &Path, seen: &mut BTreeSet<PathBuf>) -> Result<(), GuestError> {
    let path = std::path::absolute(path).map_err(|error| unusable(path, error))?;
    let facts = path.metadata().map_err(|error| unusable(&path, error))?;
    if facts.is_dir() {
        let real = folder(archive, &path)?;
        if !seen.insert(real.clone()) {
            return Ok(());
        }
        return within(&real)?.iter().try_for_each(|path| named_once(archive, path, seen));
    }
    if facts.permissions().mode() & 0o111 != 0 || is_library(&path)? {
        return program(archive, &path).map(drop);
    }
    file(archive, &path)
}

/// A folder with all in it, elsewhere in the guest. It holds files and folders alone.
pub(super) fn placed(archive: &mut Archive, here: &Path, there: &Path) -> Result<(), GuestError> {
    let facts = here.metadata().map_err(|error| unusable(here, error))?;
    if !facts.is_dir() {
        let bytes = fs::read(here).map_err(|error| unusable(here, error))?;
        archive.add(there, Entry::File { bytes, mode: facts.permissions().mode() & 0o777 });
        return Ok(());
    }
    archive.add(there, Entry::Folder);
    let name = |path: &Path| path.file_name().map(OsStr::to_owned).unwrap_or_default();
    within(here)?.iter().try_for_each(|path| placed(archive, path, &there.join(name(path))))
}

/// What is in a folder, in the order of names.
fn within(path: &Path) -> Result<Vec<PathBuf>, GuestError> {
    let entries = fs::read_dir(path).and_then(|entries| entries.map(|entry| entry.map(|entry| entry.path())).collect());
    let mut found: Vec<PathBuf> = entries.map_err(|error| unusable(path, error))?;
    found.sort();
    Ok(found)
}

/// Whether a program loads it: some have no right to be executed.
fn is_library(path: &Path) -> Result<bool, GuestError> {
    let bytes = fs::read(path).map_err(|error| unusable(path, error))?;
    Ok(kind_of(&bytes) == Some(object::elf::ET_DYN))
}

fn unusable(path: &Path, error: io::Error) -> GuestError {
    GuestError::File { path: path.to_owned(), error }
}

/// A folder, without what is in it; gives where links lead to.
fn folder(archive: &mut Archive, path: &Path) -> Result<PathBuf, GuestError> {
    let real = follow(archive, path, MOST_LINKS)?;
    if real.parent().is_some() && !archive.has(&real) {
        archive.add(&real, Entry::Folder);
    }
    Ok(real)
}

/// A file and the links that lead to it.
fn file(archive: &mut Archive, path: &Path) -> Result<(), GuestError> {
    let real = follow(archive, path, MOST_LINKS)?;
    if archive.has(&real) {
        return Ok(());
    }
    let facts = real.metadata().map_err(|error| unusable(path, error))?;
    if !facts.is_file() {
        return Err(unusable(path, io::Error::other("not a regular file")));
    }
    let bytes = fs::read(&real).map_err(|error| unusable(path, error))?;
    archive.add(real, Entry::File { bytes, mode: facts.permissions().mode() & 0o777 });
    Ok(())
}

/// Adds the links on the way, and gives where they lead.
fn follow(archive: &mut Archive, path: &Path, links: u32) -> Result<PathBuf, GuestError> {
    let mut real = PathBuf::from("/");
    for component in path.components() {
        match component {
            Component::ParentDir => drop(real.pop()),
            Component::Normal(name) => {
                real.push(name);
                if real.is_symlink() {
                    let target = fs::read_link(&real).map_err(|error| unusable(path, error))?;
                    archive.add(&real, Entry::Link(target.as_os_str().as_bytes().to_vec()));
                    let whole = real.parent().unwrap_or(Path::new("/")).join(target);
                    if links == 0 {
                        return Err(unusable(path, io::Error::other("too many links")));
                    }
                    real = follow(archive, &whole, links - 1)?;
                }
            }
            Component::CurDir | Component::RootDir | Component::Prefix(_) => {}
        }
    }
    Ok(real)
}

pub(super) fn interpreter_of(archive: &mut Archive, path: &Path) -> Result<(), GuestError> {
    let mut start = [0; 256];
    let length =
        fs::File::open(path).and_then(|mut file| file.read(&mut start)).map_err(|error| unusable(path, error))?;
    let Some(line) = start[..length].strip_prefix(b"#!") else { return libraries(archive, path) };
    let interpreter = line.trim_ascii_start().split(u8::is_ascii_whitespace).next().unwrap_or_default();
    program(archive, Path::new(OsStr::from_bytes(interpreter))).map(drop)
}

/// Its loader and the shared libraries, as the loader itself finds them.
fn libraries(archive: &mut Archive, path: &Path) -> Result<(), GuestError> {
    let bytes = fs::read(path).map_err(|error| unusable(path, error))?;
    let has_usual = || kind_of(&bytes) == Some(object::elf::ET_DYN) && Path::new(USUAL_LOADER).is_file();
    let usual = || has_usual().then(|| USUAL_LOADER.as_bytes().to_vec());
    let Some(loader) = loader_of(&bytes).or_else(usual) else { return Ok(()) };
    let loader = Path::new(OsStr::from_bytes(&loader)).to_owned();
    file(archive, &loader)?;
    let listed = std::process::Command::new(&loader)
        .arg("--list")
        .arg(path)
        .output()
        .map_err(|error| unusable(&loader, error))?;
    for line in listed.stdout.split(|&byte| byte == b'\n') {
        match library(line) {
            Library::At(found) => file(archive, &found)?,
            Library::Missing(name) => {
                return Err(GuestError::Library { program: path.to_owned(), library: name });
            }
            Library::None => {}
        }
    }
    Ok(())
}

#[derive(Debug, PartialEq, Eq)]
enum Library {
    At(PathBuf),
    Missing(String),
    None,
}

/// `NAME => PATH (ADDRESS)`, `PATH (ADDRESS)` or `NAME => not found`.
fn library(line: &[u8]) -> Library {
    let line = String::from_utf8_lossy(line);
    let (name, place) = line.split_once(" => ").unwrap_or((&line, &line));
    if place.trim() == "not found" {
        return Library::Missing(name.trim().to_owned());
    }
    let path = place.rsplit_once(" (").map_or("", |(path, _)| path.trim());
    if path.starts_with('/') { Library::At(path.into()) } else { Library::None }
}

/// Of a library, which names none.
const USUAL_LOADER: &str = "/lib64/ld-linux-x86-64.so.2";

/// `e_type` of an object file.
fn kind_of(bytes: &[u8]) -> Option<u16> {
    use object::read::elf::FileHeader;
    let header = object::elf::FileHeader64::<object::Endianness>::parse(bytes).ok()?;
    Some(header.e_type(header.endian().ok()?))
}

/// None of a program that needs none.
fn loader_of(bytes: &[u8]) -> Option<Vec<u8>> {
    use object::elf::PT_INTERP;
    use object::read::elf::{FileHeader, ProgramHeader};
    let header = object::elf::FileHeader64::<object::Endianness>::parse(bytes).ok()?;
    let endian = header.endian().ok()?;
    let segments = header.program_headers(endian, bytes).ok()?;
    let interpreter = segments.iter().find(|segment| segment.p_type(endian) == PT_INTERP)?;
    let text = interpreter.data(endian, bytes).ok()?;
    Some(text.split(|&byte| byte == 0).next()?.to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_the_loader_are_understood() {
        assert_eq!(library(b"\tlinux-vdso.so.1 (0x00007ffd)"), Library::None);
        assert_eq!(
            library(b"\tlibc.so.6 => /lib/x86_64-linux-gnu/libc.so.6 (0x00007f)"),
            Library::At("/lib/x86_64-linux-gnu/libc.so.6".into())
        );
        assert_eq!(
            library(b"\t/lib64/ld-linux-x86-64.so.2 (0x00007f)"),
            Library::At("/lib64/ld-linux-x86-64.so.2".into())
        );
        assert_eq!(library(b"\tlibx.so => not found"), Library::Missing("libx.so".to_owned()));
        assert_eq!(library(b"\tstatically linked"), Library::None);
    }

    #[test]
    fn a_program_comes_with_its_libraries_and_links() {
        let mut archive = Archive::default();
        let path = program(&mut archive, Path::new("/bin/sh")).expect("there is a shell");
        assert!(archive.has(&fs::canonicalize(&path).expect("it is there")));
        assert!(archive.has(Path::new("/lib64")) || archive.has(Path::new("/lib64/ld-linux-x86-64.so.2")));
    }

    #[test]
    fn links_to_the_folder_that_they_are_in_end() {
        let folder = tempfile::tempdir().expect("a folder");
        let root = fs::canonicalize(folder.path()).expect("it is there");
        fs::create_dir(root.join("within")).expect("a folder");
        fs::write(root.join("within/file"), b"text").expect("a file");
        std::os::unix::fs::symlink("..", root.join("within/up")).expect("a link");
        let mut archive = Archive::default();
        named(&mut archive, &root).expect("all is usable");
        let all = ["within", "within/file", "within/up"];
        assert!(all.iter().all(|path| archive.has(&root.join(path))));
        let mut elsewhere = Archive::default();
        placed(&mut elsewhere, &root.join("within/file"), Path::new("/there/file")).expect("a file");
        assert!(elsewhere.has(Path::new("/there/file")) && elsewhere.has(Path::new("/there")));
    }

    #[test]
    fn a_device_is_refused_and_what_the_guest_has_is_left_out() {
        let mut archive = Archive::default();
        argument(&mut archive, Path::new("/dev/null")).expect("any guest has it");
        argument(&mut archive, Path::new("/proc/self/status")).expect("the guest has its own");
        assert!(!archive.has(Path::new("/dev/null")));
        let error = argument(&mut archive, Path::new("/dev/tty")).expect_err("not in the guest");
        assert!(matches!(error, GuestError::Device(_)), "{error}");
    }
}
