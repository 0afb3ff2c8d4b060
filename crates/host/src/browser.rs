//! A headless Chromium: found, started on one page, ended in time.
//!
//! What comes in: a page as a file, flags, and a folder in which the browser may keep whatever it likes. What goes out: the elements
//! of the page when its scripts have run, and what the browser said. Nothing here knows what is on a page.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::own_environment::FOLDER;
use crate::supervisor::{Program, Report, Setting, Supervisor};
use switchcost_record::trust::check_for_root;

/// Names of Chromium and its relatives.
pub const NAMES: [&str; 4] = ["chromium", "chromium-browser", "google-chrome", "chrome"];

/// Far more than any page takes.
const LONGEST: Duration = Duration::from_secs(300);

/// Drawn without a graphics card, and nothing asked of the network or of the user.
const FLAGS: [&str; 6] = [
    "--headless",
    "--disable-gpu",
    "--enable-unsafe-swiftshader",
    "--no-first-run",
    "--disable-extensions",
    "--disable-background-networking",
];

/// Variables that say where it keeps things.
const ITS_FOLDERS: [&str; 3] = ["TMPDIR", "XDG_CONFIG_HOME", "XDG_CACHE_HOME"];

/// An installed browser.
#[derive(Clone, Debug)]
pub struct Browser {
    path: PathBuf,
}

/// Result of opening a page.
#[derive(Clone, Debug)]
pub struct Opened {
    /// Standard output of the browser: the page's elements, if `--dump-dom` is among the flags.
    pub elements: String,
    /// Standard error of the browser.
    pub log: String,
}

impl Browser {
    /// Finds the first of [`NAMES`] in PATH.
    pub fn find() -> Option<Browser> {
        let path = std::env::var_os("PATH")?;
        let mut places = NAMES
            .iter()
            .flat_map(|name| std::env::split_paths(&path).map(move |folder| folder.join(name)));
        places
            .find(|place| place.is_file())
            .map(|path| Browser { path })
    }

    /// Path of the browser.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Opens a page. The browser, and everything it starts, ends with this process. It keeps its files in `folder`, whose path must be
    /// short, because the browser makes a socket there.
    ///
    /// # Errors
    ///
    /// If the browser cannot be started, fails, or is not done after five minutes.
    pub fn open(&self, page: &Path, flags: &[&str], folder: &Path) -> io::Result<Opened> {
        check_for_root(&self.path)?;
        let (input, output, errors) = (
            File::open("/dev/null")?,
            folder.join("stdout"),
            folder.join("stderr"),
        );
        let setting = Setting::new(
            input.into(),
            File::create(&output)?.into(),
            File::create(&errors)?.into(),
        );
        let mut supervisor = Supervisor::start(&[self.program(page, flags, folder)?], &setting)?;
        supervisor.launch(0)?;
        let ended = wait(&mut supervisor);
        supervisor.dismiss();
        let read = |path| io::Result::Ok(String::from_utf8_lossy(&fs::read(path)?).into_owned());
        let log = read(errors)?;
        ended.map_err(|error| io::Error::new(error.kind(), append_last_line(&error, &log)))?;
        Ok(Opened {
            elements: read(output)?,
            log,
        })
    }

    fn program(&self, page: &Path, flags: &[&str], folder: &Path) -> io::Result<Program> {
        let mut arguments: Vec<OsString> = vec![self.path.clone().into()];
        arguments.extend(FLAGS.iter().chain(flags).map(OsString::from));
        if is_root()? {
            // Chromium refuses root otherwise. The pages are ours, and may fetch nothing.
            arguments.push("--no-sandbox".into());
        }
        arguments.push(joined(
            "--user-data-dir".into(),
            "=",
            folder.join("profile").into(),
        ));
        arguments.push(joined("file".into(), "://", page.into()));
        let others =
            std::env::vars_os().filter(|(name, _)| !ITS_FOLDERS.iter().any(|own| name == own));
        let variables = others.chain(ITS_FOLDERS.map(|own| (own.into(), folder.into())));
        Program::new(arguments, variables.collect(), Some(Path::new(FOLDER)))
    }
}

/// Why it ended, and the last that it said, if anything.
fn append_last_line(error: &io::Error, log: &str) -> String {
    match log
        .lines()
        .rev()
        .map(str::trim)
        .find(|line| !line.is_empty())
    {
        Some(line) => format!("{error} (it said: {line})"),
        None => error.to_string(),
    }
}

fn joined(mut start: OsString, between: &str, end: OsString) -> OsString {
    start.push(between);
    start.push(end);
    start
}

fn is_root() -> io::Result<bool> {
    Ok(fs::metadata("/proc/self")?.uid() == 0)
}

/// Waits for the browser, as long as it may take.
fn wait(supervisor: &mut Supervisor) -> io::Result<()> {
    let deadline = Instant::now() + LONGEST;
    while let Some(timeout) = deadline.checked_duration_since(Instant::now()) {
        match supervisor.report(timeout)? {
            Some(Report::Ended { status, .. }) if status.success() => return Ok(()),
            Some(Report::Ended { status, .. }) => return Err(io::Error::other(status.to_string())),
            Some(Report::Refused { error, .. }) => return Err(io::Error::from_raw_os_error(error)),
            Some(Report::Launched { .. }) | None => {}
        }
    }
    Err(io::Error::other(format!(
        "no page after {} s",
        LONGEST.as_secs()
    )))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    /// A program in the place of a browser.
    fn scripted(folder: &Path, script: &str) -> Browser {
        let path = folder.join("browser");
        fs::write(&path, format!("#!/bin/sh\n{script}\n")).expect("written");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("a file of ours");
        Browser { path }
    }

    #[test]
    fn it_gets_the_page_the_flags_and_a_folder_for_all_that_it_keeps() {
        let folder = tempfile::tempdir().expect("a folder");
        let browser = scripted(
            folder.path(),
            "printf '%s\\n' \"$TMPDIR\" \"$@\"; echo heard >&2",
        );
        let opened = browser
            .open(Path::new("/a/page.html"), &["--dump-dom"], folder.path())
            .expect("it ends");
        let words: Vec<&str> = opened.elements.lines().collect();
        let own = folder.path().display();
        assert_eq!(
            (words[0], words[1]),
            (own.to_string().as_str(), "--headless")
        );
        assert!(
            words.contains(&"--dump-dom")
                && words.contains(&format!("--user-data-dir={own}/profile").as_str())
        );
        assert_eq!(words.last(), Some(&"file:///a/page.html"));
        assert_eq!(opened.log, "heard\n");
    }

    #[test]
    fn one_that_fails_is_an_error_with_the_last_that_it_said() {
        let folder = tempfile::tempdir().expect("a folder");
        let browser = scripted(folder.path(), "echo no display >&2; echo >&2; exit 7");
        let error = browser
            .open(Path::new("/a"), &[], folder.path())
            .expect_err("it failed");
        assert_eq!(error.to_string(), "exit status: 7 (it said: no display)");
        let silent = scripted(folder.path(), "exit 7");
        assert_eq!(
            silent
                .open(Path::new("/a"), &[], folder.path())
                .expect_err("it failed")
                .to_string(),
            "exit status: 7"
        );
        let none = Browser {
            path: folder.path().join("none"),
        };
        let error = none
            .open(Path::new("/a"), &[], folder.path())
            .expect_err("there is none");
        assert_eq!(error.to_string(), "No such file or directory (os error 2)");
    }
}
