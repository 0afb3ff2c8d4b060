use std::fs::{self, DirBuilder, File, OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;

use crate::trust::{HeldPath, hand_over};

/// Who may read a new record.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Readers {
    /// Whom the umask lets.
    #[default]
    AsUsual,
    /// Its owner alone: command lines are in records, and what others type in theirs.
    Owner,
}

impl Readers {
    /// What the file is created with; the umask takes off more.
    pub fn mode(self) -> u32 {
        match self {
            Readers::AsUsual => 0o666,
            Readers::Owner => 0o600,
        }
    }

    /// Makes a new file for them, opened as told.
    ///
    /// # Errors
    /// If there is one, or it cannot be made.
    pub fn create_new(self, path: &Path, how: &mut OpenOptions) -> io::Result<File> {
        let path = self.held(path)?;
        let file = how.create_new(true).mode(self.mode()).open(&path)?;
        self.own(&file, path.as_ref())?;
        Ok(file)
    }

    /// The path of a file for them. Nobody has named the folder of what is for its owner alone.
    ///
    /// # Errors
    /// If there is no such folder, or another user leads there.
    pub fn held(self, path: &Path) -> io::Result<HeldPath> {
        match self {
            Readers::AsUsual => Ok(HeldPath::named(path)),
            Readers::Owner => HeldPath::found(path),
        }
    }

    /// Makes a new folder for them.
    ///
    /// # Errors
    /// If there is one, or it cannot be made.
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

    /// Gives a file that was made for its owner alone that mode, whatever the umask, and to the owner of the home that it is in.
    ///
    /// # Errors
    /// If the file system refuses.
    pub fn own(self, file: &File, path: &Path) -> io::Result<()> {
        if self == Readers::AsUsual {
            return Ok(());
        }
        file.set_permissions(Permissions::from_mode(self.mode()))?;
        hand_over(file, path)
    }
}
