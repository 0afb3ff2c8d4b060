//! Finds the dynamic loader and the shared libraries of a program, as the loader does.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::archive::Archive;
use super::files::{file, read_file, unusable};
use crate::guest_error::GuestError;

/// Loader that is used to list the libraries of a library, which itself names no loader.
const USUAL_LOADER: &str = "/lib64/ld-linux-x86-64.so.2";
/// Folders that loaders search by default. Others must be in the loader's configuration.
const USUAL: [&str; 6] = [
    "/lib",
    "/lib64",
    "/usr/lib",
    "/usr/lib64",
    "/lib/x86_64-linux-gnu",
    "/usr/lib/x86_64-linux-gnu",
];
const LIST: &str = "/etc/ld.so.cache";
const LIBRARY_PATH: &str = "LD_LIBRARY_PATH";

/// Adds the loader and the shared libraries of a program or library.
pub(super) fn libraries(archive: &mut Archive, path: &Path) -> Result<(), GuestError> {
    // A library that is found relative to the file is next to the file itself, not next to a link
    // to the file.
    let real = path.canonicalize().map_err(|error| unusable(path, error))?;
    let bytes = read_file(&real)?;
    let has_usual =
        || kind_of(&bytes) == Some(object::elf::ET_DYN) && Path::new(USUAL_LOADER).is_file();
    let usual = || has_usual().then(|| USUAL_LOADER.as_bytes().to_vec());
    let Some(loader) = loader_of(&bytes).or_else(usual) else {
        return Ok(());
    };
    let loader = Path::new(OsStr::from_bytes(&loader)).to_owned();
    file(archive, &loader)?;
    let listed = std::process::Command::new(&loader)
        .arg("--list")
        .arg(&real)
        .output()
        .map_err(|error| unusable(&loader, error))?;
    for line in listed.stdout.split(|&byte| byte == b'\n') {
        match library(line) {
            Library::At(found) => {
                file(archive, &found)?;
                be_found(archive, &found)?;
            }
            Library::Missing(name) => {
                return Err(GuestError::Library {
                    program: path.to_owned(),
                    library: name,
                });
            }
            Library::None => {}
        }
    }
    Ok(())
}

/// Makes the guest's loader find a library by its name.
fn be_found(archive: &mut Archive, library: &Path) -> Result<(), GuestError> {
    let folder = library.parent().unwrap_or(Path::new("/"));
    if USUAL.iter().any(|usual| folder == Path::new(usual)) {
        return Ok(());
    }
    let search_path = std::env::var_os(LIBRARY_PATH).unwrap_or_default();
    if std::env::split_paths(&search_path).any(|given| given == folder) {
        archive.add_variable(LIBRARY_PATH, &search_path);
    }
    if Path::new(LIST).is_file() {
        file(archive, Path::new(LIST))
    } else {
        Ok(())
    }
}

/// Whether a file is a shared library or a position-independent program. Some shared libraries have
/// no permission to be executed.
pub(super) fn is_library(path: &Path) -> Result<bool, GuestError> {
    Ok(kind_of(&read_file(path)?) == Some(object::elf::ET_DYN))
}

#[derive(Debug, PartialEq, Eq)]
enum Library {
    At(PathBuf),
    Missing(String),
    None,
}

/// Parses a line that the loader prints: `NAME => PATH (ADDRESS)`, `PATH (ADDRESS)` or `NAME => not
/// found`.
fn library(line: &[u8]) -> Library {
    let line = String::from_utf8_lossy(line);
    let (name, place) = line.split_once(" => ").unwrap_or((&line, &line));
    if place.trim() == "not found" {
        return Library::Missing(name.trim().to_owned());
    }
    let path = place.rsplit_once(" (").map_or("", |(path, _)| path.trim());
    if path.starts_with('/') {
        Library::At(path.into())
    } else {
        Library::None
    }
}

/// Returns the type (`e_type`) of an ELF file; `None` if the bytes are no ELF file.
fn kind_of(bytes: &[u8]) -> Option<u16> {
    use object::read::elf::FileHeader;
    let header = object::elf::FileHeader64::<object::Endianness>::parse(bytes).ok()?;
    Some(header.e_type(header.endian().ok()?))
}

/// Returns the path of a program's dynamic loader; `None` if the program is static.
fn loader_of(bytes: &[u8]) -> Option<Vec<u8>> {
    use object::elf::PT_INTERP;
    use object::read::elf::{FileHeader, ProgramHeader};
    let header = object::elf::FileHeader64::<object::Endianness>::parse(bytes).ok()?;
    let endian = header.endian().ok()?;
    let segments = header.program_headers(endian, bytes).ok()?;
    let interpreter = segments
        .iter()
        .find(|segment| segment.p_type(endian) == PT_INTERP)?;
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
        assert_eq!(
            library(b"\tlibx.so => not found"),
            Library::Missing("libx.so".to_owned())
        );
        assert_eq!(library(b"\tstatically linked"), Library::None);
    }
}
