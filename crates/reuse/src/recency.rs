//! Order in which lines were last used. In an interval each line is looked up once; further uses
//! only move the line to the end of the interval's own order.

use rustc_hash::FxHashMap;

use crate::tree::Tree;

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

    /// Records the use of a line. Returns the line's age at its first use in the interval: the number
    /// of lines used since its last use, including the line itself, or `u32::MAX` for a new line. A
    /// cache that finds the line holds at least this many lines. `None` at further uses.
    #[inline]
    pub(crate) fn touch(&mut self, key: u64) -> Option<u32> {
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

    fn look_up(&mut self, key: u64) -> Option<u32> {
        let known = self.numbers.get(&key).copied();
        let number = known.unwrap_or_else(|| self.enter(key));
        self.recent[place_of(key)] = Recent {
            key,
            interval: self.interval,
            line: number,
        };
        let line = &mut self.lines[number as usize];
        line.late = self.late;
        if known.is_none() {
            self.used.push(number);
            return Some(u32::MAX);
        }
        if line.interval == self.interval {
            return None;
        }
        let place = line.place as usize;
        let others = self.tree.count_after(place) + self.used.len() as u32;
        line.interval = self.interval;
        self.tree.unmark(place);
        self.used.push(number);
        Some(others + 1)
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
    pub(crate) fn end_interval(&mut self) {
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

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(20))]

        #[test]
        fn an_age_is_the_number_of_lines_since_the_last_use(
            uses in prop::collection::vec((prop_oneof![0_u64..8, 0_u64..700], 0..9), 1..1500),
        ) {
            let lines: Vec<u64> = uses.iter().map(|(line, _)| *line).collect();
            let (mut recency, mut began) = (Recency::new(1 << 14), 0);
            for (at, (line, end)) in uses.iter().enumerate() {
                let expected = (!lines[began..at].contains(line)).then(|| {
                    let last = lines[..at].iter().rposition(|used| used == line);
                    let since = |last| lines[last..at].iter().collect::<BTreeSet<_>>().len() as u32;
                    last.map_or(u32::MAX, since)
                });
                prop_assert_eq!(recency.touch(*line), expected);
                if *end == 0 {
                    recency.end_interval();
                    began = at + 1;
                }
            }
        }
    }

    #[test]
    fn a_forgotten_line_is_new_again_and_memory_is_bounded() {
        let mut ages = Vec::new();
        let mut recency = Recency::new(1024);
        for key in (0..1_000_000).chain([999_999 - 500, 999_999 - 100_000]) {
            ages.push(recency.touch(key));
            if key % 64 == 0 {
                recency.end_interval();
            }
        }
        assert_eq!(ages[999_999..], [Some(u32::MAX), Some(501), Some(u32::MAX)]);
        let places = recency.tree.places() + recency.lines.len();
        assert!(places <= 3 * 4096, "{places}");
    }
}
