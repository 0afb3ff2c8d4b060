//! Closes and writes chunks on a separate thread, a few chunks later than the thread that fills
//! them.

use std::collections::VecDeque;
use std::io::Write;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};

use super::appender::{Appender, Written};
use super::error::WriteTraceError;
use crate::codec::Open;
use crate::{Dependences, KernelSymbols, Placed};

/// Maximum number of closed chunks that wait to be written.
const WAITING: usize = 4;

/// A chunk with its marks, to be written.
#[derive(Debug)]
struct Job {
    open: Open,
    marks: Vec<Placed>,
}

/// Chunks to be written, in order, and memory for further chunks.
#[derive(Debug)]
struct Queue {
    waiting: VecDeque<Job>,
    spare: Vec<Job>,
    /// Error of the first chunk that could not be written.
    failure: Option<WriteTraceError>,
    is_ended: bool,
}

struct Shared<W> {
    queue: Mutex<Queue>,
    /// Condition that wakes the writing thread when a chunk is queued.
    called: Condvar,
    /// The appender; `None` after the end of the trace. The thread that holds the lock writes the
    /// next chunk of the queue, so chunks are written in order.
    appender: Mutex<Option<Appender<W>>>,
}

/// Locks a mutex, even if a thread has panicked while holding it. The data are consistent then,
/// too: an appender with an incomplete last record accepts no further record.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<W: Write> Shared<W> {
    /// Writes the next chunk of the queue; returns false if the queue is empty.
    fn write_next(&self, mut appender: MutexGuard<'_, Option<Appender<W>>>) -> bool {
        let Some(appender) = appender.as_mut() else {
            return false;
        };
        let Some(mut job) = locked(&self.queue).waiting.pop_front() else {
            return false;
        };
        let outcome = appender.close(&job.open, &job.marks, 0);
        job.marks.clear();
        let mut queue = locked(&self.queue);
        queue.spare.push(job);
        queue.failure = queue.failure.take().or(outcome.err());
        true
    }

    /// Writes chunks of the queue until the trace ends. This is the thread's main loop.
    fn attend(&self) {
        loop {
            let is_idle = |queue: &mut Queue| !queue.is_ended && queue.waiting.is_empty();
            let queue = self.called.wait_while(locked(&self.queue), is_idle);
            let is_ended = queue.unwrap_or_else(PoisonError::into_inner).is_ended;
            if !self.write_next(locked(&self.appender)) && is_ended {
                break;
            }
        }
    }
}

/// An [`Appender`] with its own thread, which ends when this value is dropped.
pub(super) struct Behind<W> {
    shared: Arc<Shared<W>>,
    thread: Option<JoinHandle<()>>,
}

impl<W: Write + Send + 'static> Behind<W> {
    pub(super) fn new(appender: Appender<W>) -> Result<Self, WriteTraceError> {
        let spare = (0..WAITING)
            .map(|_| Job {
                open: Open::new(),
                marks: Vec::new(),
            })
            .collect();
        let queue = Queue {
            waiting: VecDeque::new(),
            spare,
            failure: None,
            is_ended: false,
        };
        let shared = Arc::new(Shared {
            queue: Mutex::new(queue),
            called: Condvar::new(),
            appender: Mutex::new(Some(appender)),
        });
        let theirs = Arc::clone(&shared);
        let thread = thread::Builder::new()
            .name("trace-writer".to_owned())
            .spawn(move || theirs.attend())
            .map_err(WriteTraceError::Resources)?;
        Ok(Behind {
            shared,
            thread: Some(thread),
        })
    }

    /// Returns memory for the next chunk and its marks. Writes a chunk first if too many wait.
    ///
    /// # Errors
    ///
    /// If an earlier chunk could not be written.
    pub(super) fn spare(&mut self) -> Result<(Open, Vec<Placed>), WriteTraceError> {
        loop {
            let mut queue = locked(&self.shared.queue);
            if let Some(failure) = queue.failure.take() {
                return Err(failure);
            }
            if let Some(Job { open, marks }) = queue.spare.pop() {
                return Ok((open, marks));
            }
            drop(queue);
            self.shared.write_next(locked(&self.shared.appender));
        }
    }

    /// Queues a chunk to be written.
    pub(super) fn append(&mut self, open: Open, marks: Vec<Placed>) {
        let mut queue = locked(&self.shared.queue);
        queue.waiting.push_back(Job { open, marks });
        self.shared.called.notify_one();
    }

    /// Writes a chunk of the queue, if no other thread is writing. Returns whether a chunk was
    /// written.
    pub(super) fn write_one(&mut self) -> bool {
        self.shared
            .appender
            .try_lock()
            .is_ok_and(|appender| self.shared.write_next(appender))
    }

    /// Sets the kernel's symbols, which are written at the end of the trace.
    pub(super) fn name_symbols(&mut self, symbols: KernelSymbols) {
        if let Some(appender) = &mut *locked(&self.shared.appender) {
            appender.name_symbols(symbols);
        }
    }

    /// Ends the trace after all chunks are written. Returns the flushed writer and the totals.
    pub(super) fn finish(
        mut self,
        dependences: Dependences,
    ) -> Result<(W, Written), WriteTraceError> {
        if let Some(Err(panic)) = self.end() {
            std::panic::resume_unwind(panic);
        }
        let appender = locked(&self.shared.appender).take();
        let failure = locked(&self.shared.queue).failure.take();
        match (failure, appender) {
            (Some(failure), _) => Err(failure),
            (None, Some(mut appender)) => {
                appender.set_dependences(dependences);
                appender.finish()
            }
            (None, None) => unreachable!("nothing else ends the trace"),
        }
    }
}

impl<W> Behind<W> {
    /// Tells the writing thread to end, and waits until the thread has written the remaining
    /// chunks. Returns `None` if the thread has ended before.
    fn end(&mut self) -> Option<thread::Result<()>> {
        locked(&self.shared.queue).is_ended = true;
        self.shared.called.notify_one();
        self.thread.take().map(JoinHandle::join)
    }
}

impl<W> Drop for Behind<W> {
    fn drop(&mut self) {
        let _ = self.end();
    }
}
