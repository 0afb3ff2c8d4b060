//! Sums of intervals over segments, for all designs of a [`Family`](super::Family) in one table.

use std::collections::HashMap;

use switchcost_design::result::Interval;

/// Maximum count of numbers in memory. If there are more, sums are returned before the trace ends.
const MOST_NUMBERS: usize = 8 << 20;

/// Common properties of intervals that are added up: process, cause, end of the segment, and number
/// of the interval after the switch.
type Key = (u32, u32, u32, u32);

/// Table of cycles and other counters, with one row for each interval or sum of intervals.
#[derive(Debug, Default)]
struct Table {
    heads: Vec<Interval>,
    numbers: Vec<u64>,
}

/// Sums of intervals with the same key, and the intervals of the current segment.
#[derive(Debug)]
pub(super) struct Intervals {
    width: usize,
    /// Intervals of the current segment, one row each.
    segment: Table,
    sums: Table,
    places: HashMap<Key, usize>,
}

impl Intervals {
    pub(super) fn new(width: usize) -> Intervals {
        Intervals {
            width,
            segment: Table::default(),
            sums: Table::default(),
            places: HashMap::new(),
        }
    }

    /// Adds an interval of the current segment.
    pub(super) fn push(&mut self, interval: &Interval, row: impl Iterator<Item = u64>) {
        // The part of an interval after an exec belongs to another process, but is no additional
        // segment.
        let is_rest = self
            .segment
            .heads
            .iter()
            .any(|head| head.number == interval.number);
        self.segment.heads.push(Interval {
            segments: u32::from(!is_rest),
            ..*interval
        });
        self.segment.numbers.extend(row);
        debug_assert_eq!(
            self.segment.numbers.len(),
            self.width * self.segment.heads.len()
        );
    }

    /// Ends the segment, and adds its intervals to the sums.
    pub(super) fn end_segment(&mut self, end: u32) {
        let rows = self.segment.numbers.chunks_exact(self.width);
        for (head, row) in self.segment.heads.drain(..).zip(rows) {
            let place = *self
                .places
                .entry((head.process, head.cause, end, head.number))
                .or_insert_with(|| {
                    self.sums.heads.push(Interval {
                        end,
                        segments: 0,
                        instructions: 0,
                        ..head
                    });
                    self.sums
                        .numbers
                        .resize(self.sums.heads.len() * self.width, 0);
                    self.sums.heads.len() - 1
                });
            let sum = &mut self.sums.heads[place];
            sum.segments = sum.segments.saturating_add(head.segments);
            sum.instructions += head.instructions;
            let numbers = &mut self.sums.numbers[place * self.width..][..self.width];
            numbers
                .iter_mut()
                .zip(row)
                .for_each(|(sum, more)| *sum += more);
        }
        self.segment.numbers.clear();
    }

    pub(super) fn are_many(&self) -> bool {
        self.sums.numbers.len() > MOST_NUMBERS
    }

    /// Calls `act` with each sum, in the order of their first intervals, and empties the table.
    pub(super) fn drain(&mut self, mut act: impl FnMut(&Interval, &[u64])) {
        let mut order: Vec<usize> = (0..self.sums.heads.len()).collect();
        order.sort_by_key(|&place| {
            (
                self.sums.heads[place].segment,
                self.sums.heads[place].number,
            )
        });
        for place in order {
            act(
                &self.sums.heads[place],
                &self.sums.numbers[place * self.width..][..self.width],
            );
        }
        self.sums = Table::default();
        self.places.clear();
    }
}
