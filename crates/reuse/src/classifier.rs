//! Classifies each request for a line (sequential, gathered, dependent, ...) by the requests
//! shortly before.

use switchcost_record::prices::Kind;
use switchcost_trace::{CHAIN_WINDOW, Chain};

use crate::streams::{HOT, Streams, is_as_old};

/// Kind of access of an instruction to a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// The line contains the instruction.
    Fetch,
    /// The instruction loads from the line.
    Load,
    /// The instruction stores to the line.
    Store,
}

/// A request for a line that must come from a farther level, as at the line's first use after a
/// switch.
#[derive(Clone, Copy, Debug)]
pub struct Arrival {
    /// Number of the line.
    pub line: u64,
    /// Number of instructions that were executed before the access.
    pub at: u64,
    /// Address of the instruction that makes the request.
    pub instruction: u64,
    /// Kind of access of the instruction to the line.
    pub access: Access,
    /// Number of lines that were used since the last use of the accessed line, including that line;
    /// `u32::MAX` for a line that was never used. Ages that differ by less than a factor of two
    /// mean the same level.
    pub age: u32,
    /// Chain of lines that the address depends on; `None` if the address's dependences are unknown.
    pub chain: Option<Chain>,
}

/// Number of instructions that a core executes while a line comes from one of the next levels, in
/// about 50 cycles. A load that begins later finds the line in the first level.
const UNDER_WAY: u64 = 64;
/// Number of instructions whose last requested line is stored; a power of two.
const INSTRUCTIONS: usize = 1 << 10;
/// Largest distance in lines that counts as a stride. Two longer steps leave a page of 4 KiB, and
/// hardware prefetches nothing beyond a page.
const LONGEST_STEP: u64 = 32;

/// Number of lines requested in [`CHAIN_WINDOW`] instructions from which on the lines are not
/// spaced: one per 28 instructions, the geometric mean of the walks that measure prices.
const CLOSE: usize = 18;

#[derive(Clone, Copy, Debug, Default)]
struct Step {
    instruction: u64,
    line: u64,
    by: u64,
}

/// Classifies requests for lines. Requests must be given in order.
#[derive(Debug)]
pub struct Classifier {
    streams: Streams,
    steps: Vec<Step>,
    /// Instruction number of the first load of the current group of scattered loads, and the age of
    /// the line that this load requested.
    group: (u64, u32),
    /// Longest chain of dependent lines in the present window of instructions.
    longest: Chain,
    /// Instruction number of the last request for code, and the age of its line.
    code: (u64, u32),
    /// Instruction numbers and ages of the last [`CHAIN_WINDOW`] instructions' requests for data that
    /// no first level holds.
    requests: Vec<(u64, u32)>,
}

impl Default for Classifier {
    fn default() -> Classifier {
        Classifier {
            streams: Streams::default(),
            steps: vec![Step::default(); INSTRUCTIONS],
            group: (0, 0),
            longest: Chain::default(),
            code: (0, 0),
            requests: Vec::new(),
        }
    }
}

impl Classifier {
    /// Returns the kind of a request, which also affects the kinds of later requests.
    pub fn kind(&mut self, arrival: &Arrival) -> Kind {
        let age = arrival.age;
        if arrival.access == Access::Fetch {
            return if self.is_fetched_ahead(arrival.at, age) {
                Kind::Code
            } else {
                Kind::CodeAlone
            };
        }
        let is_streamed = self.streams.go_on(arrival.line, age);
        let step = self.step(arrival);
        let kind = match arrival.access {
            _ if is_streamed || step == Some(1) => Kind::Sequential,
            _ if step.is_some() => Kind::Strided,
            Access::Store => Kind::Stored,
            _ => self.scattered(arrival, age),
        };
        if self.is_spaced(arrival.at, age) {
            kind.spaced()
        } else {
            kind
        }
    }

    /// Whether few lines of at least similar age were requested in the last [`CHAIN_WINDOW`]
    /// instructions, so that a core has other instructions to execute while the line comes.
    fn is_spaced(&mut self, at: u64, age: u32) -> bool {
        if age < HOT {
            return false;
        }
        self.requests
            .retain(|(before, _)| at - before < CHAIN_WINDOW);
        self.requests.push((at, age));
        let similar = |(_, other): &&(u64, u32)| is_as_old(*other, age);
        self.requests.iter().filter(similar).count() < CLOSE
    }

    /// Returns the kind of a load that is neither sequential nor strided. The loads of a window
    /// take as long as its longest chain; other loads overlap with the chain.
    fn scattered(&mut self, arrival: &Arrival, age: u32) -> Kind {
        let is_waited_for = match arrival.chain {
            None => return self.classify_unchained(arrival, age),
            // A line that a first level holds cannot lengthen the longest chain of other lines,
            // which are requested far more rarely.
            Some(chain) if age < HOT => chain.part_at(arrival.at) == chain,
            Some(chain) => {
                let chain = extend(chain, arrival.at, age);
                let is_longest = chain > self.longest;
                self.longest = self.longest.max(chain);
                is_longest
            }
        };
        if is_waited_for {
            Kind::Chained
        } else {
            Kind::Gathered
        }
    }

    fn classify_unchained(&mut self, arrival: &Arrival, age: u32) -> Kind {
        if self.is_in_group(arrival.at, age) {
            Kind::Gathered
        } else {
            Kind::Dependent
        }
    }

    /// Stores the arriving line. Returns its distance in lines from the instruction's previous
    /// line, if the step before had the same distance and direction, and the distance is at most
    /// [`LONGEST_STEP`]; otherwise `None`.
    fn step(&mut self, arrival: &Arrival) -> Option<u64> {
        let step = &mut self.steps[place_of(arrival.instruction, INSTRUCTIONS)];
        if step.instruction != arrival.instruction {
            *step = Step {
                instruction: arrival.instruction,
                line: arrival.line,
                by: 0,
            };
            return None;
        }
        let by = arrival.line.wrapping_sub(step.line);
        let lines = by.min(by.wrapping_neg());
        let goes_on = by == step.by && lines <= LONGEST_STEP;
        *step = Step {
            by,
            line: arrival.line,
            ..*step
        };
        goes_on.then_some(lines)
    }

    /// Whether code of a similar or greater age was requested shortly before. A core fetches ahead
    /// along the predicted path, at most as far as it executes ahead.
    fn is_fetched_ahead(&mut self, at: u64, age: u32) -> bool {
        let (last, before) = std::mem::replace(&mut self.code, (at, age));
        at - last <= UNDER_WAY && before > 0 && is_as_old(before, age)
    }

    /// Whether another scattered load of at least similar age is still under way when this load
    /// begins. The first load of a group waits for its line, and the other loads of the group wait
    /// at the same time (T. S. Karkhanis, J. E. Smith, "A first-order superscalar processor model",
    /// 2004).
    fn is_in_group(&mut self, at: u64, age: u32) -> bool {
        let (began, oldest) = self.group;
        if at - began <= UNDER_WAY && oldest > 0 && is_as_old(oldest, age) {
            return true;
        }
        self.group = (at, age);
        false
    }
}

/// Returns the chain with one more line of age `age`, which is requested after `at` instructions.
/// The length of the chain is twice the number of lines that no first level holds; plus 1 if a line
/// that a first level holds ends the chain.
pub(crate) fn extend(chain: Chain, at: u64, age: u32) -> Chain {
    let mut chain = chain.part_at(at);
    chain.length = (chain.length | 1) + u32::from(age >= HOT);
    chain
}

fn place_of(key: u64, places: usize) -> usize {
    (key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (u64::BITS - places.trailing_zeros())) as usize
}
