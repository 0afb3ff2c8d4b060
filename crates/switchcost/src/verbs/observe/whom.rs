//! Who is observed, from the flags to the processes, and when it is over.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use observation::Subject;
use observe::{Observer, folder_of_group, processes_of};
use units::Nanos;

use super::command::Command;
use crate::cli::observe::ObserveArguments;
use crate::exit::Failure;

/// Those that never end by themselves are observed for so long.
const USUAL: Nanos = Nanos::seconds(10);

/// From one look at who has come to a control group to the next. Children of the observed are observed anyway.
const EACH: Duration = Duration::from_millis(100);

pub(super) enum Whom {
    Command(Command),
    Processes(Vec<u32>),
    Group { name: String, folder: PathBuf, known: BTreeSet<u32>, looked_at: Instant },
    Everybody,
}

impl Whom {
    pub(super) fn find(arguments: &ObserveArguments) -> Result<Whom, Failure> {
        if !arguments.command.is_empty() {
            return Ok(Whom::Command(Command::new(arguments.command.clone(), arguments.live)));
        }
        if let Some(name) = &arguments.cgroup {
            let folder = folder_of_group(name).map_err(Failure::Subject)?;
            return Ok(Whom::Group { name: name.clone(), folder, known: BTreeSet::new(), looked_at: Instant::now() });
        }
        match arguments.pid.iter().find(|&&process| !is_there(process)) {
            Some(&process) => Err(Failure::NoSuchProcess(process)),
            None if arguments.pid.is_empty() => Ok(Whom::Everybody),
            None => Ok(Whom::Processes(arguments.pid.clone())),
        }
    }

    pub(super) fn usual_duration(&self) -> Option<Nanos> {
        matches!(self, Whom::Group { .. } | Whom::Everybody).then_some(USUAL)
    }

    /// Begins: a command is started, the others are there.
    pub(super) fn begin(&mut self, observer: &mut Observer) -> Result<(), Failure> {
        match self {
            Whom::Command(command) => return command.start(observer),
            Whom::Processes(processes) => observer.add(processes.iter().copied()),
            Whom::Group { folder, known, .. } => {
                *known = processes_of(folder).map_err(Failure::Subject)?;
                observer.add(known.iter().copied())
            }
            Whom::Everybody => {
                observer.add_all();
                Ok(())
            }
        }
        .map_err(Failure::Observe)
    }

    /// Whether there is still something to observe; who has come to a control group meanwhile is observed from here on.
    pub(super) fn go_on(&mut self, observer: &mut Observer) -> Result<bool, Failure> {
        match self {
            Whom::Command(command) => command.is_running(),
            Whom::Processes(processes) => Ok(processes.iter().any(|&process| is_there(process))),
            // One that is removed has no processes any more, and what was counted of them is there.
            Whom::Group { looked_at, .. } if looked_at.elapsed() < EACH => Ok(true),
            Whom::Group { folder, known, looked_at, .. } => {
                *looked_at = Instant::now();
                let Ok(processes) = processes_of(folder) else { return Ok(false) };
                let before = std::mem::replace(known, processes);
                observer.add(known.difference(&before).copied()).map(|()| true).map_err(Failure::Observe)
            }
            Whom::Everybody => Ok(true),
        }
    }

    pub(super) fn subject(&self) -> Subject {
        match self {
            Whom::Command(command) => Subject::Command(command.words()),
            Whom::Processes(processes) => Subject::Processes(processes.clone()),
            Whom::Group { name, .. } => Subject::ControlGroup(name.clone()),
            Whom::Everybody => Subject::Everything,
        }
    }

    /// The processes whose control groups may be limited.
    pub(super) fn processes(&self) -> Vec<u32> {
        match self {
            Whom::Command(command) => command.process().into_iter().collect(),
            Whom::Processes(processes) => processes.clone(),
            Whom::Group { folder, .. } => processes_of(folder).unwrap_or_default().into_iter().collect(),
            Whom::Everybody => Vec::new(),
        }
    }
}

/// Whether a process is there. One that has ended and that nobody has waited for yet is not.
fn is_there(process: u32) -> bool {
    let stat = std::fs::read_to_string(Path::new("/proc").join(process.to_string()).join("stat")).unwrap_or_default();
    // Behind the name, which may hold anything, the last parenthesis.
    stat.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with(['Z', 'X']))
}
