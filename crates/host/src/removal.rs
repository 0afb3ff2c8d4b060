//! What the watcher's own process does: it waits until the run is gone, and removes what that has left.

use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::path::Path;
use std::time::{Duration, Instant};

use crate::abandoned::await_death;
use crate::draft;
use crate::temporary::abandoned_folder;

/// Programs that are being ended may still write for a while.
const LONGEST: Duration = Duration::from_secs(20);
const PAUSE: Duration = Duration::from_millis(10);

/// The watcher's own process: waits until the run is gone, and removes what it has left at `path`, a temporary folder or a draft.
pub fn watch(path: &Path) {
    // What is opened while the run lives is surely its own.
    let (lock, draft) = (abandoned_folder::open_lock(path), draft::open_own(path));
    let _ = io::copy(&mut io::stdin().lock(), &mut io::sink());
    if let Ok(lock) = lock {
        if await_death(&lock).is_ok() {
            remove(path, &lock);
        }
    } else if let Ok(draft) = draft
        && await_death(&draft).is_ok()
    {
        let _ = fs::remove_file(path);
    }
}

fn remove(path: &Path, lock: &File) {
    let start = Instant::now();
    let is_done = |removed: io::Result<()>| {
        removed.map_or_else(|error| error.kind() == ErrorKind::NotFound, |()| true)
    };
    while !is_done(abandoned_folder::remove(path, lock)) && start.elapsed() < LONGEST {
        std::thread::sleep(PAUSE);
    }
}
