//! The channels of a ring: one from each task to the next, and one from each task to itself.

use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering::SeqCst;

use switchcost_host::ipc::{AnyChannel, Channel, SignalLink, Turns, block_token_signal, channel};
use switchcost_host::memory::Memory;
use switchcost_record::{Family, Mechanism};

use super::words::{PROCESS, THREAD, word_index};

pub(crate) struct Links {
    to: Vec<AnyChannel>,
    own: Vec<AnyChannel>,
}

impl Links {
    pub(super) fn new(
        mechanism: Mechanism,
        tasks: usize,
        words: &Arc<Memory>,
    ) -> io::Result<Links> {
        if mechanism == Mechanism::Signal {
            block_token_signal()?;
        }
        if mechanism == Mechanism::MutexCondvarHeld {
            return Links::new_for_turns(tasks);
        }
        // A preemption needs no channel, because the preemptor takes the CPU. Concurrent tasks hand
        // nothing over.
        let is_ring = mechanism.traits().family == Family::Ring;
        let tasks = if is_ring { tasks } else { 0 };
        let all = || {
            (0..tasks)
                .map(|receiver| link(mechanism, receiver, words))
                .collect::<io::Result<Vec<_>>>()
        };
        Ok(Links {
            to: all()?,
            own: all()?,
        })
    }

    /// Creates channels that share one lock. The plan allows this only for two tasks.
    fn new_for_turns(tasks: usize) -> io::Result<Links> {
        let turns = Turns::new()?;
        let channel = |sender, receiver| Box::new(turns.channel(sender, receiver)) as AnyChannel;
        let to = (0..tasks)
            .map(|receiver| channel((receiver + tasks - 1) % tasks, receiver))
            .collect();
        Ok(Links {
            to,
            own: (0..tasks).map(|task| channel(task, task)).collect(),
        })
    }

    /// Returns the channel from which task `index` receives. The index after the last task's stands
    /// for task 0.
    pub(crate) fn to(&self, index: usize) -> &dyn Channel {
        &*self.to[index % self.to.len()]
    }

    /// Returns the channel from task `index` to itself.
    pub(crate) fn own(&self, index: usize) -> &dyn Channel {
        &*self.own[index]
    }
}

fn link(mechanism: Mechanism, receiver: usize, words: &Arc<Memory>) -> io::Result<AnyChannel> {
    if mechanism == Mechanism::Signal {
        return Ok(Box::new(signal_link(receiver, Arc::clone(words))));
    }
    let none = || io::Error::other(format!("{mechanism} is no ring of kernel tasks"));
    channel(mechanism)?.ok_or_else(none)
}

fn signal_link(receiver: usize, words: Arc<Memory>) -> SignalLink {
    let word = move |which| words[word_index(receiver, which)].load(SeqCst) as i32;
    SignalLink::new(move || (word(PROCESS), word(THREAD)))
}
