//! Counts the stack depths at which lines were found, for all levels with the same number of sets.

use crate::machine::Kind;

use super::VIEWS;

const KINDS: [Kind; 3] = [Kind::Fetch, Kind::Load, Kind::Store];

/// Counts by stack depth. A line at depth `d` is found by levels with more than `d` ways. Depth 0
/// is not counted, and all depths from `ways` on are counted as `ways`.
#[derive(Debug)]
pub(super) struct Depths {
    ways: usize,
    /// Number of references, by view, kind and depth.
    references: Vec<u64>,
    /// Number of demand lookups, by view and stack depth.
    demand: Vec<u64>,
    /// Number of stores that made a line modified in levels of `w` ways or fewer, by view and by
    /// `w`.
    modified: Vec<i64>,
    /// Number of lines that are modified at the end, by view and by the least number of ways with
    /// which they stay modified.
    kept: Vec<u64>,
}

impl Depths {
    pub(super) fn new(ways: usize) -> Depths {
        let depths = ways + 1;
        Depths {
            ways,
            references: vec![0; VIEWS * KINDS.len() * depths],
            demand: vec![0; VIEWS * depths],
            modified: vec![0; VIEWS * depths],
            kept: vec![0; VIEWS * depths],
        }
    }

    #[inline]
    fn reference_at(&self, view: usize, kind: Kind, depth: usize) -> usize {
        (view * KINDS.len() + kind as usize) * (self.ways + 1) + depth
    }

    #[inline]
    fn index_of(&self, view: usize, depth: usize) -> usize {
        view * (self.ways + 1) + depth
    }

    /// Counts a reference to one line, in one view.
    #[inline]
    pub(super) fn count(&mut self, view: usize, kind: Kind, depth: usize, is_demand: bool) {
        let at = self.reference_at(view, kind, depth);
        self.references[at] += 1;
        let at = self.index_of(view, depth);
        self.demand[at] += u64::from(is_demand);
    }

    /// Counts a store to a line that was modified only in levels of more than `beyond` ways.
    #[inline]
    pub(super) fn count_modified(&mut self, view: usize, beyond: u8) {
        let at = self.index_of(view, beyond.into());
        self.modified[at] += 1;
    }

    /// Counts a line that becomes modified in levels of more than `from` ways, up to `to`.
    pub(super) fn count_modified_between(&mut self, view: usize, from: u8, to: u8) {
        let (from, to) = (
            self.index_of(view, from.into()),
            self.index_of(view, to.into()),
        );
        self.modified[to] += 1;
        self.modified[from] -= 1;
    }

    /// Returns, for a view, the counters of lines that are modified when they are dropped, or at
    /// the end of the trace.
    pub(super) fn kept_mut(&mut self, view: usize) -> &mut [u64] {
        let depths = self.ways + 1;
        &mut self.kept[view * depths..][..depths]
    }

    /// Writes the demand lookups that miss with `ways[i]` ways to row `i` of `into`, by view. The
    /// ways descend.
    pub(super) fn demand_misses(&self, ways: &[usize], into: &mut [[u64; VIEWS]]) {
        self.add_up(ways, into, |view, depth| {
            self.demand[self.index_of(view, depth)]
        });
    }

    /// Writes the references that miss with `ways[i]` ways to row `i` of `into`, by view. The ways
    /// descend.
    pub(super) fn reference_misses(&self, ways: &[usize], into: &mut [[u64; VIEWS]]) {
        let of = |view, kind, depth| self.references[self.reference_at(view, kind, depth)];
        self.add_up(ways, into, |view, depth| {
            KINDS.iter().map(|&kind| of(view, kind, depth)).sum()
        });
    }

    /// Writes to row `i` of `into` the sums of the counts at depths of `ways[i]` or more. The ways
    /// descend.
    fn add_up(
        &self,
        ways: &[usize],
        into: &mut [[u64; VIEWS]],
        at_depth: impl Fn(usize, usize) -> u64,
    ) {
        let mut sums = [0; VIEWS];
        let mut depth = self.ways + 1;
        for (row, &ways) in into.iter_mut().zip(ways) {
            while depth > ways {
                depth -= 1;
                for (view, sum) in sums.iter_mut().enumerate() {
                    *sum += at_depth(view, depth);
                }
            }
            *row = sums;
        }
    }

    /// Returns the number of references of a kind that miss in a view of a level with `ways` ways.
    pub(super) fn misses(&self, view: usize, kind: Kind, ways: usize) -> u64 {
        self.references[self.reference_at(view, kind, ways)..]
            .iter()
            .take(self.ways + 1 - ways)
            .sum()
    }

    /// Returns the number of lines brought into a view of a level with `ways` ways.
    pub(super) fn fills(&self, view: usize, ways: usize) -> u64 {
        KINDS.map(|kind| self.misses(view, kind, ways)).iter().sum()
    }

    /// Returns the number of modified lines that left a view of a level with `ways` ways.
    pub(super) fn write_backs(&self, view: usize, ways: usize) -> u64 {
        let modified: i64 = self.modified[self.index_of(view, ways)..]
            .iter()
            .take(self.ways + 1 - ways)
            .sum();
        let kept: u64 = self.kept[self.index_of(view, 0)..]
            .iter()
            .take(ways + 1)
            .sum();
        modified.unsigned_abs() - kept
    }
}
