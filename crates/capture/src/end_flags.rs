//! Flags by which the controller and the consumer, which are two threads, tell each other that they have ended. The data itself is in the
//! shared memory.

use std::sync::atomic::{AtomicBool, Ordering::SeqCst};

/// A flag for each of the two threads, which it sets and the other reads.
#[derive(Debug, Default)]
pub(crate) struct EndFlags {
    is_finished: AtomicBool,
    is_aborted: AtomicBool,
}

impl EndFlags {
    /// Notes that no buffer will follow those now in the shared memory.
    pub(crate) fn finish(&self) {
        self.is_finished.store(true, SeqCst);
    }

    pub(crate) fn is_finished(&self) -> bool {
        self.is_finished.load(SeqCst)
    }

    /// Notes that the consumer wants no more.
    pub(crate) fn abort(&self) {
        self.is_aborted.store(true, SeqCst);
    }

    pub(crate) fn is_aborted(&self) -> bool {
        self.is_aborted.load(SeqCst)
    }
}
