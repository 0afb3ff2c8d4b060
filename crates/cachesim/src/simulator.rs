//! Every design, fed with one event stream.

mod check;
mod parts;
mod pass;
mod pieces;
mod runner;
mod workers;

use switchcost_design::Design;
use switchcost_design::result::{
    DesignResult, Interval, PartResult, PrivateBy, ProcessFacts, SwitchCause,
};
use switchcost_trace::{Chunk, Purpose};

use crate::attribution::Names;
pub(crate) use check::Check;
pub use check::SimulationError;
use parts::{Fed, WHOLE, join_parts};
use pass::Pass;
pub(crate) use pieces::{TakePieces, take_pieces};
use runner::{Runner, runners};
use workers::Workers;

const MOST_DESIGNS: usize = 1 << 16;
/// Below that a family is as fast design by design.
const FEWEST_SWEPT: usize = 6;

/// What is simulated beside the designs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// Instructions in an interval; at least 1.
    pub interval_instructions: u64,
    /// Intervals recorded after each switch.
    pub intervals: u32,
    /// Whether the kernel's touches of user memory during system calls count as loads and stores.
    pub kernel_touches: bool,
    /// Who has a private hierarchy.
    pub private_by: PrivateBy,
    /// How many places are listed for each design: in the code, in data, and for each cache of what others' lines were evicted for.
    pub places: usize,
    /// So many designs are all simulated in full. Of more, those that differ in the size, ways and cycles of their last
    /// levels only are simulated in one pass: the first of them in full, of the others counters and sums of intervals.
    pub most_in_full: usize,
    /// How many designs are simulated at the same time, at least 1; the results do not depend on it.
    pub threads: usize,
    /// Whether lookups that change nothing are left out, which saves most of the time; the results do not depend on it.
    pub skips_repeats: bool,
}

impl Default for Options {
    /// 1,000 instructions, 100 intervals, no kernel touches, private hierarchies by process, 100 places, 16 designs in full, one at a time.
    fn default() -> Self {
        Options {
            interval_instructions: 1000,
            intervals: 100,
            kernel_touches: false,
            private_by: PrivateBy::Process,
            places: 100,
            most_in_full: 16,
            threads: 1,
            skips_repeats: true,
        }
    }
}

/// What the trace held and what every design made of it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Outcome {
    /// Instructions.
    pub instructions: u64,
    /// Loads, without those of the kernel.
    pub loads: u64,
    /// Stores, without those of the kernel.
    pub stores: u64,
    /// Switches by will of the task that left.
    pub voluntary_switches: u64,
    /// Other switches.
    pub involuntary_switches: u64,
    /// The processes (or tasks, if each has a private hierarchy), in the order in which they appear.
    pub processes: Vec<ProcessFacts>,
    /// The causes that occur, in the order in which they appear.
    pub causes: Vec<SwitchCause>,
    /// The designs, in the order in which they were given.
    pub designs: Vec<DesignResult>,
    /// Parts of the trace, if the first chunks only warmed caches up. All the rest is of what came from the first part on.
    pub parts: Vec<PartResult>,
}

/// Simulates designs on an event stream.
#[derive(Debug)]
pub struct Simulator {
    check: Check,
    passes: Passes,
    designs_in_full: usize,
    most_in_full: usize,
    places: usize,
}

/// Who runs the passes.
#[derive(Debug)]
enum Passes {
    /// Whoever feeds them, one after the other.
    Here(Vec<Pass>),
    OnThreads(Workers),
}

impl Simulator {
    /// Empty caches of every design.
    ///
    /// # Errors
    /// A design that cannot be built, intervals without length, or a thread that cannot be started.
    pub fn new(designs: Vec<Design>, options: Options) -> Result<Simulator, SimulationError> {
        designs.iter().try_for_each(Design::check)?;
        if options.interval_instructions == 0 {
            return Err(SimulationError::EmptyInterval);
        }
        if designs.len() > MOST_DESIGNS {
            return Err(SimulationError::TooManyDesigns(designs.len()));
        }
        let (most_in_full, threads) = (options.most_in_full, options.threads);
        let fewest_swept = if designs.len() > most_in_full {
            FEWEST_SWEPT
        } else {
            usize::MAX
        };
        let mut runners = runners(designs, fewest_swept);
        if !options.skips_repeats {
            runners.iter_mut().for_each(Runner::skip_no_repeats);
        }
        if options.private_by == PrivateBy::Task {
            runners.iter_mut().for_each(Runner::tell_tasks_apart);
        }
        let passes = runners
            .into_iter()
            .map(|runner| Pass::new(runner, options.clone()));
        let passes: Vec<Pass> = passes.collect();
        Ok(Simulator {
            check: Check::new(
                passes
                    .iter()
                    .map(Pass::most_processes)
                    .min()
                    .unwrap_or(u64::MAX),
            ),
            designs_in_full: passes.iter().map(Pass::designs_in_full).sum(),
            most_in_full,
            places: options.places,
            passes: match threads.min(passes.len()) {
                0 | 1 => Passes::Here(passes),
                threads => {
                    let started = Workers::start(passes, threads);
                    Passes::OnThreads(
                        started.map_err(|error| SimulationError::NoThread(error.to_string()))?,
                    )
                }
            },
        })
    }

    /// How many designs are simulated one by one, though there are more than are wanted in full: they cannot be swept.
    pub fn designs_that_cannot_be_swept(&self) -> usize {
        if self.designs_in_full > self.most_in_full {
            self.designs_in_full
        } else {
            0
        }
    }

    /// Simulates the next chunk of the trace, which may be taken: what is left in its place is a chunk to use again. Appends intervals
    /// of segments that have ended, chunk by chunk, and in each design by design in ascending order; if there are several
    /// threads, those of the last chunks come later, at the end of the trace at the latest.
    ///
    /// # Errors
    /// A chunk that contradicts itself, or with more processes than can be distinguished: no design has seen anything of it, and
    /// nothing can be said about what follows it.
    pub fn feed(
        &mut self,
        chunk: &mut Chunk,
        intervals: &mut Vec<Interval>,
    ) -> Result<(), SimulationError> {
        self.feed_for(chunk, WHOLE, intervals)
    }

    /// The same of a chunk of a part of a trace, or one that is only to leave in caches what it leaves there. `since_switch` is how
    /// many instructions the running task has executed since it was switched to, if chunks before this one have left some out.
    /// Not for designs that are simulated in one pass: simulate all in full.
    ///
    /// # Errors
    /// As [`Simulator::feed`].
    pub fn feed_part(
        &mut self,
        chunk: &mut Chunk,
        purpose: Purpose,
        since_switch: Option<u64>,
        intervals: &mut Vec<Interval>,
    ) -> Result<(), SimulationError> {
        self.feed_for(
            chunk,
            Fed {
                purpose,
                since_switch,
            },
            intervals,
        )
    }

    fn feed_for(
        &mut self,
        chunk: &mut Chunk,
        fed: Fed,
        intervals: &mut Vec<Interval>,
    ) -> Result<(), SimulationError> {
        self.check.chunk(chunk)?;
        match &mut self.passes {
            Passes::Here(passes) => {
                for pass in passes {
                    pass.feed(chunk, fed);
                    pass.take_intervals(intervals);
                }
            }
            Passes::OnThreads(workers) => workers.feed(chunk, fed, intervals),
        }
        Ok(())
    }

    /// Lets all designs end at the first place in the trace where they can end together, though they were fed with more. Only before the
    /// end.
    pub fn stop_early(&self) {
        if let Passes::OnThreads(workers) = &self.passes {
            workers.stop_early();
        }
    }

    /// Ends the last segment and gives the counters. Data, and what evicts lines of others, are added up by name.
    pub fn finish(self, intervals: &mut Vec<Interval>, names: &mut Names<'_>) -> Outcome {
        let ended = match self.passes {
            Passes::Here(passes) => passes.into_iter().map(Pass::finish).collect(),
            Passes::OnThreads(workers) => workers.finish(intervals),
        };
        let mut outcome = Outcome::default();
        let mut designs: Vec<(u16, DesignResult)> = Vec::new();
        for mut ended in ended {
            let parts = std::mem::take(&mut outcome.parts);
            outcome = ended.facts;
            outcome.parts = join_parts(parts, ended.parts);
            for (number, mut result, by_place) in ended.designs {
                if let (Some(by_place), Some(detail)) = (by_place, &mut result.detail) {
                    by_place.fill(
                        &result.design,
                        detail,
                        self.places,
                        (&ended.programs, &ended.kernel_blocks),
                        names,
                    );
                }
                designs.push((number, result));
            }
            intervals.append(&mut ended.intervals);
        }
        designs.sort_unstable_by_key(|(number, _)| *number);
        outcome.designs = designs.into_iter().map(|(_, result)| result).collect();
        outcome
    }
}
