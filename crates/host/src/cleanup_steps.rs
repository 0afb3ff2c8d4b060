//! Main function of a cleanup helper: see [`crate::cleanup`].

use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::{self, ErrorKind, Write};
use std::os::fd::OwnedFd;
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use rustix::termios::{OptionalActions, Termios, isatty, tcgetattr, tcsetattr};
use switchcost_facts::Root;

use crate::abandoned::await_death;
use crate::cleanup::{AFFINITY, COMMAND, REMOVE, TERMINAL};
use crate::draft;
use crate::live::{self, Census};
use crate::signal_action::SignalAction;
use crate::temporary::abandoned_folder;

/// Time between asking a command to end and killing it.
const GRACE: Duration = Duration::from_secs(2);
/// Longest time of a removal. Programs that are being ended may still write into the folder.
pub(crate) const LONGEST: Duration = Duration::from_secs(20);
const PAUSE: Duration = Duration::from_millis(10);
/// Escape sequences that leave the alternate screen, show the cursor and reset colours.
pub(crate) const AS_BEFORE: &[u8] = b"\x1b[?1049l\x1b[?25h\x1b[0m";

/// Main function of a cleanup helper: records the present state, waits until the run has ended, and
/// does the step given in `words`.
pub fn clean_up(words: &[OsString]) {
    // A background process may change the terminal only if this signal is ignored.
    // SAFETY: ignored, no handler is called.
    let _ = unsafe { SignalAction::ignored().set(libc::SIGTTOU) };
    let Some(step) = words
        .split_first()
        .and_then(|(kind, rest)| prepared(kind, rest))
    else {
        return;
    };
    let mut line = io::stdin().lock();
    if rustix::io::write(&line, &[1]).is_ok() {
        let _ = io::copy(&mut line, &mut io::sink());
        step();
    }
}

type Prepared = Box<dyn FnOnce()>;

fn prepared(kind: &OsStr, words: &[OsString]) -> Option<Prepared> {
    let texts: Vec<String> = words
        .iter()
        .map(|word| word.to_string_lossy().into_owned())
        .collect();
    match (kind.to_str()?, words) {
        (REMOVE, [path]) => Some(removal(Path::new(path))),
        (TERMINAL, []) => {
            let terminal = Terminal::find_stdout()?;
            Some(Box::new(move || terminal.restore()))
        }
        (COMMAND, [_]) => {
            let process = texts[0].parse().ok()?;
            // While the parent lives, the number belongs to the process. From here on the
            // descriptor identifies it.
            let (_, held) = open(process)?;
            Some(Box::new(move || {
                if !has_ended_within(&held, Duration::ZERO) {
                    end_family(process, GRACE);
                }
            }))
        }
        (AFFINITY, _) => Some(Box::new(move || live::put_back(&texts))),
        _ => None,
    }
}

/// Prepares the removal of a folder or draft. The path is opened while the run lives, so that what
/// is removed is certainly the run's.
fn removal(path: &Path) -> Prepared {
    let (lock, draft, path) = (
        abandoned_folder::open_lock(path),
        draft::open_own(path),
        path.to_owned(),
    );
    Box::new(move || {
        if let Ok(lock) = lock {
            if await_death(&lock).is_ok() {
                remove(&path, &lock);
            }
        } else if let Ok(draft) = draft
            && await_death(&draft).is_ok()
        {
            let _ = fs::remove_file(path);
        }
    })
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

struct Terminal(Termios);

impl Terminal {
    fn find_stdout() -> Option<Terminal> {
        let stdout = io::stdout();
        if isatty(&stdout) {
            tcgetattr(stdout).ok().map(Terminal)
        } else {
            None
        }
    }

    /// Restores the terminal's screen and modes if its local modes have changed.
    fn restore(&self) {
        let mut stdout = io::stdout();
        let is_raw = tcgetattr(&stdout).is_ok_and(|now| now.local_modes != self.0.local_modes);
        if is_raw {
            let _ = stdout.write_all(AS_BEFORE).and_then(|()| stdout.flush());
            let _ = tcsetattr(stdout, OptionalActions::Now, &self.0);
        }
    }
}

/// Returns a process and its descendants, each with a descriptor that keeps its number from being
/// reused. Descendants whose parent has ended are missing.
fn family(process: u32) -> Vec<(u32, OwnedFd)> {
    let census = Census::now(&Root::system());
    census
        .family(process)
        .into_iter()
        .filter_map(open)
        .collect()
}

fn open(process: u32) -> Option<(u32, OwnedFd)> {
    let pid = Pid::from_raw(i32::try_from(process).ok()?)?;
    Some((process, pidfd_open(pid, PidfdFlags::empty()).ok()?))
}

/// Ends a process and its descendants: asks all of them to end, and after `grace` kills those that
/// are left, with their descendants.
pub fn end_family(process: u32, grace: Duration) {
    let deadline = Instant::now() + grace;
    let asked = family(process);
    for (_, member) in &asked {
        let _ = pidfd_send_signal(member, Signal::TERM);
    }
    let has_ended = |member: &OwnedFd| {
        has_ended_within(member, deadline.saturating_duration_since(Instant::now()))
    };
    let stubborn = asked.iter().filter(|(_, member)| !has_ended(member));
    for (_, member) in stubborn.flat_map(|(number, _)| family(*number)) {
        let _ = pidfd_send_signal(member, Signal::KILL);
    }
}

fn has_ended_within(command: &OwnedFd, limit: Duration) -> bool {
    let deadline = Instant::now() + limit;
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        let left = Timespec {
            tv_sec: left.as_secs() as i64,
            tv_nsec: i64::from(left.subsec_nanos()),
        };
        match poll(&mut [PollFd::new(command, PollFlags::IN)], Some(&left)) {
            Err(rustix::io::Errno::INTR) => {}
            ended => return ended.is_ok_and(|ended| ended > 0),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn a_command_ends_with_what_it_has_started() {
        for script in [
            "setsid sleep 74.25 & sleep 74.25; true",
            "trap '' TERM; setsid sleep 74.25 & while :; do sleep 0.05; done",
        ] {
            let mut child = Command::new("sh")
                .args(["-c", script])
                .spawn()
                .expect("a shell");
            while family(child.id()).len() < 3 {
                std::thread::sleep(Duration::from_millis(5));
            }
            let members = family(child.id());
            end_family(child.id(), Duration::from_millis(100));
            child.wait().expect("our child");
            assert!(
                members
                    .iter()
                    .all(|(_, member)| has_ended_within(member, GRACE))
            );
        }
    }
}
