//! Converts what the user names to tasks, and detects the end of the target.

use std::collections::BTreeSet;

use switchcost_facts::Root;
use switchcost_record::observation::Subject;
use switchcost_units::Nanos;

use crate::backend::Backend;
use crate::command::Command;
use crate::end::{Next, Window};
use crate::error::ObserveError;
use crate::notice::Notice;
use crate::older::Older;
use crate::processes::Processes;
use crate::subject::{
    SubjectError, folder_of_group, id_of_group, is_there, name_of, number_of_group, process_of,
    threads_of_group,
};

/// Default duration of an observation whose target does not end by itself.
const USUAL: Nanos = Nanos::seconds(10);

/// Time between two searches for new tasks of a control group. Children of observed tasks are
/// observed anyway.
const EACH: Nanos = Nanos::millis(100);

/// The tasks to be observed.
#[derive(Debug)]
pub enum Target {
    /// A command, with all its descendants. The command is started when everything is ready.
    Command(Command),
    /// Processes and their children.
    Processes(Processes),
    /// Threads of a control group and its descendants.
    Group(Group),
    /// All tasks of the machine are observed.
    All,
}

/// A control group that is observed.
#[derive(Debug)]
pub struct Group {
    name: String,
    folder: String,
    /// Inode of the control group's folder; `None` if the group was removed.
    number: Option<u64>,
    known: BTreeSet<u32>,
    is_gone: bool,
    looked_at: Nanos,
}

impl Target {
    /// Returns the target for live processes, given by their IDs.
    ///
    /// # Errors
    ///
    /// If a process is not alive, or an ID belongs to a thread of another process.
    pub fn processes(root: &Root, numbers: Vec<u32>) -> Result<Target, SubjectError> {
        for &number in &numbers {
            match process_of(root, number) {
                Some(process) if process != number => {
                    return Err(SubjectError::Thread {
                        thread: number,
                        process,
                        name: name_of(root, process),
                    });
                }
                Some(_) if is_there(root, number) => {}
                _ => return Err(SubjectError::NoProcess(number)),
            }
        }
        Ok(Target::Processes(Processes::new(root, &numbers, &[])))
    }

    /// Returns the target for all live and future processes that have one of `names`.
    ///
    /// # Errors
    ///
    /// If no live process has one of the names.
    pub fn named(root: &Root, names: &[String]) -> Result<Target, SubjectError> {
        Processes::named(root, names).map(Target::Processes)
    }

    /// Returns the target for a control group. `name` is a full path, or a path below a folder of
    /// control groups.
    ///
    /// # Errors
    ///
    /// If there is no such control group.
    pub fn group(root: &Root, name: &str) -> Result<Target, SubjectError> {
        let folder = folder_of_group(root, name)?;
        Ok(Target::Group(Group {
            name: name.to_owned(),
            folder,
            number: None,
            known: BTreeSet::new(),
            is_gone: false,
            looked_at: Nanos(0),
        }))
    }

    /// Returns the default duration; `None` for a target that ends by itself.
    pub fn usual_duration(&self) -> Option<Nanos> {
        matches!(self, Target::Group(_) | Target::All).then_some(USUAL)
    }

    /// Begins to observe the target. A command is started.
    pub(crate) fn begin(
        &mut self,
        root: &Root,
        backend: &mut impl Backend,
    ) -> Result<(), ObserveError> {
        match self {
            Target::Command(command) => command.start(|process| backend.add(&[process]))?,
            Target::Processes(processes) => processes.begin(backend)?,
            Target::Group(group) => group.begin(root, backend)?,
            Target::All => backend.add_all(),
        }
        Ok(())
    }

    /// Returns whether there is still something to observe. New tasks of a control group are
    /// observed from this call on.
    pub(crate) fn go_on(
        &mut self,
        root: &Root,
        backend: &mut impl Backend,
        window: Window,
    ) -> Result<Next, ObserveError> {
        match self {
            Target::Command(command) => {
                Ok(command_goes_on(command, root, backend, window.is_timed))
            }
            Target::Processes(processes) => processes.go_on(root, backend, window),
            Target::Group(group) => group.look(root, backend, window.elapsed),
            Target::All => Ok(Next::GoOn),
        }
    }

    /// Returns the IDs by which the target was named or found, whether or not the tasks have
    /// switched; empty for the whole machine.
    pub(crate) fn numbers(&self) -> BTreeSet<u32> {
        match self {
            Target::Command(command) => command.process().into_iter().collect(),
            Target::Processes(processes) => processes.numbers().into_iter().collect(),
            Target::Group(group) => group.known.clone(),
            Target::All => BTreeSet::new(),
        }
    }

    /// Returns the present children of the target's processes; none for other targets.
    pub(crate) fn older_children(&self, root: &Root) -> Older {
        match self {
            Target::Processes(processes) => Older::new(root, &processes.numbers()),
            Target::Command(_) | Target::Group(_) | Target::All => Older::default(),
        }
    }

    pub(crate) fn subject(&self) -> Subject {
        match self {
            Target::Command(command) => Subject::Command(command.shown().to_vec()),
            Target::Processes(processes) => Subject::Processes(processes.numbers()),
            Target::Group(group) => Subject::ControlGroup(group.name.clone()),
            Target::All => Subject::Everything,
        }
    }
}

impl Group {
    fn begin(&mut self, root: &Root, backend: &mut impl Backend) -> Result<(), ObserveError> {
        self.looked_at = backend.now();
        self.add_itself(root, backend);
        self.known = exclude_observer(root, threads_of_group(root, &self.folder)?);
        self.add(&self.known, backend)
    }

    /// Looks for new threads of the group, and detects its removal. A group that is created again
    /// under the same name is another group.
    fn look(
        &mut self,
        root: &Root,
        backend: &mut impl Backend,
        after: Nanos,
    ) -> Result<Next, ObserveError> {
        if backend.now().0.saturating_sub(self.looked_at.0) < EACH.0 {
            return Ok(Next::GoOn);
        }
        self.looked_at = backend.now();
        let what = format!("control group {}", self.name);
        let Ok(threads) = threads_of_group(root, &self.folder) else {
            let was_gone = std::mem::replace(&mut self.is_gone, true);
            self.known.clear();
            let gone = Next::Say(Notice::Gone { what, after }, true);
            return Ok(if was_gone { Next::GoOn } else { gone });
        };
        let is_another = number_of_group(root, &self.folder) != self.number;
        if is_another {
            self.add_itself(root, backend);
        }
        let was_gone = std::mem::take(&mut self.is_gone);
        let before = std::mem::replace(&mut self.known, exclude_observer(root, threads));
        let new: BTreeSet<u32> = self.known.difference(&before).copied().collect();
        self.add(&new, backend)?;
        Ok(if is_another || was_gone {
            Next::Say(Notice::Back { what, after }, true)
        } else {
            Next::GoOn
        })
    }

    fn add_itself(&mut self, root: &Root, backend: &mut impl Backend) {
        self.number = number_of_group(root, &self.folder);
        if let Some(id) = id_of_group(root, &self.folder) {
            backend.add_group(id);
        }
    }

    fn add(&self, threads: &BTreeSet<u32>, backend: &mut impl Backend) -> Result<(), ObserveError> {
        let threads: Vec<u32> = threads.iter().copied().collect();
        if threads.is_empty() {
            Ok(())
        } else {
            backend.add_threads(&threads).map_err(ObserveError::from)
        }
    }
}

/// Removes the threads of the observer, which may be in the group that it observes.
fn exclude_observer(root: &Root, mut threads: BTreeSet<u32>) -> BTreeSet<u32> {
    let own = root.names(&format!("/proc/{}/task", std::process::id()));
    let own: BTreeSet<u32> = own
        .iter()
        .filter_map(|number| number.parse().ok())
        .collect();
    threads.retain(|thread| !own.contains(thread));
    threads
}

/// Decides what happens when the command has ended but its descendants, such as a daemon, still
/// live. The descendants are observed further if the user gave a duration.
fn command_goes_on(
    command: &mut Command,
    root: &Root,
    backend: &mut impl Backend,
    is_timed: bool,
) -> Next {
    let ended = command.take_end();
    if !command.has_ended() {
        return Next::GoOn;
    }
    let rest: Vec<u32> = backend
        .processes()
        .into_iter()
        .filter(|&process| is_there(root, process))
        .collect();
    let goes_on = is_timed && !rest.is_empty();
    let Some(status) = ended else {
        return if goes_on { Next::GoOn } else { Next::End };
    };
    let words = command.shown().to_vec();
    if !status.success() {
        return Next::Say(Notice::CommandFailed { words, status }, goes_on);
    }
    if rest.is_empty() {
        return Next::End;
    }
    let processes = rest
        .into_iter()
        .map(|process| (process, name_of(root, process)))
        .collect();
    Next::Say(
        Notice::GoesOn {
            words,
            processes,
            is_observed: goes_on,
        },
        goes_on,
    )
}
