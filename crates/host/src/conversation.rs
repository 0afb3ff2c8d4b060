//! Runs other programs that exchange lines over their standard streams. The programs are not
//! trusted: the length of a line, the wait for a line and the program's memory are limited. At the
//! end all descendants of a program are killed.

use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::{Errno, ioctl_fionbio};
use rustix::process::{
    Pid, Signal, kill_process, kill_process_group, set_child_subreaper, waitpid,
};
use switchcost_units::{Bytes, Nanos};

use crate::task;
use crate::twin::list_other_children;

/// Longest line, in bytes, that counts as an answer.
const LONGEST_LINE: usize = 64 << 10;

/// Number of bytes kept from the end of standard error. Stack traces of many threads may follow the
/// error message.
const COMPLAINTS: usize = 64 << 10;

/// Time between two checks of the program's memory and life.
const GLANCE: Nanos = Nanos::millis(50);

/// Time within which a killed program ends, unless it hangs in the kernel.
const GONE_WITHIN: Duration = Duration::from_secs(5);

/// Why no line came from a program.
#[derive(Debug)]
pub enum Silence {
    /// The program ended by itself.
    Ended(ExitStatus),
    /// The program closed its output but continues to run.
    Closed,
    /// The program wrote no line within the time in field 0.
    Late(Nanos),
    /// The line is longer than an answer may be.
    Endless,
    /// The program uses more memory than allowed: the bytes in field 0.
    TooLarge(Bytes),
    /// The kernel refused an operation.
    Refused(io::Error),
}

impl From<io::Error> for Silence {
    fn from(error: io::Error) -> Silence {
        Silence::Refused(error)
    }
}

/// A program with which lines are exchanged. When this value is dropped, the program is killed with
/// everything that it has started.
#[derive(Debug)]
pub struct Conversation {
    child: Child,
    input: Option<ChildStdin>,
    output: ChildStdout,
    errors: Option<ChildStderr>,
    pending: Vec<u8>,
    complaints: Vec<u8>,
    most_memory: Bytes,
    weighed: Instant,
}

impl Conversation {
    /// Starts a program in its own process group. The program is killed when the calling thread
    /// ends, and its orphans become children of this process.
    ///
    /// # Errors
    ///
    /// If the program cannot be started.
    pub fn start(mut command: Command, most_memory: Bytes) -> io::Result<Conversation> {
        set_child_subreaper(Some(rustix::process::getpid()))?;
        command
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        task::tie(&mut command);
        let mut child = command.spawn()?;
        let gone = || io::Error::other("a stream was taken before");
        let (input, output, errors) =
            (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let errors = errors.ok_or_else(gone)?;
        ioctl_fionbio(&errors, true)?;
        let (pending, complaints) = (Vec::new(), Vec::new());
        let output = output.ok_or_else(gone)?;
        let weighed = Instant::now();
        Ok(Conversation {
            child,
            input,
            output,
            errors: Some(errors),
            pending,
            complaints,
            most_memory,
            weighed,
        })
    }

    /// Returns the process ID of the program.
    pub fn process(&self) -> i32 {
        Pid::from_child(&self.child).as_raw_nonzero().get()
    }

    /// Returns the thread IDs of the program, the first thread first.
    pub fn threads(&self) -> Vec<i32> {
        let folder = std::fs::read_dir(format!("/proc/{}/task", self.process()));
        let names = folder
            .into_iter()
            .flatten()
            .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
        let mut threads: Vec<i32> = names.collect();
        threads.sort_unstable_by_key(|thread| (*thread != self.process(), *thread));
        threads
    }

    /// Sends a line to the program. Lines must be short: if the program does not read, the pipe
    /// fills, which is noticed late.
    ///
    /// # Errors
    ///
    /// If the program does not take the line.
    pub fn say(&mut self, line: &[u8]) -> io::Result<()> {
        let mut whole = line.to_vec();
        whole.push(b'\n');
        match &mut self.input {
            Some(input) => input.write_all(&whole),
            None => Err(io::ErrorKind::BrokenPipe.into()),
        }
    }

    /// Waits at most `timeout` for the program's next line.
    ///
    /// # Errors
    ///
    /// If no line comes.
    pub fn hear(&mut self, timeout: Nanos) -> Result<Vec<u8>, Silence> {
        let start = Instant::now();
        // A program that always answers immediately would otherwise never be checked.
        if self.weighed.elapsed() > GLANCE.as_duration() {
            self.weigh()?;
        }
        loop {
            if let Some(line) = self.whole_line() {
                return Ok(line);
            }
            if self.pending.len() > LONGEST_LINE {
                return Err(Silence::Endless);
            }
            if start.elapsed() > timeout.as_duration() {
                return Err(Silence::Late(timeout));
            }
            self.wait()?;
        }
    }

    /// Returns the end of the program's output to standard error.
    pub fn complaints(&mut self) -> String {
        self.read_errors();
        String::from_utf8_lossy(&self.complaints).into_owned()
    }

    fn whole_line(&mut self) -> Option<Vec<u8>> {
        let end = self.pending.iter().position(|byte| *byte == b'\n')?;
        let rest = self.pending.split_off(end + 1);
        let mut line = std::mem::replace(&mut self.pending, rest);
        line.pop();
        Some(line)
    }

    /// Waits for output, for errors, or until the next check of the program is due.
    fn wait(&mut self) -> Result<(), Silence> {
        let timeout = Timespec {
            tv_sec: 0,
            tv_nsec: GLANCE.0 as i64,
        };
        let ready = {
            let mut polled = vec![PollFd::new(&self.output, PollFlags::IN)];
            polled.extend(
                self.errors
                    .as_ref()
                    .map(|errors| PollFd::from_borrowed_fd(errors.as_fd(), PollFlags::IN)),
            );
            match poll(&mut polled, Some(&timeout)) {
                Ok(0) => None,
                Err(Errno::INTR) => return Ok(()),
                Err(error) => return Err(io::Error::from(error).into()),
                Ok(_) => Some([
                    !polled[0].revents().is_empty(),
                    polled.len() > 1 && !polled[1].revents().is_empty(),
                ]),
            }
        };
        match ready {
            None => self.look(),
            Some([has_output, has_errors]) => {
                if has_errors {
                    self.read_errors();
                }
                if has_output {
                    self.read_output()
                } else {
                    Ok(())
                }
            }
        }
    }

    fn read_output(&mut self) -> Result<(), Silence> {
        let mut buffer = [0; 4096];
        match self.output.read(&mut buffer)? {
            0 => Err(self.ending()),
            count => {
                self.pending.extend_from_slice(&buffer[..count]);
                Ok(())
            }
        }
    }

    fn read_errors(&mut self) {
        let mut buffer = [0; 4096];
        while let Some(errors) = &mut self.errors {
            match errors.read(&mut buffer) {
                Ok(0) => self.errors = None,
                Ok(count) => {
                    self.complaints.extend_from_slice(&buffer[..count]);
                    let surplus = self.complaints.len().saturating_sub(COMPLAINTS);
                    self.complaints.drain(..surplus);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => return,
            }
        }
    }

    /// Checks the program's memory, and whether it still lives: other processes may hold its output
    /// open.
    fn look(&mut self) -> Result<(), Silence> {
        match self.child.try_wait()? {
            Some(status) => Err(Silence::Ended(status)),
            None => self.weigh(),
        }
    }

    fn weigh(&mut self) -> Result<(), Silence> {
        self.weighed = Instant::now();
        let resident = self.resident();
        if resident > self.most_memory {
            Err(Silence::TooLarge(resident))
        } else {
            Ok(())
        }
    }

    fn resident(&self) -> Bytes {
        let status =
            std::fs::read_to_string(format!("/proc/{}/status", self.process())).unwrap_or_default();
        let kib = status.lines().find_map(|line| {
            line.strip_prefix("VmRSS:")?
                .trim()
                .strip_suffix(" kB")?
                .parse()
                .ok()
        });
        Bytes::kib(kib.unwrap_or(0))
    }

    fn ending(&mut self) -> Silence {
        let start = Instant::now();
        while start.elapsed() < Duration::from_millis(500) {
            match self.child.try_wait() {
                Ok(Some(status)) => return Silence::Ended(status),
                Ok(None) => std::thread::sleep(Duration::from_millis(5)),
                Err(error) => return error.into(),
            }
        }
        Silence::Closed
    }
}

impl Drop for Conversation {
    fn drop(&mut self) {
        // The program's number cannot belong to another process: the program has not been waited
        // for, or the number is still that of its process group.
        self.input = None;
        let _ = kill_process_group(Pid::from_child(&self.child), Signal::KILL);
        let _ = self.child.kill();
        let start = Instant::now();
        while matches!(self.child.try_wait(), Ok(None)) && start.elapsed() < GONE_WITHIN {
            std::thread::sleep(Duration::from_micros(200));
        }
        end_orphans();
    }
}

/// Kills processes that have left the program's group, generation by generation: a process that
/// loses its parent becomes a child of this process. Does nothing if other threads may have
/// children.
fn end_orphans() {
    let threads = std::fs::read_dir("/proc/self/task").map_or(0, Iterator::count);
    let start = Instant::now();
    while threads == 1 && start.elapsed() < GONE_WITHIN {
        let orphans = list_other_children(&[]).unwrap_or_default();
        if orphans.is_empty() {
            return;
        }
        for pid in orphans.into_iter().filter_map(Pid::from_raw) {
            let _ = kill_process(pid, Signal::KILL);
            let _ = waitpid(Some(pid), rustix::process::WaitOptions::empty());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Conversation {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        Conversation::start(command, Bytes::mib(64)).expect("a shell")
    }

    fn heard(script: &str) -> Result<String, Silence> {
        shell(script)
            .hear(Nanos::millis(300))
            .map(|line| String::from_utf8_lossy(&line).into_owned())
    }

    #[test]
    fn lines_go_both_ways() {
        let mut echo = shell("while read line; do echo \"<$line>\"; done");
        for word in ["one", "two"] {
            echo.say(word.as_bytes()).expect("it reads");
            assert_eq!(
                echo.hear(Nanos::seconds(20)).expect("an answer"),
                format!("<{word}>").into_bytes()
            );
        }
    }

    #[test]
    fn silence_has_its_reason() {
        assert!(matches!(heard("exit 7"), Err(Silence::Ended(status)) if status.code() == Some(7)));
        assert!(matches!(heard("kill -9 $$"), Err(Silence::Ended(_))));
        assert!(matches!(heard("sleep 60"), Err(Silence::Late(_))));
        assert!(matches!(
            heard("exec head -c 200000 /dev/zero"),
            Err(Silence::Endless | Silence::Ended(_))
        ));
        let mut noisy = shell("head -c 90000 /dev/zero >&2; echo the reason >&2; echo said");
        assert_eq!(noisy.hear(Nanos::seconds(20)).expect("a line"), b"said");
        assert!(noisy.complaints().ends_with("the reason\n"));
    }

    #[test]
    fn one_that_grows_is_ended_although_it_answers_at_once() {
        let mut command = Command::new("sh");
        command.args([
            "-c",
            "text=x; while read line; do text=$text$text$text$text; echo $line; done",
        ]);
        let mut growing = Conversation::start(command, Bytes::mib(8)).expect("a shell");
        let end = Instant::now() + Duration::from_secs(20);
        while Instant::now() < end {
            growing.say(b"more").expect("it reads");
            match growing.hear(Nanos::seconds(20)) {
                Ok(_) => std::thread::sleep(Duration::from_millis(60)),
                Err(Silence::TooLarge(size)) => return assert!(size > Bytes::mib(8)),
                Err(other) => panic!("{other:?}"),
            }
        }
        panic!("no one looked");
    }
}
