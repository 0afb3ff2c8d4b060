//! Optional parts of a cache level: write buffers, victim cache, stream buffers and prefetchers.

use serde::{Deserialize, Serialize};
use strum::Display;

/// Buffers between a write-through cache and the next level. A store waits only while all buffers
/// are full.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WriteBuffers {
    /// Number of buffers, each of which holds one store.
    pub count: u32,
    /// Cycles for which the oldest store occupies its buffer if the store hits in the next level.
    /// Cycles of later levels are added.
    pub drain_cycles: u32,
}

/// A fully associative LRU cache of lines that a level has just evicted (Jouppi, ISCA 1990).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct VictimCache {
    /// Number of lines that the victim cache holds.
    pub lines: u32,
    /// Cycles of a miss whose line is in the victim cache, instead of the level's `miss_cycles`.
    pub hit_cycles: u32,
}

/// FIFO queues of lines that are prefetched after a miss (Jouppi, ISCA 1990). A miss is compared
/// only with the head of each queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StreamBuffers {
    /// Number of queues. A new stream replaces the least recently used one.
    pub count: u32,
    /// Number of lines in each queue.
    pub depth: u32,
    /// Cycles of a miss whose line is in a stream buffer, instead of the level's `miss_cycles`.
    pub hit_cycles: u32,
    /// Number of fills of consecutive lines after which a stream begins (the allocation filter of
    /// Palacharla and Kessler, ISCA 1994); 1 if every fill begins a stream.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub allocate_after: u32,
    /// Whether a prefetched line takes as long to arrive as a missed line. If so, a request waits
    /// for a prefetched line that has not arrived yet.
    #[serde(default, skip_serializing_if = "is_false")]
    pub timed: bool,
}

/// Returns a single stream buffer of one line, without an allocation filter. Prefetched lines
/// arrive at once.
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

/// A prefetcher that detects loads and stores at equal distances, and prefetches the next lines
/// into the cache itself (Fu, Patel and Janssens, MICRO 1992).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StridePrefetcher {
    /// Number of strides that are tracked at a time. A new stride replaces the one whose last
    /// reference is oldest.
    pub entries: u32,
    /// Number of lines prefetched at each reference that continues its stride.
    pub degree: u32,
    /// Distance of the first prefetched line from the reference, in strides.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub distance: u32,
    /// Key by which references are grouped. The references of one group are examined for a common
    /// stride.
    #[serde(default, skip_serializing_if = "StrideKey::is_instruction")]
    pub by: StrideKey,
}

/// Key by which a stride prefetcher groups references.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, Display)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum StrideKey {
    /// The address of the instruction is the key.
    #[default]
    Instruction,
    /// The 4 KiB page of the requested address is the key, for traces without instruction
    /// addresses.
    Page,
}

impl StrideKey {
    fn is_instruction(&self) -> bool {
        *self == StrideKey::Instruction
    }
}

/// A prefetcher that detects requests for consecutive lines, upward or downward within a page, and
/// prefetches lines into the cache itself, like the L2 streamer of Intel's cores.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Streamer {
    /// Number of pages that are tracked at a time. A new page replaces the one whose last request
    /// is oldest.
    pub entries: u32,
    /// Largest number of lines prefetched at each request.
    pub degree: u32,
    /// Greatest distance of a prefetched line from the requested line, in lines.
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
