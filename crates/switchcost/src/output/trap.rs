//! Detects traps that another user put in place of an output. In a sticky folder in which everybody
//! may create files, such as /tmp, a FIFO, socket or link of another user is not followed or
//! written to, not even by root. The rule is that of the kernel's `fs.protected_fifos` and
//! `fs.protected_symlinks`, which may be turned off, and cover only files to be created.

use std::fs::Metadata;
use std::io::{self, ErrorKind};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

const STICKY: u32 = 0o1000;
const WRITABLE_BY_OTHERS: u32 = 0o022;

/// Returns an error if the file with metadata `found` may be a trap. `folder` is the folder of the
/// file.
pub(super) fn refuse(found: &Metadata, folder: &Path) -> io::Result<()> {
    let folder = std::fs::metadata(folder)?;
    if is_trap(
        (found.uid(), folder.uid()),
        folder.mode(),
        rustix::process::geteuid().as_raw(),
    ) {
        return Err(io::Error::new(
            ErrorKind::PermissionDenied,
            "it belongs to another user and is in a folder in which everybody may put things",
        ));
    }
    Ok(())
}

fn is_trap((owner, owner_of_folder): (u32, u32), mode_of_folder: u32, own: u32) -> bool {
    let may_be_anybodys = mode_of_folder & STICKY != 0 && mode_of_folder & WRITABLE_BY_OTHERS != 0;
    may_be_anybodys && owner != own && owner != owner_of_folder
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_others_put_into_a_sticky_folder_is_a_trap_to_root_too() {
        let (root, me, other) = (0, 1000, 1001);
        for (owner, folder, mode, own, expected) in [
            (other, root, 0o1777, root, true),
            (other, root, 0o1777, me, true),
            (other, root, 0o1775, root, true),
            (me, root, 0o1777, me, false),
            (root, root, 0o1777, me, false),
            (other, other, 0o1777, root, false),
            (other, root, 0o755, root, false),
            (other, root, 0o1755, root, false),
            (other, root, 0o777, root, false),
        ] {
            assert_eq!(
                is_trap((owner, folder), mode, own),
                expected,
                "{owner} {folder} {mode:o} {own}"
            );
        }
    }
}
