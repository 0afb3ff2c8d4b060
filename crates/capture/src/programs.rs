//! Starts and ends the commands through the supervisor, and keeps their exit statuses.

use std::io;
use std::process::ExitStatus;
use std::time::{Duration, Instant};

use switchcost_host::supervisor::{Report, Supervisor, TaskFiles};

/// Longest wait for one report.
const TIMEOUT: Duration = Duration::from_millis(50);

#[derive(Debug)]
pub(crate) struct Programs {
    supervisor: Supervisor,
    statuses: Vec<Option<ExitStatus>>,
    end_with_any: bool,
}

impl Programs {
    /// Creates the list of `count` commands, none of which has been started.
    pub(crate) fn new(supervisor: Supervisor, count: usize, end_with_any: bool) -> Programs {
        Programs {
            supervisor,
            statuses: vec![None; count],
            end_with_any,
        }
    }

    /// Returns the kernel's files about the programs' tasks.
    pub(crate) fn task_files(&self) -> &TaskFiles {
        self.supervisor.task_files()
    }

    pub(crate) fn launch(&mut self, command: u32) -> io::Result<()> {
        self.supervisor.launch(command)
    }

    /// Returns the next report; `None` if none comes within `timeout`. An exit status in the report
    /// is stored.
    pub(crate) fn report(&mut self, timeout: Duration) -> io::Result<Option<Report>> {
        let report = self.supervisor.report(timeout)?;
        if let Some(Report::Ended { program, status }) = report
            && let Some(place) = self.statuses.get_mut(program as usize)
        {
            *place = Some(status);
        }
        Ok(report)
    }

    /// Returns the exit status of a command; `None` while the command runs.
    pub(crate) fn status(&self, command: u32) -> Option<ExitStatus> {
        self.statuses.get(command as usize).copied().flatten()
    }

    /// Returns whether all commands must end because one of them has ended.
    pub(crate) fn are_to_end(&self) -> bool {
        self.end_with_any && self.statuses.iter().any(Option::is_some)
    }

    /// Waits briefly for a report. Returns false if every command has ended or `deadline` has
    /// passed.
    pub(crate) fn is_any_awaited(&mut self, deadline: Instant) -> io::Result<bool> {
        if self.statuses.iter().all(Option::is_some) || Instant::now() >= deadline {
            return Ok(false);
        }
        self.report(TIMEOUT).map(|_| true)
    }

    /// Kills all remaining processes of the commands.
    pub(crate) fn dismiss(&mut self) {
        self.supervisor.dismiss();
    }

    /// Returns the exit status of each command; `None` for a command that was ended with the
    /// capture.
    pub(crate) fn into_statuses(self) -> Vec<Option<ExitStatus>> {
        self.statuses
    }
}
