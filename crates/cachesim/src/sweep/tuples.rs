//! Tuples added up over segments, for all members at once.

use std::collections::HashMap;

use switchcost_simulation_result::Interval;

/// More sums than this are given out before the trace ends; bounds memory.
const MOST_NUMBERS: usize = 8 << 20;

/// What tuples have in common that are added up: process, cause, end and interval.
type Key = (u32, u32, u32, u32);

/// Rows of numbers, one for each tuple or sum of tuples.
#[derive(Debug, Default)]
struct Table {
    heads: Vec<Interval>,
    numbers: Vec<u64>,
}

/// Sums of rows of so many numbers.
#[derive(Debug)]
pub(super) struct Tuples {
    width: usize,
    /// Of the segment under way.
    segment: Table,
    sums: Table,
    places: HashMap<Key, usize>,
}

impl Tuples {
    pub(super) fn new(width: usize) -> Tuples {
        Tuples { width, segment: Table::default(), sums: Table::default(), places: HashMap::new() }
    }

    /// A tuple of the segment under way.
    pub(super) fn push(&mut self, tuple: &Interval, row: impl Iterator<Item = u64>) {
        // The part of an interval behind an exec belongs to another process, but it is no segment more.
        let is_rest = self.segment.heads.iter().any(|head| head.interval == tuple.interval);
        self.segment.heads.push(Interval { segments: u32::from(!is_rest), ..*tuple });
        self.segment.numbers.extend(row);
        debug_assert_eq!(self.segment.numbers.len(), self.width * self.segment.heads.len());
    }

    /// The segment is over, and its tuples are added to the sums.
    pub(super) fn end_segment(&mut self, end: u32) {
        let rows = self.segment.numbers.chunks_exact(self.width);
        for (head, row) in self.segment.heads.drain(..).zip(rows) {
            let place = *self.places.entry((head.process, head.cause, end, head.interval)).or_insert_with(|| {
                self.sums.heads.push(Interval { end, segments: 0, instructions: 0, ..head });
                self.sums.numbers.resize(self.sums.heads.len() * self.width, 0);
                self.sums.heads.len() - 1
            });
            let sum = &mut self.sums.heads[place];
            sum.segments = sum.segments.saturating_add(head.segments);
            sum.instructions += head.instructions;
            let numbers = &mut self.sums.numbers[place * self.width..][..self.width];
            numbers.iter_mut().zip(row).for_each(|(sum, more)| *sum += more);
        }
        self.segment.numbers.clear();
    }

    pub(super) fn are_many(&self) -> bool {
        self.sums.numbers.len() > MOST_NUMBERS
    }

    /// Gives out all sums, in the order of their first tuples, and starts anew.
    pub(super) fn drain(&mut self, mut act: impl FnMut(&Interval, &[u64])) {
        let mut order: Vec<usize> = (0..self.sums.heads.len()).collect();
        order.sort_by_key(|&place| (self.sums.heads[place].segment, self.sums.heads[place].interval));
        for place in order {
            act(&self.sums.heads[place], &self.sums.numbers[place * self.width..][..self.width]);
        }
        self.sums = Table::default();
        self.places.clear();
    }
}
