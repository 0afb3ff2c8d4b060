//! Finds the guest's kernel: an existing image, or a package of the distribution, which is
//! downloaded and unpacked but not installed.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use switchcost_host::own_environment::tool_on_path;
use switchcost_host::temporary::TemporaryFolder;
use switchcost_record::trust::{make_folder, make_private, open_found};

use crate::guest_error::GuestError;

/// A kernel image that QEMU can boot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kernel {
    /// Path of the image.
    pub image: PathBuf,
}

/// A package of the distribution that provides a kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Package {
    /// Name of the kernel's package, or of a package that depends on the kernel's.
    pub name: String,
}

/// Finds the newest image `vmlinuz*` in the first of `folders` that has one, or else in /boot.
///
/// # Errors
///
/// If no folder has an image.
pub fn find_kernel(folders: &[PathBuf]) -> Result<Kernel, GuestError> {
    let boot = PathBuf::from("/boot");
    let places = || folders.iter().chain([&boot]);
    let found = places().find_map(|folder| newest_in(folder));
    found.ok_or_else(|| GuestError::NoKernel(places().cloned().collect()))
}

fn newest_in(folder: &Path) -> Option<Kernel> {
    let entries = fs::read_dir(folder)
        .ok()?
        .flatten()
        .map(|entry| entry.path());
    let is_image = |path: &PathBuf| {
        let name = path
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        name.starts_with("vmlinuz") && open_found(path).is_ok()
    };
    entries
        .filter(is_image)
        .max_by_key(|path| numbers(path))
        .map(|image| Kernel { image })
}

/// Returns the numbers in a file's name. The order of versions follows from the numbers: 6.9 is
/// before 6.12.
fn numbers(path: &Path) -> Vec<u64> {
    let name = path
        .file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned();
    name.split(|c: char| !c.is_ascii_digit())
        .filter_map(|digits| digits.parse().ok())
        .collect()
}

/// Downloads and unpacks a kernel's package, and stores its image in `folder`. An image that was
/// stored before is returned without a download.
///
/// # Errors
///
/// If the name cannot be that of a package, the package manager is missing or cannot provide the
/// package, or the image cannot be stored.
pub fn fetch(package: &Package, folder: &Path) -> Result<Kernel, GuestError> {
    let refuse = |why: String| GuestError::Package {
        name: package.name.clone(),
        why,
    };
    if !is_name(&package.name) {
        return Err(GuestError::NoImage(PathBuf::from(&package.name)));
    }
    let name = package_with_image(&package.name).map_err(|error| refuse(error.to_string()))?;
    let kept = folder.join(&name).join(BOOT);
    if let Some(kernel) = newest_in(&kept) {
        return Ok(kernel);
    }
    let keep = |place: &Path| make_folder(place).map_err(|error| refuse(error.to_string()));
    keep(folder)?;
    let unpacked = TemporaryFolder::create_in(folder).map_err(|error| refuse(error.to_string()))?;
    let root = unpacked.path();
    let apt_get = |command: &mut Command| {
        command.args(["download", &name]).current_dir(root);
    };
    run("apt-get", apt_get).map_err(&refuse)?;
    let files = fs::read_dir(root)
        .map_err(|error| refuse(error.to_string()))?
        .flatten();
    let file = files
        .map(|entry| entry.path())
        .find(|path| path.extension().is_some_and(|end| end == "deb"));
    let file = file.ok_or_else(|| refuse("it left no file".to_owned()))?;
    let dpkg = |command: &mut Command| {
        command.arg("-x").arg(&file).arg(root);
    };
    run("dpkg", dpkg).map_err(&refuse)?;
    let (image, called) = image_in(root).ok_or_else(|| refuse("it has no image".to_owned()))?;
    // Most of the package is not needed.
    keep(&kept)?;
    let image_kept = kept.join(called);
    fs::rename(image, &image_kept)
        .and_then(|()| make_private(&folder.join(&name)))
        .map_err(|error| refuse(error.to_string()))?;
    Ok(Kernel { image: image_kept })
}

const BOOT: &str = "boot";
const MODULES: &str = "usr/lib/modules";

/// Returns the kernel image in an unpacked package, and a name that distinguishes it from others.
/// The image is in /boot, or, in newer packages of Debian, is `vmlinuz` in the folder named after
/// the kernel's version.
fn image_in(root: &Path) -> Option<(PathBuf, OsString)> {
    if let Some(Kernel { image }) = newest_in(&root.join(BOOT)) {
        let called = image.file_name()?.to_owned();
        return Some((image, called));
    }
    let versions = fs::read_dir(root.join(MODULES))
        .ok()?
        .flatten()
        .map(|entry| entry.path());
    let Kernel { image } = versions.filter_map(|folder| newest_in(&folder)).next()?;
    let version = image.parent()?.file_name()?.to_string_lossy().into_owned();
    Some((image, format!("vmlinuz-{version}").into()))
}

/// Whether a text is a package's name as apt takes it, with or without a release:
/// `linux-image-cloud-amd64/bookworm-backports`.
fn is_name(name: &str) -> bool {
    let is_letter = |letter: char| letter.is_ascii_alphanumeric() || "+-.=/:~".contains(letter);
    name.starts_with(|letter: char| letter.is_ascii_alphanumeric()) && name.chars().all(is_letter)
}

/// Prefixes of the names of Debian's kernel packages. A metapackage, such as
/// linux-image-cloud-amd64, depends on the package of one kernel version. In newer Debian, that
/// package depends on the package with the kernel's image.
const PARTS: [&str; 2] = ["linux-image-", "linux-binary-"];

fn package_with_image(name: &str) -> io::Result<String> {
    let mut name = name.to_owned();
    for _ in PARTS {
        let shown = tool_on_path("apt-cache")?
            .args(["show", "--no-all-versions", &name])
            .output()?;
        let Some(next) = dependency(&String::from_utf8_lossy(&shown.stdout)) else {
            break;
        };
        name = next;
    }
    Ok(name)
}

/// Returns the kernel package on which a package depends; `None` if there is none. `shown` is the
/// output of `apt-cache show`.
fn dependency(shown: &str) -> Option<String> {
    let depends = shown
        .lines()
        .find_map(|line| line.strip_prefix("Depends: "))?;
    let mut names = depends
        .split([',', '|'])
        .filter_map(|part| part.split_whitespace().next());
    names
        .find(|name| PARTS.iter().any(|part| name.starts_with(part)))
        .map(str::to_owned)
}

fn run(name: &str, with: impl FnOnce(&mut Command)) -> Result<(), String> {
    let output = tool_on_path(name).and_then(|mut command| {
        with(&mut command);
        command.output()
    });
    let output = output.map_err(|error| format!("{name}: {error}"))?;
    if output.status.success() {
        return Ok(());
    }
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    let last = text
        .lines()
        .rfind(|line| line.starts_with("E:"))
        .or_else(|| text.lines().last())
        .unwrap_or_default();
    Err(format!("{name}: {}", last.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_image_is_taken_and_its_absence_reported() {
        let folder = tempfile::tempdir().expect("a folder");
        for name in [
            "vmlinuz-6.1.0",
            "vmlinuz-6.9.0",
            "vmlinuz-6.12.0",
            "config-6.13",
        ] {
            fs::write(folder.path().join(name), b"").expect("a file");
        }
        let found = find_kernel(&[folder.path().to_owned()]).expect("there are three");
        assert_eq!(found.image, folder.path().join("vmlinuz-6.12.0"));
    }

    #[test]
    fn the_image_is_found_wherever_a_package_has_it() {
        for (place, called) in [
            (
                "boot/vmlinuz-6.12.95+deb12-cloud-amd64",
                "vmlinuz-6.12.95+deb12-cloud-amd64",
            ),
            (
                "usr/lib/modules/7.3.4+deb13-cloud-amd64/vmlinuz",
                "vmlinuz-7.3.4+deb13-cloud-amd64",
            ),
        ] {
            let root = tempfile::tempdir().expect("a folder");
            let image = root.path().join(place);
            fs::create_dir_all(image.parent().expect("it has one")).expect("folders");
            fs::write(&image, b"").expect("a file");
            assert_eq!(image_in(root.path()), Some((image, called.into())));
        }
        assert_eq!(image_in(Path::new("/nowhere")), None);
    }

    #[test]
    fn the_package_with_the_image_is_found_behind_others() {
        let old = "Package: linux-image-cloud-amd64\nDepends: linux-image-6.1.0-56-cloud-amd64 (= 6.1.192-2)\n";
        assert_eq!(
            dependency(old).as_deref(),
            Some("linux-image-6.1.0-56-cloud-amd64")
        );
        let new = "Depends: dracut | initramfs-tools (>= 0.120), linux-base-7.3.4 (= 7.3.4-1), linux-binary-7.3.4 (= 7.3.4-1)\n";
        assert_eq!(dependency(new).as_deref(), Some("linux-binary-7.3.4"));
        assert_eq!(dependency("Depends: linux-base-7.3.4 (= 7.3.4-1)\n"), None);
        assert_eq!(dependency(""), None);
    }

    #[test]
    fn what_is_neither_an_image_nor_a_name_is_reported_without_asking_for_it() {
        for name in ["./vmlinuz", "/boot/vmlinuz", "--help", "", "a b"] {
            let package = Package {
                name: name.to_owned(),
            };
            let error =
                fetch(&package, Path::new("/nowhere")).expect_err("no package is called so");
            let found = format!("no file '{name}'; name a kernel image or a Debian package");
            assert!(error.to_string().starts_with(&found), "{error}");
        }
        assert!(
            is_name("linux-image-cloud-amd64/bookworm-backports")
                && is_name("linux-image-6.12.95+deb12-cloud-amd64")
        );
    }
}
