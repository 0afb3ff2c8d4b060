use std::collections::HashMap;

use record::{Depth, Interval, Simulation, View};
use strum::IntoEnumIterator;

use super::design;
use super::findings::{Findings, class_of};
use super::interval::BATCHES;
use super::lengths::{self, Segment, Turns};
use super::sums::{Cell, Sum};
use crate::Flag;

/// More intervals than this are put together with the rest of their segment.
const MOST_INTERVALS: usize = 1000;

/// How segments that end at different places are told apart: in steps of a hundredth of the curve.
const STEPS: usize = 100;

/// What is asked of the analysis.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Options {
    /// Curves are cut off where only this share of the segments remains.
    pub cut_share: f64,
    /// Confidence of the intervals.
    pub confidence: f64,
}

impl Default for Options {
    /// A tenth, as Mogul and Borg 1990 (section 5.1), and intervals of 90 %.
    fn default() -> Self {
        Options { cut_share: 0.1, confidence: 0.9 }
    }
}

/// Takes the tuples of a record, batch by batch, and draws the findings from them.
pub struct Analyser<'a> {
    head: &'a Simulation,
    options: Options,
    names: ProgramNames,
    /// Segments in the whole record.
    segments: u64,
    designs: Vec<DesignSums>,
    /// The design that lengths and turns are taken from: the first whose segments can be told apart.
    guide: Option<usize>,
    lengths: Vec<Segment>,
    turns: Turns,
}

/// Programs: processes of the same name.
pub(crate) struct ProgramNames {
    pub(crate) names: Vec<String>,
    /// By process.
    pub(crate) programs: Vec<usize>,
}

/// What the tuples of one design add up to.
pub(crate) struct DesignSums {
    intervals: usize,
    length: u64,
    depth: Depth,
    /// By cause, then by interval; the last is the rest.
    pub(crate) cells: Vec<Option<Box<[Cell]>>>,
    /// By cause and batch, then by interval.
    pub(crate) batches: Vec<Option<Box<[Sum]>>>,
    /// By program, then by interval.
    pub(crate) programs: Vec<Option<Box<[Sum]>>>,
    /// By program, then by batch; segments are counted where they begin.
    pub(crate) program_batches: Vec<Option<Box<[Sum]>>>,
    /// By class, by the step that segments end in, by the step that the sums are of.
    pub(crate) survivors: [Vec<Vec<Sum>>; 4],
    open: Vec<Interval>,
    /// Whether a tuple came after one that belongs behind it.
    pub(crate) is_disordered: bool,
}

impl<'a> Analyser<'a> {
    /// For the tuples of this head's record.
    pub fn new(head: &'a Simulation, options: Options) -> Self {
        let names = ProgramNames::of(head);
        let intervals = (head.intervals as usize).min(MOST_INTERVALS);
        let new = |depth| DesignSums {
            intervals,
            length: head.interval_instructions,
            depth,
            cells: vec![None; head.causes.len()],
            batches: vec![None; head.causes.len() * BATCHES],
            programs: vec![None; names.names.len()],
            program_batches: vec![None; names.names.len()],
            survivors: Default::default(),
            open: Vec::new(),
            is_disordered: false,
        };
        let designs: Vec<DesignSums> = head.designs.iter().map(|result| new(result.depth)).collect();
        let guide = designs.iter().position(|design| design.depth == Depth::Full);
        let segments = head.processes.iter().fold(0_u64, |sum, process| sum.saturating_add(process.segments));
        Analyser { head, options, names, segments, designs, guide, lengths: Vec::new(), turns: Turns::default() }
    }

    /// Adds tuples; those of designs, causes and processes that the head does not hold are left out.
    pub fn add(&mut self, tuples: &[Interval]) {
        for tuple in tuples {
            let is_known =
                (tuple.process as usize) < self.head.processes.len() && (tuple.end as usize) < self.head.causes.len();
            if !is_known || (tuple.cause as usize) >= self.head.causes.len() {
                continue;
            }
            let index = usize::from(tuple.design);
            let Some(design) = self.designs.get_mut(index) else { continue };
            if design.depth == Depth::Counters || tuple.segments != 1 {
                design.add_mixed(tuple, &self.names);
                continue;
            }
            if let Some(last) = design.open.last().filter(|last| last.segment != tuple.segment) {
                design.is_disordered |= last.segment > tuple.segment;
                self.close(index);
            }
            self.designs[index].push(tuple);
        }
    }

    /// What was found.
    pub fn finish(mut self) -> Findings {
        (0..self.designs.len()).for_each(|index| self.close(index));
        let segments = lengths::Lengths::of(self.lengths, self.head);
        let results = self.head.designs.iter().zip(&self.designs);
        let context = design::Context {
            head: self.head,
            options: self.options,
            names: &self.names,
            lengths: &segments,
            turns: &self.turns,
        };
        Findings {
            interval_instructions: self.head.interval_instructions,
            cut_share: self.options.cut_share,
            lengths: segments.distributions(self.head),
            designs: results.map(|(result, sums)| design::finding(&context, result, sums)).collect(),
            flags: flags(self.head),
        }
    }

    /// Takes the open segment of a design into its sums.
    fn close(&mut self, index: usize) {
        let Some(first) = self.designs[index].open.first().copied() else { return };
        let total = self.segments.max(1);
        let batch = (u64::from(first.segment).saturating_mul(BATCHES as u64) / total).min(BATCHES as u64 - 1);
        let class = class_of(&self.head.causes[first.cause as usize]);
        let instructions = self.designs[index].close(batch as usize, class, &self.names);
        if self.guide == Some(index) {
            self.turns.add(first.process);
            self.lengths.push(Segment { cause: first.cause, end: first.end, instructions });
        }
    }
}

impl ProgramNames {
    fn of(head: &Simulation) -> Self {
        let mut numbers: HashMap<&str, usize> = HashMap::new();
        let mut names = Vec::new();
        let mut number = |name: &'_ str| -> usize {
            names.push(name.to_owned());
            names.len() - 1
        };
        let programs = head
            .processes
            .iter()
            .map(|process| *numbers.entry(process.name.as_str()).or_insert_with(|| number(&process.name)));
        let programs = programs.collect();
        ProgramNames { names, programs }
    }

    pub(crate) fn program(&self, process: u32) -> Option<usize> {
        self.programs.get(process as usize).copied()
    }
}

impl DesignSums {
    fn slot(&self, tuple: &Interval) -> usize {
        (tuple.interval as usize).min(self.intervals)
    }

    fn push(&mut self, tuple: &Interval) {
        let slot = self.slot(tuple);
        let Some(last) = self.open.last_mut() else { return self.open.push(*tuple) };
        // An exec divides an interval between two processes; it stays one interval of its segment.
        let is_divided = last.interval == tuple.interval && last.process != tuple.process;
        // What lies behind the curve is one, however many intervals were told apart.
        let is_rest = slot == self.intervals && last.interval as usize >= slot && last.interval < tuple.interval;
        if is_divided || is_rest {
            last.interval = tuple.interval;
            last.instructions = last.instructions.saturating_add(tuple.instructions);
            for view in View::iter() {
                let cycles = last.cycles.get_mut(view);
                *cycles = cycles.saturating_add(*tuple.cycles.get(view));
            }
        } else if last.interval >= tuple.interval {
            self.is_disordered = true;
        } else {
            self.open.push(*tuple);
        }
    }

    fn add_mixed(&mut self, tuple: &Interval, names: &ProgramNames) {
        let (slot, length) = (self.slot(tuple), self.length);
        self.cell(tuple.cause)[slot].add_tuple(tuple, length);
        self.add_to_program(tuple, slot, names);
    }

    fn cell(&mut self, cause: u32) -> &mut [Cell] {
        let intervals = self.intervals;
        self.cells[cause as usize].get_or_insert_with(|| vec![Cell::default(); intervals + 1].into())
    }

    fn add_to_program(&mut self, tuple: &Interval, slot: usize, names: &ProgramNames) {
        let intervals = self.intervals;
        if let Some(sums) = names.program(tuple.process).and_then(|program| self.programs.get_mut(program)) {
            sums.get_or_insert_with(|| vec![Sum::default(); intervals + 1].into())[slot].add(&Sum::of(tuple));
        }
    }

    fn add_to_program_batch(&mut self, tuple: &Interval, batch: usize, slot: usize, names: &ProgramNames) {
        let of_program = names.program(tuple.process).and_then(|program| self.program_batches.get_mut(program));
        if let Some(batches) = of_program {
            let sum = Sum::of(tuple);
            let segments = if slot == 0 { sum.segments } else { 0 };
            batches.get_or_insert_with(|| vec![Sum::default(); BATCHES].into())[batch].add(&Sum { segments, ..sum });
        }
    }

    /// Takes the open segment into the sums and returns its length in instructions.
    fn close(&mut self, batch: usize, class: usize, names: &ProgramNames) -> u64 {
        let tuples = std::mem::take(&mut self.open);
        let (Some(first), Some(last)) = (tuples.first(), tuples.last()) else { return 0 };
        let end = self.step(self.slot(last));
        let rows = &mut self.survivors[class];
        if rows.len() <= end {
            rows.resize_with(end + 1, Vec::new);
        }
        let steps = rows[end].len().max(end + 1);
        rows[end].resize(steps, Sum::default());
        let (intervals, length) = (self.intervals, self.length);
        let place = first.cause as usize * BATCHES + batch;
        for tuple in &tuples {
            let (slot, sum) = (self.slot(tuple), Sum::of(tuple));
            self.cell(tuple.cause)[slot].add_tuple(tuple, length);
            self.add_to_program(tuple, slot, names);
            self.add_to_program_batch(tuple, batch, slot, names);
            let sums = self.batches[place].get_or_insert_with(|| vec![Sum::default(); intervals + 1].into());
            sums[slot].add(&sum);
            let step = self.step(slot).min(end);
            self.survivors[class][end][step].add(&sum);
        }
        let instructions = tuples.iter().fold(0_u64, |sum, tuple| sum.saturating_add(tuple.instructions));
        // Keeps the memory of the list for the next segment.
        self.open = tuples;
        self.open.clear();
        instructions
    }

    /// The step of the curve that an interval belongs to.
    pub(crate) fn step(&self, interval: usize) -> usize {
        interval / self.intervals.div_ceil(STEPS).max(1)
    }
}

fn flags(head: &Simulation) -> Vec<Flag> {
    let mut flags = Vec::new();
    if let Some(why) = &head.trace.incomplete {
        flags.push(Flag { name: "incomplete", detail: format!("not all of the trace was simulated: {why}") });
    }
    if head.intervals as usize > MOST_INTERVALS {
        let detail = format!(
            "found {} intervals, curves show the first {MOST_INTERVALS}; choose longer intervals",
            head.intervals
        );
        flags.push(Flag { name: "many-intervals", detail });
    }
    flags
}
