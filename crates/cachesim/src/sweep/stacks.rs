//! Lines of one view in the order of their last use, for each set of a level with a given number of
//! sets.

/// Maximum number of ways of a level whose sizes are simulated in one pass.
pub(super) const MOST_WAYS: usize = 128;

/// Number of ways: levels with more ways hold the line modified.
pub(super) type Beyond = u8;

const LENGTH_BITS: u32 = 8;
const LENGTH_MASK: u32 = (1 << LENGTH_BITS) - 1;

/// Stacks of lines, one for each set. A level with this number of sets and `w` ways holds the first
/// `w` lines of each stack.
///
/// A line's mark says in which levels the line is modified: [`Beyond`], or a set of members.
#[derive(Debug)]
pub(super) struct Stacks<M> {
    ways: usize,
    keys: Vec<u64>,
    marks: Vec<M>,
    /// Length of each stack, and the value of `turn` at its last change, in one word. A stack with
    /// an earlier value of `turn` is empty.
    lengths: Vec<u32>,
    turn: u32,
    /// Whether any line came in since the stacks were last cleared.
    is_used: bool,
}

impl<M: Copy + Default + PartialEq> Stacks<M> {
    pub(super) fn new(sets: usize, ways: usize) -> Stacks<M> {
        Stacks {
            ways,
            keys: vec![0; sets * ways],
            marks: vec![M::default(); sets * ways],
            lengths: vec![0; sets],
            turn: 0,
            is_used: false,
        }
    }

    #[inline]
    fn length(&self, set: usize) -> usize {
        let length = self.lengths[set];
        if length >> LENGTH_BITS == self.turn {
            (length & LENGTH_MASK) as usize
        } else {
            0
        }
    }

    #[inline]
    fn set_length(&mut self, set: usize, length: usize) {
        self.lengths[set] = self.turn << LENGTH_BITS | length as u32;
    }

    /// Reads a part of the memory that a lookup in the set will read, so that this part is in the
    /// CPU's cache by then. The returned value depends on the reads, so that the compiler keeps
    /// them.
    #[inline]
    pub(super) fn read_ahead(&self, set: usize) -> u64 {
        let start = set * self.ways;
        self.keys[start]
            ^ self.keys[start + self.ways / 2]
            ^ u64::from(self.marks[start] == M::default())
    }

    /// Returns the depth and the mark of a line, if it is among the first `most` of its set.
    #[inline]
    pub(super) fn find(&self, set: usize, key: u64, most: usize) -> Option<(usize, M)> {
        let start = set * self.ways;
        let length = self.length(set).min(most);
        let depth = self.keys[start..start + length]
            .iter()
            .position(|&held| held == key)?;
        Some((depth, self.marks[start + depth]))
    }

    #[inline]
    pub(super) fn set_mark(&mut self, set: usize, depth: usize, mark: M) {
        self.marks[set * self.ways + depth] = mark;
    }

    /// Moves a line to the top of its stack. `depth` is the line's present depth; `None` if it is
    /// absent.
    #[inline]
    pub(super) fn promote(&mut self, set: usize, depth: Option<usize>, key: u64, mark: M) {
        let start = set * self.ways;
        let passed = match depth {
            Some(depth) => depth,
            None => {
                let length = self.length(set);
                self.set_length(set, (length + 1).min(self.ways));
                self.is_used = true;
                length.min(self.ways - 1)
            }
        };
        self.keys.copy_within(start..start + passed, start + 1);
        self.marks.copy_within(start..start + passed, start + 1);
        self.keys[start] = key;
        self.marks[start] = mark;
    }

    /// Returns the line at a depth and its mark; `None` if the stack is shorter.
    #[inline]
    pub(super) fn line_at(&self, set: usize, depth: usize) -> Option<(u64, M)> {
        let place = set * self.ways + depth;
        (depth < self.length(set)).then(|| (self.keys[place], self.marks[place]))
    }

    /// Returns the depth, key and mark of all lines.
    pub(super) fn lines(&self) -> impl Iterator<Item = (usize, u64, M)> {
        let of_set = move |set: usize| {
            (0..self.length(set)).filter_map(move |depth| Some((depth, self.line_at(set, depth)?)))
        };
        let sets = if self.is_used { self.lengths.len() } else { 0 };
        (0..sets)
            .flat_map(of_set)
            .map(|(depth, (key, mark))| (depth, key, mark))
    }

    /// Removes all lines from the stacks.
    pub(super) fn clear(&mut self) {
        if !self.is_used {
            return;
        }
        self.is_used = false;
        self.turn += 1;
        if self.turn >> (u32::BITS - LENGTH_BITS) != 0 {
            self.turn = 0;
            self.lengths.fill(0);
        }
    }
}

impl Stacks<Beyond> {
    /// Adds the lines that are still modified to `sums`: `sums[w]` counts those that levels of `w`
    /// or more ways hold modified and levels of fewer ways do not.
    pub(super) fn count_modified(&self, sums: &mut [u64]) {
        for set in 0..self.lengths.len() {
            let start = set * self.ways;
            for depth in 0..self.length(set) {
                let fewest = depth.max(self.marks[start + depth].into()) + 1;
                if let Some(sum) = sums.get_mut(fewest) {
                    *sum += 1;
                }
            }
        }
    }
}
