//! Families: designs that differ only in some levels, and are simulated together.

use switchcost_design::Design;
use switchcost_design::result::{ByView, DesignResult, Interval, ProcessMisses};
use switchcost_trace::{BlockRun, Reference};

use crate::attribution::{Attribution, ByPlace, group_by_place};
use crate::by_process::ByProcess;
use crate::machine::{Machine, PageChange, RunContext, plain_result};
use crate::processes::Running;

use super::feed::Feed;
use super::groups::{Group, Position};
use super::intervals::Intervals;
use super::results::{Member, Results, swept_cycles};
use super::shape::{GridSlot, Shape};
use super::{FLUSHED, PRIVATE, SHARED, VIEWS};

/// Designs that are simulated in one pass (*members*). The first member, the guide, is simulated as
/// it would be alone; its results have everything that is the same for all members.
#[derive(Debug)]
pub(crate) struct Family {
    members: Vec<Member>,
    guide: Box<Machine<Attribution>>,
    shapes: Vec<Shape>,
    feed: Feed,
    /// Latest counters, in the order of [`Family::counted`]; `is_stale` if they may be out of date.
    row: Vec<u64>,
    is_stale: bool,
    /// Counters at the start of the open interval. `closed` has the counters after the interval's
    /// last block, if events followed that block.
    opened: Option<Vec<u64>>,
    closed: Option<Vec<u64>>,
    intervals: Intervals,
    running: Option<u32>,
    /// Misses of each process, one column for each grid and number of ways.
    by_process: ByProcess,
}

impl Family {
    /// Makes a family of the designs of a group, with their indices.
    pub(crate) fn new(group: Group, designs: Vec<(u16, Design)>) -> Family {
        let all: Vec<Design> = designs.iter().map(|(_, design)| design.clone()).collect();
        let mut columns = 0;
        let shape = |&level: &usize| {
            let shape = Shape::new(&all, level, columns);
            columns += shape.columns();
            shape
        };
        let shapes: Vec<Shape> = group.levels.iter().map(shape).collect();
        let (entries, has_behind) = (shapes.len() + columns, group.position == Position::Between);
        let member = |(place, (number, design)): (usize, (u16, Design))| {
            let places = shapes
                .iter()
                .filter_map(|shape| shape.place(&design))
                .collect();
            Member {
                number,
                design,
                places,
                cycles_behind: has_behind.then_some(entries + place),
            }
        };
        let members: Vec<Member> = designs.into_iter().enumerate().map(member).collect();
        let places: Vec<GridSlot> = members.iter().map(|member| member.places[0]).collect();
        let width = VIEWS * (entries + if has_behind { members.len() } else { 0 });
        let guide = Machine::new_with_requests_to(members[0].design.clone(), &group.levels);
        let format = guide.key_format(group.levels[0]);
        Family {
            guide: Box::new(guide),
            row: vec![0; width],
            intervals: Intervals::new(VIEWS + width),
            running: None,
            by_process: ByProcess::new(VIEWS * columns),
            feed: Feed::new(group.position, &all, &shapes, &places, format),
            members,
            shapes,
            is_stale: false,
            opened: None,
            closed: None,
        }
    }

    /// Returns the machine of the guide (the first design), which answers everything that does not
    /// depend on the swept levels.
    pub(crate) fn guide_mut(&mut self) -> &mut Machine<Attribution> {
        &mut self.guide
    }

    pub(crate) fn tell_tasks_apart(&mut self) {
        self.guide.tell_tasks_apart();
    }

    pub(crate) fn change_pages(&mut self, change: PageChange) {
        self.guide.change_pages(change);
    }

    pub(crate) fn most_processes(&self) -> u64 {
        self.guide.most_processes()
    }

    pub(crate) fn run(
        &mut self,
        blocks: BlockRun<'_>,
        references: &[Reference],
        context: &RunContext<'_>,
    ) {
        self.closed = None;
        if self.opened.is_none() {
            self.opened = Some(self.counted().to_vec());
        }
        self.guide.run(blocks, references, context);
        self.answer();
    }

    pub(crate) fn touch(
        &mut self,
        address: u64,
        bytes: u64,
        is_store: bool,
        context: &RunContext<'_>,
    ) -> [u64; 2] {
        if self.opened.is_some() && self.closed.is_none() {
            self.closed = Some(self.counted().to_vec());
        }
        let touched = self.guide.touch(address, bytes, is_store, context);
        self.answer();
        touched
    }

    /// Looks up the requests of the guide (the first design) to the swept levels, for all members.
    fn answer(&mut self) {
        let Family { guide, feed, .. } = self;
        guide
            .listener_mut()
            .1
            .take(|requests| feed.answer(requests));
        self.is_stale = true;
    }

    pub(crate) fn empty_flushed_view(&mut self) {
        self.guide.empty_flushed_view();
        self.answer();
        self.feed.empty_flushed_view();
    }

    pub(crate) fn change_process(&mut self, to: Running) {
        self.count_running();
        self.running = Some(to.process);
        self.guide.change_process(to);
        self.answer();
        self.feed.change_process(to);
    }

    pub(crate) fn drop_process(&mut self, process: u32) {
        self.guide.drop_process(process);
        self.feed.drop_process(process);
    }

    pub(crate) fn close_interval(&mut self, interval: Interval) {
        let number = self.members[0].number;
        let cycles = self.guide.close_interval(Interval {
            design: number,
            ..interval
        });
        let (Some(cycles), Some(opened)) = (cycles, self.opened.take()) else {
            return;
        };
        let closed = self.closed.take();
        self.counted();
        let now = closed.as_deref().unwrap_or(&self.row);
        let counted = now.iter().zip(&opened).map(|(now, then)| now - then);
        let guide = [cycles.shared, cycles.private, cycles.flushed];
        self.intervals
            .push(&interval, guide.into_iter().chain(counted));
    }

    pub(crate) fn end_segment(&mut self, end: u32, intervals: &mut Vec<Interval>) {
        self.guide.end_segment(end, intervals);
        self.intervals.end_segment(end);
        if self.intervals.are_many() {
            self.give_sums(intervals);
        }
    }

    /// Appends the sums of intervals of all members except the guide (the first design).
    pub(crate) fn give_sums(&mut self, intervals: &mut Vec<Interval>) {
        let (guide, others) = self.members.split_at(1);
        let levels = self.shapes.len();
        self.intervals.drain(|head, row| {
            let (cycles, row) = row.split_at(VIEWS);
            for member in others {
                let of = |view: usize| {
                    let own = swept_cycles(member, levels, row, view);
                    (cycles[view] + own).wrapping_sub(swept_cycles(&guide[0], levels, row, view))
                };
                let cycles = ByView {
                    shared: of(SHARED),
                    private: of(PRIVATE),
                    flushed: of(FLUSHED),
                };
                intervals.push(Interval {
                    design: member.number,
                    cycles,
                    ..*head
                });
            }
        });
    }

    /// Returns the current counters by view: lookups by level, misses by column, and cycles of
    /// later levels by member.
    fn counted(&mut self) -> &[u64] {
        if std::mem::take(&mut self.is_stale) {
            let (entries, _) = self.row.as_chunks_mut();
            let (lookups, misses) = entries.split_at_mut(self.shapes.len());
            for (level, shape) in self.shapes.iter().enumerate() {
                lookups[level] = self.feed.lookups(level);
                for (number, grid) in shape.grids.iter().enumerate() {
                    self.feed
                        .depths(level, number)
                        .demand_misses(&grid.ways, &mut misses[grid.first_column..]);
                }
            }
            let columns = misses.len()
                - self
                    .members
                    .iter()
                    .filter_map(|member| member.cycles_behind)
                    .count();
            self.feed.cycles_behind(&mut misses[columns..]);
        }
        &self.row
    }

    /// Adds the misses since the last call to the running process.
    fn count_running(&mut self) {
        let Some(running) = self.running else { return };
        let columns: usize = self.shapes.iter().map(Shape::columns).sum();
        let mut missed = vec![[0; VIEWS]; columns];
        for (level, shape) in self.shapes.iter().enumerate() {
            for (number, grid) in shape.grids.iter().enumerate() {
                self.feed
                    .depths(level, number)
                    .reference_misses(&grid.ways, &mut missed[grid.first_column..]);
            }
        }
        self.by_process.count(running, missed.as_flattened());
    }

    /// Returns the index and the result of each member, beginning with the guide (the first
    /// design).
    pub(crate) fn into_results(
        mut self,
        references: [u64; 3],
    ) -> Vec<(u16, DesignResult, Option<ByPlace>)> {
        self.count_running();
        let row = self.counted().to_vec();
        self.feed.finish();
        let behind = self.feed.results_behind();
        let (guide, listener) = self.guide.into_result(references);
        let by_process: Vec<ProcessMisses> = self.by_process.misses().collect();
        let results = Results {
            row: &row,
            shapes: &self.shapes,
            feed: &self.feed,
            behind: &behind,
            by_process: &by_process,
            guide: &guide,
            guide_member: &self.members[0],
        };
        debug_assert_eq!(results.hierarchies(0, &self.members[0]), guide.hierarchies);
        debug_assert_eq!(
            results.misses_by_process(0, &self.members[0]),
            guide.by_process
        );
        let counters = |(place, member): (usize, &Member)| {
            let result = DesignResult {
                by_process: results.misses_by_process(place, member),
                physical_pages: guide.physical_pages,
                ..plain_result(member.design.clone(), results.hierarchies(place, member))
            };
            (member.number, result, None)
        };
        let others: Vec<_> = self
            .members
            .iter()
            .enumerate()
            .skip(1)
            .map(counters)
            .collect();
        std::iter::once((
            self.members[0].number,
            guide,
            Some(group_by_place(listener)),
        ))
        .chain(others)
        .collect()
    }
}
