//! The guest's kernel: an image that is there, or a package of the distribution's, downloaded and unpacked and never installed.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::error::GuestError;

/// An image that QEMU can boot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kernel {
    /// Its file.
    pub image: PathBuf,
}

/// A package of the distribution's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Package {
    /// Its name, or that of one that depends on it.
    pub name: String,
}

/// The newest image in the folders `vmlinuz*` of which are looked for, or else in /boot.
///
/// # Errors
/// Where there is none.
pub fn find_kernel(folders: &[PathBuf]) -> Result<Kernel, GuestError> {
    let boot = PathBuf::from("/boot");
    let places = || folders.iter().chain([&boot]);
    let found = places().find_map(|folder| newest_in(folder));
    found.ok_or_else(|| GuestError::NoKernel(places().cloned().collect()))
}

fn newest_in(folder: &Path) -> Option<Kernel> {
    let entries = fs::read_dir(folder).ok()?.flatten().map(|entry| entry.path());
    let is_image = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        name.starts_with("vmlinuz") && fs::File::open(path).is_ok()
    };
    entries.filter(is_image).max_by_key(|path| numbers(path)).map(|image| Kernel { image })
}

/// The numbers in a file's name, by which versions are in order: 6.9 is before 6.12.
fn numbers(path: &Path) -> Vec<u64> {
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    name.split(|c: char| !c.is_ascii_digit()).filter_map(|digits| digits.parse().ok()).collect()
}

/// Downloads a kernel's package into `folder` and unpacks it there, or takes what an earlier call has left.
///
/// # Errors
/// Where the package manager has no such package, or there is none.
pub fn fetch(package: &Package, folder: &Path) -> Result<Kernel, GuestError> {
    let refuse = |why: String| GuestError::Package { name: package.name.clone(), why };
    let name = real_name(&package.name).map_err(|error| refuse(error.to_string()))?;
    let within = folder.join(&name);
    if let Some(kernel) = newest_in(&within.join("boot")) {
        return Ok(kernel);
    }
    fs::create_dir_all(&within).map_err(|error| refuse(error.to_string()))?;
    run(Command::new("apt-get").args(["download", &name]).current_dir(&within)).map_err(&refuse)?;
    let file = fs::read_dir(&within).map_err(|error| refuse(error.to_string()))?.flatten();
    let package_file = file.map(|entry| entry.path()).find(|path| path.extension().is_some_and(|end| end == "deb"));
    let package_file = package_file.ok_or_else(|| refuse("it left no file".to_owned()))?;
    run(Command::new("dpkg").arg("-x").arg(&package_file).arg(&within)).map_err(&refuse)?;
    let _ = fs::remove_file(package_file);
    // The modules are not needed, and are most of it.
    let _ = fs::remove_dir_all(within.join("lib"));
    let _ = fs::remove_dir_all(within.join("usr"));
    newest_in(&within.join("boot")).ok_or_else(|| refuse("it has no image in /boot".to_owned()))
}

/// The package with the image, where the named one depends on it: linux-image-cloud-amd64 on that of a version.
fn real_name(name: &str) -> io::Result<String> {
    let shown = Command::new("apt-cache").args(["show", "--no-all-versions", name]).output()?;
    let text = String::from_utf8_lossy(&shown.stdout).into_owned();
    let depends = text.lines().find_map(|line| line.strip_prefix("Depends: ")).unwrap_or_default();
    let image = depends.split([',', '|']).map(|part| part.split_whitespace().next().unwrap_or_default());
    let mut image = image.filter(|part| part.starts_with("linux-image-"));
    Ok(image.next().unwrap_or(name).to_owned())
}

fn run(command: &mut Command) -> Result<(), String> {
    let output = command.output().map_err(|error| format!("{}: {error}", command.get_program().display()))?;
    if output.status.success() {
        return Ok(());
    }
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    let last = text.lines().rfind(|line| line.starts_with("E:")).or_else(|| text.lines().last()).unwrap_or_default();
    Err(format!("{}: {}", command.get_program().display(), last.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_image_is_taken_and_its_absence_told() {
        let folder = tempfile::tempdir().expect("a folder");
        for name in ["vmlinuz-6.1.0", "vmlinuz-6.9.0", "vmlinuz-6.12.0", "config-6.13"] {
            fs::write(folder.path().join(name), b"").expect("a file");
        }
        let found = find_kernel(&[folder.path().to_owned()]).expect("there are three");
        assert_eq!(found.image, folder.path().join("vmlinuz-6.12.0"));
    }
}
