//! The process that removes what a run leaves. It is this very program, started anew; it reads a pipe that only the run could
//! write to, and that the kernel closes when the run is gone.

use std::io;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// First argument with which the program watches a path instead; the second is the path.
pub const WATCHER_ARGUMENT: &str = "remove-when-abandoned";

/// A watcher at work. It ends by itself when the run is gone; dropped, it takes the run for gone.
#[derive(Debug)]
pub(crate) struct Watcher(Child);

impl Watcher {
    /// It lives in a process group of its own: whatever ends the run from a terminal does not end it.
    pub(crate) fn start(path: &Path) -> io::Result<Watcher> {
        let mut command = Command::new("/proc/self/exe");
        command
            .arg0("switchcost")
            .arg(WATCHER_ARGUMENT)
            .arg(path)
            .current_dir("/")
            .process_group(0);
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        command.spawn().map(Watcher)
    }

    /// There is nothing to remove any more.
    pub(crate) fn dismiss(mut self) {
        // Not by closing its pipe: it would wait for the end of who waits here.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
