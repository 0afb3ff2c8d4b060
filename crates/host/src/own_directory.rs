//! Gives the calling process a private copy of the working directory. Only this process and its
//! children see the changes, which disappear with these processes.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use rustix::mount::{MountFlags, mount};

/// Mounts an overlay over the working directory, in a new mount namespace of the calling process,
/// which must have one thread. Changes are kept in memory, mounted at the existing folder `layer`.
///
/// # Errors
///
/// If something is mounted inside the directory, which an overlay would hide, or if the kernel
/// refuses.
pub(crate) fn enter_own_directory(layer: &Path) -> io::Result<()> {
    let directory = std::env::current_dir()?;
    if let Some(within) = mounted_within(&fs::read_to_string("/proc/self/mountinfo")?, &directory) {
        let what = format!(
            "{} is mounted within {}, and would not be seen there",
            within.display(),
            directory.display()
        );
        return Err(io::Error::other(what));
    }
    // SAFETY: changes the namespaces of this process, and no memory.
    if unsafe { libc::unshare(libc::CLONE_NEWNS) } != 0 {
        return Err(add_context("a mount namespace", io::Error::last_os_error()));
    }
    let tmpfs = mount(
        c"tmpfs",
        layer,
        c"tmpfs",
        MountFlags::NOSUID | MountFlags::NODEV,
        None,
    );
    tmpfs.map_err(|error| add_context("a file system in memory", error.into()))?;
    let [changes, work] = ["changes", "work"].map(|name| layer.join(name));
    fs::create_dir(&changes)?;
    fs::create_dir(&work)?;
    let options = format!(
        "lowerdir={},upperdir={},workdir={}",
        escaped(&directory),
        escaped(&changes),
        escaped(&work)
    );
    let options = std::ffi::CString::new(options).map_err(io::Error::other)?;
    mount(
        c"overlay",
        &directory,
        c"overlay",
        MountFlags::empty(),
        Some(options.as_c_str()),
    )
    .map_err(|error| add_context("an overlay", error.into()))?;
    std::env::set_current_dir(&directory)
}

fn add_context(what: &str, error: io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{what}: {error}"))
}

/// Returns a path in which the separators of overlayfs's options are escaped.
fn escaped(path: &Path) -> String {
    let mut text = String::new();
    for character in path.to_string_lossy().chars() {
        if matches!(character, '\\' | ':' | ',') {
            text.push('\\');
        }
        text.push(character);
    }
    text
}

/// Returns a mount point inside the directory, if there is one. `mounts` is the text of
/// /proc/self/mountinfo (proc(5)).
fn mounted_within(mounts: &str, directory: &Path) -> Option<PathBuf> {
    let places = mounts
        .lines()
        .filter_map(|line| line.split(' ').nth(4))
        .map(|place| PathBuf::from(plain(place)));
    places
        .filter(|place| place != directory)
        .find(|place| place.starts_with(directory))
}

/// Returns a path of mountinfo without its escapes (three octal digits for a space and the like).
fn plain(text: &str) -> String {
    let mut parts = text.split('\\');
    let mut plain = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let byte = part
            .get(..3)
            .and_then(|digits| u8::from_str_radix(digits, 8).ok());
        plain.push(byte.map_or('\\', char::from));
        plain.push_str(part.get(3..).unwrap_or_default());
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_mounted_within_is_found() {
        let mounts = "22 1 0:20 / / rw - ext4 /dev/a rw\n23 22 0:21 / /work rw - ext4 /dev/b rw\n\
                      24 22 0:22 / /work/a\\040folder rw - tmpfs tmpfs rw\n25 22 0:23 / /workers rw - tmpfs tmpfs rw\n";
        let within = |directory: &str| mounted_within(mounts, Path::new(directory));
        assert_eq!(within("/work"), Some("/work/a folder".into()));
        assert_eq!((within("/work/b"), within("/workers")), (None, None));
        assert_eq!(within("/"), Some("/work".into()));
    }

    #[test]
    fn separators_of_an_overlay_are_escaped() {
        assert_eq!(escaped(Path::new("/a,b:c\\d")), "/a\\,b\\:c\\\\d");
    }
}
