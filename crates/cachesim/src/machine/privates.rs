//! The private hierarchies of the processes that do not run, and the notes on their lines: why and when the shared view
//! lost its copy.

use super::PRIVATE;
use super::hierarchies::Hierarchies;
use super::history::History;
use super::lines::{Lines, Role};
use super::plan::Plan;
use crate::attribution::{Arrival, Departure, NOBODY};

/// All levels of one process, and its clock.
#[derive(Debug)]
pub(super) struct Private {
    pub(super) levels: Vec<Lines>,
    pub(super) now: u64,
    pub(super) stalls: u64,
    pub(super) history: History,
}

impl Private {
    pub(super) fn new(plan: &Plan) -> Private {
        let levels = plan.levels.iter().map(|level| Lines::new(level, Role::Private)).collect();
        Private { levels, now: 0, stalls: 0, history: History::default() }
    }
}

/// By process.
#[derive(Debug)]
pub(super) struct Privates {
    all: Vec<Option<Box<Private>>>,
    /// Processes with a hierarchy, be it here or with the levels.
    living: Vec<u32>,
    /// Whose hierarchy the levels have.
    running: u32,
}

impl Privates {
    pub(super) fn none() -> Privates {
        Privates { all: Vec::new(), living: Vec::new(), running: NOBODY }
    }

    pub(super) fn running(&self) -> u32 {
        self.running
    }

    /// The hierarchy of a process, for the levels: a fresh one where it has none.
    pub(super) fn take_to_run(&mut self, process: u32, plan: &Plan) -> Box<Private> {
        let place = process as usize;
        if self.all.len() <= place {
            self.all.resize_with(place + 1, || None);
        }
        if !self.living.contains(&process) {
            self.living.push(process);
        }
        self.all[place].take().unwrap_or_else(|| Box::new(Private::new(plan)))
    }

    /// The levels have given back the hierarchy of the process that ran, and `process` runs.
    pub(super) fn put_back(&mut self, process: u32, private: Box<Private>) {
        let before = std::mem::replace(&mut self.running, process);
        if before != NOBODY {
            self.all[before as usize] = Some(private);
        }
    }

    /// A process that does not run is gone.
    pub(super) fn remove(&mut self, process: u32) -> Option<Box<Private>> {
        self.living.retain(|&living| living != process);
        self.all.get_mut(process as usize).and_then(Option::take)
    }

    pub(super) fn all(&self) -> impl Iterator<Item = &Private> {
        self.all.iter().filter_map(Option::as_deref)
    }

    fn lines_mut(&mut self, process: u32, level: usize) -> Option<&mut Lines> {
        self.all.get_mut(process as usize)?.as_deref_mut().map(|private| &mut private.levels[level])
    }
}

impl Hierarchies<'_> {
    /// A line is brought into the shared level on demand; it has not come in yet.
    pub(super) fn note_fill(&mut self, at: usize, set: usize, key: u64) {
        let lines = &self.levels[at].views[PRIVATE];
        let copy = lines.find(set, key).map(|slot| lines.note(slot));
        self.ledger.count_fill(at, copy);
    }

    /// A line came into the sets of the shared level.
    pub(super) fn note_came(&mut self, at: usize, set: usize, key: u64, arrival: Arrival) {
        self.ledger.count_arrival(at, arrival);
        // A line that moves to an exclusive level in this very turn: others come in turns of their own.
        if arrival.process() != self.ledger.arrival().process() {
            self.history.has_come_anew(at, key);
        }
        self.note(at, set, key, arrival.owner(), None);
    }

    /// A line left the sets of the shared level.
    pub(super) fn note_left(&mut self, at: usize, set: usize, key: u64, arrival: Arrival, how: Departure) {
        if matches!(how, Departure::Replaced | Departure::Lost) {
            self.note_evictor(at, arrival);
        }
        self.ledger.count_departure(at, arrival, how);
        self.note(at, set, key, arrival.owner(), Some(how));
    }

    /// In both the shared and the private level, and in the same set, a line left for another one that came.
    pub(super) fn note_exchange(&mut self, at: usize, set: usize, keys: [u64; 2], arrivals: [Arrival; 2]) {
        self.note_evictor(at, arrivals[0]);
        self.ledger.count_exchange(at, arrivals);
        let [left, came] = keys;
        // The running process has a copy of neither: only others can, where tags are physical.
        if self.plan.levels[at].has_physical_tag {
            self.note(at, set, left, arrivals[0].owner(), Some(Departure::Replaced));
            self.note(at, set, came, arrivals[1].owner(), None);
        }
    }

    /// A line of a cache left for what is being looked up: that is somebody else's, or not.
    #[inline]
    fn note_evictor(&mut self, at: usize, left: Arrival) {
        if at < self.plan.caches && left.owner() != self.ledger.arrival().owner() {
            let context = self.context;
            self.by_place.add_evicted(at, self.lookup, context.code, context.mappings);
        }
    }

    /// Writes the note of a line on its private copies: of its process, or of all where tags are physical.
    fn note(&mut self, at: usize, set: usize, key: u64, owner: u32, left: Option<Departure>) {
        let level = &self.plan.levels[at];
        if let Some(process) = level.process_of(key) {
            return self.note_one(process, at, set, key, left);
        }
        let physical = level.address_of(key).physical;
        if !self.frames.as_ref().is_none_or(|frames| frames.may_be_shared(physical)) {
            // Nobody has a copy but the process that brought it in.
            return self.note_one(owner, at, set, key, left);
        }
        for index in 0..self.others.living.len() {
            let process = self.others.living[index];
            self.note_one(process, at, set, key, left);
        }
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
            lines.set_note(slot, left.map_or(0, |how| self.ledger.note_for(process, how)));
        }
    }
}
