//! The lines that the first levels of members of one size hold in all three views.

use crate::machine::VIRTUAL_MASK;

const NO_LINE: u64 = u64::MAX;

/// For each set, the line that was fetched or loaded last since somebody else touched the levels. Where one is named, the
/// levels themselves are not kept up to date.
#[derive(Debug)]
pub(super) struct Front {
    lines: Vec<u64>,
    /// Sets where one is named.
    touched: Vec<u32>,
    /// Who has so many sets.
    members: Vec<usize>,
}

/// What is known of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Found {
    /// All three views hold it.
    Here,
    /// All three views hold another one in its place.
    Other,
    Nothing,
}

impl Front {
    /// For a level of so many sets, which must be a power of two.
    fn new(sets: usize) -> Front {
        Front { lines: vec![NO_LINE; sets], touched: Vec::new(), members: Vec::new() }
    }

    /// Enters a member, whose level has so many sets, into fronts that are in ascending order of theirs.
    pub(super) fn enter(fronts: &mut Vec<Front>, sets: usize, member: usize) {
        let place = fronts.partition_point(|front| front.lines.len() < sets);
        if fronts.get(place).is_none_or(|front| front.lines.len() != sets) {
            fronts.insert(place, Front::new(sets));
        }
        fronts[place].members.push(member);
    }

    /// Nothing is known any more; each member is told what its level holds: set and line.
    pub(super) fn forget(&mut self, mut tell: impl FnMut(usize, usize, u64)) {
        for &member in &self.members {
            self.touched.iter().for_each(|&set| tell(member, set as usize, self.lines[set as usize]));
        }
        for set in self.touched.drain(..) {
            self.lines[set as usize] = NO_LINE;
        }
    }

    pub(super) fn members(&self) -> &[usize] {
        &self.members
    }

    #[inline(always)]
    fn set(&self, line: u64) -> usize {
        line as usize & (self.lines.len() - 1)
    }

    #[inline(always)]
    pub(super) fn find(&self, line: u64) -> Found {
        match self.lines[self.set(line)] {
            held if held == line => Found::Here,
            NO_LINE => Found::Nothing,
            _ => Found::Other,
        }
    }

    /// All members hold a line now.
    #[inline(always)]
    pub(super) fn keep(&mut self, line: u64) {
        let set = self.set(line);
        if std::mem::replace(&mut self.lines[set], line) == NO_LINE {
            self.touched.push(set as u32);
        }
    }
}

/// The lines of a front, to look at many in a row.
#[derive(Clone, Copy)]
pub(super) struct Sight<'a>(&'a [u64]);

impl Sight<'_> {
    /// Whether all members hold a line in all views.
    #[inline(always)]
    pub(super) fn holds(self, line: u64) -> bool {
        self.0[line as usize & (self.0.len() - 1)] == line
    }
}

/// `BITS` of fronts whose lines may have any length.
pub(super) const ANY: u32 = 0;

/// Fronts in use, the one with fewest sets first: what that one holds, all hold. `BITS` tells the compiler how long lines
/// are, so that it need not keep that at hand.
pub(super) struct Open<'a, const BITS: u32> {
    line_bits: u32,
    first: &'a mut Front,
    others: &'a mut [Front],
}

impl<'a, const BITS: u32> Open<'a, BITS> {
    /// None where there are no fronts.
    pub(super) fn new(line_bits: u32, fronts: &'a mut [Front]) -> Option<Open<'a, BITS>> {
        let (first, others) = fronts.split_first_mut()?;
        Some(Open { line_bits, first, others })
    }

    /// All of them, in their order.
    #[inline(always)]
    pub(super) fn fronts(&mut self) -> impl Iterator<Item = &mut Front> {
        std::iter::once(&mut *self.first).chain(&mut *self.others)
    }

    #[inline(always)]
    pub(super) fn line_of(&self, address: u64) -> u64 {
        (address & VIRTUAL_MASK) >> self.line_bits()
    }

    #[inline(always)]
    pub(super) fn line_bits(&self) -> u32 {
        if BITS == ANY { self.line_bits } else { BITS }
    }

    #[inline(always)]
    pub(super) fn sight(&self) -> Sight<'_> {
        Sight(&self.first.lines)
    }

    /// Whether all members hold a line in all views.
    #[inline(always)]
    pub(super) fn holds(&self, line: u64) -> bool {
        self.first.find(line) == Found::Here
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_of_one_size_share_a_front_and_the_smallest_comes_first() {
        let mut fronts = Vec::new();
        for (member, sets) in [8, 2, 8, 4].into_iter().enumerate() {
            Front::enter(&mut fronts, sets, member);
        }
        let sizes: Vec<usize> = fronts.iter().map(|front| front.lines.len()).collect();
        assert_eq!(sizes, [2, 4, 8]);
        assert_eq!(fronts[2].members(), [0, 2]);
    }

    #[test]
    fn a_front_tells_what_it_held_once() {
        let mut fronts = Vec::new();
        Front::enter(&mut fronts, 4, 7);
        let front = &mut fronts[0];
        assert_eq!(front.find(9), Found::Nothing);
        [5, 9, 2].into_iter().for_each(|line| front.keep(line));
        assert_eq!([9, 5, 3].map(|line| front.find(line)), [Found::Here, Found::Other, Found::Nothing]);
        let mut told = Vec::new();
        front.forget(|member, set, line| told.push((member, set, line)));
        assert_eq!(told, [(7, 1, 9), (7, 2, 2)]);
        assert_eq!(front.find(9), Found::Nothing);
        front.forget(|_, _, _| panic!("nothing is known"));
    }
}
