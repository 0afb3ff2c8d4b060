use std::ffi::{CString, OsString};
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use host::supervisor::{Program, Report, Setting, Supervisor};
use host::temporary::TemporaryFolder;

use crate::exit::Failure;

/// What Chromium and its kin are called.
const NAMES: [&str; 4] = ["chromium", "chromium-browser", "google-chrome", "chrome"];

/// Far more than any page takes.
const LONGEST: Duration = Duration::from_secs(300);

/// Time on the page's own clock, which runs ahead whenever the page waits.
const BUDGET: &str = "--virtual-time-budget=120000";

/// Variables that say where it keeps things.
const ITS_FOLDERS: [&str; 3] = ["TMPDIR", "XDG_CONFIG_HOME", "XDG_CACHE_HOME"];

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

/// The browser, and whatever it starts, ends with us; what it leaves behind is then removed.
fn dump(browser: &Path, page: &str) -> io::Result<String> {
    let place = TemporaryFolder::create_in(&std::env::temp_dir())?;
    let (html, dom) = (place.path().join("page.html"), place.path().join("dom.html"));
    fs::write(&html, page)?;
    let null = || OpenOptions::new().read(true).write(true).open("/dev/null").map(OwnedFd::from);
    let setting = Setting {
        in_pid_namespace: false,
        shared: None,
        cpu: None,
        has_fixed_addresses: false,
        input: null()?,
        output: File::create(&dom)?.into(),
        errors: null()?,
    };
    let mut supervisor = Supervisor::start(&[program(browser, &html, place.path())?], &setting)?;
    supervisor.launch(0)?;
    wait(&mut supervisor)?;
    supervisor.dismiss();
    Ok(String::from_utf8_lossy(&fs::read(dom)?).into_owned())
}

fn program(browser: &Path, html: &Path, place: &Path) -> io::Result<Program> {
    let mut arguments: Vec<OsString> = vec![browser.into()];
    arguments.extend(
        ["--headless", "--disable-gpu", "--enable-unsafe-swiftshader", "--no-first-run", BUDGET, "--dump-dom"]
            .map(OsString::from),
    );
    if is_root()? {
        // Chromium refuses root otherwise. The page is ours, and may fetch nothing.
        arguments.push("--no-sandbox".into());
    }
    arguments.push(joined("--user-data-dir".into(), "=", place.join("profile").into()));
    arguments.push(joined("file".into(), "://", html.into()));
    let others = std::env::vars_os().filter(|(name, _)| !ITS_FOLDERS.iter().any(|own| name == own));
    let variables = others.chain(ITS_FOLDERS.map(|own| (own.into(), place.into())));
    let environment = variables.map(|(name, value)| zero_terminated(joined(name, "=", value)));
    Ok(Program {
        path: zero_terminated(browser.into())?,
        arguments: arguments.into_iter().map(zero_terminated).collect::<io::Result<_>>()?,
        environment: environment.collect::<io::Result<_>>()?,
        directory: None,
    })
}

fn joined(mut start: OsString, between: &str, end: OsString) -> OsString {
    start.push(between);
    start.push(end);
    start
}

fn zero_terminated(text: OsString) -> io::Result<CString> {
    Ok(CString::new(text.into_vec())?)
}

fn is_root() -> io::Result<bool> {
    Ok(fs::metadata("/proc/self")?.uid() == 0)
}

/// Waits for the browser, as long as it may take.
fn wait(supervisor: &mut Supervisor) -> io::Result<()> {
    let deadline = Instant::now() + LONGEST;
    while let Some(patience) = deadline.checked_duration_since(Instant::now()) {
        match supervisor.report(patience)? {
            Some(Report::Ended { status, .. }) if status.success() => return Ok(()),
            Some(Report::Ended { status, .. }) => return Err(io::Error::other(status.to_string())),
            Some(Report::Refused { error, .. }) => return Err(io::Error::from_raw_os_error(error)),
            Some(Report::Launched { .. }) | None => {}
        }
    }
    Err(io::Error::other(format!("no page after {} s", LONGEST.as_secs())))
}
