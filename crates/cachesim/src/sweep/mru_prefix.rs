//! The lines that the running process has used since the last switch, for one number of sets.
//!
//! They are the first ones of every stack of all three views, in the same order, so they are kept once.

use super::VIEWS;

/// For each view, the ways beyond which a line is modified.
pub(super) type Modified = [u8; VIEWS];

#[derive(Debug)]
pub(super) struct MruPrefix {
    ways: usize,
    /// The first key of an empty set is 0.
    keys: Vec<u64>,
    modified_beyond: Vec<Modified>,
    lengths: Vec<u8>,
    /// Sets that hold something.
    used: Vec<u32>,
}

impl MruPrefix {
    pub(super) fn new(sets: usize, ways: usize) -> MruPrefix {
        MruPrefix {
            ways,
            keys: vec![0; sets * ways],
            modified_beyond: vec![[0; VIEWS]; sets * ways],
            lengths: vec![0; sets],
            used: Vec::new(),
        }
    }

    #[inline]
    pub(super) fn is_first(&self, set: usize, key: u64) -> bool {
        self.keys[set * self.ways] == key
    }

    /// What is known of the first line of a set.
    #[inline]
    pub(super) fn first_mut(&mut self, set: usize) -> &mut Modified {
        &mut self.modified_beyond[set * self.ways]
    }

    #[inline]
    pub(super) fn length(&self, set: usize) -> usize {
        self.lengths[set].into()
    }

    #[inline]
    pub(super) fn find(&self, set: usize, key: u64) -> Option<usize> {
        let start = set * self.ways;
        self.keys[start..start + self.length(set)]
            .iter()
            .position(|&held| held == key)
    }

    /// A line becomes the first; it was at `depth`.
    #[inline]
    pub(super) fn promote(&mut self, set: usize, depth: usize) {
        let start = set * self.ways;
        self.keys[start..=start + depth].rotate_right(1);
        self.modified_beyond[start..=start + depth].rotate_right(1);
    }

    /// A line that is not there becomes the first.
    #[inline]
    pub(super) fn put(&mut self, set: usize, key: u64, modified_beyond: Modified) {
        let (start, length) = (set * self.ways, self.length(set));
        if length == 0 {
            self.used.push(set as u32);
        }
        let passed = length.min(self.ways - 1);
        self.keys.copy_within(start..start + passed, start + 1);
        self.modified_beyond
            .copy_within(start..start + passed, start + 1);
        self.keys[start] = key;
        self.modified_beyond[start] = modified_beyond;
        self.lengths[set] = (passed + 1) as u8;
    }

    /// Sets that hold something.
    pub(super) fn used(&self) -> &[u32] {
        &self.used
    }

    /// The lines of a set, first ones first, as one view has them.
    pub(super) fn lines(
        &self,
        set: usize,
        view: usize,
    ) -> impl ExactSizeIterator<Item = (u64, u8)> {
        let lines = set * self.ways..set * self.ways + self.length(set);
        let keys = self.keys[lines.clone()].iter().copied();
        keys.zip(
            self.modified_beyond[lines]
                .iter()
                .map(move |modified| modified[view]),
        )
    }

    pub(super) fn clear(&mut self) {
        for &set in &self.used {
            self.keys[set as usize * self.ways] = 0;
            self.lengths[set as usize] = 0;
        }
        self.used.clear();
    }
}
