//! Parts that belong to a cache level: write buffers, victim cache, stream buffers and prefetchers.

use serde::{Deserialize, Serialize};
use strum::Display;

/// Buffers between a write-through level and the next: a store waits only if all are full.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WriteBuffers {
    /// Number of stores that the buffers hold.
    pub count: u32,
    /// Cycles from the moment at which a store is the oldest until it is written, if the next level
    /// does not miss. The cycles of later levels come on top.
    pub drain_cycles: u32,
}

/// A fully associative LRU cache of lines that a level has just evicted (Jouppi, ISCA 1990).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct VictimCache {
    /// Number of lines in the victim cache.
    pub lines: u32,
    /// Cycles of a miss that finds its line in the victim cache, instead of the level's miss cycles.
    pub hit_cycles: u32,
}

/// FIFO queues of prefetched lines after a miss (Jouppi, ISCA 1990); only the head of each is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StreamBuffers {
    /// Number of queues; a new stream replaces the least recently used one.
    pub count: u32,
    /// Number of lines in each queue.
    pub depth: u32,
    /// Cycles of a miss that finds its line in a stream buffer, instead of the level's miss cycles.
    pub hit_cycles: u32,
    /// Number of fills of consecutive lines before a stream begins (the allocation filter of
    /// Palacharla and Kessler, ISCA 1994); 1 if each fill begins a stream.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub allocate_after: u32,
    /// Whether a prefetched line takes as long to arrive as a missed line. If so, a request that
    /// finds the line before it has arrived waits.
    #[serde(default, skip_serializing_if = "is_false")]
    pub timed: bool,
}

/// Makes buffers of one line that arrives at once.
impl Default for StreamBuffers {
    fn default() -> StreamBuffers {
        StreamBuffers {
            count: 1,
            depth: 1,
            hit_cycles: 0,
            allocate_after: 1,
            timed: false,
        }
    }
}

/// A prefetcher that detects loads and stores at equal distances and fetches the next lines into the sets (Fu, Patel and Janssens,
/// MICRO 1992).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StridePrefetcher {
    /// Number of strides followed; a new stride replaces the one seen least recently.
    pub entries: u32,
    /// Number of lines prefetched at each reference that keeps its stride.
    pub degree: u32,
    /// Distance of the first prefetched line from the reference, in strides.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub distance: u32,
    /// Grouping of references: those of one group form one stride.
    #[serde(default, skip_serializing_if = "StrideKey::is_instruction")]
    pub by: StrideKey,
}

/// Grouping of references in a stride prefetcher.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, Display)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum StrideKey {
    /// References are grouped by instruction.
    #[default]
    Instruction,
    /// References are grouped by page of 4 KiB, for traces without instructions.
    Page,
}

impl StrideKey {
    fn is_instruction(&self) -> bool {
        *self == StrideKey::Instruction
    }
}

/// A prefetcher that detects requests for consecutive lines, up or down a page, and fetches lines ahead into the sets, like the L2
/// streamer of Intel's cores.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Streamer {
    /// Number of pages followed; a new page replaces the one requested least recently.
    pub entries: u32,
    /// Number of lines prefetched at each request.
    pub degree: u32,
    /// Greatest distance of a prefetched line from the request, in lines.
    pub distance: u32,
}

const fn one() -> u32 {
    1
}

fn is_one(number: &u32) -> bool {
    *number == 1
}

fn is_false(claim: &bool) -> bool {
    !claim
}
