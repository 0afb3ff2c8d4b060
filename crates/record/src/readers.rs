use std::fs::{self, DirBuilder, File, OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;

use crate::trust::{HeldPath, hand_over};

/// Which users may read a new record.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Readers {
    /// All users whom the umask allows may read the record.
    #[default]
    AsUsual,
    /// Only the owner of the file may read the record. Records contain command lines, which may
    /// contain secrets.
    Owner,
}

impl Readers {
    /// Returns the permission bits with which a file is created, before the umask is applied.
    pub fn mode(self) -> u32 {
        match self {
            Readers::AsUsual => 0o666,
            Readers::Owner => 0o600,
        }
    }

    /// Creates a new file with these permissions and the options `how`.
    ///
    /// # Errors
    ///
    /// If the file exists, or cannot be created.
    pub fn create_new(self, path: &Path, how: &mut OpenOptions) -> io::Result<File> {
        let path = self.held(path)?;
        let file = how.create_new(true).mode(self.mode()).open(&path)?;
        self.own(&file, path.as_ref())?;
        Ok(file)
    }

    /// Opens the folder of a new owner-only file, so that the file can be created there safely. The
    /// path is checked for links of other users, because no user named it. With
    /// [`Readers::AsUsual`], nothing is opened or checked.
    ///
    /// # Errors
    ///
    /// If there is no such folder, or if another user may have made a link on the path.
    pub fn held(self, path: &Path) -> io::Result<HeldPath> {
        match self {
            Readers::AsUsual => Ok(HeldPath::named(path)),
            Readers::Owner => HeldPath::found(path),
        }
    }

    /// Creates a new folder with these permissions.
    ///
    /// # Errors
    ///
    /// If the folder exists, or cannot be created.
    pub fn create_folder(self, path: &Path) -> io::Result<()> {
        match self {
            Readers::AsUsual => fs::create_dir(path),
            Readers::Owner => {
                let path = self.held(path)?;
                DirBuilder::new().mode(0o700).create(&path)?;
                hand_over(&File::open(&path)?, path.as_ref())
            }
        }
    }

    /// Sets the permissions of a new owner-only file, whatever the umask, and its owner as
    /// [`hand_over`] does. Does nothing for [`Readers::AsUsual`].
    ///
    /// # Errors
    ///
    /// If the file system refuses the change.
    pub fn own(self, file: &File, path: &Path) -> io::Result<()> {
        if self == Readers::AsUsual {
            return Ok(());
        }
        file.set_permissions(Permissions::from_mode(self.mode()))?;
        hand_over(file, path)
    }
}
