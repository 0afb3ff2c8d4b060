//! Records what the private hierarchy of a process has held so far. So a line that a process finds
//! only in the shared hierarchy can be explained: others have brought the line in repeatedly, or
//! before the process first requested it, or neither.

use rustc_hash::FxHashMap;

/// Binary logarithm of the number of lines recorded in one word.
const WORD_BITS: u32 = u64::BITS.trailing_zeros();

/// History of one private hierarchy.
#[derive(Debug, Default)]
pub(super) struct History {
    /// Lines that the last levels of this hierarchy have requested from memory, one bit each; by
    /// level, and by the key without its lowest six bits.
    asked: FxHashMap<(usize, u64), u64>,
    /// Lines that the private level has lost, but another process brought into a shared level; each
    /// with the time slice of that process.
    let_go: FxHashMap<(usize, u64), u32>,
}

impl History {
    /// Records that a level requests a line from memory. Returns whether this is the first time.
    pub(super) fn ask_memory(&mut self, at: usize, key: u64) -> bool {
        let asked = self.asked.entry((at, key >> WORD_BITS)).or_default();
        let line = 1 << (key & u64::from(u64::BITS - 1));
        let is_new = *asked & line == 0;
        *asked |= line;
        is_new
    }

    /// Records that a private level loses a line which another process brought into the shared
    /// level in time slice `turn`.
    pub(super) fn let_go(&mut self, at: usize, key: u64, turn: u32) {
        self.let_go.insert((at, key), turn);
    }

    /// Clears the record of [`History::let_go`], because the line came into the shared level again.
    pub(super) fn has_come_anew(&mut self, at: usize, key: u64) {
        self.let_go.remove(&(at, key));
    }

    /// Returns whether the private level has lost a line since another process brought it into the
    /// shared level in time slice `turn`.
    pub(super) fn has_let_go(&self, at: usize, key: u64, turn: u32) -> bool {
        self.let_go.get(&(at, key)) == Some(&turn)
    }
}
