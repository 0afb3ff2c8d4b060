//! Flags with which the controller's and the consumer's thread notify each other of their end. The
//! data are in the shared memory.

use std::sync::atomic::{AtomicBool, Ordering::SeqCst};

/// One flag for each of the two threads, which that thread sets and the other one reads.
#[derive(Debug, Default)]
pub(crate) struct EndFlags {
    is_finished: AtomicBool,
    is_aborted: AtomicBool,
}

impl EndFlags {
    /// Reports that no buffer will follow those now in the shared memory.
    pub(crate) fn finish(&self) {
        self.is_finished.store(true, SeqCst);
    }

    pub(crate) fn is_finished(&self) -> bool {
        self.is_finished.load(SeqCst)
    }

    /// Reports that the consumer wants no more buffers.
    pub(crate) fn abort(&self) {
        self.is_aborted.store(true, SeqCst);
    }

    pub(crate) fn is_aborted(&self) -> bool {
        self.is_aborted.load(SeqCst)
    }
}
