//! Channels for one token: the transport of each mechanism between two tasks.
//!
//! A [`Channel`] has one sender and one receiver, which may be the same task, or tasks of two
//! processes forked after the channel was made. `send` never blocks, `recv` blocks until there is a
//! token. Both make the same system calls whether or not the peer is another task, as far as the
//! mechanism allows, so that the baseline can subtract the calls.

mod condition;
mod descriptor;
mod memory_word;
mod message_queue;
mod monitor;
mod signal;

use std::io;

use switchcost_record::Mechanism;

pub use condition::{MutexCondvar, Notify, Turn, Turns};
pub use descriptor::{EventFd, Pipe, Stream};
pub use memory_word::{Futex, Semaphore};
pub use message_queue::MessageQueue;
pub use signal::{SignalLink, block_token_signal};

/// A channel for a single token.
pub trait Channel {
    /// Puts the token into the channel.
    fn send(&self) -> io::Result<()>;

    /// Waits for the token, and takes it out of the channel.
    fn recv(&self) -> io::Result<()>;

    /// Releases what the sender holds between hand-offs. Called after the last hand-off of a batch.
    fn sender_leaves(&self) -> io::Result<()> {
        Ok(())
    }

    /// Releases what the receiver holds between hand-offs. Called after the last hand-off of a
    /// batch.
    fn receiver_leaves(&self) -> io::Result<()> {
        Ok(())
    }
}

/// A channel whose token is the CPU itself: to receive it, a task goes to the end of the run queue
/// (sched_yield).
#[derive(Debug)]
pub struct Yield;

impl Channel for Yield {
    fn send(&self) -> io::Result<()> {
        Ok(())
    }

    fn recv(&self) -> io::Result<()> {
        rustix::thread::sched_yield();
        Ok(())
    }
}

/// A channel between any two tasks.
pub type AnyChannel = Box<dyn Channel + Send + Sync>;

/// Creates a channel of a mechanism; `None` if its channels depend on the tasks, or if it has none.
///
/// # Errors
///
/// If the kernel refuses the channel.
pub fn channel(mechanism: Mechanism) -> io::Result<Option<AnyChannel>> {
    use Mechanism::*;
    Ok(Some(match mechanism {
        Pipe => Box::new(self::Pipe::new()?),
        Eventfd => Box::new(EventFd::new()?),
        Futex => Box::new(self::Futex::new()?),
        MutexCondvar => Box::new(self::MutexCondvar::new(Notify::WhileLocked)?),
        MutexCondvarUnlocked => Box::new(self::MutexCondvar::new(Notify::AfterUnlocking)?),
        Socketpair => Box::new(Stream::unix()?),
        Tcp => Box::new(Stream::tcp()?),
        PosixSem => Box::new(Semaphore::new()?),
        PosixMq => Box::new(MessageQueue::new()?),
        Yield => Box::new(self::Yield),
        _ => return Ok(None),
    }))
}

fn closed() -> io::Error {
    io::Error::new(
        io::ErrorKind::UnexpectedEof,
        "the channel's other end was closed",
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
    use strum::IntoEnumIterator;

    fn hands_to_itself(channel: &dyn Channel) {
        for _ in 0..3 {
            channel.send().expect("a free channel takes the token");
            channel.recv().expect("the token is there");
        }
    }

    fn hands_between_threads(
        there: &(dyn Channel + Send + Sync),
        back: &(dyn Channel + Send + Sync),
    ) {
        let seen = AtomicU32::new(0);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for _ in 0..100 {
                    there.recv().expect("the token comes");
                    seen.fetch_add(1, SeqCst);
                    back.send().expect("the token goes back");
                }
            });
            for round in 0..100 {
                assert_eq!(
                    seen.load(SeqCst),
                    round,
                    "recv blocks until there is a token"
                );
                there.send().expect("the token goes");
                back.recv().expect("the token comes back");
            }
        });
    }

    #[test]
    fn every_mechanism_hands_one_token() {
        let mut checked = 0;
        for mechanism in Mechanism::iter() {
            let make = || channel(mechanism).expect("a channel");
            let Some(own) = make() else { continue };
            hands_to_itself(&*own);
            // To receive the token of sched_yield, a task waits for nothing.
            if let Some((there, back)) =
                make().zip(make()).filter(|_| mechanism != Mechanism::Yield)
            {
                hands_between_threads(&*there, &*back);
            }
            checked += 1;
        }
        assert!(checked >= 10, "{checked}");
    }

    #[test]
    fn a_signal_reaches_the_task_it_is_meant_for() {
        block_token_signal().expect("a signal mask");
        let pid = crate::task::current_pid();
        let to_self = SignalLink::new(move || (pid, crate::task::current_tid()));
        hands_to_itself(&to_self);
    }
}
