//! Finds this program's own files for a guest: the QEMU plugins, one for each interface version,
//! and the guest's first process.

use std::path::{Path, PathBuf};

use switchcost_record::trust::check_programs;

use crate::guest_error::GuestError;
use crate::tool::{check_processor, refusal};

/// File name of the guest's first process, in the folder of the plugins.
const INIT: &str = "guest-init";
/// Name of the plugins' folder, which is next to the folder of the Valgrind tool.
const FOLDER: &str = "qemu";

/// Paths of the QEMU plugins and of the guest's first process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parts {
    /// Folder with the plugins. Downloaded kernels are stored there, too.
    pub folder: PathBuf,
    /// Path of the guest's first process.
    pub init: PathBuf,
}

impl Parts {
    /// Returns the parts that a folder contains.
    pub fn new(folder: PathBuf) -> Parts {
        Parts {
            init: folder.join(INIT),
            folder,
        }
    }

    /// Looks for the parts in the folder that SWITCHCOST_QEMU_DIR names, or else relative to this
    /// program: where they are installed (`../libexec/switchcost`), and where they are built
    /// (`../qemu`, `./qemu`, and for tests a folder further up).
    ///
    /// # Errors
    ///
    /// If the parts are not found, do not exist for this processor, or could have been changed by
    /// another user.
    pub fn find() -> Result<Parts, GuestError> {
        check_processor(std::env::consts::ARCH)?;
        let named = std::env::var_os("SWITCHCOST_QEMU_DIR").filter(|folder| !folder.is_empty());
        find_in(
            named.map(PathBuf::from),
            std::env::current_exe().ok().as_deref(),
        )
    }

    /// Returns the path of the plugin for a version of QEMU. QEMU refuses plugins that were built
    /// for an interface older than the supported ones.
    pub(super) fn plugin(&self, qemu: Version) -> PathBuf {
        let interface = INTERFACES
            .iter()
            .rfind(|(first, _)| *first <= qemu)
            .map_or(1, |(_, interface)| *interface);
        self.folder.join(format!("switchcost-{interface}.so"))
    }
}

/// Major and minor version of QEMU.
pub(super) type Version = (u32, u32);

/// Lowest plugin interface that QEMU supports, from each version on.
const INTERFACES: [(Version, u32); 4] = [((0, 0), 1), ((9, 0), 2), ((11, 0), 6), ((11, 1), 7)];

fn find_in(named: Option<PathBuf>, executable: Option<&Path>) -> Result<Parts, GuestError> {
    let beside = executable.into_iter().flat_map(|executable| {
        let folders: Vec<&Path> = executable.ancestors().skip(1).take(3).collect();
        let installed = folders
            .get(1)
            .map(|prefix| prefix.join("libexec/switchcost"));
        installed
            .into_iter()
            .chain(folders.into_iter().map(|folder| folder.join(FOLDER)))
            .collect::<Vec<_>>()
    });
    let is_named = named.is_some();
    let searched: Vec<PathBuf> = match named {
        Some(folder) => vec![folder],
        None => beside.collect(),
    };
    let is_there = |parts: &Parts| parts.init.is_file();
    let found = searched
        .iter()
        .map(|folder| Parts::new(folder.clone()))
        .find(is_there);
    let found = found.ok_or(GuestError::NotBuilt(searched))?;
    if !is_named {
        check_programs(&found.folder)
            .map_err(|why| GuestError::Untrusted(refusal(&found.folder, &why)))?;
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_found_installed_built_and_named() {
        for place in [
            "prefix/libexec/switchcost",
            "prefix/qemu",
            "prefix/bin/qemu",
            "qemu",
        ] {
            let root = tempfile::tempdir().expect("a folder");
            let folder = root.path().join(place);
            std::fs::create_dir_all(&folder).expect("folders");
            std::fs::write(folder.join(INIT), b"").expect("a file");
            let executable = root.path().join("prefix/bin/switchcost");
            assert_eq!(
                find_in(None, Some(&executable)).expect("it is there"),
                Parts::new(folder.clone())
            );
            assert_eq!(
                find_in(Some(folder.clone()), None).expect("it is named"),
                Parts::new(folder)
            );
        }
    }

    #[test]
    fn a_plugin_is_chosen_by_the_version_of_qemu() {
        let parts = Parts::new("/q".into());
        for (qemu, plugin) in [
            ((7, 2), 1),
            ((9, 0), 2),
            ((10, 2), 2),
            ((11, 0), 6),
            ((11, 1), 7),
            ((12, 0), 7),
        ] {
            assert_eq!(
                parts.plugin(qemu),
                PathBuf::from(format!("/q/switchcost-{plugin}.so")),
                "{qemu:?}"
            );
        }
    }
}
