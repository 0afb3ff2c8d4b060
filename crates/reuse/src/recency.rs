//! Order in which lines were last used. From one cut to the next, each line is looked up once; its further uses only move it to the end of
//! that interval's own order.

use rustc_hash::FxHashMap;

use crate::LINE_BITS;
use crate::tree::Tree;

/// The first use of a line in the interval since the last cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Use {
    /// The number of this interval.
    pub(crate) interval: u32,
    /// The interval of the use before, and how many other lines were used since; `None` if the line is new.
    pub(crate) before: Option<(u32, u32)>,
}

impl Use {
    /// Number of lines used since the line's last use, itself included: a cache must hold this number of lines to find it.
    pub(crate) fn age(&self) -> Option<u32> {
        self.before.map(|(_, others)| others + 1)
    }
}

/// Uses of lines that are known at once; a power of two.
const RECENT: usize = 1 << 9;
/// Places for lines at first.
const FEW: usize = 1 << 12;

#[derive(Clone, Copy, Debug)]
struct Line {
    key: u64,
    /// The line's last use: its interval, how late in it, and after the interval's end its position in the order.
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
    /// For each position, the line that was there last.
    order: Vec<u32>,
    tree: Tree,
    interval: u32,
    late: u32,
    used: Vec<u32>,
    recent: Vec<Recent>,
}

impl Recency {
    /// A table for at most `most` lines.
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

    /// Notes the use of a line. Returns it if it is the first since the cut.
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

    /// Ends the interval: its lines follow all others in the order.
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

    /// The number of positions, to which memory is proportional.
    #[cfg(test)]
    pub(crate) fn places(&self) -> usize {
        self.tree.places() + self.lines.len()
    }

    /// Moves all lines to the front of the order, and drops the oldest if there are too many together with those that come.
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

/// Multiplying spreads lines over the upper bits (Knuth's multiplicative hashing).
fn place_of(key: u64) -> usize {
    (key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (u64::BITS - RECENT.trailing_zeros())) as usize
}

/// The size of this many lines in bytes.
pub(crate) fn bytes(lines: u32) -> u64 {
    u64::from(lines) << LINE_BITS
}
