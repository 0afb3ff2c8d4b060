//! How a line is asked for, by those that came shortly before it.

use profile::Kind;

/// What an instruction does with a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Access {
    Fetch,
    Load,
    Store,
}

/// A line's first use since a cut.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arrival {
    pub(crate) line: u64,
    /// Instructions before it.
    pub(crate) at: u64,
    /// Address of the instruction.
    pub(crate) instruction: u64,
    pub(crate) access: Access,
    /// Lines used since it was used last; none where it is new.
    pub(crate) age: Option<u32>,
}

/// Lines that came last.
const COMPANIONS: usize = 16;
/// Instructions that a core gets on by while a line comes from the next levels: some 50 cycles. A load that is begun later finds it done.
const UNDER_WAY: u64 = 64;
/// A line that has been away for less is in a first level: who comes to it asks nobody.
const HOT: u32 = 256;
/// A stream goes on for so long without another line.
const STREAM_LASTS: u64 = 1 << 16;
/// Streams and instructions that are remembered; powers of two.
const STREAMS: usize = 1 << 10;
const INSTRUCTIONS: usize = 1 << 10;
/// A step beyond that leaves the page, where nothing is fetched ahead.
const LONGEST_STEP: u64 = 32;

#[derive(Clone, Copy, Debug, Default)]
struct Companion {
    line: u64,
    age: u32,
}

#[derive(Clone, Copy, Debug, Default)]
struct Step {
    instruction: u64,
    line: u64,
    by: u64,
}

#[derive(Debug)]
pub(crate) struct Company {
    last: [Companion; COMPANIONS],
    next: usize,
    /// Lines that came after a while, by number: when.
    streams: Vec<(u64, u64)>,
    steps: Vec<Step>,
    /// When the first load of those under way from anywhere was begun, and how old its line was.
    group: (u64, u32),
}

impl Default for Company {
    fn default() -> Company {
        Company {
            last: [Companion { line: u64::MAX - 1, age: 0 }; COMPANIONS],
            next: 0,
            streams: vec![(u64::MAX, 0); STREAMS],
            steps: vec![Step::default(); INSTRUCTIONS],
            group: (0, 0),
        }
    }
}

impl Company {
    /// How this line is asked for.
    pub(crate) fn kind(&mut self, arrival: &Arrival) -> Kind {
        if arrival.access == Access::Fetch {
            return Kind::Code;
        }
        let age = arrival.age.unwrap_or(u32::MAX);
        let is_sequential = self.is_beside_one(arrival.line, age, arrival.at);
        let is_strided = self.steps_on(arrival);
        self.remember(arrival, age);
        match arrival.access {
            _ if is_sequential => Kind::Sequential,
            _ if is_strided => Kind::Strided,
            Access::Store => Kind::Stored,
            _ if self.is_in_group(arrival.at, age) => Kind::Gathered,
            _ => Kind::Dependent,
        }
    }

    /// Whether a line beside it came shortly before, and was away for as long.
    fn is_beside_one(&self, line: u64, age: u32, at: u64) -> bool {
        let is_beside = |companion: &Companion| companion.line.abs_diff(line) == 1 && is_as_old(companion.age, age);
        let came = |line: u64| self.streams[place_of(line, STREAMS)].0 == line && self.is_young(line, at);
        self.last.iter().any(is_beside) || (age >= HOT && (came(line.wrapping_sub(1)) || came(line.wrapping_add(1))))
    }

    fn is_young(&self, line: u64, at: u64) -> bool {
        at - self.streams[place_of(line, STREAMS)].1 <= STREAM_LASTS
    }

    fn remember(&mut self, arrival: &Arrival, age: u32) {
        self.last[self.next % COMPANIONS] = Companion { line: arrival.line, age };
        self.next += 1;
        if age >= HOT {
            self.streams[place_of(arrival.line, STREAMS)] = (arrival.line, arrival.at);
        }
    }

    /// Whether its instruction has made the same step once more.
    fn steps_on(&mut self, arrival: &Arrival) -> bool {
        let step = &mut self.steps[place_of(arrival.instruction, INSTRUCTIONS)];
        if step.instruction != arrival.instruction {
            *step = Step { instruction: arrival.instruction, line: arrival.line, by: 0 };
            return false;
        }
        let by = arrival.line.wrapping_sub(step.line);
        let goes_on = by == step.by && by.min(by.wrapping_neg()) <= LONGEST_STEP;
        *step = Step { by, line: arrival.line, ..*step };
        goes_on
    }

    /// Whether a load from anywhere is under way, for as long, when this one is begun: the first of them waits for its line, and the
    /// others with it (T. S. Karkhanis, J. E. Smith, "A first-order superscalar processor model", 2004).
    fn is_in_group(&mut self, at: u64, age: u32) -> bool {
        let (began, oldest) = self.group;
        if at - began <= UNDER_WAY && oldest > 0 && is_as_old(oldest, age) {
            return true;
        }
        self.group = (at, age);
        false
    }
}

/// Whether one that was away for so long has come from as far, or nearly so.
fn is_as_old(one: u32, other: u32) -> bool {
    one >= other / 2
}

fn place_of(key: u64, places: usize) -> usize {
    (key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (u64::BITS - places.trailing_zeros())) as usize
}
