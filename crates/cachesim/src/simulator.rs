//! Every design, fed with one event stream.

mod error;
mod pass;
mod pieces;
mod runner;

use std::sync::Mutex;

use design::Design;
use simulation_result::{DesignResult, Interval, ProcessFacts, SwitchCause};
use trace::Chunk;

pub use error::SimulationError;
pub(crate) use error::check as check_chunk;
use pass::Pass;
pub(crate) use pieces::{TakePieces, take_pieces};
use runner::runners;

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
    /// How many places in the code are listed for each design.
    pub code_places: usize,
    /// So many designs are all simulated in full. Of more, those that differ in the size, ways and cycles of their last
    /// levels only are simulated in one pass: the first of them in full, of the others counters and sums of tuples.
    pub most_in_full: usize,
    /// How many designs are simulated at the same time, at least 1; the results do not depend on it.
    pub threads: usize,
}

impl Default for Options {
    /// 1,000 instructions, 100 intervals, no kernel touches, 100 places, 16 designs in full, one at a time.
    fn default() -> Self {
        Options {
            interval_instructions: 1000,
            intervals: 100,
            kernel_touches: false,
            code_places: 100,
            most_in_full: 16,
            threads: 1,
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
    /// The processes, in the order in which they appear.
    pub processes: Vec<ProcessFacts>,
    /// The causes that occur, in the order in which they appear.
    pub causes: Vec<SwitchCause>,
    /// The designs, in the order in which they were given.
    pub designs: Vec<DesignResult>,
}

/// Simulates designs on an event stream.
#[derive(Debug)]
pub struct Simulator {
    passes: Vec<Pass>,
    most_in_full: usize,
    threads: usize,
}

impl Simulator {
    /// Empty caches of every design.
    ///
    /// # Errors
    /// A design that cannot be built, or intervals without length.
    pub fn new(designs: Vec<Design>, options: Options) -> Result<Simulator, SimulationError> {
        designs.iter().try_for_each(Design::check)?;
        if options.interval_instructions == 0 {
            return Err(SimulationError::EmptyInterval);
        }
        if designs.len() > MOST_DESIGNS {
            return Err(SimulationError::TooManyDesigns(designs.len()));
        }
        let fewest_swept = if designs.len() > options.most_in_full { FEWEST_SWEPT } else { usize::MAX };
        let passes = runners(designs, fewest_swept).into_iter().map(|runner| Pass::new(runner, options.clone()));
        Ok(Simulator { passes: passes.collect(), most_in_full: options.most_in_full, threads: options.threads.max(1) })
    }

    /// How many designs are simulated one by one, though there are more than are wanted in full: they cannot be swept.
    pub fn designs_that_cannot_be_swept(&self) -> usize {
        let alone = self.passes.iter().map(Pass::designs_in_full).sum();
        if alone > self.most_in_full { alone } else { 0 }
    }

    /// Simulates the next chunk of the trace. Tuples of segments that end in it are appended, in ascending order for
    /// each design.
    ///
    /// # Errors
    /// A chunk that contradicts itself; nothing can be said then about what follows it.
    pub fn feed(&mut self, chunk: &Chunk, tuples: &mut Vec<Interval>) -> Result<(), SimulationError> {
        error::check(chunk)?;
        let results = self.feed_each(chunk);
        self.passes.iter_mut().for_each(|pass| pass.take_tuples(tuples));
        results
    }

    /// Whoever is free takes the next design: how long one takes is not known before. Starting threads for each chunk takes
    /// some ten microseconds, of the milliseconds that a chunk takes.
    fn feed_each(&mut self, chunk: &Chunk) -> Result<(), SimulationError> {
        let threads = self.threads.min(self.passes.len());
        if threads <= 1 {
            return self.passes.iter_mut().try_for_each(|pass| pass.feed(chunk));
        }
        let left = Mutex::new(self.passes.iter_mut());
        let next = || left.lock().map_or(None, |mut left| left.next());
        let work = || {
            let mut result = Ok(());
            while let Some(pass) = next() {
                result = result.and(pass.feed(chunk));
            }
            result
        };
        std::thread::scope(|scope| {
            let others: Vec<_> = (1..threads).map(|_| scope.spawn(work)).collect();
            let own = work();
            others.into_iter().fold(own, |result, other| match other.join() {
                Ok(other) => result.and(other),
                Err(panic) => std::panic::resume_unwind(panic),
            })
        })
    }

    /// Ends the last segment and gives the counters.
    pub fn finish(self, tuples: &mut Vec<Interval>) -> Outcome {
        let mut outcome = Outcome::default();
        let mut designs: Vec<(u16, DesignResult)> = Vec::new();
        for pass in self.passes {
            let (facts, results) = pass.finish(tuples);
            outcome = facts;
            designs.extend(results);
        }
        designs.sort_unstable_by_key(|(number, _)| *number);
        outcome.designs = designs.into_iter().map(|(_, result)| result).collect();
        outcome
    }
}
