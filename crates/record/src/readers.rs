use std::fs::{self, DirBuilder, File, OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;

use crate::trust::{HeldPath, hand_over};

/// Users who may read a new record.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Readers {
    /// All users that the umask allows may read.
    #[default]
    AsUsual,
    /// Only the owner may read, because records contain command lines, which may have secrets.
    Owner,
}

impl Readers {
    /// Returns the mode with which the file is created, before the umask.
    pub fn mode(self) -> u32 {
        match self {
            Readers::AsUsual => 0o666,
            Readers::Owner => 0o600,
        }
    }

    /// Creates a new file with these readers, opened as `how` says.
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

    /// Opens the folder of a new file. The folder of a file for its owner alone is checked, because
    /// no user named the folder.
    ///
    /// # Errors
    ///
    /// If there is no such folder, or another user may have made a link to it.
    pub fn held(self, path: &Path) -> io::Result<HeldPath> {
        match self {
            Readers::AsUsual => Ok(HeldPath::named(path)),
            Readers::Owner => HeldPath::found(path),
        }
    }

    /// Creates a new folder for these readers.
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

    /// Gives a new file for its owner alone the mode of such files, whatever the umask, and the
    /// owner of the home directory that contains the file.
    ///
    /// # Errors
    ///
    /// If the file system refuses.
    pub fn own(self, file: &File, path: &Path) -> io::Result<()> {
        if self == Readers::AsUsual {
            return Ok(());
        }
        file.set_permissions(Permissions::from_mode(self.mode()))?;
        hand_over(file, path)
    }
}
