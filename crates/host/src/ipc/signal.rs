//! Channels over signals sent to one task and taken by sigwait.

use std::io;

use super::Channel;
use crate::signal_set::SignalSet;

const TOKEN: libc::c_int = libc::SIGUSR1;

fn token_set() -> SignalSet {
    SignalSet::new(&[TOKEN])
}

/// Blocks the token's signal in the calling thread and in all threads that it starts later, so that
/// they receive the signal by sigwait.
pub fn block_token_signal() -> io::Result<()> {
    Ok(token_set().block()?)
}

/// A channel that sends the token as a signal to one task.
///
/// The receiver is known only once the receiver runs. So the channel gets the receiver from a
/// function, as its process ID and thread ID.
pub struct SignalLink {
    receiver: Box<dyn Fn() -> (i32, i32) + Send + Sync>,
    set: SignalSet,
}

impl SignalLink {
    /// Makes a channel to the task whose process ID and thread ID `receiver` returns. `receiver` is
    /// called at each send.
    pub fn new(receiver: impl Fn() -> (i32, i32) + Send + Sync + 'static) -> SignalLink {
        SignalLink {
            receiver: Box::new(receiver),
            set: token_set(),
        }
    }
}

impl Channel for SignalLink {
    fn send(&self) -> io::Result<()> {
        let (process, thread) = (self.receiver)();
        // SAFETY: takes three numbers; if the task is gone, the call returns an error. This program
        // created the task.
        let status = unsafe { libc::syscall(libc::SYS_tgkill, process, thread, TOKEN) };
        if status == 0 {
            Ok(())
        } else {
            Err(io::Error::last_os_error())
        }
    }

    fn recv(&self) -> io::Result<()> {
        Ok(self.set.wait()?)
    }
}
