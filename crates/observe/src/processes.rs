//! Observes processes that were chosen by ID or by name, until the last one has ended. Later
//! processes of the same name are added.

use std::collections::BTreeSet;

use switchcost_facts::Root;
use switchcost_units::Nanos;

use crate::backend::Backend;
use crate::end::{Next, Window};
use crate::error::ObserveError;
use crate::kernel::NoBpf;
use crate::notice::Notice;
use crate::subject::{SubjectError, name_of, processes_named, start_of};

/// Time between two searches for processes of a name: while a process of that name is alive, and
/// while none is.
const EACH: [Nanos; 2] = [Nanos::seconds(1), Nanos::millis(100)];

/// Observed processes, and their children.
#[derive(Debug)]
pub struct Processes {
    /// Names whose processes are observed whenever they start; empty for processes given by ID.
    names: Vec<String>,
    observed: Vec<Process>,
    /// Whether all processes have ended, and later processes are awaited.
    are_gone: bool,
    looked_at: Nanos,
}

/// A process, identified by its ID and its start time, because IDs are reused.
#[derive(Debug)]
struct Process {
    number: u32,
    name: String,
    start: Option<u64>,
}

impl Process {
    fn new(root: &Root, number: u32) -> Process {
        Process {
            number,
            name: name_of(root, number),
            start: start_of(root, number),
        }
    }

    fn is_there(&self, root: &Root) -> bool {
        start_of(root, self.number).is_some_and(|start| Some(start) == self.start)
    }
}

impl Processes {
    pub(crate) fn new(root: &Root, numbers: &[u32], names: &[String]) -> Processes {
        let observed = numbers
            .iter()
            .map(|&number| Process::new(root, number))
            .collect();
        Processes {
            names: names.to_vec(),
            observed,
            are_gone: false,
            looked_at: Nanos(0),
        }
    }

    /// Finds the live processes that have one of `names`.
    pub(crate) fn named(root: &Root, names: &[String]) -> Result<Processes, SubjectError> {
        let mut found = BTreeSet::new();
        for name in names {
            found.extend(processes_named(root, name)?);
        }
        let found: Vec<u32> = found.into_iter().collect();
        Ok(Processes::new(root, &found, names))
    }

    /// Returns the IDs of all processes so far, in the order in which they were named or appeared.
    pub fn numbers(&self) -> Vec<u32> {
        self.observed.iter().map(|process| process.number).collect()
    }

    pub(crate) fn begin(&self, backend: &mut impl Backend) -> Result<(), NoBpf> {
        backend.add_names(&self.names);
        backend.add(&self.numbers())
    }

    /// Returns whether the observation goes on: whether a process lives, or another one may start
    /// before the time is over.
    pub(crate) fn go_on(
        &mut self,
        root: &Root,
        backend: &mut impl Backend,
        window: Window,
    ) -> Result<Next, ObserveError> {
        let (was_gone, after) = (self.are_gone, window.elapsed);
        self.are_gone = !self.observed.iter().any(|process| process.is_there(root));
        // Another process of the name may have come since the last search.
        if self.are_gone && !was_gone && !self.names.is_empty() {
            self.are_gone = !self.look(root, backend, after)?;
        }
        let is_one_there = !self.are_gone;
        let is_time = after.saturating_sub(self.looked_at) >= EACH[usize::from(was_gone)];
        if is_time && !self.names.is_empty() && self.look(root, backend, after)? && was_gone {
            self.are_gone = false;
            let what = self.observed.last().map_or(String::new(), Process::shown);
            return Ok(Next::Say(Notice::Back { what, after }, true));
        }
        if is_one_there || was_gone {
            return Ok(Next::GoOn);
        }
        let what = self.last();
        Ok(match (window.is_open(), self.names.is_empty()) {
            (false, _) => Next::End,
            (true, true) => Next::Say(Notice::Ended { what, after }, false),
            (true, false) => Next::Say(Notice::Gone { what, after }, true),
        })
    }

    /// Observes new processes of the names. Returns whether any were found.
    fn look(
        &mut self,
        root: &Root,
        backend: &mut impl Backend,
        now: Nanos,
    ) -> Result<bool, ObserveError> {
        self.looked_at = now;
        let known: BTreeSet<(u32, Option<u64>)> = self
            .observed
            .iter()
            .map(|process| (process.number, process.start))
            .collect();
        let come: Vec<Process> = self
            .names
            .iter()
            .flat_map(|name| processes_named(root, name).unwrap_or_default())
            .map(|number| Process::new(root, number))
            .filter(|process| !known.contains(&(process.number, process.start)))
            .collect();
        if come.is_empty() {
            return Ok(false);
        }
        // The source may observe a process from the moment at which it got its name.
        let observed = backend.processes();
        let numbers: Vec<u32> = come
            .iter()
            .map(|process| process.number)
            .filter(|number| self.are_gone || !observed.contains(number))
            .collect();
        backend.add(&numbers)?;
        self.observed.extend(come);
        Ok(true)
    }

    fn last(&self) -> String {
        match (self.observed.as_slice(), self.names.as_slice()) {
            ([one], _) => one.shown(),
            (several, []) => format!("the last of {} processes", several.len()),
            (_, names) => format!("the last process named {}", names.join(" or ")),
        }
    }
}

impl Process {
    fn shown(&self) -> String {
        format!("process {} ({})", self.number, self.name)
    }
}
