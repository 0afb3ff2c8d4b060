//! Folders for this user's files, by the XDG Base Directory Specification.

use std::ffi::OsString;
use std::fs::Permissions;
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use switchcost_host::draft::Draft;
use switchcost_record::Readers;
use switchcost_record::trust::make_folder;
use tempfile::TempDir;

/// Permissions of a folder that only this user may access.
const PRIVATE: u32 = 0o700;

/// Reason why a folder for this user's files cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum NoHome {
    #[error("neither {0} nor HOME is an absolute path")]
    Unset(&'static str),
    #[error("there is no folder {}, which HOME names", .0.display())]
    Missing(PathBuf),
    /// The first component of the folder's path does not exist. The folder is not created, because
    /// a new folder in `/`, such as a daemon's home `/nonexistent`, is the administrator's
    /// decision.
    #[error("nothing of {} is there", .0.display())]
    InRoot(PathBuf),
    #[error("{} cannot be written ({why})", .folder.display())]
    Refused { folder: PathBuf, why: String },
}

/// Kind of folder: the environment variable with its path, and its default path below the home.
#[derive(Clone, Copy)]
struct Kind {
    variable: &'static str,
    below_home: &'static str,
}

const STATE: Kind = Kind {
    variable: "XDG_STATE_HOME",
    below_home: ".local/state",
};
const CACHE: Kind = Kind {
    variable: "XDG_CACHE_HOME",
    below_home: ".cache",
};

/// Returns the folder for lasting files, `$XDG_STATE_HOME/switchcost`, by default
/// `~/.local/state/switchcost`. The folder may not exist.
pub(crate) fn state() -> Result<PathBuf, NoHome> {
    STATE.find(|name| std::env::var_os(name))
}

/// Returns the folder for files that can be created again, `$XDG_CACHE_HOME/switchcost`, by default
/// `~/.cache/switchcost`. The folder may not exist.
pub(crate) fn cache() -> Result<PathBuf, NoHome> {
    CACHE.find(|name| std::env::var_os(name))
}

/// Creates a folder if it does not exist, and checks that files can be created in the folder.
pub(crate) fn make_writable(folder: &Path) -> Result<(), NoHome> {
    make_folder(folder)
        .and_then(|()| tempfile::tempfile_in(folder).map(drop))
        .map_err(|why| refused(folder, &why))
}

/// Creates a temporary folder that only this user may access. The folder is never removed.
pub(crate) fn make_temporary(prefix: &str) -> io::Result<PathBuf> {
    let mut new = tempfile::Builder::new();
    new.prefix(prefix)
        .permissions(Permissions::from_mode(PRIVATE));
    new.tempdir().map(TempDir::keep)
}

/// Writes a file for later runs atomically. Only this user may read the file. An existing file is
/// replaced.
pub(crate) fn keep(path: &Path, text: &[u8]) -> io::Result<()> {
    let folder = path.parent().ok_or(io::ErrorKind::InvalidFilename)?;
    make_folder(folder)?;
    let mut draft = Draft::new_for_readers(Readers::Owner, path)?;
    draft.write_all(text)?;
    draft.keep()
}

fn refused(folder: &Path, why: &io::Error) -> NoHome {
    NoHome::Refused {
        folder: folder.to_owned(),
        why: why.to_string(),
    }
}

impl Kind {
    fn find(self, variable: impl Fn(&str) -> Option<OsString>) -> Result<PathBuf, NoHome> {
        let absolute = |name: &str| {
            variable(name)
                .map(PathBuf::from)
                .filter(|path| path.is_absolute())
        };
        let folder = match (absolute(self.variable), absolute("HOME")) {
            (Some(named), _) => named,
            (None, Some(home)) if home.is_dir() => home.join(self.below_home),
            (None, Some(home)) => return Err(NoHome::Missing(home)),
            (None, None) => return Err(NoHome::Unset(self.variable)),
        };
        let folder = folder.join("switchcost");
        if is_at_all_there(&folder) {
            Ok(folder)
        } else {
            Err(NoHome::InRoot(folder))
        }
    }
}

/// Returns true if the first component of an absolute path exists.
fn is_at_all_there(path: &Path) -> bool {
    let first = path
        .ancestors()
        .filter(|folder| folder.parent().is_some())
        .last();
    first.is_some_and(Path::exists)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(variables: &[(&str, &Path)]) -> Result<PathBuf, NoHome> {
        STATE.find(|name| {
            let mut variables = variables.iter();
            let (_, path) = variables.find(|(variable, _)| *variable == name)?;
            Some(path.as_os_str().to_owned())
        })
    }

    #[test]
    fn records_are_kept_below_the_home_unless_another_place_is_named() {
        let home = tempfile::tempdir().expect("a home");
        let home = home.path();
        let below = home.join(".local/state/switchcost");
        assert_eq!(found(&[("HOME", home)]), Ok(below.clone()));
        let state = |path: &Path| found(&[("HOME", home), ("XDG_STATE_HOME", path)]);
        assert_eq!(state(Path::new("relative")), Ok(below));
        // It need not be there yet.
        let named = home.join("a/b");
        assert_eq!(state(&named), Ok(named.join("switchcost")));
    }

    #[test]
    fn a_home_that_is_not_there_is_not_made() {
        let why = found(&[]).map_err(|why| why.to_string());
        assert_eq!(why, Err(NoHome::Unset("XDG_STATE_HOME").to_string()));
        for home in ["/nonexistent", "/nonexistent/of/a/daemon", "/dev/null"] {
            let found = found(&[("HOME", Path::new(home))]);
            assert_eq!(found, Err(NoHome::Missing(home.into())));
        }
        let below_root = Path::new("/nonexistent/state");
        let refused = found(&[("XDG_STATE_HOME", below_root)]);
        assert_eq!(refused, Err(NoHome::InRoot(below_root.join("switchcost"))));
        let of_root = found(&[("HOME", Path::new("/"))]);
        assert!(matches!(of_root, Err(NoHome::InRoot(_))) || Path::new("/.local").exists());
    }
}
