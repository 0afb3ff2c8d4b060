//! Channels made of a mutex and a condition variable: one pair for each channel, or one pair for
//! two tasks that alternate.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use super::Channel;
use super::monitor::Monitor;

/// Moment at which the sender notifies the receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Notify {
    /// The receiver is notified before the lock is released, so a woken task may find the lock
    /// held.
    WhileLocked,
    /// The receiver is notified after the lock is released.
    AfterUnlocking,
}

/// Value of the monitor that stands for a token.
const TOKEN: usize = 1;

/// A channel made of a POSIX mutex and a condition variable, both shared between processes.
pub struct MutexCondvar {
    monitor: Monitor,
    notify: Notify,
}

impl MutexCondvar {
    /// Makes a channel without a token.
    pub fn new(notify: Notify) -> io::Result<MutexCondvar> {
        Ok(MutexCondvar {
            monitor: Monitor::new()?,
            notify,
        })
    }
}

impl Channel for MutexCondvar {
    fn send(&self) -> io::Result<()> {
        self.monitor.lock()?;
        self.monitor.set(TOKEN);
        match self.notify {
            Notify::WhileLocked => {
                self.monitor.notify_one()?;
                self.monitor.unlock()
            }
            Notify::AfterUnlocking => {
                self.monitor.unlock()?;
                self.monitor.notify_one()
            }
        }
    }

    fn recv(&self) -> io::Result<()> {
        self.monitor.lock()?;
        self.monitor.take(TOKEN)?;
        self.monitor.unlock()
    }
}

/// One mutex and one condition variable for two tasks that alternate, as in a program that holds
/// its lock around its loop. The task with the token holds the lock, and releases it only while it
/// waits.
pub struct Turns {
    monitor: Monitor,
    /// Whether each task holds the lock. A task reads only its own word, so processes need not
    /// share the words.
    holds: [AtomicBool; 2],
}

impl Turns {
    /// Creates the mutex and the condition variable. At first, neither task has the token.
    pub fn new() -> io::Result<Arc<Turns>> {
        Ok(Arc::new(Turns {
            monitor: Monitor::new()?,
            holds: Default::default(),
        }))
    }

    /// Returns a channel from one of the two tasks to the other, or to itself.
    pub fn channel(self: &Arc<Self>, sender: usize, receiver: usize) -> Turn {
        Turn {
            turns: Arc::clone(self),
            sender,
            receiver,
        }
    }

    fn hold(&self, task: usize) -> io::Result<()> {
        if !self.holds[task].load(Relaxed) {
            self.monitor.lock()?;
            self.holds[task].store(true, Relaxed);
        }
        Ok(())
    }

    fn let_go(&self, task: usize) -> io::Result<()> {
        if self.holds[task].swap(false, Relaxed) {
            self.monitor.unlock()
        } else {
            Ok(())
        }
    }
}

/// A channel from one of two alternating tasks to the other: see [`Turns`].
pub struct Turn {
    turns: Arc<Turns>,
    sender: usize,
    receiver: usize,
}

impl Channel for Turn {
    fn send(&self) -> io::Result<()> {
        self.turns.hold(self.sender)?;
        self.turns.monitor.set(self.receiver + 1);
        self.turns.monitor.notify_one()
    }

    fn recv(&self) -> io::Result<()> {
        self.turns.hold(self.receiver)?;
        self.turns.monitor.take(self.receiver + 1)
    }

    fn sender_leaves(&self) -> io::Result<()> {
        self.turns.let_go(self.sender)
    }

    fn receiver_leaves(&self) -> io::Result<()> {
        self.turns.let_go(self.receiver)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Shows that a task holds the lock from before its first hand-off until after its last.
    #[test]
    fn whose_turn_it_is_holds_the_lock() {
        let turns = Turns::new().expect("a monitor");
        let (there, back, own) = (
            turns.channel(0, 1),
            turns.channel(1, 0),
            turns.channel(0, 0),
        );
        let is_held = || turns.holds[0].load(Relaxed);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for _ in 0..100 {
                    there.recv().expect("the token comes");
                    back.send().expect("the token goes back");
                }
                back.sender_leaves().expect("the lock is given back");
            });
            for _ in 0..100 {
                there.send().expect("the token goes");
                assert!(is_held());
                back.recv().expect("the token comes back");
                assert!(is_held());
            }
            own.send().expect("to itself");
            own.recv().expect("it is there");
            back.receiver_leaves().expect("the lock is given back");
        });
        assert!(!is_held());
        turns.monitor.lock().expect("no one holds it");
    }
}
