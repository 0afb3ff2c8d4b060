//! The process of one run, from both of its ends.

use std::io::{self, Read, Write};
use std::process::ExitStatus;

use switchcost_facts::limits::ending;
use switchcost_host::clock::monotonic;
use switchcost_host::secluded::in_pid_namespace;
use switchcost_host::task::{Servant, Waited};
use switchcost_units::Nanos;

use crate::protocol::{Answer, Order, Request};
use crate::run::Executor;
use crate::service::preempt;
use crate::stage::perform;

/// First argument of the program in the process of one run.
pub const SERVANT_ARGUMENT: &str = "serve-one-injection";

/// So soon it is seen that the user wants to stop.
pub(crate) const GLANCE: Nanos = Nanos::millis(50);

/// A run that is over its time by so much hangs.
pub(crate) const PATIENCE: Nanos = Nanos::seconds(5);

/// Serves one run, or preempts a service: reads what is asked for, does it, answers.
///
/// # Errors
/// Where the answer is not taken, or the order is none.
pub fn serve(mut input: impl Read, mut output: impl Write) -> io::Result<()> {
    let mut text = Vec::new();
    input.read_to_end(&mut text)?;
    match serde_json::from_slice(&text)? {
        Request::Twins(order) => run_twins(&order, output),
        Request::Service(order) => preempt(&order, &mut output),
    }
}

fn run_twins(order: &Order, mut output: impl Write) -> io::Result<()> {
    let performed = in_pid_namespace(|| {
        let answer = perform(order).unwrap_or_else(|error| Answer::Refused(error.to_string()));
        say(&mut io::stdout(), &answer)
    });
    match performed {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => say(&mut output, &Answer::Refused(ended(status))),
        Err(error) => say(&mut output, &Answer::Refused(refused(&error))),
    }
}

fn say(to: &mut impl Write, answer: &Answer) -> io::Result<()> {
    let mut line = serde_json::to_vec(answer)?;
    line.push(b'\n');
    to.write_all(&line)?;
    to.flush()
}

fn refused(error: &io::Error) -> String {
    format!(
        "found {error}, need a PID namespace, whose end is the end of everything in it; run it as root, or allow it: sudo sysctl \
         kernel.unprivileged_userns_clone=1; in a container docker run --cap-add SYS_ADMIN --security-opt systempaths=unconfined"
    )
}

pub(crate) fn ended(status: ExitStatus) -> String {
    format!("found the process of a run ended early ({}), need it to run to its end", ending(status))
}

/// Runs each run in a fresh process.
#[derive(Clone, Copy, Debug, Default)]
pub struct ServantExecutor;

impl Executor for ServantExecutor {
    fn run(&mut self, order: &Order, should_stop: &dyn Fn() -> bool) -> Option<Answer> {
        ask(order, should_stop).unwrap_or_else(|error| Some(Answer::Refused(format!("found no run ({error})"))))
    }
}

/// None where it was stopped.
fn ask(order: &Order, should_stop: &dyn Fn() -> bool) -> io::Result<Option<Answer>> {
    let mut servant = Servant::start(&[SERVANT_ARGUMENT])?;
    servant.tell(&serde_json::to_vec(&Request::Twins(Box::new(order.clone())))?)?;
    let mut text = Vec::new();
    let mut buffer = [0; 4096];
    loop {
        if should_stop() {
            return Ok(None);
        }
        if monotonic() >= order.latest + PATIENCE {
            return Ok(Some(Answer::TooLong));
        }
        match servant.wait_for_output(&mut buffer, GLANCE)? {
            Waited::TimedOut => (),
            Waited::Bytes(count) => text.extend_from_slice(&buffer[..count]),
            Waited::Ended if text.is_empty() => return Ok(Some(Answer::Refused(ended(servant.exit_status()?)))),
            Waited::Ended => {
                // All that the twins have started is gone with it.
                servant.exit_status()?;
                return Ok(Some(serde_json::from_slice(&text)?));
            }
        }
    }
}
