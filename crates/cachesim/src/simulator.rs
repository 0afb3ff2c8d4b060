//! Simulates all designs on one event stream.

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
/// Least number of designs that are swept together. Fewer are simulated as fast one by one.
const FEWEST_SWEPT: usize = 6;

/// Options of a simulation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// Length of an interval in instructions, at least 1.
    pub interval_instructions: u64,
    /// Number of intervals recorded after each switch.
    pub intervals: u32,
    /// Whether the kernel's touches of user memory during system calls count as loads and stores.
    pub kernel_touches: bool,
    /// Owner of a private hierarchy: each process or each task.
    pub private_by: PrivateBy,
    /// Number of places listed for each design: in code, in data, and for each cache of evictors.
    pub places: usize,
    /// Maximum number of designs that are all simulated in full. If there are more, designs that
    /// differ only in the size, ways and cycles of their last levels are simulated in one pass.
    /// Only the first design of a pass then has full results; the others have counters and sums of
    /// intervals.
    pub most_in_full: usize,
    /// Number of designs simulated in parallel, at least 1. The results do not depend on this
    /// number.
    pub threads: usize,
}

impl Default for Options {
    /// Returns the defaults: 1,000 instructions per interval, 100 intervals, no kernel touches,
    /// private hierarchies by process, 100 places, 16 designs in full, one design at a time.
    fn default() -> Self {
        Options {
            interval_instructions: 1000,
            intervals: 100,
            kernel_touches: false,
            private_by: PrivateBy::Process,
            places: 100,
            most_in_full: 16,
            threads: 1,
        }
    }
}

/// Contents of the trace, and the result of every design.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Outcome {
    /// Number of instructions in the trace.
    pub instructions: u64,
    /// Number of loads in the trace, without the kernel's touches.
    pub loads: u64,
    /// Number of stores in the trace, without the kernel's touches.
    pub stores: u64,
    /// Number of switches at which the task left the CPU voluntarily.
    pub voluntary_switches: u64,
    /// Number of all other switches.
    pub involuntary_switches: u64,
    /// The processes (or tasks, if each has a private hierarchy), in the order in which they
    /// appear.
    pub processes: Vec<ProcessFacts>,
    /// The causes that occur, in the order in which they appear.
    pub causes: Vec<SwitchCause>,
    /// Results of the designs, in the given order.
    pub designs: Vec<DesignResult>,
    /// Results by part, if some chunks of the trace only warmed up caches. The other results then
    /// begin with the first part.
    pub parts: Vec<PartResult>,
}

/// Simulator of designs on an event stream.
#[derive(Debug)]
pub struct Simulator {
    check: Check,
    passes: Passes,
    designs_in_full: usize,
    most_in_full: usize,
    places: usize,
}

/// Passes of a simulation, by the thread that runs them.
#[derive(Debug)]
enum Passes {
    /// Passes run by the feeding thread, in sequence.
    Here(Vec<Pass>),
    OnThreads(Workers),
}

impl Simulator {
    /// Makes empty caches for every design.
    ///
    /// # Errors
    ///
    /// If a design cannot be built, intervals have no length, or a thread cannot be started.
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

    /// Returns the number of designs that are simulated one by one, if there are more of them than
    /// [`Options::most_in_full`]; otherwise 0.
    pub fn designs_that_cannot_be_swept(&self) -> usize {
        if self.designs_in_full > self.most_in_full {
            self.designs_in_full
        } else {
            0
        }
    }

    /// Simulates the next chunk of the trace. The chunk may be taken; a chunk to reuse then
    /// replaces it. Appends the intervals of segments that have ended: chunk by chunk, and within a
    /// chunk by design. With several threads, the intervals of the last chunks come later, at the
    /// latest from [`Simulator::finish`].
    ///
    /// # Errors
    ///
    /// If the chunk contradicts itself, or has more processes than can be distinguished. No design
    /// has then processed any of the chunk, and the simulation cannot continue.
    pub fn feed(
        &mut self,
        chunk: &mut Chunk,
        intervals: &mut Vec<Interval>,
    ) -> Result<(), SimulationError> {
        self.feed_for(chunk, WHOLE, intervals)
    }

    /// Simulates a chunk of a part of a trace, or a chunk that only warms up caches. If chunks were
    /// left out before, `since_switch` is the number of instructions that the running task has
    /// executed since its switch. Designs that are simulated in one pass do not support parts;
    /// simulate all of them in full.
    ///
    /// # Errors
    ///
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

    /// Ends all designs at the first position in the trace that all can still reach, even if more
    /// chunks were fed. Must be called before [`Simulator::finish`].
    pub fn stop_early(&self) {
        if let Passes::OnThreads(workers) = &self.passes {
            workers.stop_early();
        }
    }

    /// Ends the last segment and returns the results. `names` gives the names by which places of
    /// data and evictors are added up.
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
