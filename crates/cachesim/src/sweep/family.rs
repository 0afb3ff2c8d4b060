//! A family: designs that differ in some levels only, simulated together.

use switchcost_design::Design;
use switchcost_simulation_result::{ByView, DesignResult, HierarchyCounts, Interval, LevelCounts, View};
use switchcost_trace::{BlockRun, Reference};

use crate::attribution::{Attribution, ByPlace};
use crate::machine::{Kind, Machine, PageChange, RunContext, plain_result};

use super::behind::Behind;
use super::depths::Depths;
use super::direct::Direct;
use super::groups::Group;
use super::shape::{GridSlot, Shape};
use super::tuples::Tuples;
use super::{FLUSHED, PRIVATE, SHARED, VIEWS};

/// Some designs, of which the first is simulated by itself too: whatever is the same in all is taken from it.
#[derive(Debug)]
pub(crate) struct Family {
    members: Vec<Member>,
    guide: Box<Machine<Attribution>>,
    shapes: Vec<Shape>,
    feed: Feed,
    /// The newest row of counters, and whether there may be a newer one.
    row: Vec<u64>,
    is_stale: bool,
    /// The row at the start of the open tuple, and behind its last block where something came after that.
    opened: Option<Vec<u64>>,
    closed: Option<Vec<u64>>,
    tuples: Tuples,
}

#[derive(Debug)]
struct Member {
    number: u16,
    design: Design,
    /// By swept level.
    places: Vec<GridSlot>,
}

/// Where lookups come from.
#[derive(Debug)]
enum Feed {
    Direct(Direct),
    Behind(Box<Behind>),
}

/// The same of whichever it is.
macro_rules! either {
    ($feed:expr, $call:ident($($argument:expr),*)) => {
        match $feed {
            Feed::Direct(direct) => direct.$call($($argument),*),
            Feed::Behind(behind) => behind.$call($($argument),*),
        }
    };
}

impl Family {
    /// The designs of a group, with their numbers.
    pub(crate) fn new(group: Group, designs: Vec<(u16, Design)>) -> Family {
        let all: Vec<Design> = designs.iter().map(|(_, design)| design.clone()).collect();
        let mut columns = 0;
        let shape = |&level: &usize| {
            let shape = Shape::new(&all, level, columns);
            columns += shape.columns();
            shape
        };
        let shapes: Vec<Shape> = group.levels.iter().map(shape).collect();
        let member = |(number, design): (u16, Design)| {
            let places = shapes.iter().filter_map(|shape| shape.place(&design)).collect();
            Member { number, design, places }
        };
        let members: Vec<Member> = designs.into_iter().map(member).collect();
        let feed = match group.is_behind {
            false => Feed::Direct(Direct::new(&shapes)),
            true => Feed::Behind(Box::new(Behind::new(members[0].design.clone(), &shapes))),
        };
        let width = VIEWS * (shapes.len() + columns);
        Family {
            guide: Box::new(Machine::new(members[0].design.clone())),
            row: vec![0; width],
            tuples: Tuples::new(VIEWS + width),
            members,
            shapes,
            feed,
            is_stale: false,
            opened: None,
            closed: None,
        }
    }

    /// The machine of the first member, for what sweeping has nothing to do with.
    pub(crate) fn guide_mut(&mut self) -> &mut Machine<Attribution> {
        &mut self.guide
    }

    pub(crate) fn skip_no_repeats(&mut self) {
        self.guide.skip_no_repeats();
        if let Feed::Behind(behind) = &mut self.feed {
            behind.front_mut().skip_no_repeats();
        }
    }

    pub(crate) fn change_pages(&mut self, change: PageChange) {
        self.guide.change_pages(change);
        if let Feed::Behind(behind) = &mut self.feed {
            behind.front_mut().change_pages(change);
        }
    }

    pub(crate) fn most_processes(&self) -> u64 {
        self.guide.most_processes()
    }

    pub(crate) fn run(&mut self, blocks: BlockRun<'_>, references: &[Reference], context: &RunContext<'_>) {
        self.closed = None;
        if self.opened.is_none() {
            self.opened = Some(self.counted().to_vec());
        }
        self.guide.run(blocks, references, context);
        match &mut self.feed {
            Feed::Direct(direct) => direct.run(blocks, references),
            Feed::Behind(behind) => behind.run(blocks, references, context),
        }
        self.is_stale = true;
    }

    pub(crate) fn touch(&mut self, address: u64, bytes: u64, is_store: bool, context: &RunContext<'_>) -> [u64; 2] {
        if self.opened.is_some() && self.closed.is_none() {
            self.closed = Some(self.counted().to_vec());
        }
        match &mut self.feed {
            Feed::Direct(direct) => direct.touch(address, bytes, is_store),
            Feed::Behind(behind) => behind.touch(address, bytes, is_store, context),
        }
        self.is_stale = true;
        self.guide.touch(address, bytes, is_store, context)
    }

    pub(crate) fn empty_flushed_view(&mut self) {
        self.guide.empty_flushed_view();
        either!(&mut self.feed, empty_flushed_view());
    }

    pub(crate) fn change_process(&mut self, to: u32) {
        self.guide.change_process(to);
        either!(&mut self.feed, change_process(to));
    }

    pub(crate) fn drop_process(&mut self, process: u32) {
        self.guide.drop_process(process);
        either!(&mut self.feed, drop_process(process));
    }

    pub(crate) fn close_tuple(&mut self, interval: Interval) {
        let number = self.members[0].number;
        let cycles = self.guide.close_tuple(Interval { design: number, ..interval });
        let (Some(cycles), Some(opened)) = (cycles, self.opened.take()) else { return };
        let closed = self.closed.take();
        self.counted();
        let now = closed.as_deref().unwrap_or(&self.row);
        let counted = now.iter().zip(&opened).map(|(now, then)| now - then);
        let guide = [cycles.shared, cycles.private, cycles.flushed];
        self.tuples.push(&interval, guide.into_iter().chain(counted));
    }

    pub(crate) fn end_segment(&mut self, end: u32, tuples: &mut Vec<Interval>) {
        self.guide.end_segment(end, tuples);
        self.tuples.end_segment(end);
        if self.tuples.are_many() {
            self.give_sums(tuples);
        }
    }

    /// Tuples of all members but the guide.
    pub(crate) fn give_sums(&mut self, tuples: &mut Vec<Interval>) {
        let (guide, others) = self.members.split_at(1);
        let levels = self.shapes.len();
        self.tuples.drain(|head, row| {
            let (cycles, row) = row.split_at(VIEWS);
            for member in others {
                let of = |view: usize| {
                    let own = swept_cycles(member, levels, row, view);
                    (cycles[view] + own).wrapping_sub(swept_cycles(&guide[0], levels, row, view))
                };
                let cycles = ByView { shared: of(SHARED), private: of(PRIVATE), flushed: of(FLUSHED) };
                tuples.push(Interval { design: member.number, cycles, ..*head });
            }
        });
    }

    /// Lookups by level and view, then misses by column and view, as they stand.
    fn counted(&mut self) -> &[u64] {
        if std::mem::take(&mut self.is_stale) {
            let (lookups, misses) = self.row.split_at_mut(VIEWS * self.shapes.len());
            let (lookups, _) = lookups.as_chunks_mut();
            let (misses, _) = misses.as_chunks_mut();
            for (level, shape) in self.shapes.iter().enumerate() {
                lookups[level] = self.feed.lookups(level);
                for (number, grid) in shape.grids.iter().enumerate() {
                    self.feed.depths(level, number).demand_misses(&grid.ways, &mut misses[grid.first_column..]);
                }
            }
        }
        &self.row
    }

    /// What each member makes of it, by number; the guide's is the first.
    pub(crate) fn into_results(mut self, references: [u64; 3]) -> Vec<(u16, DesignResult, Option<ByPlace>)> {
        let row = self.counted().to_vec();
        self.feed.finish();
        let (guide, by_place) = self.guide.into_result(references);
        let results = Results { row: &row, shapes: &self.shapes, feed: &self.feed, guide: &self.members[0] };
        debug_assert_eq!(results.hierarchies(&self.members[0], &guide.hierarchies), guide.hierarchies);
        let counters = |member: &Member| DesignResult {
            physical_pages: guide.physical_pages,
            ..plain_result(member.design.clone(), results.hierarchies(member, &guide.hierarchies))
        };
        let others: Vec<_> = self.members[1..].iter().map(|member| (member.number, counters(member), None)).collect();
        std::iter::once((self.members[0].number, guide, Some(by_place))).chain(others).collect()
    }
}

impl Feed {
    fn lookups(&self, level: usize) -> [u64; VIEWS] {
        either!(self, lookups(level))
    }

    fn depths(&self, level: usize, grid: usize) -> &Depths {
        either!(self, depths(level, grid))
    }

    fn finish(&mut self) {
        either!(self, finish())
    }
}

/// Cycles that one swept level takes of a row, as [`Family::counted`] gives it.
fn level_cycles(place: &GridSlot, level: usize, levels: usize, row: &[u64], view: usize) -> u64 {
    let lookups = row[VIEWS * level + view];
    let misses = row[VIEWS * (levels + place.column) + view];
    place.hit_cycles * (lookups - misses) + place.miss_cycles * misses
}

/// Cycles that all swept levels take.
fn swept_cycles(member: &Member, levels: usize, row: &[u64], view: usize) -> u64 {
    let places = member.places.iter().enumerate();
    places.map(|(level, place)| level_cycles(place, level, levels, row, view)).sum()
}

/// Counters at the end.
struct Results<'a> {
    row: &'a [u64],
    shapes: &'a [Shape],
    feed: &'a Feed,
    guide: &'a Member,
}

impl Results<'_> {
    fn hierarchies(&self, member: &Member, guide: &ByView<HierarchyCounts>) -> ByView<HierarchyCounts> {
        let of = |view: View, number: usize| self.hierarchy(member, guide.get(view), number);
        ByView {
            shared: of(View::Shared, SHARED),
            private: of(View::Private, PRIVATE),
            flushed: of(View::Flushed, FLUSHED),
        }
    }

    fn hierarchy(&self, member: &Member, guide: &HierarchyCounts, view: usize) -> HierarchyCounts {
        let levels = self.shapes.len();
        let mut counts = guide.clone();
        let own = swept_cycles(member, levels, self.row, view);
        counts.cycles = (counts.cycles + own).wrapping_sub(swept_cycles(self.guide, levels, self.row, view));
        for (number, (shape, place)) in self.shapes.iter().zip(&member.places).enumerate() {
            let level = &mut counts.levels[shape.level];
            self.level(level, number, place, view);
            level.cycles = level_cycles(place, number, levels, self.row, view);
        }
        counts
    }

    fn level(&self, counts: &mut LevelCounts, level: usize, place: &GridSlot, view: usize) {
        let depths = self.feed.depths(level, place.grid);
        counts.instruction_misses = depths.misses(view, Kind::Fetch, place.ways);
        counts.load_misses = depths.misses(view, Kind::Load, place.ways);
        counts.store_misses = depths.misses(view, Kind::Store, place.ways);
        counts.fills = depths.fills(view, place.ways);
        counts.write_backs = depths.write_backs(view, place.ways);
    }
}
