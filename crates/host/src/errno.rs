//! Error number of the last failed call of the C library.

use std::io;

use rustix::io::Errno;

/// Returns the error number of the calling thread's last failed call. Allocates no memory, so a
/// forked child may call it.
pub(crate) fn last() -> Errno {
    Errno::from_io_error(&io::Error::last_os_error()).unwrap_or(Errno::IO)
}
