//! Why a call of the C library has failed.

use std::io;

use rustix::io::Errno;

/// Of the calling thread's last call that failed. Takes no memory, so that a forked child may ask.
pub(crate) fn last() -> Errno {
    Errno::from_io_error(&io::Error::last_os_error()).unwrap_or(Errno::IO)
}
