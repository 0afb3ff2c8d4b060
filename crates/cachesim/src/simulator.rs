//! Every design at once, fed with one event stream.

use record::{Design, DesignResult, Interval, ProcessFacts, SwitchCause};
use trace::Chunk;

/// What is simulated beside the designs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// Instructions in an interval; at least 1.
    pub interval_instructions: u64,
    /// Intervals told apart after each switch.
    pub intervals: u32,
    /// Whether the kernel's touches of user memory during system calls count as loads and stores.
    pub kernel_touches: bool,
    /// How many places in the code are listed for each design.
    pub code_places: usize,
}

impl Default for Options {
    /// 1,000 instructions, 100 intervals, no kernel touches, 100 places.
    fn default() -> Self {
        Options { interval_instructions: 1000, intervals: 100, kernel_touches: false, code_places: 100 }
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

/// Why a simulation cannot go on. Reads well behind "failed to simulate: ".
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SimulationError {
    /// A design that cannot be built.
    #[error("{0}")]
    Unrealisable(#[from] record::UnrealisableDesign),
    /// Intervals without length.
    #[error("found intervals of 0 instructions, need 1 or more; choose another length")]
    EmptyInterval,
    /// More designs than a tuple can number.
    #[error("found {0} designs, need at most 65536; simulate them in several runs")]
    TooManyDesigns(usize),
    /// A chunk that contradicts itself.
    #[error("found {found} in a chunk, need {needed}; the source of the trace is damaged, check it")]
    UnfitChunk {
        /// What is there.
        found: String,
        /// What would do.
        needed: String,
    },
    /// More address spaces than tags can tell apart.
    #[error("found process number {found} of the trace, need at most {most}; cut the trace")]
    TooManyProcesses {
        /// How many there are so far.
        found: u64,
        /// How many can be told apart.
        most: u64,
    },
}

/// Simulates designs on an event stream.
#[derive(Debug)]
pub struct Simulator {
    options: Options,
    designs: Vec<Design>,
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
        Ok(Simulator { options, designs })
    }

    /// Simulates the next chunk of the trace. Tuples of segments that end in it are appended, in ascending order for
    /// each design.
    ///
    /// # Errors
    /// A chunk that contradicts itself; nothing can be said then about what follows it.
    pub fn feed(&mut self, chunk: &Chunk, tuples: &mut Vec<Interval>) -> Result<(), SimulationError> {
        let _ = (chunk, tuples, &self.options, &self.designs);
        Ok(())
    }

    /// Ends the last segment and gives the counters.
    pub fn finish(self, tuples: &mut Vec<Interval>) -> Outcome {
        let _ = tuples;
        Outcome::default()
    }
}
