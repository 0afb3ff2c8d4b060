//! Counts each part of a trace. The chunks between parts only warm up caches.

use switchcost_design::result::{DesignResult, PartResult};
use switchcost_trace::Purpose;

/// Purpose of a chunk: it is counted in a part, or warms up caches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Fed {
    pub(super) purpose: Purpose,
    /// Number of instructions of the current segment before the chunk; `None` if all of them were
    /// simulated.
    pub(super) since_switch: Option<u64>,
}

/// Part number that stands for the whole trace; no part has this number.
pub(super) const ALL: usize = usize::MAX;

/// Purpose of a chunk when a whole trace is simulated.
pub(super) const WHOLE: Fed = Fed {
    purpose: Purpose::Count { part: ALL },
    since_switch: None,
};

/// Counts of a trace that do not depend on a design.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Counted {
    pub(super) instructions: u64,
    pub(super) loads: u64,
    pub(super) stores: u64,
    pub(super) kernel_touches: [u64; 2],
    pub(super) voluntary_switches: u64,
    pub(super) involuntary_switches: u64,
}

impl Counted {
    /// Returns the numbers of instructions, loads and stores, including the kernel's touches.
    pub(super) fn seen(self) -> [u64; 3] {
        [
            self.instructions,
            self.loads + self.kernel_touches[0],
            self.stores + self.kernel_touches[1],
        ]
    }

    pub(super) fn since(self, before: Counted) -> Counted {
        let [loads, stores] = self.kernel_touches;
        Counted {
            instructions: self.instructions - before.instructions,
            loads: self.loads - before.loads,
            stores: self.stores - before.stores,
            kernel_touches: [
                loads - before.kernel_touches[0],
                stores - before.kernel_touches[1],
            ],
            voluntary_switches: self.voluntary_switches - before.voluntary_switches,
            involuntary_switches: self.involuntary_switches - before.involuntary_switches,
        }
    }
}

/// Counts of one part of the trace from one pass, which simulates some of the designs. `designs`
/// has these designs by index.
#[derive(Debug)]
pub(super) struct Part {
    pub(super) counted: Counted,
    pub(super) designs: Vec<(u16, DesignResult)>,
}

/// Adds the designs of one pass to the results of the same parts.
pub(super) fn join_parts(mut all: Vec<PartResult>, parts: Vec<Part>) -> Vec<PartResult> {
    all.resize_with(parts.len().max(all.len()), PartResult::default);
    for (outcome, mut part) in all.iter_mut().zip(parts) {
        outcome.instructions = part.counted.instructions;
        outcome.switches = part.counted.voluntary_switches + part.counted.involuntary_switches;
        outcome.designs.append(&mut part.designs);
        outcome.designs.sort_unstable_by_key(|(number, _)| *number);
    }
    all
}
