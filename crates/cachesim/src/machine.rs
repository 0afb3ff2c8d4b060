//! One design: its three views, fed with blocks and marks.
//!
//! What comes in: runs of blocks of one process, and what happens between them. What goes out: tuples, and counters at
//! the end. It does not know tasks or the order of the trace.

mod address;
mod aside;
mod buffers;
mod code;
mod filter;
mod frames;
mod hierarchy;
mod lane;
mod ledger;
mod line;
mod lines;
mod plan;
mod replacement;
mod run;
mod skim;
mod totals;
mod views;
mod watch;

use design::Design;
use simulation_result::{ByView, Interval};

pub(crate) use address::{VALID, VIRTUAL_BITS, VIRTUAL_MASK};
pub(crate) use code::Context;
pub(crate) use hierarchy::Sent;
pub(crate) use plan::Kind;
pub(crate) use run::pieces;

use crate::mappings::Mappings;
use buffers::Buffers;
use code::Attribution;
use frames::Frames;
use hierarchy::Hierarchy;
use ledger::{Bookkeeper, Ledger, Privates};
use lines::Role;
use plan::Plan;
use run::Entry;
use totals::Ended;
use views::Shortcut;
use watch::Nobody;

/// One design and everything that it remembers.
#[derive(Debug)]
pub(crate) struct Machine {
    design: Design,
    plan: Plan,
    shared: Hierarchy,
    flushed: Hierarchy,
    privates: Privates,
    /// Counters of private hierarchies that are gone.
    ended: Ended,
    ledger: Ledger,
    frames: Option<Frames>,
    attribution: Attribution,
    shortcuts: Vec<Shortcut>,
    entry: Entry,
    /// Of the running process, and of the two views that all share.
    buffers: Buffers,
    /// Cycles of each view at the start of the open tuple, and at the end of its last block.
    opened: Option<[u64; 3]>,
    closed: [u64; 3],
    /// Tuples of the segment under way.
    tuples: Vec<Interval>,
}

/// What stays the same during a run of blocks.
#[derive(Clone, Copy)]
pub(crate) struct Scene<'a> {
    pub(crate) process: u32,
    pub(crate) context: Context,
    pub(crate) mappings: &'a Mappings,
}

impl Machine {
    /// The design must have passed its check.
    pub(crate) fn new(design: Design) -> Machine {
        let plan = Plan::new(&design);
        Machine::planned(design, plan)
    }

    /// Some levels do not answer: what they are asked is written down for [`Machine::take_sent`].
    pub(crate) fn sweeping(design: Design, levels: &[usize]) -> Machine {
        let mut plan = Plan::new(&design);
        levels.iter().for_each(|&level| plan.levels[level].is_swept = true);
        Machine::planned(design, plan)
    }

    fn planned(design: Design, plan: Plan) -> Machine {
        let shortcuts = Shortcut::all(&plan);
        let entry = Entry::new(&plan, &shortcuts);
        Machine {
            shared: Hierarchy::new(&plan, Role::Shared),
            flushed: Hierarchy::new(&plan, Role::Flushed),
            privates: Privates::default(),
            ended: Ended::new(&plan),
            ledger: Ledger::new(&plan),
            frames: plan.pages.map(Frames::new),
            attribution: Attribution::new(),
            buffers: Buffers::new(entry.data_cache),
            entry,
            shortcuts,
            opened: None,
            closed: [0; 3],
            tuples: Vec::new(),
            design,
            plan,
        }
    }

    /// How many address spaces its tags tell apart.
    pub(crate) fn most_processes(&self) -> u64 {
        self.plan.most_processes
    }

    /// A `Switch` mark, to whatever task.
    pub(crate) fn empty_flushed_view(&mut self) {
        self.forget_known();
        for at in 0..self.plan.levels.len() {
            self.flushed.flush(&self.plan, &mut Nobody, at);
        }
    }

    /// Lookups may change something again, whatever was looked up before.
    fn forget_known(&mut self) {
        self.settle_order();
        self.shortcuts.iter_mut().for_each(|shortcut| shortcut.filter.forget());
    }

    /// Before anybody but the running process's lookups needs the order in which lines were used.
    fn settle_order(&mut self) {
        let Machine { shared, flushed, privates, ledger, shortcuts, .. } = self;
        let mut views = [Some(shared), privates.get_mut(ledger.running()), Some(flushed)];
        for (at, shortcut) in shortcuts.iter_mut().enumerate() {
            shortcut.filter.settle_all(|slots| {
                for (view, slot) in views.iter_mut().zip(slots) {
                    view.iter_mut().for_each(|hierarchy| hierarchy.levels[at].found(slot as usize));
                }
            });
        }
    }

    /// Another address space runs from here on.
    pub(crate) fn change_process(&mut self, to: u32) {
        self.part_buffers();
        self.forget_known();
        self.ledger.depart();
        let Machine { plan, ledger, privates, shared, .. } = self;
        for at in (0..plan.levels.len()).filter(|&at| plan.levels[at].is_flushed_on_switch) {
            let bookkeeper = &mut Bookkeeper { plan, ledger, others: privates, process: to, private: None };
            shared.flush(plan, bookkeeper, at);
        }
        self.ledger.come(to);
    }

    /// Nobody is left in an address space.
    pub(crate) fn drop_process(&mut self, process: u32) {
        self.part_buffers();
        self.forget_known();
        if let Some(hierarchy) = self.privates.take(process) {
            self.ended.add(&hierarchy);
            self.restart_private_clock(process, hierarchy.now);
        }
        if let Some(frames) = &mut self.frames {
            frames.drop_space(process);
        }
    }

    /// Before the running process's hierarchy is put away.
    fn part_buffers(&mut self) {
        let Machine { ledger, privates, shared, flushed, buffers, .. } = self;
        if let Some(private) = privates.get_mut(ledger.running()) {
            buffers.part(Buffers::distances(shared, private, flushed), shared, private, flushed);
        }
    }

    /// A tuple that goes on behind the end of its process goes on with a clock that starts at 0.
    fn restart_private_clock(&mut self, process: u32, now: u64) {
        if let Some(opened) = &mut self.opened
            && self.ledger.running() == process
        {
            opened[1] = opened[1].wrapping_sub(now);
            self.closed[1] = self.closed[1].wrapping_sub(now);
        }
    }

    pub(crate) fn fork(&mut self, parent: u32, child: u32) {
        if let Some(frames) = &mut self.frames {
            frames.fork(parent, child);
            self.forget_known();
        }
    }

    /// A range of an address space is mapped or unmapped.
    pub(crate) fn unmap(&mut self, process: u32, start: u64, bytes: u64) {
        if let Some(frames) = &mut self.frames {
            frames.unmap(process, start, bytes);
            self.forget_known();
        }
    }

    pub(crate) fn tell_page(&mut self, process: u32, virtual_address: u64, physical: u64, bytes: u64) {
        if let Some(frames) = &mut self.frames {
            frames.tell(process, virtual_address, physical, bytes);
            self.forget_known();
        }
    }

    /// Before the context or the mappings change.
    pub(crate) fn settle_code(&mut self, scene: &Scene<'_>) {
        self.attribution.settle(scene.context, scene.mappings);
    }

    /// The open tuple is over; `interval` says which one it is, without its cycles. Gives these.
    pub(crate) fn close_tuple(&mut self, interval: Interval) -> Option<ByView<u64>> {
        let [shared, private, flushed] = self.opened.take()?;
        let cycles = ByView {
            shared: self.closed[0] - shared,
            private: self.closed[1].wrapping_sub(private),
            flushed: self.closed[2] - flushed,
        };
        self.tuples.push(Interval { cycles, ..interval });
        Some(cycles)
    }

    /// What swept levels of each view were asked for since the last time; of private views, that of one process.
    pub(crate) fn take_sent(&mut self, process: u32, mut act: impl FnMut(usize, &[Sent])) {
        let Machine { shared, flushed, privates, .. } = self;
        let hierarchies = [Some(&mut *shared), privates.get_mut(process), Some(&mut *flushed)];
        for (view, hierarchy) in hierarchies.into_iter().enumerate() {
            if let Some(hierarchy) = hierarchy {
                act(view, &hierarchy.sent);
                hierarchy.sent.clear();
            }
        }
    }

    /// The segment is over: its tuples are given out.
    pub(crate) fn end_segment(&mut self, end: u32, tuples: &mut Vec<Interval>) {
        tuples.extend(self.tuples.drain(..).map(|interval| Interval { end, ..interval }));
    }

    fn ensure_private(&mut self, process: u32) {
        if self.privates.get(process).is_none() {
            self.privates.put(process, self.fresh_private());
        }
    }

    fn fresh_private(&self) -> Box<Hierarchy> {
        Box::new(Hierarchy::new(&self.plan, Role::Private))
    }
}
