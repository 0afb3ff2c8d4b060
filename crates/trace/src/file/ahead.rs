//! Decodes on a separate thread, a few chunks ahead of the reader.

use std::io::Read;
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::thread::{self, JoinHandle};

use super::error::ReadTraceError;
use super::header::TraceHeader;
use super::reader::TraceReader;
use crate::Chunk;

/// Maximum number of decoded chunks that wait to be taken, one of them for slack.
const WAITING: usize = 2;

/// Niceness of the decoder relative to the thread that takes its chunks. With simulations on all
/// CPUs, the decoder then runs on a CPU that waits, and does not delay a thread that others wait
/// for. Two designs on two CPUs take 6 % less time.
const NICENESS: i32 = 10;

type Outcome = Result<(Chunk, bool), ReadTraceError>;

/// A [`TraceReader`] on a separate thread. The thread ends with the trace, or soon after this value
/// is dropped.
pub struct ReadAhead {
    header: TraceHeader,
    chunks: Option<Receiver<Outcome>>,
    used: Sender<Chunk>,
    thread: Option<JoinHandle<()>>,
}

/// Starts a thread that decodes a trace.
pub fn read_ahead<R: Read + Send + 'static>(
    reader: TraceReader<R>,
) -> Result<ReadAhead, ReadTraceError> {
    let header = reader.header().clone();
    let (give, chunks) = sync_channel(WAITING);
    let (used, take_back) = channel();
    let thread = thread::Builder::new()
        .name("trace-decoder".to_owned())
        .spawn(move || decode(reader, &give, &take_back))
        .map_err(ReadTraceError::Resources)?;
    Ok(ReadAhead {
        header,
        chunks: Some(chunks),
        used,
        thread: Some(thread),
    })
}

fn decode<R: Read>(
    mut reader: TraceReader<R>,
    give: &SyncSender<Outcome>,
    take_back: &Receiver<Chunk>,
) {
    // The priority concerns this thread only. Without it the chunks are the same.
    let _ = rustix::process::nice(NICENESS);
    loop {
        let mut chunk = take_back.try_recv().unwrap_or_default();
        let outcome = reader
            .next_into(&mut chunk)
            .map(|is_there| (chunk, is_there));
        let is_last = !matches!(outcome, Ok((_, true)));
        if give.send(outcome).is_err() || is_last {
            return;
        }
    }
}

impl ReadAhead {
    /// Returns the header of the trace.
    pub fn header(&self) -> &TraceHeader {
        &self.header
    }

    /// Reads the next chunk as [`TraceReader::next_into`] does. The decoder reuses the memory of
    /// `chunk`.
    pub fn next_into(&mut self, chunk: &mut Chunk) -> Result<bool, ReadTraceError> {
        let outcome = match &self.chunks {
            Some(chunks) => chunks.recv(),
            None => {
                chunk.clear();
                return Ok(false);
            }
        };
        match outcome {
            Ok(Ok((next, true))) => {
                // If the decoder has already ended, it needs no memory.
                let _ = self.used.send(std::mem::replace(chunk, next));
                Ok(true)
            }
            Ok(Ok((_, false))) => self.end(chunk, Ok(false)),
            Ok(Err(error)) => self.end(chunk, Err(error)),
            Err(_) => {
                let error = std::io::Error::other("the decoding thread ended by itself");
                self.end(chunk, Err(ReadTraceError::Resources(error)))
            }
        }
    }

    fn end(
        &mut self,
        chunk: &mut Chunk,
        outcome: Result<bool, ReadTraceError>,
    ) -> Result<bool, ReadTraceError> {
        chunk.clear();
        self.chunks = None;
        outcome
    }
}

impl Drop for ReadAhead {
    fn drop(&mut self) {
        // The decoder ends when it cannot pass on its next chunk.
        self.chunks = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
