//! Levels that the processor asks itself: blocks and references, cut into lookups.

use switchcost_trace::{Block, BlockRun, Reference};

use crate::address::{VALID, VIRTUAL_BITS, VIRTUAL_MASK};
use crate::blocks::{Lookups, bytes_of, last_byte, look_up_all, pieces};
use crate::machine::Kind;
use crate::processes::Running;

use super::depths::Depths;
use super::grid::Grid;
use super::mru_prefix::MruPrefix;
use super::shape::Shape;
use super::{FLUSHED, PRIVATE, SHARED, VIEWS};

/// A line, and whether it was stored to, as the filter keeps it.
const NO_LINE: u64 = u64::MAX;

/// First levels, with nothing behind them.
#[derive(Debug)]
pub(super) struct Direct {
    levels: Vec<DirectLevel>,
    /// Where fetches go, and where loads and stores go.
    fetch: usize,
    data: usize,
}

#[derive(Debug)]
struct DirectLevel {
    shape: Shape,
    space_bits: u64,
    /// By set of the fewest sets: the line that was looked up last since the last switch.
    filter: Vec<u64>,
    grids: Vec<DirectGrid>,
    lookups: u64,
    /// While a reference of several lines is looked up, by grid: the greatest depth so far.
    deepest: Vec<[usize; VIEWS]>,
}

#[derive(Debug)]
struct DirectGrid {
    /// What is not in `prefix`.
    rest: Grid,
    prefix: MruPrefix,
}

/// What a lookup found.
enum Found {
    /// The line used last, here and with more sets; nothing changes.
    Unchanged,
    /// At this depth in all views.
    Alike(usize),
    Apart([usize; VIEWS]),
}

impl Direct {
    pub(super) fn new(shapes: &[Shape]) -> Direct {
        let levels = shapes.iter().map(DirectLevel::new).collect();
        let place = |is_it: fn(&Shape) -> bool| shapes.iter().position(is_it).unwrap_or_default();
        let fetch = place(|shape| shape.holds.instructions());
        let data = place(|shape| shape.holds.data());
        Direct {
            levels,
            fetch,
            data,
        }
    }

    pub(super) fn run(&mut self, blocks: BlockRun<'_>, references: &[Reference]) {
        look_up_all(blocks, references, self);
    }

    /// The kernel touches memory of the process.
    pub(super) fn touch(&mut self, address: u64, bytes: u64, is_store: bool) {
        let kind = if is_store { Kind::Store } else { Kind::Load };
        let data = &mut self.levels[self.data];
        pieces(address, bytes).for_each(|(first, last)| data.data(kind, first, last));
    }

    pub(super) fn empty_flushed_view(&mut self) {
        self.visit_levels(|level| {
            level.commit(true);
            level
                .grids
                .iter_mut()
                .for_each(|grid| grid.rest.clear_flushed());
        });
    }

    pub(super) fn change_process(&mut self, to: Running) {
        self.visit_levels(|level| level.change_process(to));
    }

    pub(super) fn drop_process(&mut self, process: u32) {
        self.visit_levels(|level| {
            level.commit(false);
            level
                .grids
                .iter_mut()
                .for_each(|grid| grid.rest.drop_process(process));
        });
    }

    fn visit_levels(&mut self, act: impl FnMut(&mut DirectLevel)) {
        self.levels.iter_mut().for_each(act);
    }

    /// Demand lookups, by level and view.
    pub(super) fn lookups(&self, level: usize) -> [u64; VIEWS] {
        [self.levels[level].lookups; VIEWS]
    }

    pub(super) fn depths(&self, level: usize, grid: usize) -> &Depths {
        &self.levels[level].grids[grid].rest.depths
    }

    pub(super) fn finish(&mut self) {
        self.visit_levels(|level| {
            level.commit(false);
            level.grids.iter_mut().for_each(|grid| grid.rest.finish());
        });
    }
}

impl Lookups for Direct {
    /// No level takes time before the end.
    #[inline]
    fn advance_clock(&mut self, _: u64) {}

    #[inline]
    fn finds_code(&mut self, blocks: BlockRun<'_>) -> usize {
        if self.fetch == self.data {
            return 0;
        }
        let level = &mut self.levels[self.fetch];
        blocks
            .iter()
            .take_while(|block| level.finds(block.address, last_byte(block), false))
            .count()
    }

    /// Nothing takes code away but code.
    #[inline]
    fn code_losses(&self) -> u64 {
        0
    }

    #[inline]
    fn finds_data(&mut self, references: &[Reference]) -> usize {
        let level = &mut self.levels[self.data];
        let finds = |&reference: &Reference| {
            let (first, last) = bytes_of(reference);
            level.finds(first, last, reference.is_store())
        };
        references
            .iter()
            .map(finds)
            .take_while(|&is_found| is_found)
            .count()
    }

    fn first_instruction(&mut self, first: u64, last: u64) {
        self.levels[self.fetch].data(Kind::Fetch, first, last);
    }

    fn code(&mut self, done: u64, last: u64) {
        let level = &mut self.levels[self.fetch];
        let bits = level.shape.line_bits;
        ((done >> bits) + 1..=last >> bits).for_each(|line| level.lines(Kind::Fetch, line, line));
    }

    #[inline]
    fn data(&mut self, _: &Block, reference: Reference) {
        let (first, last) = bytes_of(reference);
        let kind = if reference.is_store() {
            Kind::Store
        } else {
            Kind::Load
        };
        self.levels[self.data].data(kind, first, last);
    }

    #[inline]
    fn attribute(&mut self, _: &Block) {}
}

impl DirectLevel {
    fn new(shape: &Shape) -> DirectLevel {
        let grid = |shape| {
            let rest = Grid::new(shape);
            DirectGrid {
                prefix: MruPrefix::new(rest.sets, rest.ways),
                rest,
            }
        };
        let fewest = shape.grids.first().map_or(1, |grid| grid.sets);
        DirectLevel {
            space_bits: VALID,
            filter: vec![NO_LINE; fewest],
            grids: shape.grids.iter().map(grid).collect(),
            lookups: 0,
            deepest: vec![[0; VIEWS]; shape.grids.len()],
            shape: shape.clone(),
        }
    }

    fn change_process(&mut self, to: Running) {
        self.commit(false);
        self.space_bits = VALID | u64::from(to.space) << (VIRTUAL_BITS - self.shape.line_bits);
        for grid in &mut self.grids {
            grid.rest.change_process(to.process);
            if self.shape.is_flushed_on_switch && to.is_other_space {
                grid.rest.clear_shared();
            }
        }
    }

    /// Lines of the prefix become lines as any others.
    fn commit(&mut self, loses_flushed: bool) {
        if let Some(fewest) = self.grids.first() {
            fewest
                .prefix
                .used()
                .iter()
                .for_each(|&set| self.filter[set as usize] = NO_LINE);
        }
        self.grids
            .iter_mut()
            .for_each(|grid| grid.commit(loses_flushed));
    }

    /// Looks up all lines from one address to another, if each is known to be found whatever the sizes are; else does nothing.
    #[inline]
    fn finds(&mut self, first: u64, last: u64, is_store: bool) -> bool {
        let bits = self.shape.line_bits;
        let (first, last) = (first >> bits, last >> bits);
        let is_found = (first..=last).all(|line| self.holds(self.masked(line), is_store));
        self.lookups += if is_found { last - first + 1 } else { 0 };
        is_found
    }

    #[inline]
    fn data(&mut self, kind: Kind, first: u64, last: u64) {
        let bits = self.shape.line_bits;
        self.lines(kind, first >> bits, last >> bits);
    }

    /// One reference, to all lines from one to another.
    #[inline]
    fn lines(&mut self, kind: Kind, first: u64, last: u64) {
        self.lookups += last - first + 1;
        if first != last {
            self.look_up_lines(kind, first, last);
        } else {
            let line = self.masked(first);
            if !self.holds(line, kind == Kind::Store) {
                self.one_line(kind, line);
            }
        }
    }

    #[inline]
    fn masked(&self, line: u64) -> u64 {
        line & (VIRTUAL_MASK >> self.shape.line_bits)
    }

    /// Whether a lookup changes nothing, and finds the line with any number of sets and ways.
    #[inline]
    fn holds(&self, line: u64, is_store: bool) -> bool {
        let last = self.filter[line as usize & (self.filter.len() - 1)];
        last == line << 1 | 1 || (!is_store && last == line << 1)
    }

    /// What the filter knows after a lookup.
    fn remember(&mut self, line: u64, is_store: bool) {
        let slot = line as usize & (self.filter.len() - 1);
        let was_stored = self.filter[slot] == line << 1 | 1;
        self.filter[slot] =
            line << 1 | u64::from(is_store || was_stored || !self.shape.is_write_back);
    }

    #[inline(never)]
    fn one_line(&mut self, kind: Kind, line: u64) {
        let (key, is_store) = (
            self.space_bits | line,
            kind == Kind::Store && self.shape.is_write_back,
        );
        for grid in &mut self.grids {
            match grid.look_up(key, is_store) {
                Found::Unchanged => break,
                Found::Alike(0) => {}
                Found::Alike(depth) => grid.rest.depths.count_alike(kind, depth),
                Found::Apart(depths) => {
                    for (view, depth) in depths.into_iter().enumerate() {
                        grid.rest.depths.count(view, kind, depth, true);
                    }
                }
            }
        }
        self.remember(line, is_store);
    }

    /// One reference to several lines: it misses where its deepest line does.
    #[inline(never)]
    fn look_up_lines(&mut self, kind: Kind, first: u64, last: u64) {
        let is_store = kind == Kind::Store && self.shape.is_write_back;
        self.deepest.fill([0; VIEWS]);
        for line in first..=last {
            let line = self.masked(line);
            for (grid, deepest) in self.grids.iter_mut().zip(&mut self.deepest) {
                let depths = match grid.look_up(self.space_bits | line, is_store) {
                    Found::Unchanged => break,
                    Found::Alike(depth) => [depth; VIEWS],
                    Found::Apart(depths) => depths,
                };
                for (view, depth) in depths.into_iter().enumerate() {
                    grid.rest.depths.count_other(view, depth.min(deepest[view]));
                    deepest[view] = deepest[view].max(depth);
                }
            }
            self.remember(line, is_store);
        }
        for (grid, deepest) in self.grids.iter_mut().zip(&self.deepest) {
            for (view, &depth) in deepest.iter().enumerate() {
                grid.rest.depths.count(view, kind, depth, true);
            }
        }
    }
}

impl DirectGrid {
    #[inline]
    fn look_up(&mut self, key: u64, is_store: bool) -> Found {
        let set = self.rest.set_of(key);
        if self.prefix.is_first(set, key) {
            return self.first_again(set, is_store);
        }
        match self.prefix.find(set, key) {
            Some(depth) => {
                self.prefix.promote(set, depth);
                let modified = self.prefix.first_mut(set);
                modified
                    .iter_mut()
                    .for_each(|beyond| *beyond = (*beyond).max(depth as u8));
                if is_store {
                    self.store(set);
                }
                Found::Alike(depth)
            }
            None => self.first_use(set, key, is_store),
        }
    }

    #[inline]
    fn first_again(&mut self, set: usize, is_store: bool) -> Found {
        if !is_store || *self.prefix.first_mut(set) == [0; VIEWS] {
            return Found::Unchanged;
        }
        self.store(set);
        Found::Alike(0)
    }

    /// A line that the process did not use since the last switch.
    fn first_use(&mut self, set: usize, key: u64, is_store: bool) -> Found {
        let ways = self.rest.ways;
        let prefix = self.prefix.length(set);
        let mut depths = [ways; VIEWS];
        let mut modified = [ways as u8; VIEWS];
        for view in [SHARED, PRIVATE, FLUSHED] {
            let stacks = &mut self.rest.stacks.views[view];
            if stacks.are_empty() {
                continue;
            }
            if let Some((depth, beyond)) = stacks.find(set, key, ways - prefix) {
                stacks.remove(set, depth);
                depths[view] = prefix + depth;
                modified[view] = beyond.max((prefix + depth) as u8);
            }
        }
        self.prefix.put(set, key, modified);
        if is_store {
            self.store(set);
        }
        Found::Apart(depths)
    }

    /// The first line of a set is stored to.
    fn store(&mut self, set: usize) {
        let modified = std::mem::take(self.prefix.first_mut(set));
        for (view, beyond) in modified.into_iter().enumerate() {
            self.rest.depths.count_modified(view, beyond);
        }
    }

    fn commit(&mut self, loses_flushed: bool) {
        for &set in self.prefix.used() {
            let set = set as usize;
            let views: &[usize] = if loses_flushed {
                &[SHARED, PRIVATE]
            } else {
                &[SHARED, PRIVATE, FLUSHED]
            };
            for &view in views {
                self.rest.stacks.views[view].put_first(set, self.prefix.lines(set, view));
            }
        }
        self.prefix.clear();
    }
}
