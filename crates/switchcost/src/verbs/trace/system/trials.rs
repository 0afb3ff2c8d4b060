//! Plans the requested guests: one for each kernel, each additional command line and each time
//! slice.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use switchcost_capture::{GuestError, Kernel, Package, Parts, System};
use switchcost_units::Nanos;

use crate::cli::system::{GuestArguments, IcountShift};
use crate::cli::trace::TraceArguments;
use crate::home;
use crate::runs::Place;

/// A guest to be run, and the path of its trace.
pub(super) struct Trial {
    pub(super) system: System,
    pub(super) place: Place,
}

/// Plans the requested guests. The trace of a single guest has the given path. With several guests,
/// the name of each guest is inserted: `all.sct` becomes `all.pti=on.sct`.
pub(super) fn plan_trials(
    arguments: &TraceArguments,
    place: &Place,
) -> Result<Vec<Trial>, GuestError> {
    let (given, guests) = (&arguments.system, &arguments.system.guest);
    let mut trials = Vec::new();
    for kernel in one_or_all(&guests.kernel) {
        for append in one_or_all(&guests.append) {
            let guest = one_of(guests, kernel, append, AS_FAST_AS_CAN_BE)?;
            for slice in one_or_all(&given.slice) {
                let names = [
                    (guests.kernel.len() > 1).then(|| kernel.map_or_else(String::new, kernel_name)),
                    (guests.append.len() > 1)
                        .then(|| append.map_or_else(String::new, |words| words_name(words))),
                    (given.slice.len() > 1).then(|| slice.map_or_else(String::new, slice_name)),
                ];
                let system = System {
                    slice: slice.map(|slice| Duration::from_nanos(slice.0)),
                    seconds: given.seconds,
                    stop_after_switches: arguments.capture.switches,
                    is_between_stops: given.between_stops,
                    files: given.files.clone(),
                    ..guest.clone()
                };
                let names: Vec<String> = names.into_iter().flatten().collect();
                let place = Place {
                    path: named(&place.path, &names),
                    ..*place
                };
                trials.push(Trial { system, place });
            }
        }
    }
    Ok(trials)
}

const AS_FAST_AS_CAN_BE: IcountShift = IcountShift(0);

/// Plans a guest for programs that delimit the traced part themselves, and end soon.
pub(super) fn between_stops(arguments: &GuestArguments) -> Result<System, GuestError> {
    Ok(System {
        is_between_stops: true,
        ..one(arguments, AS_FAST_AS_CAN_BE)?
    })
}

/// Plans a guest that keeps its scheduler's own time slices, and ends by itself. `usual` is the
/// default rate of its instructions.
pub(super) fn one(arguments: &GuestArguments, usual: IcountShift) -> Result<System, GuestError> {
    one_of(
        arguments,
        arguments.kernel.first(),
        arguments.append.first(),
        usual,
    )
}

fn one_of(
    arguments: &GuestArguments,
    kernel: Option<&OsString>,
    append: Option<&String>,
    usual: IcountShift,
) -> Result<System, GuestError> {
    let parts = Parts::find()?;
    Ok(System {
        kernel: image(kernel, &parts)?,
        parts,
        append: append.cloned(),
        memory: arguments.memory,
        slice: None,
        icount_shift: arguments.mips.unwrap_or(usual).0,
        seconds: u64::from(u32::MAX),
        stop_after_switches: None,
        is_between_stops: false,
        files: Vec::new(),
        folders: Vec::new(),
        has_pages: arguments.physical,
    })
}

/// Returns the given values, or a single `None` if there are none.
fn one_or_all<T>(given: &[T]) -> Vec<Option<&T>> {
    if given.is_empty() {
        vec![None]
    } else {
        given.iter().map(Some).collect()
    }
}

/// Inserts names before the ending of a file name.
fn named(path: &Path, names: &[String]) -> PathBuf {
    let mut file = path.file_stem().unwrap_or_default().to_owned();
    for name in names {
        file.push(".");
        file.push(name);
    }
    if let Some(ending) = path.extension() {
        file.push(".");
        file.push(ending);
    }
    path.with_file_name(file)
}

/// Returns the name of a kernel image for use in a file name. The name of a package includes its
/// source.
fn kernel_name(kernel: &OsString) -> String {
    let path = Path::new(kernel);
    let name = if path.is_file() {
        path.file_name().unwrap_or_default()
    } else {
        kernel
    };
    words_name(&name.to_string_lossy())
}

/// Formats a time slice in milliseconds, such as `3ms` or `0.5ms`.
fn slice_name(slice: &Nanos) -> String {
    format!("{}ms", slice.0 as f64 / 1e6)
}

/// Converts words to a part of a file name that needs no quotes in a shell, such as `pti=on nosmt`
/// to `pti=on-nosmt`.
fn words_name(words: &str) -> String {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "=._-".contains(letter);
    let name: String = words
        .trim()
        .chars()
        .map(|letter| if is_plain(letter) { letter } else { '-' })
        .collect();
    if name.is_empty() {
        "default".to_owned()
    } else {
        name
    }
}

/// Returns the guest's kernel. An existing file is an image, any other word names a package.
fn image(named: Option<&OsString>, parts: &Parts) -> Result<Kernel, GuestError> {
    let Some(named) = named else {
        return switchcost_capture::find_kernel(&[parts.folder.join("kernel/boot")]);
    };
    let image = PathBuf::from(named);
    if image.is_file() {
        return Ok(Kernel { image });
    }
    let name = named.to_string_lossy().into_owned();
    let folder = kernels_folder().map_err(|error| GuestError::Package {
        name: name.clone(),
        why: error.to_string(),
    })?;
    switchcost_capture::fetch(&Package { name }, &folder)
}

/// Returns the folder for downloaded kernels, or a temporary folder that only this user can write
/// to.
fn kernels_folder() -> std::io::Result<PathBuf> {
    let usual = home::cache().map(|cache| cache.join("kernels"));
    usual
        .and_then(|folder| home::make_writable(&folder).map(|()| folder))
        .or_else(|_| home::make_temporary("switchcost-kernels-"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn traces_are_named_after_what_sets_them_apart() {
        let name = |words: &[&str]| {
            named(
                Path::new("a/all.sct"),
                &words
                    .iter()
                    .map(|word| words_name(word))
                    .collect::<Vec<_>>(),
            )
        };
        assert_eq!(name(&[]), Path::new("a/all.sct"));
        assert_eq!(name(&["pti=on", "3ms"]), Path::new("a/all.pti=on.3ms.sct"));
        assert_eq!(name(&["pti=on nosmt"]), Path::new("a/all.pti=on-nosmt.sct"));
        assert_eq!(name(&["", "a/b"]), Path::new("a/all.default.a-b.sct"));
        assert_eq!(
            kernel_name(&"linux-image-cloud-amd64/trixie".into()),
            "linux-image-cloud-amd64-trixie"
        );
        let image = std::env::current_exe().expect("a file that is there");
        assert_eq!(
            Some(kernel_name(&image.clone().into()).as_str()),
            image.file_name().and_then(|name| name.to_str())
        );
        assert_eq!(
            named(Path::new("trace"), &[slice_name(&Nanos(500_000))]),
            Path::new("trace.0.5ms")
        );
    }
}
