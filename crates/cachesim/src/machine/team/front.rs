//! The lines that the first levels of all members hold in all three views.

use crate::machine::VIRTUAL_MASK;

/// More sets would take more of this machine's own nearest cache than they spare.
const MOST_SETS: usize = 4096;
const NO_LINE: u64 = u64::MAX;

/// For each set, the line that was fetched or loaded last since somebody else touched the levels.
#[derive(Debug)]
pub(super) struct Front {
    line_bits: u32,
    lines: Vec<u64>,
}

impl Front {
    /// For a level of so many sets, which must be a power of two.
    pub(super) fn new(line_bits: u32, sets: usize) -> Front {
        Front { line_bits, lines: vec![NO_LINE; sets.min(MOST_SETS)] }
    }

    /// One more level, of so many sets; nothing has been looked up yet.
    pub(super) fn narrow(&mut self, sets: usize) {
        self.lines.truncate(sets);
    }

    /// Nothing is known any more.
    pub(super) fn forget(&mut self) {
        self.lines.fill(NO_LINE);
    }

    pub(super) fn line_bits(&self) -> u32 {
        self.line_bits
    }

    pub(super) fn open<const BITS: u32>(&mut self) -> Open<'_, BITS> {
        Open { line_bits: self.line_bits, lines: &mut self.lines }
    }
}

/// `BITS` of a front whose lines may have any length.
pub(super) const ANY: u32 = 0;

/// A front in use. `BITS` tells the compiler how long lines are, so that it need not keep that at hand.
pub(super) struct Open<'a, const BITS: u32> {
    line_bits: u32,
    lines: &'a mut [u64],
}

impl<const BITS: u32> Open<'_, BITS> {
    #[inline(always)]
    pub(super) fn line_of(&self, address: u64) -> u64 {
        (address & VIRTUAL_MASK) >> self.line_bits()
    }

    #[inline(always)]
    pub(super) fn line_bits(&self) -> u32 {
        if BITS == ANY { self.line_bits } else { BITS }
    }

    /// Whether all members hold a line in all views.
    #[inline(always)]
    pub(super) fn holds(&self, line: u64) -> bool {
        self.lines[line as usize & (self.lines.len() - 1)] == line
    }

    #[inline(always)]
    pub(super) fn holds_all(&self, first: u64, last: u64) -> bool {
        let mut line = (first + 1).min(last);
        // Most blocks have three lines at most: looked at without a branch for each.
        let mut is_held = (first <= last) & self.holds(first) & self.holds(line) & self.holds(last);
        while line + 1 < last {
            line += 1;
            is_held &= self.holds(line);
        }
        is_held
    }

    /// All members hold a line now.
    #[inline(always)]
    pub(super) fn keep(&mut self, line: u64) {
        let set = line as usize & (self.lines.len() - 1);
        self.lines[set] = line;
    }
}
