//! Skips the start of programs that are simulated as they run. The start fills the caches, but is
//! not counted.

use switchcost_design::result::TracePart;
use switchcost_trace::{Chunk, Purpose};

/// Progress of programs up to the first counted switch.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Skip {
    /// Number of switches that are not counted.
    switches: u64,
    seen: u64,
    instructions: u64,
    /// Number of instructions before the counted part; `None` until this part is reached.
    skipped: Option<u64>,
}

impl Skip {
    pub(super) fn new(switches: u64) -> Skip {
        Skip {
            switches,
            ..Skip::default()
        }
    }

    /// Returns true if any switch is skipped.
    pub(super) fn is_any(&self) -> bool {
        self.switches > 0
    }

    /// Splits a chunk in which the counted part begins, and returns this part; `None` for other
    /// chunks. The counted part begins at the first switch after the skipped ones.
    pub(super) fn split(&self, chunk: &mut Chunk) -> Option<Chunk> {
        let left = self
            .switches
            .checked_sub(self.seen)
            .filter(|left| *left > 0)?;
        let mut switches = chunk.marks.iter().filter(|placed| placed.mark.is_switch());
        let first = switches.nth(usize::try_from(left).ok()?)?.before_block as usize;
        Some(chunk.split_off(first))
    }

    /// Returns the purpose of the next chunk: to count, if enough switches precede it, or to warm
    /// up.
    pub(super) fn purpose(&mut self, chunk: &Chunk) -> Purpose {
        let counts = self.seen >= self.switches;
        if counts {
            self.skipped.get_or_insert(self.instructions);
        }
        self.seen += chunk
            .marks
            .iter()
            .filter(|placed| placed.mark.is_switch())
            .count() as u64;
        self.instructions += chunk.instructions();
        if counts {
            Purpose::Count { part: 0 }
        } else {
            Purpose::WarmUp
        }
    }

    /// Returns the counted part of all executed instructions; `None` if nothing is skipped or
    /// counted.
    pub(super) fn part(&self) -> Option<TracePart> {
        let skipped = self.skipped.filter(|_| self.is_any())?;
        Some(TracePart {
            from_instruction: skipped,
            to_instruction: self.instructions,
            trace_instructions: self.instructions,
            warm_up_instructions: skipped,
            without_warm_up: Vec::new(),
        })
    }
}

#[cfg(test)]
mod tests {
    use switchcost_trace::{Block, Cause, Mark, TaskId};

    use super::*;

    /// Creates a chunk with a block of ten instructions after each switch.
    fn chunk(switches: u32) -> Chunk {
        let switch = |number: u32| Mark::Switch {
            from: TaskId(number % 2 + 1),
            to: TaskId(2 - number % 2),
            is_voluntary: false,
            cause: Cause::Quantum,
        };
        let mut chunk = Chunk::default();
        for number in 0..switches {
            chunk.mark(switch(number));
            chunk.blocks.push(Block {
                instructions: 10,
                ..Block::default()
            });
        }
        chunk
    }

    fn switches(chunk: &Chunk) -> usize {
        let marks = chunk.marks.iter();
        marks.filter(|placed| placed.mark.is_switch()).count()
    }

    const COUNTED: Purpose = Purpose::Count { part: 0 };

    #[test]
    fn counting_begins_with_the_first_switch_behind_those_skipped() {
        let mut skip = Skip::new(5);
        let (mut first, mut second, third) = (chunk(3), chunk(4), chunk(1));
        assert_eq!(skip.split(&mut first), None);
        assert_eq!(skip.purpose(&first), Purpose::WarmUp);
        let counted = skip.split(&mut second).expect("the sixth is in it");
        assert_eq!((switches(&second), switches(&counted)), (2, 2));
        let purposes = [&second, &counted, &third].map(|chunk| skip.purpose(chunk));
        assert_eq!(purposes, [Purpose::WarmUp, COUNTED, COUNTED]);
        assert_eq!(skip.split(&mut chunk(9)), None, "it has begun");
        let part = skip.part().expect("a part");
        assert_eq!((part.from_instruction, part.to_instruction), (50, 80));
        assert_eq!(part.warm_up_instructions, 50);
    }

    #[test]
    fn what_ends_before_has_no_part_and_what_skips_nothing_is_whole() {
        for (skipped, purpose) in [(5, Purpose::WarmUp), (0, COUNTED)] {
            let mut skip = Skip::new(skipped);
            assert_eq!(skip.purpose(&chunk(4)), purpose);
            assert_eq!((skip.part(), skip.is_any()), (None, skipped > 0));
        }
    }
}
