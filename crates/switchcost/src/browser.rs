//! Opens an HTML page in the user's browser.

use std::path::Path;
use std::process::{Command, Stdio};

use crate::messages::say;

/// Opens a page in the browser. Prints the page's path instead if there is no display, if the
/// browser would run as root, or if it cannot be started.
pub(crate) fn open(page: &Path) {
    let has_display = ["DISPLAY", "WAYLAND_DISPLAY"]
        .iter()
        .any(|name| std::env::var_os(name).is_some_and(|value| !value.is_empty()));
    let is_open = has_display
        && !rustix::process::geteuid().is_root()
        && Command::new("xdg-open")
            .arg(page)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .is_ok();
    if !is_open {
        say!("page: {}", page.display());
    }
}
