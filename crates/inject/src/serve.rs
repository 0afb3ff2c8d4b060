//! Main function of the process that carries out one run.

use std::io::{self, Read, Write};

use switchcost_host::namespace_init::run_in_pid_namespace;

use crate::ask::{ended, refusal};
use crate::protocol::{Answer, Order, Request};
use crate::service::preempt;
use crate::stage::perform;

/// Reads a request, carries it out (one run, or the preemption of a service), and writes the
/// answer.
///
/// # Errors
///
/// If the request is invalid, or the answer cannot be written.
pub fn serve(mut input: impl Read, mut output: impl Write) -> io::Result<()> {
    let mut text = Vec::new();
    input.read_to_end(&mut text)?;
    match serde_json::from_slice(&text)? {
        Request::Twins(order) => run_twins(&order, output),
        Request::Service(order) => preempt(&order, &mut output),
    }
}

fn run_twins(order: &Order, mut output: impl Write) -> io::Result<()> {
    let performed = run_in_pid_namespace(|| {
        let answer = perform(order)
            .unwrap_or_else(|error| Answer::Refused(refusal("the run broke off", &error)));
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
        "cannot create a PID namespace, which ends all processes of a run: {error}; run it as root, or allow it: sudo \
         sysctl kernel.unprivileged_userns_clone=1, in a container docker run --cap-add SYS_ADMIN --security-opt \
         systempaths=unconfined"
    )
}
