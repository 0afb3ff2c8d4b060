//! What is remembered about the lines of the shared view: where misses come from, what is lost at switches, who drives
//! out whom.

use std::collections::HashMap;

use simulation_result::{Eviction, GainedCycles, LostCycles, LostTo, MissOrigins, WorkingSetLoss};

use crate::address::{KERNEL, owner};

/// Who brought a line in, whether for an address of the kernel, and in which turn. Only the shared view asks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Arrival {
    /// The process that ran, and [`OF_KERNEL`].
    by: u32,
    pub(crate) turn: u32,
}

/// Set where the line is the kernel's. Processes are numbered as they appear: none has so high a number.
const OF_KERNEL: u32 = 1 << 31;

impl Arrival {
    /// Whose the line is: the kernel's, or that of the process that brought it in.
    #[inline]
    pub(crate) fn owner(self) -> u32 {
        // All ones where the highest bit is set.
        self.by | (self.by.cast_signed() >> 31).cast_unsigned()
    }

    /// The process that ran when the line came in.
    #[inline]
    pub(crate) fn process(self) -> u32 {
        self.by & !OF_KERNEL
    }
}

const _: () = assert!(KERNEL == u32::MAX);

/// How a line left the sets of a level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Departure {
    /// For a line that came in.
    Replaced,
    /// An inclusive level lost it.
    Lost,
    /// Taken up from an exclusive level.
    Taken,
    /// All lines left.
    Flushed,
}

/// Nobody runs: a switch is under way.
pub(crate) const NOBODY: u32 = KERNEL - 1;

const FLUSHED: u64 = 1;
const BY_OTHERS: u64 = 2;
const AGED: u64 = 3;
const BY_KERNEL: u64 = 4;
/// Aged in a level in which a process's lines are not in the same order as alone: that may be nobody's doing.
const STATE: u64 = 5;
/// These, and before them what is none of them.
const ORIGINS: usize = 6;

/// What a line is asked for faster for in the shared view.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Gain {
    /// Another process brought the line in, and the one that asks had had it before.
    FromOthers,
    /// The same, but it had never had the line: it finds what another has loaded, once.
    FirstTouch,
    /// The state of replacement, prefetch, buffers or buses differs.
    State,
}

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
    /// What a line is that the process itself drove out: [`AGED`] or [`STATE`].
    aged: u64,
    /// Lines held now, and the most at any time.
    held: u64,
    most_held: u64,
    /// Intrinsic, then as notes say.
    origins: [u64; ORIGINS],
    returns: u64,
    resident: u64,
    lost: u64,
    restored: u64,
    /// Of all fills on demand, those in lookups of the kernel's addresses.
    of_kernel: u64,
}

/// The books of one design.
#[derive(Debug)]
pub(crate) struct Ledger {
    caches: usize,
    names: Vec<String>,
    running: u32,
    turn: u32,
    /// Who looks something up: the running process, or the kernel.
    looker: u32,
    /// What the lookup under way lost its line to: as its first fill that a private copy tells of has it, that is the one of the
    /// level farthest away.
    lost_to: u64,
    /// Cycles lost, by whether the kernel looked up, and to whom.
    lost: [[u64; ORIGINS]; 2],
    gained: GainedCycles,
    /// By cache: lines of the running process that the kernel drove out.
    driven_out_by_kernel: Vec<u64>,
    sums: Vec<Sums>,
    absences: Vec<Option<Absence>>,
    /// By level and [`place`] of an owner: lines that it has.
    residents: Vec<Vec<u32>>,
    evictions: HashMap<(u32, u32, u32), u64>,
    /// Evictions of the running process, and of the kernel meanwhile, that are not in `evictions` yet, by level and place of the victim.
    fresh: Vec<Vec<[u32; 2]>>,
    fresh_victims: Vec<(u32, u32)>,
}

/// Of an owner in a list: the kernel, then the processes.
#[inline]
fn place(owner: u32) -> usize {
    owner.wrapping_add(1) as usize
}

impl Ledger {
    /// Of levels with these names, and whether lines keep their order there; so many are caches, the others TLBs.
    pub(crate) fn new(levels: Vec<(String, bool)>, caches: usize) -> Ledger {
        let sums = |(_, keeps_order): &(String, bool)| Sums {
            aged: if *keeps_order { AGED } else { STATE },
            ..Sums::default()
        };
        let sums = levels.iter().map(sums).collect();
        let names: Vec<String> = levels.into_iter().map(|(name, _)| name).collect();
        Ledger {
            caches,
            running: NOBODY,
            turn: 0,
            looker: NOBODY,
            lost_to: 0,
            lost: [[0; ORIGINS]; 2],
            gained: GainedCycles::default(),
            driven_out_by_kernel: vec![0; caches],
            sums,
            absences: Vec::new(),
            residents: vec![Vec::new(); caches],
            evictions: HashMap::new(),
            fresh: vec![Vec::new(); caches],
            fresh_victims: Vec::new(),
            names,
        }
    }

    fn make_room(&mut self, process: u32) {
        let processes = process as usize + 1;
        if self.absences.len() < processes {
            self.absences.resize(processes, None);
            self.residents.iter_mut().for_each(|counts| counts.resize(processes + 1, 0));
            self.fresh.iter_mut().for_each(|counts| counts.resize(processes + 1, [0; 2]));
        }
    }

    /// The running process leaves the CPU for another.
    pub(crate) fn depart(&mut self) {
        self.settle_evictions();
        let process = std::mem::replace(&mut self.running, NOBODY);
        if process != NOBODY {
            let resident = self.residents.iter().map(|counts| counts[place(process)]).collect();
            let lost = vec![0; self.caches];
            self.absences[process as usize] = Some(Absence { turn: self.turn, is_over: false, resident, lost });
        }
        self.turn += 1;
    }

    /// A process comes to the CPU.
    pub(crate) fn come(&mut self, process: u32) {
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
            let lines = std::mem::take(&mut self.fresh[level as usize][place(victim)]);
            for (evictor, lines) in [self.running, KERNEL].into_iter().zip(lines).filter(|(_, lines)| *lines > 0) {
                *self.evictions.entry((level, evictor, victim)).or_default() += u64::from(lines);
            }
        }
    }

    #[inline]
    fn count_eviction(&mut self, level: usize, victim: u32) {
        if self.looker == KERNEL && victim == self.running {
            self.driven_out_by_kernel[level] += 1;
        }
        let lines = &mut self.fresh[level][place(victim)];
        if *lines == [0; 2] {
            self.fresh_victims.push((level as u32, victim));
        }
        let lines = &mut lines[usize::from(self.looker == KERNEL)];
        *lines += 1;
        if *lines == u32::MAX {
            self.settle_evictions();
        }
    }

    /// A lookup begins.
    #[inline]
    pub(crate) fn begin(&mut self, address: u64) {
        self.looker = owner(self.running, address);
        self.lost_to = 0;
    }

    /// The lookup has taken so many cycles longer in the shared view than in the private one. Gives those lost to others.
    #[inline]
    pub(crate) fn count_lost(&mut self, cycles: u64) -> u64 {
        self.lost[usize::from(self.looker == KERNEL)][self.lost_to as usize] += cycles;
        if matches!(self.lost_to, 0 | STATE) { 0 } else { cycles }
    }

    /// It has taken so many less.
    #[inline]
    pub(crate) fn count_gained(&mut self, cycles: u64, gain: Gain, is_code: bool) {
        let sum = match gain {
            Gain::FromOthers => &mut self.gained.others,
            Gain::FirstTouch if is_code => &mut self.gained.first_touches_of_code,
            Gain::FirstTouch => &mut self.gained.first_touches_of_data,
            Gain::State => &mut self.gained.state,
        };
        *sum += cycles;
    }

    /// A line was brought in on demand; `copy` is the note on the private copy, where there is one.
    #[inline]
    pub(crate) fn count_fill(&mut self, level: usize, copy: Option<u64>) {
        let sums = &mut self.sums[level];
        sums.of_kernel += u64::from(self.looker == KERNEL);
        let Some(note) = copy else {
            sums.origins[0] += 1;
            return;
        };
        let (kind, turn) = (if note == 0 { AGED } else { note >> 32 }, note as u32);
        let is_aged = kind == AGED;
        let kind = if is_aged { sums.aged } else { kind };
        sums.origins[kind as usize] += 1;
        if self.lost_to == 0 {
            self.lost_to = kind;
        }
        if !is_aged && let Some(Some(absence)) = self.absences.get(self.running as usize) {
            sums.restored += u64::from(turn > absence.turn);
        }
    }

    /// A line came into the sets of a level.
    #[inline]
    pub(crate) fn count_arrival(&mut self, level: usize, arrival: Arrival) {
        let sums = &mut self.sums[level];
        sums.held += 1;
        sums.most_held = sums.most_held.max(sums.held);
        if level < self.caches {
            self.residents[level][place(arrival.owner())] += 1;
        }
    }

    /// A line left the sets of a level.
    #[inline]
    pub(crate) fn count_departure(&mut self, level: usize, arrival: Arrival, how: Departure) {
        self.sums[level].held -= 1;
        if level >= self.caches {
            return;
        }
        self.residents[level][place(arrival.owner())] -= 1;
        if matches!(how, Departure::Replaced | Departure::Lost) {
            self.count_eviction(level, arrival.owner());
        }
        if arrival.owner() != self.running {
            self.count_loss(level, arrival);
        }
    }

    /// A line left the sets of a level for another one.
    #[inline]
    pub(crate) fn count_exchange(&mut self, level: usize, [left, came]: [Arrival; 2]) {
        if level < self.caches && left.owner() == came.owner() {
            self.count_eviction(level, left.owner());
        } else {
            self.count_departure(level, left, Departure::Replaced);
            self.count_arrival(level, came);
        }
    }

    /// Whose line it is that comes in now.
    #[inline]
    pub(crate) fn arrival(&self) -> Arrival {
        let kernel = if self.looker == KERNEL { OF_KERNEL } else { 0 };
        Arrival { by: self.running | kernel, turn: self.turn }
    }

    /// The note for the private copy of a process, when the line leaves the shared level.
    #[inline]
    pub(crate) fn note_for(&self, process: u32, how: Departure) -> u64 {
        match how {
            Departure::Flushed => note(FLUSHED, self.turn),
            _ if process == self.running => note(AGED, self.turn),
            _ if self.looker == KERNEL => note(BY_KERNEL, self.turn),
            _ => note(BY_OTHERS, self.turn),
        }
    }

    #[inline]
    fn count_loss(&mut self, level: usize, arrival: Arrival) {
        if let Some(Some(absence)) = self.absences.get_mut(arrival.owner() as usize)
            && !absence.is_over
            && arrival.turn <= absence.turn
        {
            absence.lost[level] += 1;
        }
    }

    pub(crate) fn driven_out_by_kernel(&self) -> &[u64] {
        &self.driven_out_by_kernel
    }

    /// Lines brought in on demand for the kernel's addresses, by level, then by TLB.
    pub(crate) fn fills_of_kernel(&self) -> impl Iterator<Item = u64> {
        self.sums.iter().map(|sums| sums.of_kernel)
    }

    /// Where misses come from, by level, then by TLB.
    pub(crate) fn origins(&self) -> Vec<MissOrigins> {
        let named = self.names.iter().zip(&self.sums);
        let origins = named.map(|(name, sums)| MissOrigins {
            level: name.clone(),
            intrinsic: sums.origins[0],
            flushed: sums.origins[FLUSHED as usize],
            evicted_by_others: sums.origins[BY_OTHERS as usize],
            evicted_by_kernel: sums.origins[BY_KERNEL as usize],
            aged_by_others: sums.origins[AGED as usize],
            state: sums.origins[STATE as usize],
        });
        origins.collect()
    }

    pub(crate) fn lost_cycles(&self) -> LostCycles {
        let to = |of: [u64; ORIGINS]| LostTo {
            processes: of[BY_OTHERS as usize],
            kernel: of[BY_KERNEL as usize],
            aged: of[AGED as usize],
            flushed: of[FLUSHED as usize],
            state: of[STATE as usize],
            other: of[0],
        };
        let [programs, kernel] = self.lost;
        LostCycles { programs: to(programs), kernel: to(kernel) }
    }

    pub(crate) fn gained_cycles(&self) -> GainedCycles {
        self.gained
    }

    /// The most lines that each level, then each TLB, held at any time.
    pub(crate) fn most_held(&self) -> Vec<u64> {
        self.sums.iter().map(|sums| sums.most_held).collect()
    }

    pub(crate) fn losses(&self) -> Vec<WorkingSetLoss> {
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

    /// Pairs that occur, by level, evictor, victim, the kernel last.
    pub(crate) fn evictions(&mut self) -> Vec<Eviction> {
        self.settle_evictions();
        let mut pairs: Vec<_> = self.evictions.iter().collect();
        pairs.sort_unstable();
        let name = |level: u32| self.names[level as usize].clone();
        let process = |owner: u32| (owner != KERNEL).then_some(owner);
        let row = |(&(level, evictor, victim), &lines): (&(u32, u32, u32), &u64)| Eviction {
            level: name(level),
            evictor: process(evictor),
            victim: process(victim),
            lines,
        };
        pairs.into_iter().map(row).collect()
    }
}
