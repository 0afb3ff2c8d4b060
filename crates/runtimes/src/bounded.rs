//! Programs of others that are asked one thing: they end in time, or are ended with their process group.

use std::io::{self, Read, Seek};
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};

/// How often it is looked whether a program has ended.
const GLANCE: Duration = Duration::from_millis(2);

/// So much of what it says is read, the end of it.
const MOST_SAID: u64 = 64 << 10;

/// How a program ended, and what it said on either stream.
#[derive(Debug)]
pub(crate) struct Said {
    pub(crate) status: ExitStatus,
    pub(crate) text: String,
}

impl Said {
    /// The last lines in one.
    pub(crate) fn last_lines(&self, most: usize) -> String {
        let lines: Vec<&str> = self
            .text
            .lines()
            .filter(|line| !line.trim().is_empty())
            .collect();
        lines[lines.len().saturating_sub(most)..].join(" | ")
    }
}

/// Runs a program for so long at most, unless told to stop. What it starts may hold its output open: that is not waited for.
pub(crate) fn run(
    mut command: Command,
    timeout: Duration,
    should_stop: &dyn Fn() -> bool,
) -> io::Result<Said> {
    let mut said = tempfile::tempfile()?;
    command
        .stdin(Stdio::null())
        .stdout(said.try_clone()?)
        .stderr(said.try_clone()?)
        .process_group(0);
    let mut child = command.spawn()?;
    let group = Pid::from_child(&child);
    let why = unfinished(group, Instant::now() + timeout, should_stop)?;
    // It has not been waited for: its number is still its own.
    let _ = kill_process_group(group, Signal::KILL);
    let status = child.wait()?;
    match why {
        Some(why) => Err(io::Error::other(why)),
        None => Ok(Said {
            status,
            text: end_of(&mut said)?,
        }),
    }
}

/// Waits for its end; or why that was not waited for.
fn unfinished(
    child: Pid,
    end: Instant,
    should_stop: &dyn Fn() -> bool,
) -> io::Result<Option<&'static str>> {
    let has_ended = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT | WaitIdOptions::NOHANG;
    while waitid(WaitId::Pid(child), has_ended)?.is_none() {
        if should_stop() {
            return Ok(Some("interrupted"));
        }
        if Instant::now() >= end {
            return Ok(Some("no end in time"));
        }
        std::thread::sleep(GLANCE);
    }
    Ok(None)
}

fn end_of(said: &mut std::fs::File) -> io::Result<String> {
    let length = said.metadata()?.len();
    said.seek(io::SeekFrom::Start(length.saturating_sub(MOST_SAID)))?;
    let mut bytes = Vec::new();
    said.take(MOST_SAID).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str, timeout: Duration, should_stop: bool) -> Result<Said, String> {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        run(command, timeout, &|| should_stop).map_err(|error| error.to_string())
    }

    #[test]
    fn who_hangs_forks_or_floods_is_not_waited_for() {
        let (short, long) = (Duration::from_millis(30), Duration::from_secs(20));
        assert_eq!(
            shell("sleep 60", short, false).expect_err("it hangs"),
            "no end in time"
        );
        assert_eq!(
            shell("sleep 60", long, true).expect_err("told to"),
            "interrupted"
        );
        let forked = shell("sleep 60 & echo 1.0", long, false).expect("it ends");
        assert_eq!(
            (forked.text.as_str(), forked.status.success()),
            ("1.0\n", true)
        );
        let flooded = shell(
            "head -c 300000 /dev/zero; echo; echo the end >&2; exit 3",
            long,
            false,
        )
        .expect("it ends");
        assert!(flooded.text.len() as u64 == MOST_SAID && flooded.last_lines(1) == "the end");
        assert_eq!(flooded.status.code(), Some(3));
    }
}
