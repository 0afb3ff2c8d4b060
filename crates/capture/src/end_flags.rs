//! Between the controller and the consumer, which are two threads: that either has come to its end. What there is to read
//! stands in the shared memory.

use std::sync::atomic::{AtomicBool, Ordering::SeqCst};

/// Set by one, looked at by the other.
#[derive(Debug, Default)]
pub(crate) struct EndFlags {
    is_finished: AtomicBool,
    is_aborted: AtomicBool,
}

impl EndFlags {
    /// Says that no buffer will follow those in the shared memory now.
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
