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

pub use condition::{MutexCondvar, Notify, Turn, Turns};
pub use descriptor::{EventFd, Pipe, Stream};
pub use memory_word::{Futex, Semaphore};
pub use message_queue::MessageQueue;
pub use signal::{SignalLink, block_token_signal};

/// A channel that holds at most one token.
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

    fn hands_to_itself(channel: &dyn Channel) {
        for _ in 0..3 {
            channel.send().expect("a free channel takes the token");
            channel.recv().expect("the token is there");
        }
    }

    fn hands_between_threads(there: &(dyn Channel + Sync), back: &(dyn Channel + Sync)) {
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

    fn check<C: Channel + Sync>(make: impl Fn() -> io::Result<C>) {
        hands_to_itself(&make().expect("a channel"));
        hands_between_threads(&make().expect("a channel"), &make().expect("a channel"));
    }

    #[test]
    fn every_mechanism_hands_one_token() {
        check(Pipe::new);
        check(EventFd::new);
        check(Stream::unix);
        check(Stream::tcp);
        check(Futex::new);
        check(Semaphore::new);
        check(|| MutexCondvar::new(Notify::WhileLocked));
        check(|| MutexCondvar::new(Notify::AfterUnlocking));
        check(MessageQueue::new);
        hands_to_itself(&Yield);
    }

    #[test]
    fn a_signal_reaches_the_task_it_is_meant_for() {
        block_token_signal().expect("a signal mask");
        let pid = crate::task::current_pid();
        let to_self = SignalLink::new(move || (pid, crate::task::current_tid()));
        hands_to_itself(&to_self);
    }
}
