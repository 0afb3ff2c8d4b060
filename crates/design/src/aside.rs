//! What may stand beside a level.

use serde::{Deserialize, Serialize};
use strum::Display;

/// Buffers between a write-through level and the next: a store waits only if all are full.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WriteBuffers {
    /// How many stores they hold.
    pub count: u32,
    /// Cycles from the moment that a store is the oldest until it is written, if the next level takes it without a
    /// miss of its own; the cycles that the levels below take come on top.
    pub drain_cycles: u32,
}

/// A few lines that have just left a level, fully associative, LRU (Jouppi, ISCA 1990).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct VictimCache {
    /// How many.
    pub lines: u32,
    /// Cycles of a miss that finds its line here, instead of the level's miss cycles.
    pub hit_cycles: u32,
}

/// FIFO queues of lines that follow a miss (Jouppi, ISCA 1990); only the head of each is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StreamBuffers {
    /// How many queues; the one not used for longest is given to a new stream.
    pub count: u32,
    /// Lines in each.
    pub depth: u32,
    /// Cycles of a miss that finds its line here, instead of the level's miss cycles.
    pub hit_cycles: u32,
    /// So many fills of lines one after the other before a stream begins (the allocation filter of Palacharla and
    /// Kessler, ISCA 1994); 1 if each fill begins one.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub allocate_after: u32,
    /// Whether a line that is prefetched takes as long on its way as one that was missed: who asks for it earlier waits.
    #[serde(default, skip_serializing_if = "is_false")]
    pub timed: bool,
}

/// One line that is there at once.
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

/// What finds loads and stores at equal distances, and fetches the next ones into the sets (Fu, Patel and Janssens, MICRO 1992).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StridePrefetcher {
    /// How many strides are followed; the one not seen for longest makes room.
    pub entries: u32,
    /// Lines fetched at each reference that keeps its stride.
    pub degree: u32,
    /// How many strides ahead the first of them is.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub distance: u32,
    /// Which references are followed together.
    #[serde(default, skip_serializing_if = "StrideKey::is_instruction")]
    pub by: StrideKey,
}

/// What references of one stride have in common.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, Display)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum StrideKey {
    /// The instruction.
    #[default]
    Instruction,
    /// The page of 4 KiB: if a trace does not know the instruction.
    Page,
}

impl StrideKey {
    fn is_instruction(&self) -> bool {
        *self == StrideKey::Instruction
    }
}

/// What finds requests for one line after another, up or down a page, and fetches lines ahead of them into the sets, as the L2
/// prefetcher of Intel's cores of that name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Streamer {
    /// How many pages are followed; the one not asked for longest makes room.
    pub entries: u32,
    /// Lines fetched at each request.
    pub degree: u32,
    /// How many lines ahead of the request the farthest may be.
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
