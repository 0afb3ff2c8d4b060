use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::exit::Failure;

/// What Chromium and its kin are called.
const NAMES: [&str; 4] = ["chromium", "chromium-browser", "google-chrome", "chrome"];

/// Far more than any page takes.
const LONGEST: Duration = Duration::from_secs(300);

/// Time on the page's own clock, which runs ahead whenever the page waits.
const BUDGET: &str = "--virtual-time-budget=120000";

/// The elements of a page when its scripts have run. The browser asks nothing of the network.
pub(super) fn run(page: &str, folder: &Path) -> Result<String, Failure> {
    let browser = find().ok_or_else(|| Failure::NoBrowser { names: NAMES.join(", "), folder: folder.to_owned() })?;
    dump(&browser, page).map_err(|error| Failure::Pictures {
        found: format!("{} to end with: {error}", browser.display()),
        needed: "it to draw the page".to_owned(),
    })
}

fn find() -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let places: Vec<PathBuf> =
        NAMES.iter().flat_map(|name| std::env::split_paths(&path).map(move |folder| folder.join(name))).collect();
    places.into_iter().find(|place| place.is_file())
}

fn dump(browser: &Path, page: &str) -> io::Result<String> {
    let place = tempfile::tempdir()?;
    let (html, dom) = (place.path().join("page.html"), place.path().join("dom.html"));
    fs::write(&html, page)?;
    let mut command = Command::new(browser);
    command.args([
        "--headless",
        "--disable-gpu",
        "--enable-unsafe-swiftshader",
        "--no-first-run",
        BUDGET,
        "--dump-dom",
    ]);
    if is_root()? {
        // Chromium refuses root otherwise. The page is ours, and may fetch nothing.
        command.arg("--no-sandbox");
    }
    command.arg(format!("--user-data-dir={}", place.path().join("profile").display()));
    command.arg(format!("file://{}", html.display()));
    command.stdin(Stdio::null()).stdout(File::create(&dom)?).stderr(Stdio::null());
    wait(command.spawn()?)?;
    Ok(String::from_utf8_lossy(&fs::read(dom)?).into_owned())
}

fn is_root() -> io::Result<bool> {
    Ok(fs::metadata("/proc/self")?.uid() == 0)
}

/// Waits for the browser, and ends it where it does not end by itself.
fn wait(mut child: Child) -> io::Result<()> {
    let start = Instant::now();
    loop {
        match child.try_wait()? {
            Some(status) if status.success() => return Ok(()),
            Some(status) => return Err(io::Error::other(status.to_string())),
            None if start.elapsed() > LONGEST => {
                child.kill()?;
                child.wait()?;
                return Err(io::Error::other(format!("no page after {} s", LONGEST.as_secs())));
            }
            None => std::thread::sleep(Duration::from_millis(20)),
        }
    }
}
