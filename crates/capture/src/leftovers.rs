//! Removes files that a killed Valgrind has left.
//!
//! Valgrind makes two files in TMPDIR (copies of /proc/self/cmdline and auxv), opens them, and
//! removes their names immediately. If Valgrind is killed in between, the files remain. The names
//! of the files contain the process ID, which in a separate PID namespace is the same in each
//! capture. The next Valgrind would find its first name taken, and print a message to the program's
//! standard error.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::{Duration, SystemTime};

const PREFIX: &str = "valgrind_proc_";

/// Age from which a file of Valgrind in TMPDIR is a leftover of a killed Valgrind: a running one
/// unlinks its files as soon as it has opened them.
const ABANDONED_AFTER: Duration = Duration::from_secs(10);

/// Removes files that Valgrind has left in a folder and that belong to this user. Files that cannot
/// be removed remain.
pub(crate) fn sweep(within: &Path) {
    let (Ok(entries), Ok(own)) = (
        fs::read_dir(within),
        fs::metadata("/proc/self").map(|ours| ours.uid()),
    ) else {
        return;
    };
    for entry in entries.flatten().filter(|entry| {
        entry
            .file_name()
            .as_encoded_bytes()
            .starts_with(PREFIX.as_bytes())
    }) {
        // The metadata are the properties of the entry itself, because symbolic links are not
        // followed.
        let Ok(facts) = entry.metadata() else {
            continue;
        };
        let age = facts
            .modified()
            .ok()
            .and_then(|at| SystemTime::now().duration_since(at).ok());
        if facts.is_file() && facts.uid() == own && age.is_some_and(|age| age > ABANDONED_AFTER) {
            let _ = fs::remove_file(entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;

    #[test]
    fn only_what_a_dead_valgrind_has_left_is_removed() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = |name: &str| folder.path().join(name);
        let old = SystemTime::now() - 2 * ABANDONED_AFTER;
        let (abandoned, recent, other) = (
            path("valgrind_proc_3_cmdline_29635b13"),
            path("valgrind_proc_4_auxv_1"),
            path("mine"),
        );
        for (name, time) in [
            (&abandoned, old),
            (&recent, SystemTime::now()),
            (&other, old),
        ] {
            File::create(name)
                .and_then(|file| file.set_modified(time))
                .expect("a file");
        }
        let link = path("valgrind_proc_5_auxv_2");
        std::os::unix::fs::symlink(&other, &link).expect("a link");
        sweep(folder.path());
        assert!(!abandoned.exists());
        assert!(recent.exists() && other.exists() && link.is_symlink());
        sweep(&path("missing"));
    }
}
