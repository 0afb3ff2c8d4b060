//! What may stand beside a level.

use serde::{Deserialize, Serialize};

/// Buffers between a write-through level and the next: a store waits only where all are full.
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
    /// So many fills of lines one behind the other before a stream begins (the allocation filter of Palacharla and
    /// Kessler, ISCA 1994); 1 where each fill begins one.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub allocate_after: u32,
    /// Whether a line that is prefetched takes as long on its way as one that was missed: who asks for it earlier waits.
    #[serde(default, skip_serializing_if = "is_false")]
    pub timed: bool,
}

/// One line that is there at once.
impl Default for StreamBuffers {
    fn default() -> StreamBuffers {
        StreamBuffers { count: 1, depth: 1, hit_cycles: 0, allocate_after: 1, timed: false }
    }
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
