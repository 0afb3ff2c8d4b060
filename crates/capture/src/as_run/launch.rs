//! Starts the commands of an as-run capture, and handles reports on their ends.

use std::process::ExitStatus;
use std::time::{Duration, Instant};

use switchcost_host::supervisor::Report;

use super::{AsRun, Halt, Launch};
use crate::control::LONGEST_START;
use crate::decode::Take;
use crate::error::CaptureError;

impl<T: Take<Error: std::error::Error + 'static>> AsRun<'_, '_, T> {
    /// Starts the next command. Commands are started one after the other, so that the order of
    /// their process IDs is that of the commands.
    pub(super) fn launch_next(&mut self) -> Result<(), Halt<T::Error>> {
        let Some(command) = self.commands.get(self.launched as usize).cloned() else {
            return Ok(());
        };
        if self.launch.is_none() {
            self.programs.launch(self.launched)?;
            self.launch = Some(Launch {
                process: None,
                since: Instant::now(),
            });
        }
        let ended = self.read_reports()?;
        let Some(Launch { process, since }) = self.launch else {
            return Ok(());
        };
        if process.is_some_and(|pid| self.monitor.has_started(pid)) {
            self.launched += 1;
            self.launch = None;
        } else if let Some(status) = ended {
            return Err(CaptureError::NotStarted { command, status }.into());
        } else if since.elapsed() > LONGEST_START {
            return Err(CaptureError::SlowStart { command }.into());
        }
        Ok(())
    }

    /// Reads the supervisor's reports. Returns the exit status of the command that is being
    /// started; `None` if it has not ended.
    pub(super) fn read_reports(&mut self) -> Result<Option<ExitStatus>, Halt<T::Error>> {
        while let Some(report) = self.programs.report(Duration::ZERO)? {
            match report {
                Report::Launched { pid, .. } => {
                    if let Some(launch) = &mut self.launch {
                        launch.process = Some(pid as u32);
                    }
                }
                Report::Refused { error, .. } => {
                    return Err(std::io::Error::from_raw_os_error(error).into());
                }
                Report::Ended { .. } => {}
            }
        }
        Ok(self
            .launch
            .as_ref()
            .and_then(|_| self.programs.status(self.launched)))
    }
}
