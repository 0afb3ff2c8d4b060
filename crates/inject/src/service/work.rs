//! Counters of a service's work.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

use switchcost_host::control::pin;
use switchcost_host::counting_command::counted;
use switchcost_host::perf::CallCounter;
use switchcost_units::CpuId;

use super::{ServiceFault, Work};
use crate::ask::refusal;

/// Time between two calls of `should_stop`.
const GLANCE: Duration = Duration::from_millis(50);

/// A counter of the work that the service has done so far.
pub(crate) enum Counter {
    Calls(CallCounter),
    Command {
        ask: Sender<()>,
        reply: Receiver<Result<u64, String>>,
        stop: Arc<AtomicBool>,
        command: String,
    },
}

impl Counter {
    /// Starts to count the work of a thread. A command that counts runs in a separate thread on
    /// `cpus`, whatever CPU and policy the caller gets later.
    pub(crate) fn start(work: &Work, thread: u32, cpus: &[CpuId]) -> Result<Counter, ServiceFault> {
        match work {
            Work::Called(called) => Ok(Counter::Calls(CallCounter::open(called, thread)?)),
            Work::Command(command) => {
                let (ask, asked) = channel();
                let (tell, reply) = channel();
                let (words, cpus) = (command.clone(), cpus.to_vec());
                let stop = Arc::new(AtomicBool::new(false));
                let is_stopped = Arc::clone(&stop);
                let serve = move || {
                    // Only if there are other CPUs.
                    let _pin = pin(&cpus);
                    asked
                        .iter()
                        .map_while(|()| {
                            tell.send(counted(&words, &|| is_stopped.load(SeqCst))).ok()
                        })
                        .for_each(drop);
                };
                let spawned = std::thread::Builder::new().spawn(serve);
                spawned.map_err(|error| {
                    ServiceFault::Refused(refusal("no thread can be started", &error))
                })?;
                Ok(Counter::Command {
                    ask,
                    reply,
                    stop,
                    command: command.clone(),
                })
            }
        }
    }

    pub(crate) fn read(&mut self, should_stop: &dyn Fn() -> bool) -> Result<u64, ServiceFault> {
        match self {
            Counter::Calls(counter) => counter
                .read()
                .map_err(|error| ServiceFault::Refused(gone(&error))),
            Counter::Command {
                ask,
                reply,
                stop,
                command,
            } => {
                let _ = ask.send(());
                let reply = loop {
                    match reply.recv_timeout(GLANCE) {
                        Ok(reply) => break reply,
                        Err(RecvTimeoutError::Timeout) => stop.store(should_stop(), SeqCst),
                        Err(_) => break Err("no thread that runs it".to_owned()),
                    }
                };
                reply.map_err(|found| ServiceFault::Command {
                    command: command.clone(),
                    found,
                })
            }
        }
    }
}

fn gone(error: &io::Error) -> String {
    refusal("calls cannot be counted", error)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_asked_again_and_again() {
        let folder = tempfile::tempdir().expect("a folder");
        let count = folder.path().join("count").display().to_string();
        let command = format!("echo x >> {count}; wc -l < {count}");
        let mut counter = Counter::start(&Work::Command(command), 1, &[]).expect("a thread");
        assert_eq!(
            [0; 3].map(|_| counter.read(&|| false).expect("a number")),
            [1, 2, 3]
        );
        let mut counter =
            Counter::start(&Work::Command("echo \u{1b}".to_owned()), 1, &[]).expect("a thread");
        let why = counter.read(&|| false).expect_err("no number").to_string();
        assert!(
            why.starts_with(
                "the command 'echo \\u{1b}' of --work does not print a number (it printed '\\u{1b}')"
            ),
            "{why}"
        );
    }
}
