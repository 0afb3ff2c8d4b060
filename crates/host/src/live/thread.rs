//! Reads the kernel's accounts of one thread of a running program.

use std::fs::File;
use std::io;

use serde::{Deserialize, Serialize};
use switchcost_record::KernelSwitches;
use switchcost_units::Nanos;

use crate::evidence::{parse_switches, read_text};

/// Identity of a thread, different from the identity of a later thread with the same number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ThreadId {
    /// Process ID of the thread.
    pub process: u32,
    /// Thread ID of the thread.
    pub thread: u32,
    /// Start time of the thread, in the kernel's ticks of 1/100 s since boot.
    pub began: u64,
}

/// Open files about a live thread. The files give nothing after the thread's end, even if its
/// number is reused.
#[derive(Debug)]
pub struct LiveThread {
    schedstat: File,
    status: File,
    text: Vec<u8>,
}

/// Maximum number of bytes that are read from a file about a thread. The files are far shorter.
const LONGEST: usize = 16 << 10;

impl LiveThread {
    /// Opens the files about a thread.
    ///
    /// # Errors
    ///
    /// If there is no such thread, or the kernel keeps no accounts.
    pub fn open(id: ThreadId) -> io::Result<LiveThread> {
        let open =
            |name: &str| File::open(format!("/proc/{}/task/{}/{name}", id.process, id.thread));
        Ok(LiveThread {
            schedstat: open("schedstat")?,
            status: open("status")?,
            text: vec![0; LONGEST],
        })
    }

    /// Returns the CPU time of the thread so far. The value is exact if the thread does not run at
    /// this moment, for example while the caller runs on the thread's CPU.
    ///
    /// # Errors
    ///
    /// If the thread has ended.
    pub fn cpu_time(&mut self) -> io::Result<Nanos> {
        let text = read_text(Some(&self.schedstat), &mut self.text).ok_or_else(ended)?;
        text.split_ascii_whitespace()
            .next()
            .and_then(|used| used.parse().ok())
            .map(Nanos)
            .ok_or_else(ended)
    }

    /// Returns the number of switches of the thread so far.
    ///
    /// # Errors
    ///
    /// If the thread has ended.
    pub fn switches(&mut self) -> io::Result<KernelSwitches> {
        read_text(Some(&self.status), &mut self.text)
            .and_then(parse_switches)
            .ok_or_else(ended)
    }
}

/// Returns the error that the kernel gives for a task that has ended.
fn ended() -> io::Error {
    rustix::io::Errno::SRCH.into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::task::tests::waiting_thread;

    #[test]
    fn a_threads_time_and_switches_are_read_until_it_ends() {
        let (number, go, thread) = waiting_thread(|| ());
        let id = ThreadId {
            process: std::process::id(),
            thread: number as u32,
            began: 0,
        };
        let mut live = LiveThread::open(id).expect("it runs");
        assert!(live.cpu_time().expect("it runs") > Nanos(0));
        assert!(live.switches().expect("it runs").voluntary > 0 || live.switches().is_ok());
        go.send(()).expect("it waits");
        thread.join().expect("it ends");
        assert_eq!(
            live.cpu_time().expect_err("it has ended").raw_os_error(),
            Some(libc::ESRCH)
        );
        assert!(live.switches().is_err());
    }
}
