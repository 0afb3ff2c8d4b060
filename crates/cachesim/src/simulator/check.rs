//! Checks a chunk before any design processes it, so that all designs stop at the same position if
//! the chunk is invalid.

use std::collections::HashSet;

use switchcost_trace::{Chunk, Mark, ProcessId};

/// Reason why a simulation cannot start or continue.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SimulationError {
    /// A design cannot be built.
    #[error("{0}")]
    Unrealisable(#[from] switchcost_design::UnrealisableDesign),
    /// Intervals have no length.
    #[error("an interval of 0 instructions is empty; choose 1 or more")]
    EmptyInterval,
    /// There are more designs than the index in an interval can number.
    #[error(
        "{0} designs are too many for one run, the most is 65536; simulate them in several runs"
    )]
    TooManyDesigns(usize),
    /// A thread could not be started.
    #[error("no thread can be started for each design ({0}); raise the limit, or use --threads 1")]
    NoThread(String),
    /// The chunk contradicts itself.
    #[error("the trace is damaged: a chunk has {found} instead of {needed}; check its source")]
    UnfitChunk {
        /// Content of the chunk.
        found: String,
        /// Content that a valid chunk may have.
        needed: String,
    },
    /// The trace has more address spaces than the tags can distinguish.
    #[error(
        "the trace has {found} processes, more than the {most} that can be simulated; cut the trace, or use longer lines"
    )]
    TooManyProcesses {
        /// Number of address spaces of the trace so far.
        found: u64,
        /// Number of address spaces that all designs can distinguish.
        most: u64,
    },
}

/// State of the check after the chunks so far.
#[derive(Debug)]
pub(crate) struct Check {
    processes: HashSet<ProcessId>,
    most_processes: u64,
}

impl Check {
    /// Makes the state before the first chunk. `most_processes` is the number of processes that the
    /// designs distinguish.
    pub(crate) fn new(most_processes: u64) -> Check {
        // Process 0 runs until the first switch, and counts as an address space.
        Check {
            processes: HashSet::from([ProcessId(0)]),
            most_processes,
        }
    }

    /// Checks the next chunk.
    pub(crate) fn chunk(&mut self, chunk: &Chunk) -> Result<(), SimulationError> {
        check(chunk)?;
        let of_mark = |mark: &Mark| match mark {
            Mark::Birth { process, .. } | Mark::Exec { process, .. } => Some(*process),
            _ => None,
        };
        self.processes.extend(
            chunk
                .marks
                .iter()
                .filter_map(|placed| of_mark(&placed.mark)),
        );
        let (found, most) = (self.processes.len() as u64, self.most_processes);
        if found <= most {
            Ok(())
        } else {
            Err(SimulationError::TooManyProcesses { found, most })
        }
    }
}

/// Checks that marks are in order and within the blocks, and that the numbers of references of all
/// blocks add up to the references of the chunk.
fn check(chunk: &Chunk) -> Result<(), SimulationError> {
    let blocks = chunk.blocks.len();
    let mut least = 0;
    for placed in &chunk.marks {
        let at = placed.before_block as usize;
        if at < least || at > blocks {
            return Err(unfit(
                format!("a mark before block {at}"),
                format!("one between {least} and {blocks}"),
            ));
        }
        least = at;
    }
    let found = chunk.references.len();
    let claimed: usize = chunk
        .blocks
        .iter()
        .map(|block| usize::from(block.references))
        .sum();
    if found == claimed {
        return Ok(());
    }
    Err(unfit(
        format!("{found} references"),
        format!("{claimed}, as its blocks claim"),
    ))
}

fn unfit(found: String, needed: String) -> SimulationError {
    SimulationError::UnfitChunk { found, needed }
}

#[cfg(test)]
pub(super) mod tests {
    use switchcost_trace::{Block, Mark, Placed, Reference, TaskId};

    use super::*;
    use crate::{Options, Simulator};

    /// Makes a chunk whose block has neither of its two references.
    pub(crate) fn unfit_chunk() -> Chunk {
        let mut chunk = Chunk::default();
        chunk.blocks.push(Block {
            bytes: 4,
            instructions: 1,
            first_bytes: 4,
            references: 2,
            ..Block::default()
        });
        chunk
    }

    #[test]
    fn says_what_is_wrong_with_a_chunk() {
        let mut chunk = unfit_chunk();
        let said = |chunk: &Chunk| {
            let mut simulator =
                Simulator::new(Vec::new(), Options::default()).expect("a simulator");
            simulator
                .feed(&mut chunk.clone(), &mut Vec::new())
                .expect_err("unfit")
                .to_string()
        };
        assert_eq!(
            said(&chunk),
            "the trace is damaged: a chunk has 0 references instead of 2, as its blocks claim; check its source"
        );
        chunk.references = vec![Reference(0); 3];
        assert_eq!(
            said(&chunk),
            "the trace is damaged: a chunk has 3 references instead of 2, as its blocks claim; check its source"
        );
        chunk.marks.push(Placed {
            before_block: 2,
            mark: Mark::Exit { task: TaskId(1) },
        });
        assert_eq!(
            said(&chunk),
            "the trace is damaged: a chunk has a mark before block 2 instead of one between 0 and 1; check its source"
        );
    }

    #[test]
    fn processes_that_cannot_be_distinguished_are_not_simulated() {
        let mut check = Check::new(3);
        let birth = |process| {
            let mark = Mark::Birth {
                task: TaskId(process),
                process: ProcessId(process),
                parent: TaskId(0),
                name: Default::default(),
            };
            let mut chunk = Chunk::default();
            chunk.mark(mark);
            chunk
        };
        let said = [1, 1, 2, 3].map(|process| check.chunk(&birth(process)));
        let too_many = SimulationError::TooManyProcesses { found: 4, most: 3 };
        assert_eq!(said, [Ok(()), Ok(()), Ok(()), Err(too_many)]);
    }

    #[test]
    fn says_what_is_wrong_with_the_rest() {
        assert_eq!(
            SimulationError::EmptyInterval.to_string(),
            "an interval of 0 instructions is empty; choose 1 or more"
        );
        assert_eq!(
            SimulationError::TooManyDesigns(65537).to_string(),
            "65537 designs are too many for one run, the most is 65536; simulate them in several runs"
        );
        assert_eq!(
            SimulationError::TooManyProcesses {
                found: 131073,
                most: 131072
            }
            .to_string(),
            "the trace has 131073 processes, more than the 131072 that can be simulated; cut the trace, or use longer lines"
        );
    }
}
