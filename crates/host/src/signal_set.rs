//! Sets of signals, and the signal mask of the calling thread.

use std::mem::MaybeUninit;
use std::os::fd::{FromRawFd, OwnedFd};
use std::ptr;

use libc::c_int;
use rustix::io::{self, Errno};

use crate::errno;

/// A set of signals.
#[derive(Clone, Copy)]
pub(crate) struct SignalSet(libc::sigset_t);

impl SignalSet {
    /// Creates the set of `signals`. Invalid numbers are left out.
    pub(crate) fn new(signals: &[c_int]) -> SignalSet {
        let mut set = MaybeUninit::<libc::sigset_t>::zeroed();
        // SAFETY: the pointer is valid for writing one set; the call fails for no valid pointer.
        unsafe { libc::sigemptyset(set.as_mut_ptr()) };
        // SAFETY: the call above has written it.
        let mut set = unsafe { set.assume_init() };
        for &signal in signals {
            // SAFETY: the pointer is to a set that outlives the call.
            unsafe { libc::sigaddset(&raw mut set, signal) };
        }
        SignalSet(set)
    }

    /// Returns the signals that the calling thread blocks.
    pub(crate) fn blocked() -> io::Result<SignalSet> {
        let mut set = SignalSet::new(&[]);
        // SAFETY: without a new mask the call writes the present one, to a pointer that is valid for it.
        check(unsafe { libc::pthread_sigmask(libc::SIG_BLOCK, ptr::null(), &raw mut set.0) })?;
        Ok(set)
    }

    pub(crate) fn contains(&self, signal: c_int) -> bool {
        // SAFETY: the pointer is to a set that outlives the call.
        unsafe { libc::sigismember(&raw const self.0, signal) == 1 }
    }

    /// Blocks the signals of this set in the calling thread, in addition to signals already
    /// blocked.
    pub(crate) fn block(&self) -> io::Result<()> {
        self.change_mask(libc::SIG_BLOCK)
    }

    /// Unblocks the signals of this set in the calling thread.
    #[cfg(test)]
    pub(crate) fn unblock(&self) -> io::Result<()> {
        self.change_mask(libc::SIG_UNBLOCK)
    }

    /// Blocks exactly the signals of this set in the calling thread.
    pub(crate) fn block_only(&self) -> io::Result<()> {
        self.change_mask(libc::SIG_SETMASK)
    }

    fn change_mask(&self, how: c_int) -> io::Result<()> {
        // SAFETY: the pointer is to a set that outlives the call.
        check(unsafe { libc::pthread_sigmask(how, &raw const self.0, ptr::null_mut()) })
    }

    /// Returns a file from which the signals of this set can be read (signalfd). The calling thread
    /// must block all of them.
    pub(crate) fn file(&self) -> io::Result<OwnedFd> {
        // SAFETY: the pointer is to a set that outlives the call.
        let file = unsafe {
            libc::signalfd(
                -1,
                &raw const self.0,
                libc::SFD_CLOEXEC | libc::SFD_NONBLOCK,
            )
        };
        if file < 0 {
            return Err(errno::last());
        }
        // SAFETY: the file is new, and ours alone.
        Ok(unsafe { OwnedFd::from_raw_fd(file) })
    }

    /// Waits for a signal of this set and takes the signal. The calling thread must block all
    /// signals of the set.
    #[inline]
    pub(crate) fn wait(&self) -> io::Result<()> {
        let mut signal = 0;
        // SAFETY: the first pointer is to a set that outlives the call, the second is valid for writing one number.
        check(unsafe { libc::sigwait(&raw const self.0, &raw mut signal) })
    }
}

/// Converts an error number, as the pthread functions return it, to a `Result`.
fn check(number: c_int) -> io::Result<()> {
    if number == 0 {
        Ok(())
    } else {
        Err(Errno::from_raw_os_error(number))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mask_is_of_the_calling_thread_and_can_be_put_back() {
        let before = SignalSet::blocked().expect("own mask");
        assert!(!before.contains(libc::SIGURG));
        SignalSet::new(&[libc::SIGURG]).block().expect("own mask");
        assert!(
            SignalSet::blocked()
                .expect("own mask")
                .contains(libc::SIGURG)
        );
        before.block_only().expect("own mask");
        assert!(
            !SignalSet::blocked()
                .expect("own mask")
                .contains(libc::SIGURG)
        );
    }
}
