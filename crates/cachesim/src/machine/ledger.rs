//! What is remembered about the lines of the shared view: where misses come from, what is lost at switches, who drives
//! out whom.

use std::collections::HashMap;

use simulation_result::{Eviction, MissOrigins, WorkingSetLoss};

use super::hierarchy::Hierarchy;
use super::line::Arrival;
use super::plan::Plan;
use super::watch::{Departure, Watch};

/// Nobody runs: a switch is under way.
const NOBODY: u32 = u32::MAX;

const FLUSHED: u64 = 1;
const BY_OTHERS: u64 = 2;
const AGED: u64 = 3;

/// Why and in which turn a line left the shared level.
const fn note(kind: u64, turn: u32) -> u64 {
    kind << 32 | turn as u64
}

/// A process that left the CPU for another.
#[derive(Clone, Debug)]
struct Absence {
    /// The last turn that it ran in.
    turn: u32,
    is_over: bool,
    /// By cache: lines when it left, and those of them that have left since.
    resident: Vec<u32>,
    lost: Vec<u32>,
}

#[derive(Clone, Debug, Default)]
struct Sums {
    /// Intrinsic, flushed, by others, aged.
    origins: [u64; 4],
    returns: u64,
    resident: u64,
    lost: u64,
    restored: u64,
}

/// The books of one design.
#[derive(Debug)]
pub(super) struct Ledger {
    caches: usize,
    names: Vec<String>,
    running: u32,
    turn: u32,
    sums: Vec<Sums>,
    absences: Vec<Option<Absence>>,
    /// By level and process: lines that it brought in.
    residents: Vec<Vec<u32>>,
    evictions: HashMap<(u32, u32, u32), u64>,
    /// Evictions of the running process that are not in `evictions` yet, by level and victim.
    fresh: Vec<Vec<u32>>,
    fresh_victims: Vec<(u32, u32)>,
}

impl Ledger {
    pub(super) fn new(plan: &Plan) -> Ledger {
        Ledger {
            caches: plan.caches,
            names: plan.levels.iter().map(|level| level.name.clone()).collect(),
            running: NOBODY,
            turn: 0,
            sums: vec![Sums::default(); plan.levels.len()],
            absences: Vec::new(),
            residents: vec![Vec::new(); plan.caches],
            evictions: HashMap::new(),
            fresh: vec![Vec::new(); plan.caches],
            fresh_victims: Vec::new(),
        }
    }

    fn make_room(&mut self, process: u32) {
        let processes = process as usize + 1;
        if self.absences.len() < processes {
            self.absences.resize(processes, None);
            self.residents.iter_mut().for_each(|counts| counts.resize(processes, 0));
            self.fresh.iter_mut().for_each(|counts| counts.resize(processes, 0));
        }
    }

    pub(super) fn running(&self) -> u32 {
        self.running
    }

    /// The running process leaves the CPU for another.
    pub(super) fn depart(&mut self) {
        self.settle_evictions();
        let process = std::mem::replace(&mut self.running, NOBODY);
        if process != NOBODY {
            let resident = self.residents.iter().map(|counts| counts[process as usize]).collect();
            let lost = vec![0; self.caches];
            self.absences[process as usize] = Some(Absence { turn: self.turn, is_over: false, resident, lost });
        }
        self.turn += 1;
    }

    /// A process comes to the CPU.
    pub(super) fn come(&mut self, process: u32) {
        self.make_room(process);
        self.turn += 1;
        self.running = process;
        let Some(absence) = &mut self.absences[process as usize] else { return };
        absence.is_over = true;
        for (level, sums) in self.sums[..self.caches].iter_mut().enumerate() {
            sums.returns += 1;
            sums.resident += u64::from(absence.resident[level]);
            sums.lost += u64::from(absence.lost[level]);
        }
    }

    fn settle_evictions(&mut self) {
        for (level, victim) in self.fresh_victims.drain(..) {
            let lines = std::mem::take(&mut self.fresh[level as usize][victim as usize]);
            *self.evictions.entry((level, self.running, victim)).or_default() += u64::from(lines);
        }
    }

    #[inline]
    fn count_eviction(&mut self, level: usize, victim: u32) {
        let lines = &mut self.fresh[level][victim as usize];
        if *lines == 0 {
            self.fresh_victims.push((level as u32, victim));
        }
        *lines += 1;
        if *lines == u32::MAX {
            self.settle_evictions();
        }
    }

    /// Lines that the running process brought in for others of its own, in both the shared and the private view.
    pub(super) fn count_own_fills(&mut self, level: usize, fills: u64) {
        if fills == 0 {
            return;
        }
        self.sums[level].origins[0] += fills;
        if level < self.caches {
            *self.evictions.entry((level as u32, self.running, self.running)).or_default() += fills;
        }
    }

    #[inline]
    fn count_loss(&mut self, level: usize, arrival: Arrival) {
        if let Some(absence) = &mut self.absences[arrival.owner as usize]
            && !absence.is_over
            && arrival.turn <= absence.turn
        {
            absence.lost[level] += 1;
        }
    }

    /// Where misses come from, by level, then by TLB.
    pub(super) fn origins(&self) -> Vec<MissOrigins> {
        let named = self.names.iter().zip(&self.sums);
        let origins = named.map(|(name, sums)| MissOrigins {
            level: name.clone(),
            intrinsic: sums.origins[0],
            flushed: sums.origins[FLUSHED as usize],
            evicted_by_others: sums.origins[BY_OTHERS as usize],
            aged_by_others: sums.origins[AGED as usize],
        });
        origins.collect()
    }

    pub(super) fn losses(&self) -> Vec<WorkingSetLoss> {
        let named = self.names.iter().zip(&self.sums[..self.caches]);
        let losses = named.map(|(name, sums)| WorkingSetLoss {
            level: name.clone(),
            returns: sums.returns,
            resident_at_departure: sums.resident,
            lost: sums.lost,
            restored: sums.restored,
        });
        losses.collect()
    }

    /// Pairs that occur, by level, evictor, victim.
    pub(super) fn evictions(&mut self) -> Vec<Eviction> {
        self.settle_evictions();
        let mut pairs: Vec<_> = self.evictions.iter().collect();
        pairs.sort_unstable();
        let name = |level: u32| self.names[level as usize].clone();
        let rows = pairs.into_iter();
        rows.map(|(&(level, evictor, victim), &lines)| Eviction { level: name(level), evictor, victim, lines })
            .collect()
    }
}

/// The private hierarchies of all processes that live, by process.
#[derive(Debug, Default)]
pub(super) struct Privates {
    all: Vec<Option<Box<Hierarchy>>>,
    living: Vec<u32>,
}

impl Privates {
    pub(super) fn get(&self, process: u32) -> Option<&Hierarchy> {
        self.all.get(process as usize).and_then(Option::as_deref)
    }

    pub(super) fn get_mut(&mut self, process: u32) -> Option<&mut Hierarchy> {
        self.all.get_mut(process as usize).and_then(Option::as_deref_mut)
    }

    pub(super) fn put(&mut self, process: u32, hierarchy: Box<Hierarchy>) {
        let place = process as usize;
        if self.all.len() <= place {
            self.all.resize_with(place + 1, || None);
        }
        self.all[place] = Some(hierarchy);
        self.living.push(process);
    }

    pub(super) fn take(&mut self, process: u32) -> Option<Box<Hierarchy>> {
        let taken = self.all.get_mut(process as usize).and_then(Option::take);
        if taken.is_some() {
            self.living.retain(|&living| living != process);
        }
        taken
    }

    /// The hierarchy of a process that lives, until [`Privates::give_back`].
    pub(super) fn lend(&mut self, process: u32) -> Option<Box<Hierarchy>> {
        self.all.get_mut(process as usize).and_then(Option::take)
    }

    pub(super) fn give_back(&mut self, process: u32, hierarchy: Box<Hierarchy>) {
        self.all[process as usize] = Some(hierarchy);
    }

    pub(super) fn all(&self) -> impl Iterator<Item = &Hierarchy> {
        self.all.iter().filter_map(Option::as_deref)
    }
}

/// Keeps the books while the shared view is looked up.
pub(super) struct Bookkeeper<'a> {
    pub(super) plan: &'a Plan,
    pub(super) ledger: &'a mut Ledger,
    pub(super) others: &'a mut Privates,
    /// The process whose hierarchy is lent, and that hierarchy.
    pub(super) process: u32,
    pub(super) private: Option<&'a mut Hierarchy>,
}

impl Bookkeeper<'_> {
    /// Writes the note of a line on its private copies: of its process, or of all where tags are physical.
    fn note(&mut self, level: usize, set: usize, key: u64, note_for: impl Fn(u32) -> u64) {
        match self.plan.levels[level].process_of(key) {
            Some(process) => self.note_one(process, level, set, key, note_for(process)),
            None => {
                for index in 0..self.others.living.len() {
                    let process = self.others.living[index];
                    self.note_one(process, level, set, key, note_for(process));
                }
            }
        }
    }

    #[inline]
    fn note_one(&mut self, process: u32, level: usize, set: usize, key: u64, note: u64) {
        let Some(hierarchy) = self.private_of(process) else { return };
        let lines = &mut hierarchy.levels[level];
        if let Some(slot) = lines.find(set, key) {
            lines.set_note(slot, note);
        }
    }

    #[inline]
    fn private_of(&mut self, process: u32) -> Option<&mut Hierarchy> {
        match &mut self.private {
            Some(private) if process == self.process => Some(private),
            _ => self.others.get_mut(process),
        }
    }
}

impl Watch for Bookkeeper<'_> {
    #[inline]
    fn filled(&mut self, level: usize, set: usize, key: u64) {
        let copy = self.private_of(self.ledger.running).and_then(|hierarchy| {
            let lines = &hierarchy.levels[level];
            lines.find(set, key).map(|slot| lines.note(slot))
        });
        let ledger = &mut *self.ledger;
        let sums = &mut ledger.sums[level];
        let Some(note) = copy else {
            sums.origins[0] += 1;
            return;
        };
        let (kind, turn) = (if note == 0 { AGED } else { note >> 32 }, note as u32);
        sums.origins[kind as usize & 3] += 1;
        if kind != AGED
            && let Some(Some(absence)) = ledger.absences.get(ledger.running as usize)
        {
            sums.restored += u64::from(turn > absence.turn);
        }
    }

    #[inline]
    fn came(&mut self, level: usize, set: usize, key: u64, arrival: Arrival) {
        if level < self.ledger.caches {
            self.ledger.residents[level][arrival.owner as usize] += 1;
        }
        self.note(level, set, key, |_| 0);
    }

    #[inline]
    fn left(&mut self, level: usize, set: usize, key: u64, arrival: Arrival, how: Departure) {
        let ledger = &mut *self.ledger;
        let (running, turn) = (ledger.running, ledger.turn);
        if level < ledger.caches {
            ledger.residents[level][arrival.owner as usize] -= 1;
            if matches!(how, Departure::Replaced | Departure::Lost) {
                ledger.count_eviction(level, arrival.owner);
            }
            if arrival.owner != running {
                ledger.count_loss(level, arrival);
            }
        }
        self.note(level, set, key, |process| match how {
            Departure::Flushed => note(FLUSHED, turn),
            _ if process == running => note(AGED, turn),
            _ => note(BY_OTHERS, turn),
        });
    }

    #[inline]
    fn arrival(&self) -> Arrival {
        Arrival { owner: self.ledger.running, turn: self.ledger.turn }
    }
}
