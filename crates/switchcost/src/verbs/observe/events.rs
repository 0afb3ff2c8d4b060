//! Writes each switch and wake-up of the observed tasks as a Perfetto trace, during the
//! observation.

use std::io::{self, Write};

use switchcost_analysis::observation::DirectCosts;
use switchcost_export::{Clocks, Perfetto};
use switchcost_host::clock;
use switchcost_record::observation::Event;
use switchcost_units::Nanos;
use time::OffsetDateTime;

use crate::exit::Outcome;
use crate::output::Output;

/// A Perfetto trace that is being written.
pub(super) struct Events<'a> {
    /// Writer of the trace, or the error with which writing failed. The observation continues after
    /// an error, because its data are worth more than the trace.
    trace: io::Result<Perfetto<&'a mut dyn Write>>,
    taken: Vec<Event>,
}

/// Runs an observation, and writes a trace of its events. Returns the observation with the outcome
/// of the trace, so that a failed trace does not lose the observation.
pub(super) fn written<T>(
    output: Output,
    costs: Option<DirectCosts>,
    observe: impl FnOnce(&mut Events<'_>) -> Outcome<T>,
) -> Outcome<(T, Outcome)> {
    let mut observation = None;
    let outcome = output.write_by(|into| {
        let mut events = Events {
            trace: Perfetto::begin(into, now(), costs),
            taken: Vec::new(),
        };
        match observe(&mut events) {
            Err(failure) => Ok(Err(failure)),
            Ok(observed) => {
                observation = Some(observed);
                events.end().map(Ok)
            }
        }
    });
    match (observation, outcome) {
        (Some(observation), outcome) => Ok((observation, outcome.map(drop))),
        (None, Err(failure)) => Err(failure),
        (None, Ok(_)) => unreachable!("nothing else ends without an observation"),
    }
}

impl Events<'_> {
    /// Buffers an event. Events of the same CPU are in order.
    pub(super) fn take(&mut self, event: Event) {
        self.taken.push(event);
    }

    /// Writes the events buffered since the last call.
    pub(super) fn write(&mut self) {
        if let Ok(trace) = &mut self.trace
            && let Err(error) = trace.add(&self.taken)
        {
            self.trace = Err(error);
        }
        self.taken.clear();
    }

    fn end(mut self) -> io::Result<()> {
        self.write();
        self.trace?.end(now())?.flush()
    }
}

fn now() -> Clocks {
    let real = OffsetDateTime::now_utc().unix_timestamp_nanos();
    Clocks {
        monotonic: clock::monotonic(),
        boot: clock::boot_time(),
        real: Nanos(u64::try_from(real).unwrap_or_default()),
    }
}
