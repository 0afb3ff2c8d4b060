//! Simulates one design: its three views, fed with blocks and marks.
//!
//! The input is runs of blocks of one process, and the events between these runs. The output is
//! intervals, and counters at the end. The module does not know tasks or the order of the trace.

mod back;
mod buffers;
mod clocks;
mod common_lines;
mod comparison;
mod hierarchies;
mod history;
mod kernel;
mod known_blocks;
mod level;
mod level_requests;
mod line;
mod lines;
mod listener;
mod plan;
mod prefetchers;
mod privates;
mod replacement;
mod run;
mod running;
mod totals;
mod view_set;
mod walk;
mod way_predictor;

use switchcost_design::Design;
use switchcost_design::result::{ByView, Interval, OfOthers};

pub(crate) use level_requests::LevelRequests;
pub(crate) use lines::Counts as LevelCounts;
pub(crate) use listener::{
    Departure, Gain, LevelRequest, Levels, Listener, Lookup, NO_PROCESS, Origin, Requester, Took,
};
pub(crate) use plan::{FallbackReason, Kind, fallbacks};
pub(crate) use totals::plain_result;
pub(crate) use view_set::ViewSet;

use crate::address::KeyFormat;
use crate::by_process::ByProcess;
use crate::frames::Frames;
use crate::mappings::Mappings;
use crate::processes::Running;
use clocks::Clocks;
use comparison::Comparison;
use history::History;
use known_blocks::KnownBlocks;
use level::Level;
use plan::Plan;
use privates::{Private, Privates};
use run::Entry;
use totals::Ended;

/// Number of views: shared, private and flushed, in this order in all arrays by view.
const VIEWS: usize = 3;
const SHARED: usize = 0;
const PRIVATE: usize = 1;
const FLUSHED: usize = 2;
/// Index of the cycles lost to other owners, after the cycles of the views. The next two indices
/// are those of the cycles gained, and of the cycles gained by first touches.
const LOST: usize = VIEWS;
const GAINED: usize = LOST + 1;
const FIRST_TOUCHES: usize = GAINED + 1;
const READ: usize = FIRST_TOUCHES + 1;

/// A design with its state and its listener.
#[derive(Debug)]
pub(crate) struct Machine<L> {
    design: Design,
    plan: Plan,
    entry: Entry,
    known_blocks: KnownBlocks,
    state: State<L>,
    /// Counters added up over private hierarchies that no longer exist.
    ended: Ended,
    by_process: ByProcess,
    /// Counters of cycles at the start of the open interval; `closed` has the counters at the end
    /// of the interval's last block.
    opened: Option<[u64; READ]>,
    closed: [u64; READ],
    /// Intervals of the current segment.
    intervals: Vec<Interval>,
}

/// State of a machine that lookups change.
#[derive(Debug)]
struct State<L> {
    levels: Vec<Level>,
    clocks: Clocks,
    privates: Privates,
    /// History of the process whose private hierarchy is simulated at present.
    history: History,
    frames: Option<Frames>,
    /// Process that made the last request, with its time slice.
    requester: Requester,
    listener: L,
}

/// All levels of a design, with the running process and the listener.
struct Hierarchies<'a, L> {
    plan: &'a Plan,
    levels: &'a mut [Level],
    clocks: &'a mut Clocks,
    /// Private hierarchies of the other processes.
    others: &'a mut Privates,
    /// History of the running process's private hierarchy.
    history: &'a mut History,
    frames: Option<&'a mut Frames>,
    listener: &'a mut L,
    /// The program's current lookup.
    lookup: Lookup<'a>,
    /// Whether the lookup is for the first line of a reference.
    is_first_line: bool,
    comparison: Comparison,
}

/// Program to which the cost of running code is attributed, and the cause of its last switch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Context {
    pub(crate) program: u32,
    pub(crate) cause: u32,
}

/// Values that stay the same during a run of blocks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RunContext<'a> {
    /// Address space of the running process.
    pub(crate) space: u32,
    pub(crate) code: Context,
    pub(crate) mappings: &'a Mappings,
}

/// A change to the pages of address spaces.
#[derive(Clone, Copy, Debug)]
pub(crate) enum PageChange {
    /// A new address space has a copy of its parent's pages.
    Forked { parent: u32, child: u32 },
    /// A range is mapped or unmapped.
    Remapped { space: u32, start: u64, bytes: u64 },
    /// The trace records the physical address of a page.
    Recorded {
        space: u32,
        virtual_address: u64,
        physical: u64,
        bytes: u64,
    },
    /// No task is left in an address space.
    Ended { space: u32 },
}

impl<L: Listener> Machine<L> {
    /// Makes a machine. The design must have passed its check.
    pub(crate) fn new(design: Design) -> Machine<L> {
        let plan = Plan::new(&design);
        Machine::planned(design, plan)
    }

    /// Makes a machine that reports each request to the listed levels.
    pub(crate) fn new_with_requests_to(design: Design, levels: &[usize]) -> Machine<L> {
        let mut plan = Plan::new(&design);
        levels
            .iter()
            .for_each(|&level| plan.levels[level].has_wanted_requests = true);
        Machine::planned(design, plan)
    }

    /// Returns the layout of a level's keys.
    pub(crate) fn key_format(&self, level: usize) -> KeyFormat {
        self.plan.levels[level].key_format()
    }

    fn planned(design: Design, mut plan: Plan) -> Machine<L> {
        plan.levels
            .iter_mut()
            .for_each(|level| level.is_compared = L::COMPARES);
        Machine {
            entry: Entry::new(&plan),
            known_blocks: KnownBlocks::default(),
            state: State::new(&plan),
            ended: Ended::new(&plan),
            by_process: ByProcess::new(VIEWS * plan.levels.len()),
            opened: None,
            closed: [0; READ],
            intervals: Vec::new(),
            design,
            plan,
        }
    }

    /// Gives each task a private hierarchy.
    pub(crate) fn tell_tasks_apart(&mut self) {
        self.plan.tell_tasks_apart();
    }

    /// Returns the number of address spaces that the tags distinguish.
    pub(crate) fn most_processes(&self) -> u64 {
        self.plan.most_processes
    }

    /// Empties the flushed view at a `Switch` mark.
    pub(crate) fn empty_flushed_view(&mut self) {
        let context = RunContext::idle();
        let mut hierarchies = self.state.hierarchies(&self.plan, &context);
        (0..self.plan.levels.len()).for_each(|at| hierarchies.flush(FLUSHED, at));
    }

    /// Makes the process in `to` the running one.
    pub(crate) fn change_process(&mut self, to: Running) {
        self.count_running();
        self.state.levels.iter_mut().for_each(Level::split_all);
        if self.state.privates.running() != NO_PROCESS {
            self.state.listener.switched_out(self.state.requester);
        }
        self.state.requester = self.state.requester.next(NO_PROCESS);
        let context = RunContext::idle();
        let mut hierarchies = self.state.hierarchies(&self.plan, &context);
        let is_flushed =
            |at: &usize| to.is_other_space && self.plan.levels[*at].is_flushed_on_switch;
        for at in (0..self.plan.levels.len()).filter(is_flushed) {
            hierarchies.flush(SHARED, at);
        }
        let to = to.process;
        self.state.requester = self.state.requester.next(to);
        self.state.listener.switched_in(to);
        let mut private = self.state.privates.take_to_run(to, &self.plan);
        self.state.exchange_private(&mut private);
        self.state.privates.put_back(to, private);
        self.restart_running();
    }

    /// Sets the ways that the running process may fill, in designs with a partition.
    pub(crate) fn let_fill(&mut self, program: &str, process: u32) {
        for (level, plan) in self.state.levels.iter_mut().zip(&self.plan.levels) {
            level.open_ways = plan.open_ways(program, process);
        }
    }

    /// Removes the private hierarchy of a process that has no task left.
    pub(crate) fn drop_process(&mut self, process: u32) {
        let gone = if self.state.privates.running() == process {
            // The machine's own levels are counted from here on.
            self.count_running();
            let mut private = Box::new(Private::new(&self.plan));
            self.state.levels.iter_mut().for_each(Level::split_all);
            self.state.exchange_private(&mut private);
            self.restart_private_clock(private.now);
            self.restart_running();
            Some(private)
        } else {
            self.state.privates.remove(process)
        };
        if let Some(private) = gone {
            self.ended.add_private(&private);
        }
    }

    /// Adjusts the open interval to the private view's clock, which restarts at 0 when the process
    /// ends. `now` is the clock's time at that moment.
    fn restart_private_clock(&mut self, now: u64) {
        if let Some(opened) = &mut self.opened {
            opened[PRIVATE] = opened[PRIVATE].wrapping_sub(now);
            self.closed[PRIVATE] = self.closed[PRIVATE].wrapping_sub(now);
        }
    }

    pub(crate) fn change_pages(&mut self, change: PageChange) {
        let Some(frames) = &mut self.state.frames else {
            return;
        };
        match change {
            PageChange::Forked { parent, child } => frames.fork(parent, child),
            PageChange::Remapped {
                space,
                start,
                bytes,
            } => frames.unmap(space, start, bytes),
            PageChange::Recorded {
                space,
                virtual_address,
                physical,
                bytes,
            } => {
                frames.record(space, virtual_address, physical, bytes);
            }
            PageChange::Ended { space } => frames.drop_space(space),
        }
        self.state
            .levels
            .iter_mut()
            .for_each(|level| level.common_lines.forget_predictions());
    }

    /// Returns the listener, for example to notify it before the mappings change.
    pub(crate) fn listener_mut(&mut self) -> &mut L {
        &mut self.state.listener
    }

    /// Closes the open interval, adds it to the intervals of the segment, and returns its cycles by
    /// view. `interval` has everything but the cycles. Returns `None` if no interval was open.
    pub(crate) fn close_interval(&mut self, interval: Interval) -> Option<ByView<u64>> {
        let opened = self.opened.take()?;
        let passed = |view: usize| self.closed[view].wrapping_sub(opened[view]);
        let cycles = ByView {
            shared: passed(SHARED),
            private: passed(PRIVATE),
            flushed: passed(FLUSHED),
        };
        let of_others = || OfOthers {
            lost: passed(LOST),
            gained: passed(GAINED),
            first_touches: passed(FIRST_TOUCHES),
        };
        self.intervals.push(Interval {
            cycles,
            of_others: L::COMPARES.then(of_others),
            ..interval
        });
        Some(cycles)
    }

    /// Ends the segment and appends its intervals to `intervals`. `end` is the index of the cause
    /// that ended the segment.
    pub(crate) fn end_segment(&mut self, end: u32, intervals: &mut Vec<Interval>) {
        intervals.extend(
            self.intervals
                .drain(..)
                .map(|interval| Interval { end, ..interval }),
        );
    }
}

impl<L: Listener> State<L> {
    fn new(plan: &Plan) -> State<L> {
        State {
            levels: plan.levels.iter().map(Level::new).collect(),
            clocks: Clocks::default(),
            privates: Privates::none(),
            history: History::default(),
            frames: plan.pages.map(Frames::new),
            requester: Requester::NONE,
            listener: L::new(Levels {
                caches: plan.caches,
                all: plan.levels.len(),
            }),
        }
    }

    fn hierarchies<'a>(
        &'a mut self,
        plan: &'a Plan,
        context: &'a RunContext<'a>,
    ) -> Hierarchies<'a, L> {
        Hierarchies {
            plan,
            levels: &mut self.levels,
            clocks: &mut self.clocks,
            others: &mut self.privates,
            history: &mut self.history,
            frames: self.frames.as_mut(),
            listener: &mut self.listener,
            lookup: Lookup {
                requester: self.requester,
                address: 0,
                is_code: false,
                is_store: false,
                instruction: None,
                level: 0,
                context,
            },
            is_first_line: true,
            comparison: Comparison::default(),
        }
    }

    /// Exchanges the private view's levels, clock and history with the contents of `private`.
    fn exchange_private(&mut self, private: &mut Private) {
        for (level, lines) in self.levels.iter_mut().zip(&mut private.levels) {
            std::mem::swap(&mut level.views[PRIVATE], lines);
        }
        std::mem::swap(&mut self.history, &mut private.history);
        self.clocks.commit();
        std::mem::swap(&mut self.clocks.now[PRIVATE], &mut private.now);
        std::mem::swap(&mut self.clocks.stalls[PRIVATE], &mut private.stalls);
    }
}

static NOTHING_MAPPED: Mappings = Mappings::nothing();

impl RunContext<'_> {
    /// Returns a context without a program.
    fn idle() -> RunContext<'static> {
        RunContext {
            space: NO_PROCESS,
            code: Context {
                program: 0,
                cause: 0,
            },
            mappings: &NOTHING_MAPPED,
        }
    }
}
