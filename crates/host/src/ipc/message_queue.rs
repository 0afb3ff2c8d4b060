//! POSIX message queues.

use std::io;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use nix::mqueue::{MQ_OFlag, MqAttr, MqdT, mq_open, mq_receive, mq_send, mq_unlink};
use nix::sys::stat::Mode;

use super::{Channel, closed};

/// A queue of one message of one byte, whose name is gone as soon as it is open: nothing outlives its users.
#[derive(Debug)]
pub struct MessageQueue(MqdT);

static NEXT: AtomicU32 = AtomicU32::new(0);

impl MessageQueue {
    /// A new queue.
    pub fn new() -> io::Result<MessageQueue> {
        let name = format!("/switchcost-{}-{}", crate::task::current_pid(), NEXT.fetch_add(1, Relaxed));
        let flags = MQ_OFlag::O_RDWR | MQ_OFlag::O_CREAT | MQ_OFlag::O_EXCL | MQ_OFlag::O_CLOEXEC;
        let attributes = MqAttr::new(0, 1, 1, 0);
        let queue = mq_open(name.as_str(), flags, Mode::S_IRUSR | Mode::S_IWUSR, Some(&attributes))?;
        mq_unlink(name.as_str())?;
        Ok(MessageQueue(queue))
    }
}

impl Channel for MessageQueue {
    fn send(&self) -> io::Result<()> {
        Ok(mq_send(&self.0, &[0], 0)?)
    }

    fn recv(&self) -> io::Result<()> {
        let mut priority = 0;
        match mq_receive(&self.0, &mut [0], &mut priority)? {
            1 => Ok(()),
            _ => Err(closed()),
        }
    }
}
