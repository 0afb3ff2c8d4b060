//! The process that removes what a run leaves. It is this very program, started anew; it reads a pipe that only the run could
//! write to, and that the kernel closes when the run is gone.

use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use super::remains;
use crate::abandoned::await_death;
use crate::draft;

/// First argument with which the program watches a path instead; the second is the path.
pub const WATCHER_ARGUMENT: &str = "remove-when-abandoned";

/// Programs that are being ended may still write for a while.
const LONGEST: Duration = Duration::from_secs(20);
const PAUSE: Duration = Duration::from_millis(10);

/// A watcher at work. It ends by itself when the run is gone; dropped, it takes the run for gone.
#[derive(Debug)]
pub(crate) struct Watcher(Child);

impl Watcher {
    /// It lives in a session of its own: whatever ends the run from a terminal does not end it.
    pub(crate) fn start(path: &Path) -> io::Result<Watcher> {
        let mut command = Command::new("/proc/self/exe");
        command.arg0("switchcost").arg(WATCHER_ARGUMENT).arg(path).current_dir("/");
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        // SAFETY: between fork and exec the closure makes one system call and allocates nothing unless it fails.
        unsafe { command.pre_exec(|| Ok(rustix::process::setsid().map(drop)?)) };
        command.spawn().map(Watcher)
    }

    /// There is nothing to remove any more.
    pub(crate) fn dismiss(mut self) {
        // Not by closing its pipe: it would wait for the end of who waits here.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The watcher's own process: waits until the run is gone, and removes what it has left at `path`, a temporary folder or a draft.
pub fn watch(path: &Path) {
    // What is opened while the run lives is surely its own.
    let (lock, draft) = (remains::open_lock(path), draft::open_own(path));
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
    let is_done = |removed: io::Result<()>| removed.map_or_else(|error| error.kind() == ErrorKind::NotFound, |()| true);
    while !is_done(remains::remove(path, lock)) && start.elapsed() < LONGEST {
        std::thread::sleep(PAUSE);
    }
}
