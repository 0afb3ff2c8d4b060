//! Sums over the intervals of one design, which are added segment by segment.

use strum::IntoEnumIterator;
use switchcost_design::result::{DetailLevel, Interval, Simulation, View};

use super::context::ProgramNames;
use super::interval::BATCHES;
use super::sums::{Cell, Sum};
use crate::lists::saturating_sum;

/// Largest number of intervals after a switch for which sums are kept separately.
pub(crate) const MOST_INTERVALS: usize = 1000;

/// Number of steps of the curve by which the ends of segments are distinguished.
const STEPS: usize = 100;

/// Sums over the intervals of one design, by cause, program, batch and interval.
pub(crate) struct DesignSums {
    intervals: usize,
    length: u64,
    depth: DetailLevel,
    /// For each cause, cells by interval. The last cell has the sums over all later intervals.
    pub(crate) cells: Vec<Option<Box<[Cell]>>>,
    /// Sums by interval since the switch, for each cause of a switch and each batch of segments.
    pub(crate) batches: Vec<Option<Box<[Sum]>>>,
    /// Sums by interval since the switch, for each program.
    pub(crate) programs: Vec<Option<Box<[Sum]>>>,
    /// For each program, sums by batch. Their `segments` are numbers of time slices.
    pub(crate) program_batches: Vec<Option<Box<[Sum]>>>,
    /// Number of time slices of each program. A time slice is a segment, or the rest of a segment
    /// after an exec.
    pub(crate) program_turns: Vec<u64>,
    /// For each class and each step in which segments end, sums by step of the curve.
    pub(crate) survivors: [Vec<Vec<Sum>>; 4],
    /// For each batch, sums over whole segments, by the interval in which the segments end.
    pub(crate) ends: Vec<Option<Box<[Sum]>>>,
    /// Intervals of the current segment, each once, even if two processes ran in it.
    open: Vec<Interval>,
    /// Intervals of the current segment in the order in which they were added. An exec divides an
    /// interval between two programs.
    pushed: Vec<Interval>,
    /// Whether all intervals have the cycles that other processes caused.
    pub(crate) are_others_known: bool,
    /// Whether any interval was out of order.
    pub(crate) is_disordered: bool,
}

impl DesignSums {
    /// Creates empty sums for one design of the record with this head.
    pub(crate) fn new(head: &Simulation, names: &ProgramNames, depth: DetailLevel) -> Self {
        let (causes, programs) = (head.causes.len(), names.names.len());
        DesignSums {
            intervals: (head.intervals as usize).min(MOST_INTERVALS),
            length: head.interval_instructions,
            depth,
            cells: vec![None; causes],
            batches: vec![None; causes * BATCHES],
            programs: vec![None; programs],
            program_batches: vec![None; programs],
            program_turns: vec![0; programs],
            survivors: Default::default(),
            ends: vec![None; BATCHES],
            open: Vec::new(),
            pushed: Vec::new(),
            are_others_known: true,
            is_disordered: false,
        }
    }

    fn slot(&self, interval: &Interval) -> usize {
        (interval.number as usize).min(self.intervals)
    }

    /// Whether an interval is a sum over several segments.
    pub(crate) fn is_mixed(&self, interval: &Interval) -> bool {
        self.depth == DetailLevel::Counters || interval.segments != 1
    }

    /// Whether an interval belongs to a segment other than the current one.
    pub(crate) fn begins_segment(&mut self, interval: &Interval) -> bool {
        let Some(last) = self
            .open
            .last()
            .filter(|last| last.segment != interval.segment)
        else {
            return false;
        };
        self.is_disordered |= last.segment > interval.segment;
        true
    }

    /// Returns the first interval of the current segment; `None` if there is none.
    pub(crate) fn first_of_open(&self) -> Option<Interval> {
        self.open.first().copied()
    }

    pub(crate) fn push(&mut self, interval: &Interval) {
        self.are_others_known &= interval.of_others.is_some();
        self.pushed.push(*interval);
        let slot = self.slot(interval);
        let Some(last) = self.open.last_mut() else {
            return self.open.push(*interval);
        };
        // After an exec, the rest of an interval belongs to another process. Both parts count as
        // one interval of the segment.
        let is_divided = last.number == interval.number && last.process != interval.process;
        // All intervals after the last separate one count as one.
        let is_rest =
            slot == self.intervals && last.number as usize >= slot && last.number < interval.number;
        if is_divided || is_rest {
            last.number = interval.number;
            last.instructions = last.instructions.saturating_add(interval.instructions);
            for view in View::iter() {
                let cycles = last.cycles.get_mut(view);
                *cycles = cycles.saturating_add(*interval.cycles.get(view));
            }
            last.of_others = last
                .of_others
                .zip(interval.of_others)
                .map(|(a, b)| a.plus(b));
        } else if last.number >= interval.number {
            self.is_disordered = true;
        } else {
            self.open.push(*interval);
        }
    }

    pub(crate) fn add_mixed(&mut self, interval: &Interval, names: &ProgramNames) {
        self.are_others_known &= interval.of_others.is_some();
        let (slot, length) = (self.slot(interval), self.length);
        self.cell(interval.cause)[slot].add_interval(interval, length);
        self.add_to_program(names.program(interval.process), slot, &Sum::new(interval));
    }

    fn cell(&mut self, cause: u32) -> &mut [Cell] {
        let intervals = self.intervals;
        self.cells[cause as usize]
            .get_or_insert_with(|| vec![Cell::default(); intervals + 1].into())
    }

    /// Adds the part of an interval in which a program ran to the program's sums.
    fn add_to_program(&mut self, program: Option<usize>, slot: usize, sum: &Sum) {
        let intervals = self.intervals;
        if let Some(sums) = program.and_then(|program| self.programs.get_mut(program)) {
            sums.get_or_insert_with(|| vec![Sum::default(); intervals + 1].into())[slot].add(sum);
        }
    }

    fn add_to_program_batch(&mut self, program: Option<usize>, batch: usize, sum: &Sum) {
        if let Some(batches) = program.and_then(|program| self.program_batches.get_mut(program)) {
            batches.get_or_insert_with(|| vec![Sum::default(); BATCHES].into())[batch].add(sum);
        }
    }

    /// Adds the current segment to the sums of the programs that ran in it.
    fn close_programs(&mut self, batch: usize, names: &ProgramNames) {
        let pushed = std::mem::take(&mut self.pushed);
        let mut before: Option<(u32, usize)> = None;
        for interval in &pushed {
            let (slot, program) = (self.slot(interval), names.program(interval.process));
            let begins_turn = before.is_none_or(|(process, _)| process != interval.process);
            let begins_interval = before != Some((interval.process, slot));
            before = Some((interval.process, slot));
            let sum = Sum::new(interval);
            self.add_to_program(
                program,
                slot,
                &Sum {
                    segments: begins_interval.into(),
                    ..sum
                },
            );
            self.add_to_program_batch(
                program,
                batch,
                &Sum {
                    segments: begins_turn.into(),
                    ..sum
                },
            );
            if let Some(turns) = program.and_then(|program| self.program_turns.get_mut(program)) {
                *turns += u64::from(begins_turn);
            }
        }
        self.pushed = pushed;
        self.pushed.clear();
    }

    /// Adds the current segment to the sums, and returns its length in instructions.
    pub(crate) fn close(&mut self, batch: usize, class: usize, names: &ProgramNames) -> u64 {
        self.close_programs(batch, names);
        let intervals = std::mem::take(&mut self.open);
        let (Some(first), Some(last)) = (intervals.first(), intervals.last()) else {
            return 0;
        };
        let end = self.step(self.slot(last));
        let rows = &mut self.survivors[class];
        if rows.len() <= end {
            rows.resize_with(end + 1, Vec::new);
        }
        let steps = rows[end].len().max(end + 1);
        rows[end].resize(steps, Sum::default());
        let (count, length) = (self.intervals, self.length);
        let place = first.cause as usize * BATCHES + batch;
        let (mut whole, mut before) = (Sum::default(), None);
        for interval in &intervals {
            let (slot, sum) = (self.slot(interval), Sum::new(interval));
            self.cell(interval.cause)[slot].add_interval(interval, length);
            let sums =
                self.batches[place].get_or_insert_with(|| vec![Sum::default(); count + 1].into());
            sums[slot].add(&sum);
            whole.add(&sum);
            let step = self.step(slot).min(end);
            let begins_step = before.replace(step) != Some(step);
            self.survivors[class][end][step].add(&Sum {
                segments: begins_step.into(),
                ..sum
            });
        }
        let ends = self.ends[batch].get_or_insert_with(|| vec![Sum::default(); count + 1].into());
        ends[(last.number as usize).min(count)].add(&Sum {
            segments: 1,
            ..whole
        });
        let instructions = saturating_sum(intervals.iter().map(|interval| interval.instructions));
        // The next segment reuses the memory of this list.
        self.open = intervals;
        self.open.clear();
        instructions
    }

    /// Returns the step of the curve to which an interval belongs.
    pub(crate) fn step(&self, interval: usize) -> usize {
        interval / self.intervals.div_ceil(STEPS).max(1)
    }
}
