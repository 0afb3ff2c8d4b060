//! Prepares each timed batch as the user requested: flushes the caches, and pauses, as in the code
//! of Li, Ding and Shen 2007.

use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use switchcost_host::clock::monotonic;
use switchcost_host::memory::{MapType, Memory};
use switchcost_record::Rounds;
use switchcost_units::{Bytes, Nanos};
use switchcost_workload::Pages;

/// Memory that is written before each batch to flush the caches, and length of the pause between
/// the flush and the batch.
pub(crate) struct Preparation {
    memory: Option<Memory>,
    pause: Option<Duration>,
}

impl Preparation {
    /// Creates a preparation. Maps the memory that is written to flush the caches.
    pub(crate) fn new(rounds: &Rounds) -> Result<Preparation, String> {
        let map = |size: Bytes| {
            Memory::map(size, MapType::Private, Pages::Base).map_err(|error| {
                format!(
                    "cannot allocate {size} to flush the caches ({error}); use a smaller --flush"
                )
            })
        };
        let memory = rounds.flush_bytes.map(map).transpose()?;
        Ok(Preparation {
            memory,
            pause: rounds.pause_ns.map(|pause| Duration::from_nanos(pause.0)),
        })
    }

    /// Writes every word of the memory, and then sleeps. Returns the time slept, which no other
    /// task took.
    pub(crate) fn run(&self) -> Nanos {
        for word in self.memory.iter().flat_map(|memory| memory.iter()) {
            word.store(1, Relaxed);
        }
        let Some(pause) = self.pause else {
            return Nanos(0);
        };
        let start = monotonic();
        std::thread::sleep(pause);
        monotonic().saturating_sub(start)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;

    #[test]
    fn what_is_asked_for_is_written_and_waited_for() {
        let rounds = Rounds {
            flush_bytes: Some(Bytes::kib(8)),
            pause_ns: Some(Nanos::millis(3)),
            ..Rounds::default()
        };
        let preparation = Preparation::new(&rounds).expect("memory");
        let start = Instant::now();
        let slept = preparation.run();
        assert!(
            slept >= Nanos::millis(3) && slept.as_duration() <= start.elapsed(),
            "{slept}"
        );
        let memory = preparation.memory.expect("it was asked for");
        assert!(memory.len() == 1024 && memory.iter().all(|word| word.load(Relaxed) == 1));
        let nothing = Preparation::new(&Rounds::default()).expect("nothing to map");
        assert!(nothing.memory.is_none() && nothing.pause.is_none());
    }
}
