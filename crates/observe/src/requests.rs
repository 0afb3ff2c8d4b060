//! How many requests were served meanwhile: as the user says, or as a command counts them.

use crate::error::ObserveError;

/// Where the number of requests comes from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Requests {
    /// From nowhere.
    #[default]
    Unknown,
    /// It is known.
    Known(u64),
    /// A shell command prints how many were served so far.
    Counted(String),
}

/// The number before the observation.
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
