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
}
