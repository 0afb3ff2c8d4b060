//! Order in which lines were last used. Between two switch points each line is looked up once;
//! further uses only move the line to the end of the interval's own order.

use rustc_hash::FxHashMap;

use crate::LINE_BITS;
use crate::tree::Tree;

/// First use of a line since the last switch point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Use {
    /// Number of the current interval.
    pub(crate) interval: u32,
    /// Interval of the previous use, and number of other lines used since; `None` for a new line.
    pub(crate) before: Option<(u32, u32)>,
}

impl Use {
    /// Returns the number of lines used since the line's last use, including the line itself: a
    /// cache that finds the line holds at least this many lines. `None` for a new line.
    pub(crate) fn age(&self) -> Option<u32> {
        self.before.map(|(_, others)| others + 1)
    }
}

/// Number of slots for recently used lines, which are found without a search; a power of two.
const RECENT: usize = 1 << 9;
/// Number of positions for which memory is reserved at first.
const FEW: usize = 1 << 12;

#[derive(Clone, Copy, Debug)]
struct Line {
    key: u64,
    /// Interval of the line's last use. `late` is the line's position within the interval, `place`
    /// its position in the order of all lines after the end of the interval.
    interval: u32,
    late: u32,
    place: u32,
}

#[derive(Clone, Copy, Debug)]
struct Recent {
    key: u64,
    interval: u32,
    line: u32,
}

#[derive(Debug)]
pub(crate) struct Recency {
    most: usize,
    lines: Vec<Line>,
    free: Vec<u32>,
    numbers: FxHashMap<u64, u32>,
    /// Line that was last at each position of the order.
    order: Vec<u32>,
    tree: Tree,
    interval: u32,
    late: u32,
    used: Vec<u32>,
    recent: Vec<Recent>,
}

impl Recency {
    /// Makes an empty table, which keeps at most `most` lines.
    pub(crate) fn new(most: usize) -> Recency {
        Recency {
            most,
            lines: Vec::new(),
            free: Vec::new(),
            numbers: FxHashMap::default(),
            order: Vec::new(),
            tree: Tree::new(FEW, 0),
            interval: 0,
            late: 0,
            used: Vec::new(),
            recent: vec![
                Recent {
                    key: u64::MAX,
                    interval: u32::MAX,
                    line: 0
                };
                RECENT
            ],
        }
    }

    /// Records the use of a line. Returns the use, if no other use of the line followed the last
    /// switch point; otherwise `None`.
    #[inline]
    pub(crate) fn touch(&mut self, key: u64) -> Option<Use> {
        self.late += 1;
        let Recent {
            key: known,
            interval,
            line,
        } = self.recent[place_of(key)];
        if known == key && interval == self.interval {
            self.lines[line as usize].late = self.late;
            return None;
        }
        self.look_up(key)
    }

    fn look_up(&mut self, key: u64) -> Option<Use> {
        let known = self.numbers.get(&key).copied();
        let number = known.unwrap_or_else(|| self.enter(key));
        self.recent[place_of(key)] = Recent {
            key,
            interval: self.interval,
            line: number,
        };
        let line = &mut self.lines[number as usize];
        line.late = self.late;
        let found = Use {
            interval: self.interval,
            before: None,
        };
        if known.is_none() {
            self.used.push(number);
            return Some(found);
        }
        if line.interval == self.interval {
            return None;
        }
        let place = line.place as usize;
        let others = self.tree.count_after(place) + self.used.len() as u32;
        let before = std::mem::replace(&mut line.interval, self.interval);
        self.tree.unmark(place);
        self.used.push(number);
        Some(Use {
            before: Some((before, others)),
            ..found
        })
    }

    fn enter(&mut self, key: u64) -> u32 {
        let line = Line {
            key,
            interval: self.interval,
            late: self.late,
            place: 0,
        };
        let number = self.free.pop().unwrap_or_else(|| {
            self.lines.push(line);
            (self.lines.len() - 1) as u32
        });
        self.lines[number as usize] = line;
        self.numbers.insert(key, number);
        number
    }

    /// Ends the interval. The interval's lines become the last ones in the order.
    pub(crate) fn cut(&mut self) {
        let mut used = std::mem::take(&mut self.used);
        used.sort_unstable_by_key(|number| self.lines[*number as usize].late);
        if self.order.len() + used.len() > self.tree.places() {
            self.close_ranks(used.len());
        }
        for number in used.drain(..) {
            let place = self.order.len();
            self.lines[number as usize].place = place as u32;
            self.order.push(number);
            self.tree.mark(place);
        }
        self.used = used;
        self.interval += 1;
        self.late = 0;
    }

    /// Returns the number of positions and lines, to which the memory is proportional.
    #[cfg(test)]
    pub(crate) fn places(&self) -> usize {
        self.tree.places() + self.lines.len()
    }

    /// Moves all lines to the front of the order, to make room for `coming` lines. Drops the oldest
    /// lines if there are too many.
    fn close_ranks(&mut self, coming: usize) {
        let standing: Vec<u32> = (0..self.order.len())
            .filter(|place| {
                let line = &self.lines[self.order[*place] as usize];
                line.interval != self.interval && line.place as usize == *place
            })
            .map(|place| self.order[place])
            .collect();
        let surplus = (standing.len() + coming)
            .saturating_sub(self.most)
            .min(standing.len());
        let (oldest, kept) = standing.split_at(surplus);
        for number in oldest {
            self.numbers.remove(&self.lines[*number as usize].key);
            self.free.push(*number);
        }
        self.order.clear();
        self.order.extend_from_slice(kept);
        for (place, number) in kept.iter().enumerate() {
            self.lines[*number as usize].place = place as u32;
        }
        self.tree = Tree::new((2 * (kept.len() + coming)).max(FEW), kept.len());
    }
}

/// Returns the slot of a line. The multiplication spreads keys over the upper bits (Knuth's
/// multiplicative hashing).
fn place_of(key: u64) -> usize {
    (key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (u64::BITS - RECENT.trailing_zeros())) as usize
}

/// Returns the size of `lines` lines in bytes.
pub(crate) fn bytes(lines: u32) -> u64 {
    u64::from(lines) << LINE_BITS
}
