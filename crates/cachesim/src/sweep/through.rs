//! Sweeps a level that other levels follow. The swept level is simulated once for all its sizes,
//! the levels after it once for each member.
//!
//! A member's level holds the first lines of each stack. Each lookup therefore shows for all
//! members whether they miss, and which line leaves the level of each. The levels after the swept
//! one depend on nothing else.

use std::hint::black_box;

use switchcost_design::Design;
use switchcost_design::result::DesignResult;

use crate::address::KeyFormat;
use crate::machine::{Kind, LevelRequest};
use crate::processes::Running;

use super::back::Back;
use super::cold::Cold;
use super::depths::Depths;
use super::shape::{GridShape, GridSlot, Shape};
use super::view_stacks::ViewStacks;
use super::{FLUSHED, SHARED, VIEWS};

/// Set of members (designs) whose swept levels have the same number of sets; one bit for each.
type Members = u32;
/// Maximum number of members (designs) whose swept levels have the same number of sets.
pub(super) const MOST_MEMBERS: usize = Members::BITS as usize;

/// Number of requests whose stacks are read ahead, before the first one is answered, so that the
/// memory latencies overlap.
const READ_AHEAD: usize = 16;

#[derive(Debug)]
pub(super) struct Through {
    is_flushed_on_switch: bool,
    /// Layout of the keys.
    format: KeyFormat,
    grids: Vec<ThroughGrid>,
    cold: Box<Cold>,
    /// Number of demand lookups by view.
    lookups: [u64; VIEWS],
}

/// All designs of a group whose swept level has the same number of sets.
#[derive(Debug)]
struct ThroughGrid {
    shape: GridShape,
    /// Stacks of the level. A line's mark is the set of members whose level holds the line
    /// modified.
    stacks: ViewStacks<Members>,
    depths: Depths,
    backs: Vec<Back>,
}

impl Through {
    /// Creates the swept level. `members` must be in the order of `places`.
    pub(super) fn new(
        members: &[Design],
        shape: &Shape,
        places: &[GridSlot],
        format: KeyFormat,
    ) -> Through {
        let cold = Box::new(Cold::new(&members[0], shape.level + 1));
        let of_grid = |(number, grid): (usize, &GridShape)| {
            let own = places
                .iter()
                .enumerate()
                .filter(|(_, place)| place.grid == number);
            let back = |(member, place): (usize, &GridSlot)| {
                Back::new(member, place.ways, &members[member], shape.level + 1, &cold)
            };
            let mut backs: Vec<Back> = own.map(back).collect();
            backs.sort_by_key(|back| std::cmp::Reverse(back.ways));
            ThroughGrid {
                stacks: ViewStacks::new(grid.sets, grid.most_ways()),
                depths: Depths::new(grid.most_ways()),
                shape: grid.clone(),
                backs,
            }
        };
        Through {
            is_flushed_on_switch: shape.is_flushed_on_switch,
            format,
            grids: shape.grids.iter().enumerate().map(of_grid).collect(),
            cold,
            lookups: [0; VIEWS],
        }
    }

    /// Answers requests of the levels before the swept one. The requests do not depend on the
    /// answers.
    pub(super) fn answer(&mut self, requests: &[LevelRequest]) {
        let Through {
            grids,
            cold,
            lookups,
            format,
            ..
        } = self;
        for (view, lookups) in lookups.iter_mut().enumerate() {
            for some in requests.chunks(READ_AHEAD) {
                let of_view = some.iter().filter(|request| request.views.has(view));
                let sets = of_view.clone().flat_map(|request| {
                    grids.iter().map(move |grid| {
                        grid.stacks.views[view].read_ahead(grid.set_of(request.key))
                    })
                });
                black_box(sets.fold(0, |read, next| read ^ next));
                for request in of_view {
                    let Some(kind) = request.kind else {
                        grids
                            .iter_mut()
                            .for_each(|grid| grid.give(view, request, cold));
                        continue;
                    };
                    *lookups += u64::from(request.is_demand);
                    // A request that changes nothing with some number of sets changes nothing with
                    // more.
                    let _ = grids
                        .iter_mut()
                        .any(|grid| grid.look_up(view, kind, request, *format, cold));
                    cold.answer();
                }
            }
        }
    }

    pub(super) fn empty_flushed_view(&mut self) {
        let Through {
            grids,
            cold,
            format,
            ..
        } = self;
        // The members that [`Cold`] represents have the same lines, so one grid gives them to
        // `cold` for all.
        let giving = grids
            .iter()
            .position(|grid| grid.backs.iter().any(|back| back.is_cold_in(FLUSHED)));
        for (number, grid) in grids.iter_mut().enumerate() {
            grid.flush(
                FLUSHED,
                *format,
                (giving == Some(number)).then_some(&mut *cold),
            );
        }
        cold.flush();
        self.share_counts();
        self.backs().for_each(Back::empty_flushed_view);
    }

    /// Adds the common counts to each member that [`Cold`] still represents.
    fn share_counts(&mut self) {
        let Through { grids, cold, .. } = self;
        grids
            .iter_mut()
            .flat_map(|grid| &mut grid.backs)
            .for_each(|back| back.count(cold));
        cold.restart_counts();
    }

    pub(super) fn change_process(&mut self, to: Running) {
        if self.is_flushed_on_switch && to.is_other_space {
            self.flush_shared();
        }
        self.share_counts();
        self.grids
            .iter_mut()
            .for_each(|grid| grid.stacks.change_process(to.process));
        self.backs().for_each(|back| back.levels.change_process(to));
    }

    pub(super) fn drop_process(&mut self, process: u32) {
        self.share_counts();
        self.grids
            .iter_mut()
            .for_each(|grid| drop(grid.stacks.drop_process(process)));
        self.backs()
            .for_each(|back| back.levels.drop_process(process));
    }

    /// Returns the demand lookups, by view.
    pub(super) fn lookups(&self, _: usize) -> [u64; VIEWS] {
        self.lookups
    }

    pub(super) fn depths(&self, _: usize, grid: usize) -> &Depths {
        &self.grids[grid].depths
    }

    /// Writes the cycles of the levels after the swept one to `into`, by member and view.
    pub(super) fn cycles_behind(&self, into: &mut [[u64; VIEWS]]) {
        self.grids
            .iter()
            .flat_map(|grid| &grid.backs)
            .for_each(|back| into[back.member] = back.cycles(&self.cold));
    }

    /// Returns two numbers for a member in a view: the modified lines that left its level, and the
    /// unmodified lines that a later level took.
    pub(super) fn given(&self, member: usize, view: usize) -> [u64; 2] {
        let mut all = self.grids.iter().flat_map(|grid| &grid.backs);
        all.find(|back| back.member == member)
            .map_or([0; 2], |back| [back.write_backs[view], back.moves[view]])
    }

    /// Returns the counts of the levels after the swept one, by member.
    pub(super) fn results(&mut self) -> Vec<DesignResult> {
        self.share_counts();
        let backs = self.grids.iter_mut().flat_map(|grid| &mut grid.backs);
        let mut results: Vec<_> = backs
            .map(|back| (back.member, back.levels.result([0; 3])))
            .collect();
        results.sort_by_key(|(member, _)| *member);
        results.into_iter().map(|(_, result)| result).collect()
    }

    fn backs(&mut self) -> impl Iterator<Item = &mut Back> {
        self.grids.iter_mut().flat_map(|grid| &mut grid.backs)
    }

    fn flush_shared(&mut self) {
        let format = self.format;
        self.grids
            .iter_mut()
            .for_each(|grid| grid.flush(SHARED, format, None));
    }
}

impl ThroughGrid {
    fn set_of(&self, key: u64) -> usize {
        key as usize & (self.shape.sets - 1)
    }

    /// Looks up a line. Returns whether the lookup changes nothing in this grid and in all grids
    /// with more sets.
    fn look_up(
        &mut self,
        view: usize,
        kind: Kind,
        request: &LevelRequest,
        format: KeyFormat,
        cold: &mut Cold,
    ) -> bool {
        let &LevelRequest {
            key,
            is_demand,
            ref address,
            ..
        } = request;
        let (set, is_store, ways) = (
            self.set_of(key),
            kind == Kind::Store,
            self.shape.most_ways(),
        );
        let stacks = &mut self.stacks.views[view];
        let found = stacks.find(set, key, ways);
        let (depth, mut modified) = found.unwrap_or((ways, 0));
        if depth == 0 {
            if is_store {
                stacks.set_mark(set, 0, Members::MAX);
            }
            // A load changes nothing. A store must also be recorded in grids with more sets.
            return !is_store;
        }
        self.depths.count(view, kind, depth, is_demand);
        let asked = if is_store { Kind::Load } else { kind };
        for back in self
            .backs
            .iter_mut()
            .filter(|back| back.ways <= depth && back.is_cold_in(view))
        {
            match stacks.line_at(set, back.ways - 1) {
                None => cold.ask(asked, address, is_demand),
                Some(_) => back.part_from(cold),
            }
        }
        let asks = |back: &Back| back.ways <= depth && !back.is_cold_in(view);
        let missing = self.backs.iter().filter(|back| asks(back));
        black_box(missing.fold(0, |read, back| read ^ back.levels.read_ahead(view, address)));
        for (member, back) in self
            .backs
            .iter_mut()
            .enumerate()
            .filter(|(_, back)| asks(back))
        {
            modified |= Members::from(back.ask(view, asked, address, is_demand)) << member;
            if let Some((left, marks)) = stacks.line_at(set, back.ways - 1) {
                let own: Members = 1 << member;
                stacks.set_mark(set, back.ways - 1, marks & !own);
                back.take_line(view, &format.address_of(left), marks & own != 0);
            }
        }
        let modified = if is_store { Members::MAX } else { modified };
        stacks.promote(set, found.map(|(depth, _)| depth), key, modified);
        false
    }

    /// Writes a modified line back to the swept levels that hold it. For all other members, the
    /// line goes to their later levels.
    fn give(&mut self, view: usize, request: &LevelRequest, cold: &Cold) {
        let set = self.set_of(request.key);
        let stacks = &mut self.stacks.views[view];
        let found = stacks.find(set, request.key, self.shape.most_ways());
        let (depth, mut modified) = found.unwrap_or((usize::MAX, 0));
        for (member, back) in self.backs.iter_mut().enumerate() {
            if back.ways > depth {
                modified |= 1 << member;
            } else {
                if back.is_cold_in(view) {
                    back.part_from(cold);
                }
                back.levels.give_line(view, &request.address);
            }
        }
        if found.is_some() {
            stacks.set_mark(set, depth, modified);
        }
    }

    /// Removes all lines. Modified lines go to the members' later levels. Members that [`Cold`]
    /// represents are served only if `cold` is given.
    fn flush(&mut self, view: usize, format: KeyFormat, mut cold: Option<&mut Cold>) {
        let stacks = &mut self.stacks.views[view];
        for (depth, key, modified) in stacks.lines().filter(|(_, _, modified)| *modified != 0) {
            let address = format.address_of(key);
            let is_held = |(member, back): &(usize, &mut Back)| {
                back.ways > depth && modified >> member & 1 != 0
            };
            let mut are_alike = false;
            for (_, back) in self.backs.iter_mut().enumerate().filter(is_held) {
                back.write_backs[view] += 1;
                if back.is_cold_in(view) {
                    are_alike = true
                } else {
                    back.levels.give_line(view, &address)
                }
            }
            if let Some(cold) = cold.as_deref_mut().filter(|_| are_alike) {
                cold.give_line(&address);
            }
        }
        stacks.clear();
    }
}
