//! The write buffers of the first level that data are looked up in, of all three views at once.

use super::hierarchy::Hierarchy;

/// Seen from each view's own clock they mostly look the same, as all views store at the same time; then those of the
/// shared view stand for all three.
#[derive(Clone, Copy, Debug)]
pub(super) struct Buffers {
    pub(super) level: usize,
    pub(super) are_alike: bool,
    /// Stalls of all views alike.
    pub(super) stall_cycles: u64,
}

impl Buffers {
    pub(super) fn new(level: usize) -> Buffers {
        Buffers { level, are_alike: false, stall_cycles: 0 }
    }

    /// How much later it is in the private and in the flushed view than in the shared one.
    pub(super) fn distances(shared: &Hierarchy, private: &Hierarchy, flushed: &Hierarchy) -> [i64; 2] {
        [private, flushed].map(|hierarchy| hierarchy.now.wrapping_sub(shared.now) as i64)
    }

    /// Gives each view its own again.
    pub(super) fn part(
        &mut self,
        distances: [i64; 2],
        shared: &mut Hierarchy,
        private: &mut Hierarchy,
        flushed: &mut Hierarchy,
    ) {
        if !std::mem::take(&mut self.are_alike) {
            return;
        }
        let stall_cycles = std::mem::take(&mut self.stall_cycles);
        shared.write_stall_cycles += stall_cycles;
        for (hierarchy, later) in [private, flushed].into_iter().zip(distances) {
            hierarchy.write_stall_cycles += stall_cycles;
            hierarchy.levels[self.level].writes.copy_from(&shared.levels[self.level].writes, later);
        }
    }
}
