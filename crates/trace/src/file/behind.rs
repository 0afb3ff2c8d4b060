//! Closing and writing on a thread of its own, a few chunks behind whoever fills them.

use std::collections::VecDeque;
use std::io::{self, Write};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{self, JoinHandle};

use super::appender::{Appender, Written};
use super::error::WriteTraceError;
use crate::Placed;
use crate::codec::Open;

/// Chunks that are not written yet, at most, beside the one that is being filled.
const WAITING: usize = 2;

/// A chunk with its marks.
#[derive(Debug)]
struct Job {
    open: Open,
    marks: Vec<Placed>,
}

type Done = (Job, Result<(), WriteTraceError>);

/// An [`Appender`] on a thread of its own, which ends when this is dropped.
pub(super) struct Behind<W> {
    jobs: Option<Sender<Job>>,
    done: Receiver<Done>,
    thread: Option<JoinHandle<Appender<W>>>,
    spare: VecDeque<Job>,
}

impl<W: Write + Send + 'static> Behind<W> {
    pub(super) fn new(appender: Appender<W>) -> Result<Self, WriteTraceError> {
        let failed = |source| WriteTraceError::Append { chunks: 0, instructions: 0, bytes: 0, source };
        let (jobs, take) = channel();
        let (give, done) = channel();
        let thread = thread::Builder::new()
            .name("trace-writer".to_owned())
            .spawn(move || append(appender, &take, &give))
            .map_err(failed)?;
        let spare = (0..WAITING).map(|_| Job { open: Open::new(), marks: Vec::new() }).collect();
        Ok(Behind { jobs: Some(jobs), done, thread: Some(thread), spare })
    }

    /// Memory for the next chunk and its marks. Waits where too many are not written yet.
    ///
    /// # Errors
    /// Where a chunk before could not be written.
    pub(super) fn spare(&mut self) -> Result<(Open, Vec<Placed>), WriteTraceError> {
        while let Ok(done) = self.done.try_recv() {
            self.keep(done)?;
        }
        while self.spare.is_empty() {
            match self.done.recv() {
                Ok(done) => self.keep(done)?,
                Err(_) => return Err(self.ended()),
            }
        }
        let Job { open, marks } =
            self.spare.pop_front().unwrap_or_else(|| Job { open: Open::new(), marks: Vec::new() });
        Ok((open, marks))
    }

    fn keep(&mut self, (mut job, outcome): Done) -> Result<(), WriteTraceError> {
        job.marks.clear();
        self.spare.push_back(job);
        outcome
    }

    /// Has a chunk written.
    pub(super) fn append(&mut self, open: Open, marks: Vec<Placed>) {
        if let Some(jobs) = &self.jobs {
            // Where the thread is gone, the next chunk's memory does not come.
            let _ = jobs.send(Job { open, marks });
        }
    }

    /// Ends the trace when all is written.
    pub(super) fn finish(mut self) -> Result<(W, Written), WriteTraceError> {
        self.jobs = None;
        while let Ok(done) = self.done.recv() {
            self.keep(done)?;
        }
        match self.join() {
            Some(appender) => appender.finish(),
            None => Err(self.ended()),
        }
    }

    /// A panic of the thread goes on in this one.
    fn join(&mut self) -> Option<Appender<W>> {
        let joined = self.thread.take().map(JoinHandle::join)?;
        Some(joined.unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
    }

    /// What is said where the thread has ended by itself, other than by a panic.
    fn ended(&mut self) -> WriteTraceError {
        let source = io::Error::other("the writing thread ended by itself");
        let Written { chunks, instructions, bytes, .. } =
            self.join().map(|appender| appender.written()).unwrap_or_default();
        WriteTraceError::Append { chunks, instructions, bytes, source }
    }
}

impl<W> Drop for Behind<W> {
    fn drop(&mut self) {
        self.jobs = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn append<W: Write>(mut appender: Appender<W>, take: &Receiver<Job>, give: &Sender<Done>) -> Appender<W> {
    for job in take {
        let outcome = appender.close(&job.open, &job.marks, 0);
        // Nobody wants the memory back where the other end is dropped; what was handed over is written all the same.
        let _ = give.send((job, outcome));
    }
    appender
}
