//! Flags with which the controller's thread and the consumer's thread report their end to each
//! other. The flags order nothing else: the data are in the shared memory.

use std::sync::atomic::{AtomicBool, Ordering::SeqCst};

/// Two flags. Each of the two threads sets one and reads the other.
#[derive(Debug, Default)]
pub(crate) struct EndFlags {
    is_finished: AtomicBool,
    is_aborted: AtomicBool,
}

impl EndFlags {
    /// Reports that no buffer follows the buffers that are now in the shared memory.
    pub(crate) fn finish(&self) {
        self.is_finished.store(true, SeqCst);
    }

    pub(crate) fn is_finished(&self) -> bool {
        self.is_finished.load(SeqCst)
    }

    /// Reports that the consumer reads no more buffers.
    pub(crate) fn abort(&self) {
        self.is_aborted.store(true, SeqCst);
    }

    pub(crate) fn is_aborted(&self) -> bool {
        self.is_aborted.load(SeqCst)
    }
}
