//! Kinds of requests for lines, by the instruction that makes the request.
//!
//! A simulation knows which lines are lost, but neither the requests around them nor on which loads
//! an address depends. Therefore this module follows some of the chunks in the same way as a
//! profile does.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;
use switchcost_record::profile::Kind;
use switchcost_trace::{Chunk, Dependences};

use crate::Profiler;
use crate::streams::HOT;

/// Number of chunks at the start of a trace that are all followed.
const ALL: u64 = 3;
/// After the first [`ALL`] chunks, one chunk in 256 is followed, because following a chunk takes
/// four times as long as simulating it.
const ONE_IN: u64 = 256;
/// Number of lines that are tracked (1 MiB). This number is small because an age only has to tell
/// whether a first level holds the line.
const LINES: usize = 1 << 14;

/// Numbers of requests by instruction and kind.
pub(crate) type ByInstruction = FxHashMap<u64, BTreeMap<Kind, u64>>;

/// Counts the requests of each instruction by kind, for lines that no first level holds.
#[derive(Debug)]
pub struct KindsByInstruction {
    profiler: Profiler,
    chunks: u64,
}

impl Default for KindsByInstruction {
    fn default() -> KindsByInstruction {
        let mut profiler = Profiler::new_bounded(LINES);
        profiler.lines.by_instruction = Some(ByInstruction::default());
        KindsByInstruction {
            profiler,
            chunks: 0,
        }
    }
}

impl KindsByInstruction {
    /// Follows the next chunk of the trace, or only its marks. `dependences` are the known
    /// dependences of the chunk's blocks.
    pub fn add(&mut self, chunk: &Chunk, dependences: &Dependences) {
        let number = self.chunks;
        self.chunks += 1;
        if number < ALL || number.is_multiple_of(ONE_IN) {
            self.profiler.add(chunk, dependences);
        } else {
            let marks = chunk.marks.iter();
            marks.for_each(|placed| self.profiler.mark(&placed.mark));
        }
    }

    /// Divides lines that an instruction requested, in proportion to the kinds of its followed
    /// requests. `None` if no request of the instruction was followed.
    pub fn divide(&self, instruction: u64, lines: u64) -> Option<Vec<(Kind, u64)>> {
        let counts = self.profiler.lines.by_instruction.as_ref()?;
        let counts = counts.get(&instruction)?;
        let all: u64 = counts.values().sum();
        let (mut requests, mut given, mut parts) = (0, 0, Vec::new());
        for (kind, count) in counts {
            requests += count;
            let until = (u128::from(lines) * u128::from(requests) / u128::from(all)) as u64;
            parts.push((*kind, until - given));
            given = until;
        }
        Some(parts)
    }
}

/// Counts a request for data, unless its age shows that a first level holds the line.
pub(crate) fn count(counts: &mut ByInstruction, instruction: u64, kind: Kind, age: Option<u32>) {
    if age.is_none_or(|age| age >= HOT) && !matches!(kind, Kind::Code | Kind::CodeAlone) {
        let kinds = counts.entry(instruction).or_default();
        *kinds.entry(kind).or_default() += 1;
    }
}
