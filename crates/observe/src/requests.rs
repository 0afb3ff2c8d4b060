//! Counts the requests that a service has served during the observation. The user gives the number,
//! or a command prints it.

use crate::error::ObserveError;

/// Source of the number of requests.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Requests {
    /// The number of requests is unknown.
    #[default]
    Unknown,
    /// The user gave the number of requests.
    Known(u64),
    /// A shell command that prints the number of requests served so far.
    Counted(String),
}

/// Number of requests that had been served before the observation.
pub(crate) struct Before {
    requests: Requests,
    before: u64,
}

impl Requests {
    pub(crate) fn begin(self, should_stop: &dyn Fn() -> bool) -> Result<Before, ObserveError> {
        let before = if let Requests::Counted(command) = &self {
            counted(command, should_stop)?
        } else {
            0
        };
        Ok(Before {
            requests: self,
            before,
        })
    }
}

impl Before {
    pub(crate) fn end(self, should_stop: &dyn Fn() -> bool) -> Result<Option<u64>, ObserveError> {
        match &self.requests {
            Requests::Unknown => Ok(None),
            Requests::Known(requests) => Ok(Some(*requests)),
            Requests::Counted(command) => {
                let (before, after) = (self.before, counted(command, should_stop)?);
                let fewer = || ObserveError::FewerRequests {
                    command: command.clone(),
                    before,
                    after,
                };
                after.checked_sub(before).ok_or_else(fewer).map(Some)
            }
        }
    }
}

fn counted(command: &str, should_stop: &dyn Fn() -> bool) -> Result<u64, ObserveError> {
    switchcost_host::counting_command::counted(command, should_stop).map_err(|found| {
        ObserveError::Requests {
            command: command.to_owned(),
            found,
        }
    })
}
