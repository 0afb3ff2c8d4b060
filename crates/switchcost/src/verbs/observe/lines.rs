//! Writes a line of JSON to stdout for each reporting period (`--every`), for machines without a
//! monitoring server.

use std::io::{self, ErrorKind, Write};
use std::time::{Duration, Instant};

use switchcost_observe::{NoBpf, ObserveError};
use switchcost_record::observation::Observation;
use switchcost_report::observe::render_interval;
use switchcost_units::Nanos;
use time::OffsetDateTime;

use super::matching::Matching;
use crate::exit::{Failure, Outcome};
use crate::runs::stamp;

pub(super) struct Lines {
    every: Duration,
    /// End of the current reporting period; `None` before the first period.
    due_at: Option<Instant>,
    before: Option<Observation>,
    matching: Matching,
    /// Whether no more lines can be written: the reader has closed the output, or a write failed.
    is_left: bool,
    /// Why a write failed; `None` if none did.
    failure: Option<Failure>,
}

impl Lines {
    pub(super) fn new(every: Nanos, matching: Matching) -> Lines {
        Lines {
            every: every.as_duration(),
            due_at: None,
            before: None,
            matching,
            is_left: false,
            failure: None,
        }
    }

    pub(super) fn is_left(&self) -> bool {
        self.is_left
    }

    /// Writes a line, if a reporting period has ended.
    pub(super) fn look(
        &mut self,
        so_far: &mut dyn FnMut() -> Result<Observation, NoBpf>,
    ) -> Outcome {
        let now = Instant::now();
        let due_at = *self.due_at.get_or_insert(now + self.every);
        if now < due_at {
            return Ok(());
        }
        // Periods that were missed are skipped: the next line covers them.
        let missed = (now - due_at).as_nanos() / self.every.as_nanos();
        self.due_at = Some(due_at + self.every * (missed as u32 + 1));
        let observation = so_far().map_err(ObserveError::from)?;
        self.write(&observation);
        self.before = Some(observation);
        Ok(())
    }

    /// Writes a line for the last reporting period, which may be shorter than the others.
    ///
    /// # Errors
    ///
    /// If this line or an earlier one could not be written.
    pub(super) fn end(&mut self, observation: &Observation) -> Outcome {
        if !self.is_left {
            self.write(observation);
        }
        self.failure.take().map_or(Ok(()), Err)
    }

    fn write(&mut self, observation: &Observation) {
        let interval = match &self.before {
            Some(before) => observation.since(before),
            None => observation.clone(),
        };
        let now = OffsetDateTime::now_utc();
        let at = stamp(now.truncate_to_millisecond());
        let line = render_interval(&interval, &self.matching.analyse(&interval), &at);
        let mut stdout = io::stdout().lock();
        if let Err(error) = stdout
            .write_all(line.as_bytes())
            .and_then(|()| stdout.flush())
        {
            // The observation ends, and its record is written.
            self.is_left = true;
            self.failure = (error.kind() != ErrorKind::BrokenPipe).then(|| Failure::print(error));
        }
    }
}
