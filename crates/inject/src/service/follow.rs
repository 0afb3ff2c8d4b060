//! Follows the preemptor of a service: passes its replies on as they arrive.

use std::io;

use switchcost_host::clock::monotonic;
use switchcost_host::task::{FreshProcess, Waited};
use switchcost_record::injection::{Group, Line};
use switchcost_units::Nanos;

use super::{Reply, ServiceFault, ServiceOrder};
use crate::ask::{GLANCE, INJECTION_ARGUMENT, TIMEOUT, ended, refusal};
use crate::protocol::Request;
use crate::run::{Progress, Stop};

/// Receiver of the replies to an order, one by one.
pub trait Follower {
    /// Returns the next reply; `None` if the user stopped the measurement.
    fn next(&mut self, should_stop: &dyn Fn() -> bool) -> Option<Reply>;
}

/// End of the measurement of a service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Followed {
    /// Whether the user stopped the measurement.
    pub is_interrupted: bool,
    /// Whether the service ended.
    pub has_service_ended: bool,
}

/// Passes every group of phases to `sink` until the time is over.
///
/// # Errors
///
/// If `sink` fails, or the service cannot be preempted.
pub fn follow<E: From<ServiceFault>>(
    follower: &mut dyn Follower,
    stop: &mut dyn Stop<Group>,
    sink: &mut dyn FnMut(Line) -> Result<(), E>,
) -> Result<Followed, E> {
    let start = monotonic();
    let mut groups = Vec::new();
    let followed = |is_interrupted, has_service_ended| {
        Ok(Followed {
            is_interrupted,
            has_service_ended,
        })
    };
    loop {
        match follower.next(&|| stop.should_stop()) {
            None => return followed(true, false),
            Some(Reply::Over) => return followed(false, false),
            Some(Reply::Ended) => return followed(false, true),
            Some(Reply::Refused(why)) => return Err(ServiceFault::Refused(why).into()),
            Some(Reply::Group(group)) => {
                sink(Line::Group(*group))?;
                groups.push(*group);
                stop.progress(
                    Progress {
                        runs: groups.len(),
                        elapsed: monotonic().saturating_sub(start),
                    },
                    &groups,
                );
            }
        }
    }
}

/// The preemptor's process. The process ends when this value is dropped.
pub struct ProcessFollower {
    process: FreshProcess,
    latest: Nanos,
    text: Vec<u8>,
}

impl ProcessFollower {
    /// Starts the preemptor's process.
    ///
    /// # Errors
    ///
    /// If no process can be started.
    pub fn start(order: ServiceOrder) -> Result<ProcessFollower, ServiceFault> {
        // A group may begin shortly before the end.
        let phase = order
            .timings
            .iter()
            .map(|timing| timing.turn_ns)
            .max()
            .unwrap_or(Nanos(0));
        let latest = order.until + Nanos(phase.0 * 16) + TIMEOUT;
        let tell = || -> io::Result<FreshProcess> {
            let mut process = FreshProcess::start(&[INJECTION_ARGUMENT])?;
            process.tell(&serde_json::to_vec(&Request::Service(order))?)?;
            Ok(process)
        };
        let process = tell().map_err(|error| {
            ServiceFault::Refused(refusal("the preemptor cannot be started", &error))
        })?;
        Ok(ProcessFollower {
            process,
            latest,
            text: Vec::new(),
        })
    }

    fn line(&mut self) -> Option<Vec<u8>> {
        let end = self.text.iter().position(|byte| *byte == b'\n')?;
        Some(self.text.drain(..=end).collect())
    }

    fn read(&mut self) -> io::Result<Option<Reply>> {
        let mut buffer = [0; 4096];
        match self.process.wait_for_output(&mut buffer, GLANCE)? {
            Waited::TimedOut if monotonic() >= self.latest => {
                let hangs = "the preemptor does not answer".to_owned();
                return Ok(Some(Reply::Refused(hangs)));
            }
            Waited::TimedOut => (),
            Waited::Bytes(count) => self.text.extend_from_slice(&buffer[..count]),
            Waited::Ended => return Ok(Some(Reply::Refused(ended(self.process.exit_status()?)))),
        }
        self.line()
            .map(|line| serde_json::from_slice(&line).map_err(io::Error::from))
            .transpose()
    }
}

impl Follower for ProcessFollower {
    fn next(&mut self, should_stop: &dyn Fn() -> bool) -> Option<Reply> {
        loop {
            if should_stop() {
                return None;
            }
            if let Some(line) = self.line() {
                return Some(
                    serde_json::from_slice(&line).unwrap_or_else(|error| lost(&error.into())),
                );
            }
            match self.read() {
                Ok(None) => (),
                Ok(Some(reply)) => return Some(reply),
                Err(error) => return Some(lost(&error)),
            }
        }
    }
}

fn lost(error: &io::Error) -> Reply {
    Reply::Refused(refusal("the preemptor is lost", error))
}
