//! One design: its three views, fed with blocks and marks.
//!
//! What comes in: runs of blocks of one process, and what happens between them. What goes out: tuples, and counters at
//! the end. It does not know tasks or the order of the trace.

mod buffers;
mod common_lines;
mod gain;
mod hierarchies;
mod history;
mod kernel;
mod level;
mod line;
mod lines;
mod plan;
mod privates;
mod replacement;
mod run;
mod totals;
mod view_set;
mod walk;

use design::Design;
use simulation_result::{ByView, Interval, OfOthers};

pub(crate) use plan::{FallbackReason, Kind};
pub(crate) use walk::DeferredRequest;

use crate::attribution::{ByPlace, Calls, Context, KernelBatches, Ledger, Lookup, NOBODY};
use crate::frames::Frames;
use crate::mappings::Mappings;
use hierarchies::{Clocks, Hierarchies};
use history::History;
use level::Level;
use plan::Plan;
use privates::{Private, Privates};
use run::Entry;
use totals::Ended;
use view_set::ViewSet;

/// The views, in the order of all arrays by view.
const VIEWS: usize = 3;
const SHARED: usize = 0;
const PRIVATE: usize = 1;
const FLUSHED: usize = 2;
/// What is read behind the cycles of the views: those lost to others, gained from others, and gained at first touches.
const LOST: usize = VIEWS;
const GAINED: usize = LOST + 1;
const FIRST_TOUCHES: usize = GAINED + 1;
const READ: usize = FIRST_TOUCHES + 1;

/// One design and everything that it remembers.
#[derive(Debug)]
pub(crate) struct Machine {
    design: Design,
    plan: Plan,
    entry: Entry,
    state: State,
    /// Counters of private hierarchies that are gone.
    ended: Ended,
    calls: Calls,
    kernel_batches: KernelBatches,
    /// Cycles at the start of the open tuple, and at the end of its last block.
    opened: Option<[u64; READ]>,
    closed: [u64; READ],
    /// Tuples of the segment under way.
    tuples: Vec<Interval>,
}

/// What lookups change.
#[derive(Debug)]
struct State {
    levels: Vec<Level>,
    clocks: Clocks,
    ledger: Ledger,
    privates: Privates,
    /// Of the process whose private hierarchy the levels have.
    history: History,
    frames: Option<Frames>,
    deferred: [Vec<DeferredRequest>; VIEWS],
    by_place: ByPlace,
}

/// What stays the same during a run of blocks.
#[derive(Clone, Copy)]
pub(crate) struct RunContext<'a> {
    pub(crate) process: u32,
    pub(crate) code: Context,
    pub(crate) mappings: &'a Mappings,
}

impl Machine {
    /// The design must have passed its check.
    pub(crate) fn new(design: Design) -> Machine {
        let plan = Plan::new(&design);
        Machine::planned(design, plan)
    }

    /// Some levels do not answer: what they are asked is written down for [`Machine::take_deferred`].
    pub(crate) fn sweeping(design: Design, levels: &[usize]) -> Machine {
        let mut plan = Plan::new(&design);
        levels.iter().for_each(|&level| plan.levels[level].sweep());
        Machine::planned(design, plan)
    }

    /// By level: its name, and what keeps one lookup from answering for all views.
    pub(crate) fn fallbacks(design: &Design) -> Vec<(String, Option<FallbackReason>)> {
        Plan::new(design).levels.into_iter().map(|level| (level.name, level.fallback)).collect()
    }

    fn planned(design: Design, plan: Plan) -> Machine {
        Machine {
            entry: Entry::new(&plan),
            state: State::new(&plan),
            ended: Ended::new(&plan),
            calls: Calls::none(),
            kernel_batches: KernelBatches::none(),
            opened: None,
            closed: [0; READ],
            tuples: Vec::new(),
            design,
            plan,
        }
    }

    /// Looks every line up, even where that changes nothing.
    pub(crate) fn skip_no_repeats(&mut self) {
        self.plan.skips_repeats = false;
    }

    /// How many address spaces its tags tell apart.
    pub(crate) fn most_processes(&self) -> u64 {
        self.plan.most_processes
    }

    /// A `Switch` mark, to whatever task.
    pub(crate) fn empty_flushed_view(&mut self) {
        let context = RunContext::of_nobody();
        let mut views = self.state.views(&self.plan, &context);
        (0..self.plan.levels.len()).for_each(|at| views.flush(FLUSHED, at));
    }

    /// Another address space runs from here on.
    pub(crate) fn change_process(&mut self, to: u32) {
        self.state.levels.iter_mut().for_each(Level::split_all);
        self.state.ledger.depart();
        let context = RunContext::of_nobody();
        let mut views = self.state.views(&self.plan, &context);
        for at in (0..self.plan.levels.len()).filter(|&at| self.plan.levels[at].is_flushed_on_switch) {
            views.flush(SHARED, at);
        }
        self.state.ledger.come(to);
        let mut private = self.state.privates.take_to_run(to, &self.plan);
        self.state.exchange_private(&mut private);
        self.state.privates.put_back(to, private);
    }

    /// Nobody is left in an address space.
    pub(crate) fn drop_process(&mut self, process: u32) {
        let gone = if self.state.privates.running() == process {
            // What it still does, it does with a hierarchy of its own again.
            let mut private = Box::new(Private::new(&self.plan));
            self.state.levels.iter_mut().for_each(Level::split_all);
            self.state.exchange_private(&mut private);
            self.restart_private_clock(private.now);
            Some(private)
        } else {
            self.state.privates.remove(process)
        };
        if let Some(private) = gone {
            self.ended.add_private(&private);
        }
        if let Some(frames) = &mut self.state.frames {
            frames.drop_space(process);
        }
    }

    /// A tuple that goes on behind the end of its process goes on with a clock that starts at 0.
    fn restart_private_clock(&mut self, now: u64) {
        if let Some(opened) = &mut self.opened {
            opened[PRIVATE] = opened[PRIVATE].wrapping_sub(now);
            self.closed[PRIVATE] = self.closed[PRIVATE].wrapping_sub(now);
        }
    }

    pub(crate) fn fork(&mut self, parent: u32, child: u32) {
        self.change_frames(|frames| frames.fork(parent, child));
    }

    /// A range of an address space is mapped or unmapped.
    pub(crate) fn unmap(&mut self, process: u32, start: u64, bytes: u64) {
        self.change_frames(|frames| frames.unmap(process, start, bytes));
    }

    pub(crate) fn tell_page(&mut self, process: u32, virtual_address: u64, physical: u64, bytes: u64) {
        self.change_frames(|frames| frames.tell(process, virtual_address, physical, bytes));
    }

    fn change_frames(&mut self, change: impl FnOnce(&mut Frames)) {
        if let Some(frames) = &mut self.state.frames {
            change(frames);
            self.state.levels.iter_mut().for_each(|level| level.common_lines.forget_hints());
        }
    }

    /// Before the mappings change.
    pub(crate) fn flush_places(&mut self, context: &RunContext<'_>) {
        self.state.by_place.settle(context.mappings);
    }

    /// The open tuple is over; `interval` says which one it is, without its cycles. Gives these.
    pub(crate) fn close_tuple(&mut self, interval: Interval) -> Option<ByView<u64>> {
        let opened = self.opened.take()?;
        let passed = |view: usize| self.closed[view].wrapping_sub(opened[view]);
        let cycles = ByView { shared: passed(SHARED), private: passed(PRIVATE), flushed: passed(FLUSHED) };
        let of_others = OfOthers { lost: passed(LOST), gained: passed(GAINED), first_touches: passed(FIRST_TOUCHES) };
        self.tuples.push(Interval { cycles, of_others: Some(of_others), ..interval });
        Some(cycles)
    }

    /// What swept levels of each view were asked for since the last time; of private views, that of the running process.
    pub(crate) fn take_deferred(&mut self, mut act: impl FnMut(usize, &[DeferredRequest])) {
        for (view, deferred) in self.state.deferred.iter_mut().enumerate() {
            act(view, deferred);
            deferred.clear();
        }
    }

    /// The segment is over: its tuples are given out.
    pub(crate) fn end_segment(&mut self, end: u32, tuples: &mut Vec<Interval>) {
        tuples.extend(self.tuples.drain(..).map(|interval| Interval { end, ..interval }));
    }
}

impl State {
    fn new(plan: &Plan) -> State {
        State {
            levels: plan.levels.iter().map(Level::new).collect(),
            clocks: Clocks::default(),
            ledger: Ledger::new(
                plan.levels.iter().map(|level| (level.name.clone(), level.keeps_order)).collect(),
                plan.caches,
            ),
            privates: Privates::none(),
            history: History::default(),
            frames: plan.pages.map(Frames::new),
            deferred: Default::default(),
            by_place: ByPlace::new(plan.caches),
        }
    }

    fn views<'a>(&'a mut self, plan: &'a Plan, context: &'a RunContext<'a>) -> Hierarchies<'a> {
        Hierarchies {
            plan,
            levels: &mut self.levels,
            clocks: &mut self.clocks,
            ledger: &mut self.ledger,
            others: &mut self.privates,
            history: &mut self.history,
            frames: self.frames.as_mut(),
            deferred: &mut self.deferred,
            by_place: &mut self.by_place,
            lookup: Lookup::default(),
            missed: [0; 2],
            found: None,
            is_asked_first: false,
            is_first_touch: false,
            passed: [0; VIEWS],
            brought_modified: ViewSet::NONE,
            slot: 0,
            context,
        }
    }

    /// A hierarchy takes the private view's place, and what was there takes its.
    fn exchange_private(&mut self, private: &mut Private) {
        for (level, lines) in self.levels.iter_mut().zip(&mut private.levels) {
            std::mem::swap(&mut level.views[PRIVATE], lines);
        }
        std::mem::swap(&mut self.history, &mut private.history);
        self.clocks.settle();
        std::mem::swap(&mut self.clocks.now[PRIVATE], &mut private.now);
        std::mem::swap(&mut self.clocks.stalls[PRIVATE], &mut private.stalls);
    }
}

static NOTHING_MAPPED: Mappings = Mappings::nothing();

impl RunContext<'_> {
    /// Where no program looks anything up.
    fn of_nobody() -> RunContext<'static> {
        RunContext { process: NOBODY, code: Context { program: 0, cause: 0 }, mappings: &NOTHING_MAPPED }
    }
}
