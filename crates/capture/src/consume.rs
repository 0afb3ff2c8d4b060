//! The consumer's side of the shared memory in scheduled captures: reads the buffers that tasks
//! have written, in their order.

use std::convert::Infallible;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use crate::decode::{Decoder, Take};
use crate::end_flags::EndFlags;
use crate::error::{CaptureError, Failure};
use crate::ring::Ring;

/// Longest sleep of the consumer if nothing wakes it.
const TIMEOUT: Duration = Duration::from_millis(50);
/// Number of short sleeps before the consumer asks to be woken. Waking the consumer costs the
/// traced program time, and a buffer is filled in about one short sleep.
const NAPS: u32 = 3;
const NAP: Duration = Duration::from_micros(300);

/// Receiver of the buffers.
pub(crate) trait Read {
    type Error: std::error::Error + 'static;

    /// Reads buffer number `order`. Buffers come in order.
    fn buffer(&mut self, order: u64, words: &[AtomicU64]) -> Result<(), Failure<Self::Error>>;

    /// Does other work while there is no buffer to read. Returns whether there was any.
    fn use_time(&mut self) -> bool;
}

impl<T: Take<Error: std::error::Error + 'static>> Read for Decoder<'_, T> {
    type Error = T::Error;

    fn buffer(&mut self, order: u64, words: &[AtomicU64]) -> Result<(), Failure<T::Error>> {
        Ok(Decoder::buffer(self, order, words)?)
    }

    fn use_time(&mut self) -> bool {
        Decoder::use_time(self)
    }
}

/// Receiver that only counts: the number of words in the buffers so far.
pub(crate) struct Written(pub(crate) u64);

impl Read for Written {
    type Error = Infallible;

    fn buffer(&mut self, _order: u64, words: &[AtomicU64]) -> Result<(), Failure<Infallible>> {
        self.0 += words.len() as u64;
        Ok(())
    }

    fn use_time(&mut self) -> bool {
        false
    }
}

/// Passes buffers to the reader in order, until the controller has finished and all buffers are
/// read.
fn consume<R: Read>(
    ring: &Ring,
    end_flags: &EndFlags,
    reader: &mut R,
) -> Result<(), Failure<R::Error>> {
    for order in 0.. {
        let Some((index, words)) = await_submitted(ring, end_flags, order, reader)? else {
            break;
        };
        reader.buffer(order, words)?;
        ring.free(index)?;
    }
    Ok(())
}

/// Runs `controller` on a thread of its own and, on the calling thread, the reader of the buffers.
/// Returns the result of the controller.
pub(crate) fn consume_beside<R: Read, O: Send>(
    ring: &Ring,
    end_flags: &EndFlags,
    reader: &mut R,
    controller: impl FnOnce() -> O + Send,
) -> Result<O, Failure<R::Error>> {
    std::thread::scope(|scope| {
        let controller = std::thread::Builder::new().spawn_scoped(scope, controller)?;
        let finish = AbortOnDrop(end_flags);
        let consumed = consume(ring, end_flags, reader);
        drop(finish);
        let outcome = controller
            .join()
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        consumed.map(|()| outcome)
    })
}

/// Guard that ends the capture if the calling thread leaves early, by an error or a panic.
struct AbortOnDrop<'a>(&'a EndFlags);

impl Drop for AbortOnDrop<'_> {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Waits until buffer number `order` is submitted, and returns its index and words; `None` if there
/// will be no such buffer.
fn await_submitted<'a>(
    ring: &'a Ring,
    end_flags: &EndFlags,
    order: u64,
    reader: &mut impl Read,
) -> Result<Option<(usize, &'a [AtomicU64])>, CaptureError> {
    let mut naps = 0;
    loop {
        let submissions = ring.submissions();
        // If the end was reported before this check, no buffer can follow those found now.
        let is_last_look = end_flags.is_finished();
        let found = ring.submitted(order);
        if found.is_some() || is_last_look {
            return Ok(found);
        }
        if reader.use_time() {
            continue;
        }
        if naps < NAPS {
            naps += 1;
            std::thread::sleep(NAP);
        } else {
            ring.await_submission(submissions, TIMEOUT)?;
        }
    }
}
