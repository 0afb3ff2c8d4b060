//! Between the controller and the consumer, which are two threads: how much there is to read, and that it is over.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

#[derive(Debug, Default)]
struct Now {
    submitted: u64,
    is_finished: bool,
    is_aborted: bool,
}

/// Rung by the controller, waited for by the consumer.
#[derive(Debug, Default)]
pub(crate) struct Bell {
    now: Mutex<Now>,
    rung: Condvar,
}

impl Bell {
    fn lock(&self) -> MutexGuard<'_, Now> {
        // Plain numbers: whole whatever thread panicked.
        self.now.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Buffers number 0 to `submitted` - 1 are there.
    pub(crate) fn tell_submitted(&self, submitted: u64) {
        let mut now = self.lock();
        if now.submitted < submitted {
            now.submitted = submitted;
            self.rung.notify_all();
        }
    }

    /// There will be no further buffer than those in the shared memory now.
    pub(crate) fn finish(&self) {
        self.lock().is_finished = true;
        self.rung.notify_all();
    }

    /// The consumer wants no more.
    pub(crate) fn abort(&self) {
        self.lock().is_aborted = true;
    }

    pub(crate) fn is_aborted(&self) -> bool {
        self.lock().is_aborted
    }

    /// Waits until buffer number `order` is there. False once the end was told: whatever there is is in the memory.
    pub(crate) fn await_buffer(&self, order: u64) -> bool {
        let waits = |now: &mut Now| now.submitted <= order && !now.is_finished;
        let now = self.rung.wait_while(self.lock(), waits).unwrap_or_else(PoisonError::into_inner);
        !now.is_finished
    }
}
