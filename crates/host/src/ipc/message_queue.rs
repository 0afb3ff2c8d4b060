//! Channels over POSIX message queues.

use std::ffi::CString;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use super::{Channel, closed};

/// A channel whose token is a message of one byte in a POSIX message queue. The queue's name is
/// removed immediately after it is opened, so the queue ends with its users.
#[derive(Debug)]
pub struct MessageQueue(OwnedFd);

static NEXT: AtomicU32 = AtomicU32::new(0);

impl MessageQueue {
    /// Creates an empty queue.
    pub fn new() -> io::Result<MessageQueue> {
        let name = format!(
            "/switchcost-{}-{}",
            crate::task::current_pid(),
            NEXT.fetch_add(1, Relaxed)
        );
        let name = CString::new(name)?;
        let flags = libc::O_RDWR | libc::O_CREAT | libc::O_EXCL | libc::O_CLOEXEC;
        let attributes = MaybeUninit::<libc::mq_attr>::zeroed();
        // SAFETY: the structure consists of numbers only.
        let mut attributes = unsafe { attributes.assume_init() };
        attributes.mq_maxmsg = 1;
        attributes.mq_msgsize = 1;
        // SAFETY: the name ends with zero; a new queue needs a mode and attributes, whose pointer is valid for the call.
        let queue = unsafe {
            libc::mq_open(
                name.as_ptr(),
                flags,
                0o600 as libc::mode_t,
                &raw const attributes,
            )
        };
        check(queue as isize)?;
        // SAFETY: on Linux a queue is a file descriptor; it is new, and ours alone.
        let queue = unsafe { OwnedFd::from_raw_fd(queue) };
        // SAFETY: the name ends with zero.
        check(unsafe { libc::mq_unlink(name.as_ptr()) } as isize)?;
        Ok(MessageQueue(queue))
    }
}

fn check(status: isize) -> io::Result<()> {
    if status < 0 {
        Err(io::Error::last_os_error())
    } else {
        Ok(())
    }
}

impl Channel for MessageQueue {
    fn send(&self) -> io::Result<()> {
        // SAFETY: the pointer is to one byte, which outlives the call.
        check(unsafe { libc::mq_send(self.0.as_raw_fd(), [0].as_ptr(), 1, 0) } as isize)
    }

    fn recv(&self) -> io::Result<()> {
        let (mut message, mut priority) = ([0], 0);
        // SAFETY: the pointers are valid for writing one byte, which is the longest message of the queue, and one number.
        let bytes = unsafe {
            libc::mq_receive(
                self.0.as_raw_fd(),
                message.as_mut_ptr(),
                1,
                &raw mut priority,
            )
        };
        check(bytes)?;
        if bytes == 1 { Ok(()) } else { Err(closed()) }
    }
}
