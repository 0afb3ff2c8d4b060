//! Computes the findings of a simulation from the intervals of its record.

use std::collections::HashSet;

use switchcost_design::result::{
    DetailLevel, Interval, PrivateBy, Simulation, TracePart, WithoutWarmUp,
};

use super::context::{Context, Options, ProgramNames};
use super::design;
use super::design_sums::{DesignSums, MOST_INTERVALS};
use super::findings::{Findings, class_of};
use super::interval::BATCHES;
use super::lengths::{Lengths, Segment, Turns};
use crate::lists::saturating_sum;
use crate::{Flag, FlagName};

/// Computes the findings of a simulation. The intervals of the record are added batch by batch.
pub struct Analyser<'a> {
    head: &'a Simulation,
    options: Options,
    names: ProgramNames,
    /// Number of segments in the whole record.
    segments: u64,
    designs: Vec<DesignSums>,
    /// Index of the first design whose segments can be distinguished, which gives segment lengths
    /// and time slices. `None` if there is none.
    guide: Option<usize>,
    lengths: Vec<Segment>,
    turns: Turns,
    /// Task and process numbers of all tasks that ran.
    tasks: HashSet<(u32, u32)>,
}

impl<'a> Analyser<'a> {
    /// Returns an analyser without intervals, for the record with this head.
    pub fn new(head: &'a Simulation, options: Options) -> Self {
        let names = ProgramNames::new(head);
        let designs: Vec<DesignSums> = head
            .designs
            .iter()
            .map(|result| DesignSums::new(head, &names, result.depth()))
            .collect();
        let guide = head
            .designs
            .iter()
            .position(|result| result.depth() == DetailLevel::Full);
        let segments = saturating_sum(head.processes.iter().map(|process| process.segments));
        Analyser {
            head,
            options,
            names,
            segments,
            designs,
            guide,
            lengths: Vec::new(),
            turns: Turns::default(),
            tasks: HashSet::new(),
        }
    }

    /// Adds a batch of intervals, in the order of the record. An interval with an invalid index of
    /// a design, cause or process is ignored.
    pub fn add(&mut self, intervals: &[Interval]) {
        for interval in intervals {
            let is_known = (interval.process as usize) < self.head.processes.len()
                && (interval.end as usize) < self.head.causes.len();
            if !is_known || (interval.cause as usize) >= self.head.causes.len() {
                continue;
            }
            let index = usize::from(interval.design);
            let Some(design) = self.designs.get_mut(index) else {
                continue;
            };
            if design.is_mixed(interval) {
                design.add_mixed(interval, &self.names);
                continue;
            }
            if design.begins_segment(interval) {
                self.close(index);
            }
            self.designs[index].push(interval);
        }
    }

    /// Returns the findings from all intervals that were added.
    pub fn finish(mut self) -> Findings {
        (0..self.designs.len()).for_each(|index| self.close(index));
        let segments = Lengths::new(self.lengths, self.head);
        let sums = self.designs.iter().enumerate();
        let context = Context {
            head: self.head,
            options: self.options,
            names: &self.names,
            lengths: &segments,
            turns: &self.turns,
            program_turns: self
                .guide
                .map_or(&[], |guide| &self.designs[guide].program_turns),
        };
        Findings {
            interval_instructions: self.head.interval_instructions,
            private_by: self.head.private_by,
            cut_share: self.options.cut_share,
            lengths: segments.distributions(self.head),
            threads: threads(&self.tasks),
            designs: sums
                .map(|(number, sums)| design::finding(&context, number, sums))
                .collect(),
            flags: flags(self.head),
        }
    }

    /// Adds the current segment of the design with the index `index` to that design's sums.
    fn close(&mut self, index: usize) {
        let Some(first) = self.designs[index].first_of_open() else {
            return;
        };
        let total = self.segments.max(1);
        let batch = (u64::from(first.segment).saturating_mul(BATCHES as u64) / total)
            .min(BATCHES as u64 - 1);
        let class = class_of(&self.head.causes[first.cause as usize]);
        let instructions = self.designs[index].close(batch as usize, class, &self.names);
        if self.guide == Some(index) {
            self.turns.add(first.process);
            self.tasks.insert((first.task, first.process));
            self.lengths.push(Segment {
                cause: first.cause,
                end: first.end,
                instructions,
            });
        }
    }
}

/// Returns the flag that private hierarchies are per task; `None` if they are per process.
fn task_flag(head: &Simulation) -> Option<Flag> {
    let detail = format!(
        "each of the {} tasks (a thread, in its present program) has private caches and counts as a process: lines that threads of a \
         process evict from each other are lost, and lines that they load for each other are gained",
        head.processes.len()
    );
    (head.private_by == PrivateBy::Task).then_some(Flag {
        name: FlagName::PrivateByTask,
        detail,
    })
}

/// Returns the flag for a note of the trace.
fn source_flag(note: &str) -> Flag {
    Flag {
        name: FlagName::Source,
        detail: note.to_owned(),
    }
}

/// Returns a text about the simulated part of the trace, and about the effect of the warm-up on the
/// level with the largest effect.
fn part_words(part: &TracePart) -> String {
    let TracePart {
        from_instruction,
        to_instruction,
        trace_instructions,
        warm_up_instructions,
        ..
    } = part;
    let what = format!(
        "all numbers are for instructions {from_instruction} to {to_instruction} of {trace_instructions}"
    );
    let change = |level: &WithoutWarmUp| {
        level.more_misses.unsigned_abs() as f64 / level.misses.max(1) as f64
    };
    let Some(most) = part
        .without_warm_up
        .iter()
        .max_by(|one, other| change(one).total_cmp(&change(other)))
    else {
        return what;
    };
    format!(
        "{what}, after a warm-up of {warm_up_instructions}. Without the warm-up, misses would differ by up to {:.2} % ({} of {}). With \
         it, the error is smaller if a longer warm-up would change less",
        change(most) * 100.0,
        most.level,
        most.design
    )
}

/// Returns the number of tasks without the first task of each process.
fn threads(tasks: &HashSet<(u32, u32)>) -> u64 {
    let processes: HashSet<u32> = tasks.iter().map(|(_, process)| *process).collect();
    (tasks.len() - processes.len()) as u64
}

fn flags(head: &Simulation) -> Vec<Flag> {
    let mut flags: Vec<Flag> = task_flag(head).into_iter().collect();
    flags.extend(head.trace.notes.iter().map(|note| source_flag(note)));
    if let Some(why) = &head.trace.incomplete {
        flags.push(Flag {
            name: FlagName::Incomplete,
            detail: format!("not all of the trace was simulated: {why}"),
        });
    }
    flags.extend(head.trace.part.as_ref().map(|part| Flag {
        name: FlagName::Part,
        detail: part_words(part),
    }));
    if head.intervals as usize > MOST_INTERVALS {
        let detail = format!(
            "there are {} intervals, and curves show only the first {MOST_INTERVALS}; choose longer intervals",
            head.intervals
        );
        flags.push(Flag {
            name: FlagName::ManyIntervals,
            detail,
        });
    }
    flags
}
