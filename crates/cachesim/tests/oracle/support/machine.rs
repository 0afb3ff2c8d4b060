//! A design with its three views, the origins of misses, lost cycles, and evictions.

use std::collections::{BTreeMap, HashMap, HashSet};

use switchcost_design::result::{
    ByView, CallCost, FillPoint, GainedCycles, HierarchyCounts, LostCycles, LostTo, MissDifference,
    MissOrigins, OfOthers, ProcessMisses, WorkingSetLoss,
};
use switchcost_design::{Design, Replacement};

use super::address::{Address, KERNEL, Tag};
use super::cache::Cache;
use super::fault::Fault;
use super::hierarchy::{Hierarchy, Step, add};
use super::memory::Memory;
use super::stack::{Event, Kind, What, Why};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reason {
    EvictedByOthers,
    EvictedByKernel,
    Aged,
    /// The line was aged in a level whose replacement policy orders a process's lines differently
    /// with and without other processes.
    State,
    Flushed,
}

impl Reason {
    fn is_others(self) -> bool {
        self != Reason::State
    }
}

/// Reason why a lookup was faster in the shared view.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Gain {
    FromOthers,
    FirstTouch,
    State,
}

#[derive(Clone, Copy)]
struct Note {
    reason: Reason,
    absence: u64,
}

/// Position of a line: TLB or cache, level, set, tag.
type CacheSlot = (bool, usize, usize, Tag);

struct Private {
    hierarchy: Hierarchy,
    notes: HashMap<CacheSlot, Note>,
    /// Lines that the process's last levels have requested from memory, by level.
    asked: HashSet<(bool, usize, Tag)>,
    /// Lines that the private hierarchy has lost since each came into the shared hierarchy.
    let_go: HashSet<CacheSlot>,
}

/// Absence of a process from the CPU. By level: the lines that are still there, the number of lines
/// at the departure, and the number of lost lines.
struct Absence {
    resident: Vec<HashSet<(usize, Tag)>>,
    counted: Vec<u64>,
    lost: Vec<u64>,
}

pub(crate) struct Machine {
    pub(crate) design: Design,
    pub(crate) memory: Memory,
    pub(crate) shared: Hierarchy,
    pub(crate) flushed: Hierarchy,
    privates: BTreeMap<u32, Private>,
    /// Counters of private hierarchies that were dropped.
    retired: HierarchyCounts,
    /// Misses of each view, by process, then by level and TLB.
    by_process: BTreeMap<u32, Vec<[u64; 3]>>,
    pub(crate) origins: Vec<MissOrigins>,
    pub(crate) losses: Vec<WorkingSetLoss>,
    /// Differences in misses, by level, then by TLB.
    pub(crate) differences: Vec<MissDifference>,
    pub(crate) of_others: OfOthers,
    pub(crate) lost_to: LostCycles,
    pub(crate) gained: GainedCycles,
    /// Lost lines by the level in which the private view finds them, and the farthest level that
    /// the shared view misses.
    pub(crate) lost_lines: BTreeMap<(usize, usize), u64>,
    /// Lines held and the maximum at any time, by level, then by TLB.
    held: Vec<u64>,
    pub(crate) most_held: Vec<u64>,
    /// Fill curve: numbers of instructions, and the maximum of lines held up to there.
    pub(crate) fill_curve: Vec<FillPoint>,
    /// `Some` if the shared view found a line that another process brought in and that the private
    /// view does not hold; true if the private view has lost this line since.
    found: Option<bool>,
    /// Whether the private hierarchy has requested a line from memory for the first time.
    is_asked_first: bool,

    /// Reasons why the lines of the current lookup had left, in the order in which the lines come
    /// back.
    reasons: Vec<Reason>,
    /// Sum over all lookups: the cycles in the shared view minus the cycles in the private view.
    pub(crate) compared_cycles: i64,
    /// Evictions by level, evictor and victim.
    pub(crate) evictions: BTreeMap<(usize, u32, u32), u64>,
    /// Lines of the running process that the kernel has evicted, by level.
    driven_out: Vec<u64>,
    /// Addresses of data and excess cycles of the lookups that are not attributed to places yet.
    pub(crate) data: Vec<(u64, i64)>,
    /// Level, owner, whether the line is code, and address, for each lookup that evicted a line of
    /// another owner and is not attributed to a place yet.
    pub(crate) evictors: Vec<(usize, u32, bool, u64)>,
    absences: HashMap<u32, Absence>,
    departures: HashMap<u32, u64>,
    /// Name and number in the trace of each process that has run.
    pub(crate) programs: HashMap<u32, (String, u32)>,
    /// Whether each task has a private hierarchy. If so, other tasks of its process have the same
    /// pages in their TLBs, too.
    tells_tasks_apart: bool,
    fault: Option<Fault>,
}

impl Machine {
    pub(crate) fn new(design: &Design, tells_tasks_apart: bool, fault: Option<Fault>) -> Machine {
        let names = design.levels.iter().map(|level| level.name.clone());
        let all = names
            .clone()
            .chain(design.tlbs.iter().map(|tlb| tlb.name.clone()));
        Machine {
            design: design.clone(),
            memory: Memory::new(design.pages, fault),
            shared: Hierarchy::new(design, fault),
            flushed: Hierarchy::new(design, fault),
            privates: BTreeMap::new(),
            retired: Hierarchy::new(design, fault).counts(),
            by_process: BTreeMap::new(),
            differences: all
                .clone()
                .map(|level| MissDifference {
                    level,
                    ..MissDifference::default()
                })
                .collect(),
            of_others: OfOthers::default(),
            lost_to: LostCycles::default(),
            gained: GainedCycles::default(),
            lost_lines: BTreeMap::new(),
            held: vec![0; all.clone().count()],
            most_held: vec![0; all.clone().count()],
            fill_curve: Vec::new(),
            found: None,
            is_asked_first: false,
            reasons: Vec::new(),
            compared_cycles: 0,
            origins: all
                .map(|level| MissOrigins {
                    level,
                    ..MissOrigins::default()
                })
                .collect(),
            losses: names
                .map(|level| WorkingSetLoss {
                    level,
                    ..WorkingSetLoss::default()
                })
                .collect(),
            evictions: BTreeMap::new(),
            driven_out: vec![0; design.levels.len()],
            data: Vec::new(),
            evictors: Vec::new(),
            absences: HashMap::new(),
            departures: HashMap::new(),
            programs: HashMap::new(),
            tells_tasks_apart,
            fault,
        }
    }

    pub(crate) fn begin_block(&mut self, process: u32, instructions: u64) {
        self.shared.begin_block(instructions);
        self.private(process).hierarchy.begin_block(instructions);
        self.flushed.begin_block(instructions);
    }

    /// Looks up references, each with all of its lookups at one first level.
    pub(crate) fn references(&mut self, steps: &[Step]) {
        for reference in steps.chunk_by(|_, next| !next.is_first) {
            let Step { is_tlb, kind, .. } = reference[0];
            let first = self
                .shared
                .stack(is_tlb)
                .first(kind)
                .expect("steps are made for levels that exist");
            let mut missed = [false; 2];
            let mut longer = 0;
            let mut is_first_touch = false;
            for &step in reference {
                let (now, cycles, is_first) = self.compared(step, first);
                if self.fault == Some(Fault::LinesDifferOneByOne) {
                    self.count_difference(is_tlb, first, now, is_first);
                    continue;
                }
                missed = [missed[0] || now[0], missed[1] || now[1]];
                is_first_touch |= is_first;
                longer += cycles;
            }
            if self.fault == Some(Fault::ReferencesLoseAsAWhole) {
                self.of_others.lost += longer.max(0) as u64;
            }
            self.count_difference(is_tlb, first, missed, is_first_touch);
        }
    }

    /// Returns the misses so far; for the private view, the misses of this process.
    fn misses(&self, process: u32) -> Vec<[u64; 3]> {
        let of = Hierarchy::all_misses;
        let private = of(&self.privates[&process].hierarchy);
        let pairs = of(&self.shared).into_iter().zip(private);
        pairs
            .zip(of(&self.flushed))
            .map(|((shared, private), flushed)| [shared, private, flushed])
            .collect()
    }

    /// Returns the processes that missed anything, with their misses.
    pub(crate) fn by_process(&self) -> Vec<ProcessMisses> {
        let by_view = |&[shared, private, flushed]: &[u64; 3]| ByView {
            shared,
            private,
            flushed,
        };
        let all = self
            .by_process
            .iter()
            .filter(|(_, misses)| misses.iter().any(|of| *of != [0; 3]));
        all.map(|(&process, misses)| ProcessMisses {
            process,
            misses: misses.iter().map(by_view).collect(),
        })
        .collect()
    }

    /// Looks up references of one process, and counts the misses for that process.
    pub(crate) fn references_of(&mut self, process: u32, steps: &[Step]) {
        self.private(process);
        let before = self.misses(process);
        self.references(steps);
        let after = self.misses(process);
        let process = match self.fault {
            Some(Fault::MissesAreOfOneProcess) => {
                self.by_process.keys().next().copied().unwrap_or(process)
            }
            _ => process,
        };
        let sums = self
            .by_process
            .entry(process)
            .or_insert_with(|| vec![[0; 3]; before.len()]);
        for (sum, (now, then)) in sums.iter_mut().zip(after.iter().zip(&before)) {
            (0..3).for_each(|view| sum[view] += now[view] - then[view]);
        }
    }

    /// Makes one lookup, including its effects after the first level. Returns whether it missed in
    /// the first level, in the shared and in the private view, how much longer it took in the
    /// shared view, and whether it gained by a first touch.
    fn compared(&mut self, step: Step, first: usize) -> ([bool; 2], i64, bool) {
        let state = |machine: &Machine| {
            let (shared, private) = (&machine.shared, &machine.privates[&step.process].hierarchy);
            let misses = [shared.misses(step.is_tlb), private.misses(step.is_tlb)];
            (misses, [shared.clock as i64, private.clock as i64])
        };
        self.private(step.process);
        let (misses_before, clocks_before) = state(self);
        let missed = self.step(step);
        let (misses, clocks) = state(self);
        let longer = (clocks[0] - clocks_before[0]) - (clocks[1] - clocks_before[1]);
        let gain = self.gain();
        let is_first_touch = longer < 0 && gain == Gain::FirstTouch;
        let mut missed_alone = Vec::from_iter((missed == [true, false]).then_some(first));
        for level in (0..misses[0].len()).filter(|&level| level != first) {
            let missed = [0, 1].map(|view| misses[view][level] > misses_before[view][level]);
            missed_alone.extend((missed == [true, false]).then_some(level));
            self.count_difference(step.is_tlb, level, missed, is_first_touch);
        }
        if longer > 0 && !step.is_tlb {
            self.count_lost_line(&missed_alone);
        }
        self.compared_cycles += longer;
        if step.kind != Kind::Fetch && !is_first_touch {
            self.data.push((self.place(step), longer));
        }
        self.count_lost(step, longer.max(0) as u64);
        self.count_gained(step, gain, (-longer).max(0) as u64);
        (missed, longer, is_first_touch)
    }

    /// Counts a line that others evicted, which only the shared view misses in these levels.
    fn count_lost_line(&mut self, missed_alone: &[usize]) {
        let is_others = self
            .reasons
            .first()
            .is_some_and(|reason| reason.is_others());
        if let (true, Some(nearest), Some(farthest)) = (
            is_others,
            missed_alone.iter().min(),
            missed_alone.iter().max(),
        ) {
            *self.lost_lines.entry((*nearest, *farthest)).or_default() += 1;
        }
    }

    /// Returns the number of a level of caches or TLBs among all levels.
    fn number(&self, is_tlb: bool, level: usize) -> usize {
        usize::from(is_tlb) * self.design.levels.len() + level
    }

    fn gain(&self) -> Gain {
        match self.found {
            None => Gain::State,
            Some(_) if self.is_asked_first => Gain::FirstTouch,
            Some(true) if self.fault != Some(Fault::LetGoIsForgotten) => Gain::State,
            Some(_) => Gain::FromOthers,
        }
    }

    fn count_gained(&mut self, step: Step, gain: Gain, cycles: u64) {
        let sum = match gain {
            Gain::State => &mut self.gained.state,
            Gain::FromOthers => {
                self.of_others.gained += cycles;
                &mut self.gained.others
            }
            Gain::FirstTouch => {
                self.of_others.first_touches += cycles;
                match step.kind {
                    Kind::Fetch => &mut self.gained.first_touches_of_code,
                    _ => &mut self.gained.first_touches_of_data,
                }
            }
        };
        *sum += cycles;
    }

    fn place(&self, step: Step) -> u64 {
        if self.fault == Some(Fault::PlacesAreLines) {
            step.virt
        } else {
            step.first_byte
        }
    }

    fn count_lost(&mut self, step: Step, cycles: u64) {
        let is_nearest = self.fault == Some(Fault::LostInNearestLevel);
        let reason = if is_nearest {
            self.reasons.last()
        } else {
            self.reasons.first()
        };
        let LostCycles { programs, kernel } = &mut self.lost_to;
        if reason.is_some_and(|reason| reason.is_others())
            && self.fault != Some(Fault::ReferencesLoseAsAWhole)
        {
            self.of_others.lost += cycles;
        }
        let LostTo {
            processes,
            kernel,
            aged,
            flushed,
            state,
            other,
        } = if of_step(step).owner() == KERNEL {
            kernel
        } else {
            programs
        };
        *match reason {
            Some(Reason::EvictedByOthers) => processes,
            Some(Reason::EvictedByKernel) => kernel,
            Some(Reason::Aged) => aged,
            Some(Reason::State) => state,
            Some(Reason::Flushed) => flushed,
            None => other,
        } += cycles;
    }

    fn count_difference(
        &mut self,
        is_tlb: bool,
        level: usize,
        missed: [bool; 2],
        is_first_touch: bool,
    ) {
        let at = self.number(is_tlb, level);
        let difference = &mut self.differences[at];
        match missed {
            [true, false] => difference.lost += 1,
            [false, true] => {
                difference.gained += 1;
                difference.first_touches += u64::from(is_first_touch);
            }
            _ => {}
        }
    }

    fn step(&mut self, step: Step) -> [bool; 2] {
        let (program, process) = self
            .programs
            .get(&step.process)
            .cloned()
            .unwrap_or_default();
        self.private(step.process);
        let private = self.privates.get_mut(&step.process).expect("made above");
        for hierarchy in [&mut self.shared, &mut private.hierarchy, &mut self.flushed] {
            hierarchy.let_fill(&program, process);
        }
        let address = match step.is_tlb {
            true => of_step(step),
            false => self
                .memory
                .address(step.space, step.virt, step.kind == Kind::Store),
        };
        let is_shared_miss = self.shared.step(step, address);
        self.private(step.process);
        self.reasons.clear();
        self.found = None;
        self.is_asked_first = false;
        let looks_up = if of_step(step).owner() == KERNEL {
            KERNEL
        } else {
            step.process
        };
        self.see_shared_events(step.process, looks_up, Some(step));
        let private = self.privates.get_mut(&step.process).expect("made above");
        let is_private_miss = private.hierarchy.step(step, address);
        self.is_asked_first = see_private_events(
            private,
            &self.shared,
            step.process,
            self.tells_tasks_apart,
            self.fault,
        );
        self.flushed.step(step, address);
        self.flushed.take_events();
        [is_shared_miss, is_private_miss]
    }

    fn private(&mut self, process: u32) -> &mut Private {
        let new = || Private {
            hierarchy: Hierarchy::new(&self.design, self.fault),
            notes: HashMap::new(),
            asked: HashSet::new(),
            let_go: HashSet::new(),
        };
        self.privates.entry(process).or_insert_with(new)
    }

    /// Drops a process whose last task has ended.
    pub(crate) fn drop_process(&mut self, process: u32) {
        if let Some(private) = self.privates.remove(&process) {
            add(&mut self.retired, &private.hierarchy.counts());
        }
    }

    /// Handles a `Switch` mark.
    pub(crate) fn switch(&mut self) {
        self.flushed.flush_all();
        self.flushed.take_events();
    }

    /// Changes the running process. Before the first switch there may be none.
    pub(crate) fn change_process(&mut self, from: Option<u32>, to: u32, is_other_space: bool) {
        from.into_iter().for_each(|from| self.depart(from));
        if is_other_space || self.fault == Some(Fault::ThreadsFlush) {
            self.shared.flush_where_asked();
        }
        self.see_shared_events(to, to, None);
        self.come_back(to);
    }

    fn depart(&mut self, process: u32) {
        *self.departures.entry(process).or_default() += 1;
        let levels = &self.shared.caches.levels;
        let resident: Vec<HashSet<(usize, Tag)>> = levels
            .iter()
            .map(|cache| {
                let owned = |&(set, way): &(usize, usize)| {
                    cache.sets[set][way].filter(|line| line.owner == process)
                };
                let places = cache.places().into_iter();
                places
                    .filter_map(|place| {
                        owned(&place).map(|line| (place.0, cache.tag(line.address)))
                    })
                    .collect()
            })
            .collect();
        let counted = resident.iter().map(|lines| lines.len() as u64).collect();
        let lost = vec![0; resident.len()];
        self.absences.insert(
            process,
            Absence {
                resident,
                counted,
                lost,
            },
        );
    }

    fn come_back(&mut self, process: u32) {
        let Some(absence) = self.absences.remove(&process) else {
            return;
        };
        for (level, loss) in self.losses.iter_mut().enumerate() {
            loss.returns += 1;
            loss.resident_at_departure += absence.counted[level];
            loss.lost += absence.lost[level];
        }
    }

    /// Processes the shared view's events while a process runs and that process or the kernel looks
    /// something up.
    fn see_shared_events(&mut self, running: u32, looks_up: u32, step: Option<Step>) {
        let looks_up = if self.fault == Some(Fault::KernelEvictsNothing) {
            running
        } else {
            looks_up
        };
        for (is_tlb, event) in self.shared.take_events() {
            let place = (is_tlb, event.level, event.set, event.tag);
            match event.what {
                What::Filled => self.count_origin(place, running),
                What::Found { by } => self.note_found(place, running, by),
                What::Asked { .. } => {}
                What::Arrived => {
                    self.hold(place, 1);
                    self.privates.values_mut().for_each(|private| {
                        private.notes.remove(&place);
                        private.let_go.remove(&place);
                    });
                }
                What::Left { owner, why } => {
                    self.hold(place, -1);
                    self.note_departure(place, running, looks_up, why);
                    if !is_tlb {
                        self.count_loss(event, owner);
                        self.count_eviction(event, looks_up, owner, why);
                        if let (Why::DrivenOut, Some(step)) = (why, step)
                            && looks_up != owner
                        {
                            let place = self.place(step);
                            self.evictors.push((
                                event.level,
                                looks_up,
                                step.kind == Kind::Fetch,
                                place,
                            ));
                        }
                        if why == Why::DrivenOut && looks_up == KERNEL && owner == running {
                            self.driven_out[event.level] += 1;
                        }
                    }
                }
            }
        }
    }

    fn hold(&mut self, (is_tlb, level, ..): CacheSlot, more: i64) {
        let at = self.number(is_tlb, level);
        self.held[at] = self.held[at]
            .checked_add_signed(more)
            .expect("what leaves had come");
        self.most_held[at] = self.most_held[at].max(self.held[at]);
    }

    /// Records what the shared view found, before the private view looks the line up.
    fn note_found(&mut self, place: CacheSlot, running: u32, by: u32) {
        let private = &self.privates[&running];
        if by != running && !holds(private, place) {
            self.found = Some(private.let_go.contains(&place));
        }
    }

    /// Whether lines that a process evicts itself would not have left if it ran alone.
    fn keeps_order(&self, is_tlb: bool, level: usize) -> bool {
        let levels = &self.shared.stack(is_tlb).levels;
        let is_ordered = |level: &Cache| {
            let shape = &level.shape;
            let is_lru = shape.ways == 1 || shape.replacement == Replacement::Lru;
            is_lru && shape.victim.is_none() && shape.streams.is_none() && !shape.prefetches()
        };
        let is_before = |before: &Cache| {
            let (one, other) = (before.shape.holds, levels[level].shape.holds);
            one.instructions() && other.instructions() || one.data() && other.data()
        };
        is_ordered(&levels[level])
            && levels[..level]
                .iter()
                .filter(|before| is_before(before))
                .all(is_ordered)
    }

    fn count_origin(&mut self, place: CacheSlot, running: u32) {
        let (is_tlb, level, ..) = place;
        let keeps_order =
            self.fault == Some(Fault::AgedIsLostToOthers) || self.keeps_order(is_tlb, level);
        let private = &self.privates[&running];
        let at = self.number(is_tlb, level);
        let origins = &mut self.origins[at];
        if !holds(private, place) {
            origins.intrinsic += 1;
            return;
        }
        let note = private.notes.get(&place);
        let reason = match note.map_or(Reason::Aged, |note| note.reason) {
            Reason::Aged if !keeps_order => Reason::State,
            reason => reason,
        };
        self.reasons.push(reason);
        match reason {
            Reason::EvictedByOthers => origins.evicted_by_others += 1,
            Reason::EvictedByKernel => origins.evicted_by_kernel += 1,
            Reason::Aged => origins.aged_by_others += 1,
            Reason::State => origins.state += 1,
            Reason::Flushed => origins.flushed += 1,
        }
        let absence = self.departures.get(&running).copied().unwrap_or(0);
        let any = self.fault == Some(Fault::RestoredFromAnyAbsence);
        let is_restored = note
            .is_some_and(|note| note.reason != Reason::Aged && (note.absence == absence || any));
        if !is_tlb && is_restored {
            self.losses[level].restored += 1;
        }
    }

    fn note_departure(&mut self, place: CacheSlot, running: u32, looks_up: u32, why: Why) {
        for (&process, private) in &mut self.privates {
            let reason = match why {
                Why::Flushed => Reason::Flushed,
                _ if running != process && looks_up == KERNEL => Reason::EvictedByKernel,
                _ if running != process => Reason::EvictedByOthers,
                _ => Reason::Aged,
            };
            let absence = self.departures.get(&process).copied().unwrap_or(0);
            if holds(private, place) {
                private.notes.insert(place, Note { reason, absence });
            }
        }
    }

    fn count_loss(&mut self, event: Event, owner: u32) {
        let Some(absence) = self.absences.get_mut(&owner) else {
            return;
        };
        if absence.resident[event.level].remove(&(event.set, event.tag)) {
            absence.lost[event.level] += 1;
        }
    }

    fn count_eviction(&mut self, event: Event, evictor: u32, owner: u32, why: Why) {
        if why == Why::DrivenOut {
            *self
                .evictions
                .entry((event.level, evictor, owner))
                .or_default() += 1;
        }
    }

    /// Returns the counts for system calls so far: cycles, misses by level and TLB, evicted lines
    /// by level.
    pub(crate) fn counted(&self) -> CallCost {
        CallCost {
            cycles: self.shared.clock,
            misses: self.shared.all_misses(),
            driven_out: self.driven_out.clone(),
            ..CallCost::default()
        }
    }

    /// Returns the cycles of each view so far, with those of all private hierarchies added up.
    pub(crate) fn cycles(&self) -> ByView<u64> {
        let private: u64 = self
            .privates
            .values()
            .map(|private| private.hierarchy.clock)
            .sum();
        ByView {
            shared: self.shared.clock,
            private: private + self.retired.cycles,
            flushed: self.flushed.clock,
        }
    }

    pub(crate) fn counts(&self) -> ByView<HierarchyCounts> {
        let mut private = self.retired.clone();
        self.privates
            .values()
            .for_each(|one| add(&mut private, &one.hierarchy.counts()));
        ByView {
            shared: self.shared.counts(),
            private,
            flushed: self.flushed.counts(),
        }
    }
}

fn of_step(step: Step) -> Address {
    Address {
        process: step.space,
        virt: step.virt,
        phys: 0,
    }
}

fn holds(private: &Private, (is_tlb, level, set, tag): CacheSlot) -> bool {
    private.hierarchy.stack(is_tlb).levels[level]
        .way_of(set, tag)
        .is_some()
}

/// Processes the private view's events. Notes disappear with their copies, and lines that the
/// shared hierarchy has from another process but the private one has lost are remembered. Returns
/// whether the private view has requested a line from memory, on demand, for the first time.
fn see_private_events(
    private: &mut Private,
    shared: &Hierarchy,
    running: u32,
    tells_tasks_apart: bool,
    fault: Option<Fault>,
) -> bool {
    let mut is_asked_first = false;
    for (is_tlb, event) in private.hierarchy.take_events() {
        let place = (is_tlb, event.level, event.set, event.tag);
        match event.what {
            What::Left { .. } => {
                if fault != Some(Fault::NotesOutliveCopies) {
                    private.notes.remove(&place);
                }
                let level = &shared.stack(is_tlb).levels[event.level];
                let line = level
                    .way_of(event.set, event.tag)
                    .and_then(|way| level.sets[event.set][way]);
                if line.is_some_and(|line| line.by != running) {
                    private.let_go.insert(place);
                }
            }
            What::Asked { is_demand } if !is_tlb || tells_tasks_apart => {
                let is_new = private.asked.insert((is_tlb, event.level, event.tag));
                is_asked_first |=
                    is_demand && (is_new || fault == Some(Fault::AgainIsTheFirstTime));
            }
            What::Asked { .. } | What::Filled | What::Arrived | What::Found { .. } => {}
        }
    }
    is_asked_first
}
