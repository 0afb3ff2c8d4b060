//! Private hierarchies of the processes that do not run. Notes on the lines of the private
//! hierarchies say why and when the shared view lost its copy.

use super::Hierarchies;
use super::PRIVATE;
use super::history::History;
use super::lines::{Lines, Role};
use super::listener::{Departure, Listener, NO_PROCESS, Origin, Requester};
use super::plan::Plan;
use crate::address::Address;

/// Private hierarchy of one process: its levels, clock and history.
#[derive(Debug)]
pub(super) struct Private {
    pub(super) levels: Vec<Lines>,
    pub(super) now: u64,
    pub(super) stalls: u64,
    pub(super) history: History,
}

impl Private {
    pub(super) fn new(plan: &Plan) -> Private {
        let levels = plan
            .levels
            .iter()
            .map(|level| Lines::new(level, Role::Private))
            .collect();
        Private {
            levels,
            now: 0,
            stalls: 0,
            history: History::default(),
        }
    }
}

/// Private hierarchies by process.
#[derive(Debug)]
pub(super) struct Privates {
    all: Vec<Option<Box<Private>>>,
    /// Numbers of the processes that have a private hierarchy.
    living: Vec<u32>,
    /// Number of the process whose hierarchy is in the machine's levels.
    running: u32,
}

impl Privates {
    pub(super) fn none() -> Privates {
        Privates {
            all: Vec::new(),
            living: Vec::new(),
            running: NO_PROCESS,
        }
    }

    pub(super) fn running(&self) -> u32 {
        self.running
    }

    /// Takes out the stored hierarchy of a process that is about to run. Makes a new hierarchy if
    /// the process has none.
    pub(super) fn take_to_run(&mut self, process: u32, plan: &Plan) -> Box<Private> {
        let place = process as usize;
        if self.all.len() <= place {
            self.all.resize_with(place + 1, || None);
        }
        if !self.living.contains(&process) {
            self.living.push(process);
        }
        self.all[place]
            .take()
            .unwrap_or_else(|| Box::new(Private::new(plan)))
    }

    /// Stores the hierarchy of the process that ran until now. `process` runs next.
    pub(super) fn put_back(&mut self, process: u32, private: Box<Private>) {
        let before = std::mem::replace(&mut self.running, process);
        if before != NO_PROCESS {
            self.all[before as usize] = Some(private);
        }
    }

    /// Removes the hierarchy of a process that has ended and does not run.
    pub(super) fn remove(&mut self, process: u32) -> Option<Box<Private>> {
        self.living.retain(|&living| living != process);
        self.all.get_mut(process as usize).and_then(Option::take)
    }

    /// Whether any process besides the running one has a hierarchy.
    fn are_any(&self) -> bool {
        self.living.iter().any(|&process| process != self.running)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Private> {
        self.all.iter().filter_map(Option::as_deref)
    }

    fn lines_mut(&mut self, process: u32, level: usize) -> Option<&mut Lines> {
        self.all
            .get_mut(process as usize)?
            .as_deref_mut()
            .map(|private| &mut private.levels[level])
    }
}

impl<L: Listener> Hierarchies<'_, L> {
    /// Uses the note on the private copy of a demanded line that is about to be filled into the
    /// shared level.
    pub(super) fn fill_alone(&mut self, at: usize, set: usize, key: u64) {
        if L::COMPARES {
            let lines = &self.levels[at].views[PRIVATE];
            let note = lines.find(set, key).map(|slot| lines.note(slot));
            self.filled(at, note);
        }
    }

    /// Reports to the listener that a line came into the sets of the shared level, and updates the
    /// notes of the line.
    pub(super) fn came(&mut self, at: usize, set: usize, key: u64, line: Requester) {
        self.listener.came(at, line);
        // Within one time slice, only a move to an exclusive level brings in another process's
        // line.
        if L::COMPARES && self.is_of_another(line) {
            self.history.has_come_anew(at, key);
        }
        self.note(at, set, key, line, None);
    }

    /// Reports to the listener that a line left the sets of the shared level, and updates the notes
    /// of the line.
    pub(super) fn left(
        &mut self,
        at: usize,
        set: usize,
        key: u64,
        line: Requester,
        how: Departure,
    ) {
        self.listener.left(&self.lookup, at, line, how);
        self.note(at, set, key, line, Some(how));
    }

    /// Reports to the listener that a line replaced another in the same set of both the shared and
    /// the private level. Updates the notes of both lines.
    pub(super) fn exchanged(
        &mut self,
        at: usize,
        set: usize,
        keys: [u64; 2],
        lines: [Requester; 2],
    ) {
        self.listener
            .exchanged(&self.lookup, at, lines[0], lines[1]);
        // The running process has no copy of either line, so only other processes can have one.
        if L::COMPARES && self.plan.levels[at].is_of_several && self.others.are_any() {
            let how = [Some(Departure::Replaced), None];
            for ((key, line), how) in keys.into_iter().zip(lines).zip(how) {
                if line.owner() != self.others.running
                    || self.may_be_shared(self.plan.levels[at].address_of(key))
                {
                    self.note(at, set, key, line, how);
                }
            }
        }
    }

    /// Notes on private copies of a line why and when the line left the shared level, or clears the
    /// note if `left` is `None`. Concerns the copies of all processes if several may have the line;
    /// otherwise only the copy of the line's process.
    fn note(&mut self, at: usize, set: usize, key: u64, line: Requester, left: Option<Departure>) {
        if !L::COMPARES {
            return;
        }
        let level = &self.plan.levels[at];
        if let Some(process) = level.process_of(key) {
            return self.note_one(process, at, set, key, left);
        }
        if !self.may_be_shared(level.address_of(key)) {
            // Only the process that brought the line in has a copy.
            return self.note_one(line.owner(), at, set, key, left);
        }
        for index in 0..self.others.living.len() {
            let process = self.others.living[index];
            self.note_one(process, at, set, key, left);
        }
    }

    /// Whether several processes may have the line at `address`, in a level that allows sharing.
    #[inline]
    pub(super) fn may_be_shared(&self, address: Address) -> bool {
        self.plan.tells_tasks_apart
            || self
                .frames
                .as_ref()
                .is_none_or(|frames| frames.may_be_shared(address.physical))
    }

    #[inline]
    fn note_one(&mut self, process: u32, at: usize, set: usize, key: u64, left: Option<Departure>) {
        let (lines, slot) = match process == self.others.running {
            true => {
                let own = &mut self.levels[at];
                let slot = own.find_below(PRIVATE, set, key);
                (Some(&mut own.views[PRIVATE]), slot)
            }
            false => {
                let lines = self.others.lines_mut(process, at);
                let slot = lines.as_ref().and_then(|lines| lines.find(set, key));
                (lines, slot)
            }
        };
        if let (Some(lines), Some(slot)) = (lines, slot) {
            let requester = self.lookup.requester;
            let origin = match left {
                None => return lines.set_note(slot, 0),
                Some(Departure::Flushed) => Origin::Flushed,
                Some(_) if process == requester.process() => Origin::Aged,
                Some(_) if requester.is_kernel() => Origin::ByKernel,
                Some(_) => Origin::ByOthers,
            };
            lines.set_note(slot, origin.note(requester.turn));
        }
    }
}
