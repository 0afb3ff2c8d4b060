//! Passes an observation in progress to its views: the record, the terminal, network clients, and a
//! trace of events.

use std::collections::BTreeSet;

use switchcost_observe::{Listener, NoBpf, Notice};
use switchcost_record::observation::{Event, Observation};

use super::endpoint::{Address, Endpoint};
use super::events::Events;
use super::kept::Kept;
use super::known::Seen;
use super::lines::Lines;
use super::live::Live;
use super::matching::Matching;
use crate::cli::observe::ObserveArguments;
use crate::exit::{Exit, Failure, Outcome};
use crate::messages::say;
use crate::signals::Interrupt;

pub(super) struct Views<'a, 'b> {
    announcement: String,
    interrupt: &'a Interrupt,
    kept: &'a mut Kept,
    live: Option<Live>,
    lines: Option<Lines>,
    address: Option<Address>,
    endpoint: Option<Endpoint>,
    events: Option<&'a mut Events<'b>>,
    /// Programs of the observed processes, as far as identified.
    pub(super) seen: Seen,
    matching: Matching,
    /// Exit code of a failed command, or of an observation whose target has ended; `None` if
    /// neither happened.
    pub(super) failed: Option<Exit>,
}

impl<'a, 'b> Views<'a, 'b> {
    pub(super) fn open(
        arguments: &ObserveArguments,
        announcement: String,
        interrupt: &'a Interrupt,
        kept: &'a mut Kept,
        events: Option<&'a mut Events<'b>>,
    ) -> Outcome<Views<'a, 'b>> {
        let matching = Matching::default();
        let live = arguments.live.then(|| Live::start(matching.clone()));
        let live = live.transpose()?;
        let address = arguments.listen.map(Address::claim).transpose()?;
        Ok(Views {
            announcement,
            interrupt,
            kept,
            live,
            lines: arguments
                .every
                .map(|every| Lines::new(every, matching.clone())),
            address,
            endpoint: None,
            events,
            seen: Seen::default(),
            matching,
            failed: None,
        })
    }
}

impl Views<'_, '_> {
    /// Passes the final observation to the views that need it.
    pub(super) fn end(&mut self, observation: &Observation) -> Outcome {
        self.lines
            .as_mut()
            .map_or(Ok(()), |lines| lines.end(observation))
    }
}

impl Listener for Views<'_, '_> {
    type Error = Failure;

    fn should_stop(&self) -> bool {
        self.interrupt.is_raised()
            || self.live.as_ref().is_some_and(Live::is_left)
            || self.lines.as_ref().is_some_and(Lines::is_left)
    }

    /// Announces the start of the observation, unless there is a live screen, and starts the
    /// endpoint.
    fn began(&mut self) -> Outcome {
        if self.live.is_none() {
            say!("{}", self.announcement);
        }
        self.endpoint = self
            .address
            .take()
            .map(|address| Endpoint::serve(address, self.matching.clone()))
            .transpose()?;
        Ok(())
    }

    fn take(&mut self, event: Event) {
        if let Some(events) = &mut self.events {
            events.take(event);
        }
    }

    fn look(&mut self, so_far: &mut dyn FnMut() -> Result<Observation, NoBpf>) -> Outcome {
        if let Some(events) = &mut self.events {
            events.write();
        }
        self.kept.look(&mut || so_far().map(remove_calls));
        let matching = &self.matching;
        let so_far = &mut || so_far().map(|observation| matching.take_calls(observation));
        if let Some(endpoint) = &mut self.endpoint {
            endpoint.look(so_far);
        }
        if let Some(lines) = &mut self.lines {
            lines.look(so_far)?;
        }
        self.live.as_mut().map_or(Ok(()), |live| live.tick(so_far))
    }

    fn identify(&mut self, processes: impl FnOnce() -> BTreeSet<u32>) {
        self.seen.look(processes);
    }

    fn notice(&mut self, notice: Notice) {
        match &notice {
            Notice::CommandFailed { status, .. } => self.failed = Exit::command_failure(*status),
            Notice::Ended { .. } | Notice::Gone { .. } => self.failed = Some(Exit::Partial),
            Notice::Back { .. } => self.failed = None,
            _ => {}
        }
        say!("{notice}");
    }
}

/// Returns an observation for a record in progress, which has no calls, because writing them would
/// take too long.
fn remove_calls(observation: Observation) -> Observation {
    let why = "an unfinished record has no system calls".to_owned();
    Observation {
        calls: None,
        no_calls_because: observation.no_calls_because.or(Some(why)),
        ..observation
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use switchcost_record::observation::TracedCalls;

    use super::*;

    #[test]
    fn a_record_in_progress_says_that_its_calls_are_missing() {
        let sample = concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../record/tests/samples/observation-2.json"
        );
        let traced = Observation {
            calls: Some(TracedCalls::default()),
            ..Observation::read(Path::new(sample)).expect("a record")
        };
        let record = remove_calls(traced);
        assert_eq!(record.calls, None);
        let why = record.no_calls_because.expect("a reason");
        assert_eq!(why, "an unfinished record has no system calls");
    }
}
