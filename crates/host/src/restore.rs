//! The main of the process that puts in order what a run leaves that was killed: see [`crate::restorer`].

use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use rustix::termios::{OptionalActions, Termios, isatty, tcgetattr, tcsetattr};

use crate::live;
use crate::restorer::AFFINITY;
use crate::signal_action::SignalAction;

/// A command that is asked to end has so long for it.
const GRACE: Duration = Duration::from_secs(5);
/// Back from the other screen, with a cursor and without colours.
const AS_BEFORE: &[u8] = b"\x1b[?1049l\x1b[?25h\x1b[0m";

/// The process' own main: waits until the run is gone. The words say what it is to put in order beside the terminal.
pub fn restore(words: &[String]) {
    // From the background it may change the terminal only so.
    // SAFETY: ignored, no handler is called.
    let _ = unsafe { SignalAction::ignored().set(libc::SIGTTOU) };
    let terminal = Terminal::of_stdout();
    let command = words.first().and_then(|number| open(number.parse().ok()?));
    let mut line = io::stdin().lock();
    if rustix::io::write(&line, &[1]).is_ok() {
        let _ = io::copy(&mut line, &mut io::sink());
        terminal.iter().for_each(Terminal::restore);
        command.iter().for_each(end);
        if let Some((AFFINITY, rest)) = words
            .split_first()
            .map(|(first, rest)| (first.as_str(), rest))
        {
            live::put_back(rest);
        }
    }
}

struct Terminal(Termios);

impl Terminal {
    fn of_stdout() -> Option<Terminal> {
        let stdout = io::stdout();
        if isatty(&stdout) {
            tcgetattr(stdout).ok().map(Terminal)
        } else {
            None
        }
    }

    /// Only where it is no longer as it was.
    fn restore(&self) {
        let mut stdout = io::stdout();
        let is_raw = tcgetattr(&stdout).is_ok_and(|now| now.local_modes != self.0.local_modes);
        if is_raw {
            let _ = stdout.write_all(AS_BEFORE).and_then(|()| stdout.flush());
            let _ = tcsetattr(stdout, OptionalActions::Now, &self.0);
        }
    }
}

/// While its parent lives, the number is its own; from here on the handle is.
fn open(process: i32) -> Option<OwnedFd> {
    pidfd_open(Pid::from_raw(process)?, PidfdFlags::empty()).ok()
}

fn end(command: &OwnedFd) {
    let _ = pidfd_send_signal(command, Signal::TERM);
    if !has_ended_within(command, GRACE) {
        let _ = pidfd_send_signal(command, Signal::KILL);
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
    fn a_command_ends_when_it_is_asked_to_or_is_ended() {
        for script in [
            "exec sleep 60",
            "trap '' TERM; while :; do sleep 0.05; done",
        ] {
            let mut child = Command::new("sh")
                .args(["-c", script])
                .spawn()
                .expect("a shell");
            std::thread::sleep(Duration::from_millis(100));
            let command = open(child.id() as i32).expect("it runs");
            assert!(!has_ended_within(&command, Duration::ZERO));
            if script.starts_with("trap") {
                let _ = pidfd_send_signal(&command, Signal::TERM);
                assert!(
                    !has_ended_within(&command, Duration::from_millis(100)),
                    "it takes no notice"
                );
                let _ = pidfd_send_signal(&command, Signal::KILL);
            } else {
                end(&command);
            }
            assert!(has_ended_within(&command, GRACE));
            child.wait().expect("our child");
        }
    }
}
