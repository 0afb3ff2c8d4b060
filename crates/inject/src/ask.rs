//! Starts the process that carries out one run, and exchanges messages with it.

use std::io;
use std::process::ExitStatus;

use switchcost_facts::limits::ending;
use switchcost_host::clock::monotonic;
use switchcost_host::pause::{Pause, PauseDetector};
use switchcost_host::task::{FreshProcess, Waited};
use switchcost_remedies::start_remedy;
use switchcost_units::Nanos;

use crate::protocol::{Answer, Order, Request};
use crate::run::Executor;

/// First argument with which this program serves one run.
pub const INJECTION_ARGUMENT: &str = "serve-one-injection";

/// Time between two calls of `should_stop` during a run.
pub(crate) const GLANCE: Nanos = Nanos::millis(50);

/// Time beyond the end of a run after which its process counts as hung.
pub(crate) const TIMEOUT: Nanos = Nanos::seconds(5);

/// Describes a refusal of the operating system, with a remedy.
pub(crate) fn refusal(what: &str, error: &io::Error) -> String {
    let remedy = start_remedy(error, "check that this program can be started again");
    format!("{what}: {error}; {remedy}")
}

/// Executor that carries out each run in a new process.
#[derive(Clone, Copy, Debug, Default)]
pub struct ProcessExecutor {
    pause: Pause,
}

impl Executor for ProcessExecutor {
    fn run(&mut self, order: &Order, should_stop: &dyn Fn() -> bool) -> Option<Answer> {
        ask(order, should_stop, &mut self.pause).unwrap_or_else(|error| {
            Some(Answer::Refused(refusal(
                "the run cannot be started",
                &error,
            )))
        })
    }

    fn pause(&self) -> Pause {
        self.pause
    }
}

/// Sends the order to a new process, and returns the answer; `None` if the run was stopped. Adds
/// the time for which the run was paused to `paused`.
fn ask(
    order: &Order,
    should_stop: &dyn Fn() -> bool,
    paused: &mut Pause,
) -> io::Result<Option<Answer>> {
    let mut process = FreshProcess::start(&[INJECTION_ARGUMENT])?;
    process.tell(&serde_json::to_vec(&Request::Twins(Box::new(
        order.clone(),
    )))?)?;
    let mut text = Vec::new();
    let mut buffer = [0; 4096];
    let mut pauses = PauseDetector::start();
    loop {
        if should_stop() {
            return Ok(None);
        }
        if monotonic() >= order.latest + TIMEOUT {
            return Ok(Some(Answer::TooLong));
        }
        let (waited, pause) =
            pauses.detect(GLANCE, || process.wait_for_output(&mut buffer, GLANCE));
        *paused += pause;
        match waited? {
            Waited::TimedOut => (),
            Waited::Bytes(count) => text.extend_from_slice(&buffer[..count]),
            Waited::Ended if text.is_empty() => {
                return Ok(Some(Answer::Refused(ended(process.exit_status()?))));
            }
            Waited::Ended => {
                // When the process has ended, so have all processes that the twins have started.
                process.exit_status()?;
                return Ok(Some(serde_json::from_slice(&text)?));
            }
        }
    }
}

pub(crate) fn ended(status: ExitStatus) -> String {
    format!(
        "the process of a run ended early ({}); run it again, as root if it was not",
        ending(status)
    )
}
