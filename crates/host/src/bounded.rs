//! Runs other programs until they end, a time limit passes or the caller asks. All descendants of a
//! program end with it, even if this process is killed ([`crate::supervisor`]).

use std::fmt;
use std::fs::File;
use std::io::{self, Read, Seek};
use std::os::fd::{AsFd, OwnedFd};
use std::process::ExitStatus;
use std::time::{Duration, Instant};

use rustix::fs::{MemfdFlags, memfd_create};

use crate::supervisor::{Program, Report, Setting, Supervisor};

/// Time between two calls of `should_stop` during a wait.
const GLANCE: Duration = Duration::from_millis(5);

/// Maximum number of bytes of output that are read. A program that prints more is assumed to print
/// endlessly.
const MOST_PRINTED: u64 = 1 << 20;

/// Limits for a program that does not end by itself.
pub struct Bounds<'a> {
    /// Longest time for which the program may run.
    pub longest: Duration,
    /// Time between asking the program to end and killing it.
    pub grace: Duration,
    /// Function that returns whether the program should end now.
    pub should_stop: &'a dyn Fn() -> bool,
}

/// Why a program has not ended by itself.
#[derive(Debug)]
pub enum Unfinished {
    /// The program was asked to end. Contains the program's exit status; `None` if the program had
    /// to be killed.
    Stopped(Option<ExitStatus>),
    /// The program did not end within the time in field 0.
    Late(Duration),
    /// The program printed more than [`MOST_PRINTED`] bytes.
    Endless,
    /// The kernel refused an operation, such as starting the program.
    Refused(io::Error),
}

impl From<io::Error> for Unfinished {
    fn from(error: io::Error) -> Unfinished {
        Unfinished::Refused(error)
    }
}

impl fmt::Display for Unfinished {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Unfinished::Stopped(_) => f.write_str("interrupted"),
            Unfinished::Late(longest) => write!(f, "no end within {} s", longest.as_secs_f64()),
            Unfinished::Endless => f.write_str("more than 1 MiB of output"),
            Unfinished::Refused(error) => error.fmt(f),
        }
    }
}

/// Exit status and output of a program.
#[derive(Debug)]
pub struct Printed {
    /// Exit status of the program.
    pub status: ExitStatus,
    /// Output of the program: of standard output, or of both streams.
    pub text: String,
}

/// Output streams of a program that are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Streams {
    /// Standard output only; standard error is inherited.
    Output,
    /// Standard output and standard error, in one text.
    Both,
}

/// Runs a program without input, with the given standard output and standard error.
///
/// # Errors
///
/// If the program did not end by itself.
pub fn run(
    program: Program,
    output: OwnedFd,
    errors: OwnedFd,
    bounds: &Bounds<'_>,
) -> Result<ExitStatus, Unfinished> {
    run_checked(program, output, errors, bounds, &|| false)
}

/// Runs a program and reads its output.
///
/// # Errors
///
/// If the program did not end by itself.
pub fn read(
    program: Program,
    streams: Streams,
    bounds: &Bounds<'_>,
) -> Result<Printed, Unfinished> {
    let mut file = File::from(
        memfd_create("switchcost-output", MemfdFlags::CLOEXEC).map_err(io::Error::from)?,
    );
    let errors = match streams {
        Streams::Output => io::stderr().as_fd().try_clone_to_owned()?,
        Streams::Both => file.try_clone()?.into(),
    };
    let output = file.try_clone()?;
    let is_endless = || {
        output
            .metadata()
            .is_ok_and(|facts| facts.len() > MOST_PRINTED)
    };
    let status = run_checked(
        program,
        output.try_clone()?.into(),
        errors,
        bounds,
        &is_endless,
    )?;
    let mut bytes = Vec::new();
    file.rewind()?;
    file.take(MOST_PRINTED).read_to_end(&mut bytes)?;
    Ok(Printed {
        status,
        text: String::from_utf8_lossy(&bytes).into_owned(),
    })
}

fn run_checked(
    program: Program,
    output: OwnedFd,
    errors: OwnedFd,
    bounds: &Bounds<'_>,
    is_endless: &dyn Fn() -> bool,
) -> Result<ExitStatus, Unfinished> {
    let setting = Setting {
        grace: bounds.grace,
        ..Setting::new(File::open("/dev/null")?.into(), output, errors)
    };
    let mut supervisor = Supervisor::start(&[program], &setting)?;
    supervisor.launch(0)?;
    let start = Instant::now();
    loop {
        if let Some(status) = end(&mut supervisor, GLANCE)? {
            return Ok(status);
        }
        if (bounds.should_stop)() {
            supervisor.dismiss();
            let status = end(&mut supervisor, Duration::ZERO).ok().flatten();
            return Err(Unfinished::Stopped(
                status.filter(|status| status.code().is_some()),
            ));
        }
        if is_endless() {
            return Err(Unfinished::Endless);
        }
        if start.elapsed() > bounds.longest {
            return Err(Unfinished::Late(bounds.longest));
        }
    }
}

/// Returns the program's exit status; `None` if the next report is not its end, or does not come
/// within `timeout`.
fn end(supervisor: &mut Supervisor, timeout: Duration) -> io::Result<Option<ExitStatus>> {
    match supervisor.report(timeout)? {
        Some(Report::Ended { status, .. }) => Ok(Some(status)),
        Some(Report::Refused { error, .. }) => Err(io::Error::from_raw_os_error(error)),
        Some(Report::Launched { .. }) | None => Ok(None),
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;

    use super::*;

    const SHORT: Duration = Duration::from_millis(50);
    const LONG: Duration = Duration::from_secs(60);

    fn run(script: &str, bounds: &Bounds) -> Result<Printed, Unfinished> {
        let program = Program::shell(OsStr::new(script), &[]).expect("plain text");
        read(program, Streams::Both, bounds)
    }

    /// Returns bounds of a program that is killed as soon as it should stop.
    fn until(should_stop: &dyn Fn() -> bool) -> Bounds<'_> {
        Bounds {
            longest: LONG,
            grace: Duration::ZERO,
            should_stop,
        }
    }

    fn printed(script: &str, longest: Duration, stops: bool) -> Result<Printed, String> {
        let stops = || stops;
        let bounds = Bounds {
            longest,
            ..until(&stops)
        };
        run(script, &bounds).map_err(|why| why.to_string())
    }

    #[test]
    fn a_program_that_hangs_forks_or_prints_without_end_is_not_waited_for() {
        assert_eq!(
            printed("sleep 60", SHORT, false).expect_err("it hangs"),
            "no end within 0.05 s"
        );
        assert_eq!(
            printed("sleep 60", LONG, true).expect_err("stopped"),
            "interrupted"
        );
        assert_eq!(
            printed("yes", LONG, false).expect_err("endless"),
            "more than 1 MiB of output"
        );
        let forked = printed("sleep 60 & echo 1.0; echo 2 >&2", LONG, false).expect("it ends");
        assert_eq!(
            (forked.text.as_str(), forked.status.success()),
            ("1.0\n2\n", true)
        );
        assert_eq!(
            printed("exit 3", LONG, false)
                .expect("it ends")
                .status
                .code(),
            Some(3)
        );
    }

    /// Returns the number of processes whose command lines contain `mark`.
    fn living(mark: &str) -> usize {
        let processes = std::fs::read_dir("/proc").expect("mounted").flatten();
        let words = processes.filter_map(|entry| std::fs::read(entry.path().join("cmdline")).ok());
        words
            .filter(|words| String::from_utf8_lossy(words).contains(mark))
            .count()
    }

    #[test]
    fn all_that_a_program_has_started_ends_with_it() {
        let script = "setsid sh -c 'sleep 71.25; true' & nohup sleep 71.25 & sleep 71.25; true";
        assert!(printed(script, Duration::from_millis(500), false).is_err());
        assert_eq!(living("71.25"), 0);
        assert!(printed("setsid sleep 71.25 & sleep 0.3", LONG, false).is_ok());
        assert_eq!(living("71.25"), 0);
    }

    #[test]
    fn a_program_that_is_asked_to_end_may_say_how_it_did() {
        let folder = tempfile::tempdir().expect("a folder");
        let ready = folder.path().join("ready");
        let script = format!(
            "trap 'exit 9' TERM; : > {}; while :; do sleep 0.01; done",
            ready.display()
        );
        let is_ready = || ready.exists();
        let bounds = Bounds {
            grace: LONG,
            ..until(&is_ready)
        };
        let Err(Unfinished::Stopped(Some(status))) = run(&script, &bounds) else {
            panic!("it has ended by itself");
        };
        assert_eq!(status.code(), Some(9));
    }

    #[test]
    fn a_cleanup_helper_of_what_is_ended_puts_things_in_order_first() {
        let folder = tempfile::tempdir().expect("a folder");
        let at = |name: &str| folder.path().join(name);
        let helper = "while kill -0 \"$1\"; do sleep 0.01; done; sleep 0.1; : > done";
        std::fs::write(at(crate::cleanup::CLEANUP_ARGUMENT), helper).expect("room");
        let script = format!(
            "cd '{}'; sh {} $$ & : > ready; sleep 60; true",
            folder.path().display(),
            crate::cleanup::CLEANUP_ARGUMENT
        );
        assert!(run(&script, &until(&|| at("ready").exists())).is_err());
        assert!(at("done").exists());
    }
}
