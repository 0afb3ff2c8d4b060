//! Reads parts of a trace by its index, each part after a warm-up of the caches.
//!
//! The input is a trace with an index, and ranges of instructions; the output is chunks in the
//! order of the trace, each with its purpose. Before the warm-up of a part, chunks are reduced to
//! [the last uses](LastUses); after the last part nothing is read.

use std::ops::Range;

use crate::file::{ReadTraceError, TraceFile};
use crate::{Chunk, LastUses, Mark};

/// Purpose of a chunk that is read for a part of a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// The chunk is simulated and counted, as part number `part`.
    Count {
        /// The part's number, from 0.
        part: usize,
    },
    /// The chunk is not counted; only its effect on caches is wanted.
    WarmUp,
    /// The chunk is not counted, and has only the last uses of lines; only its effect on caches is
    /// wanted.
    LastUses,
}

/// Reader of the parts of a trace, piece by piece.
pub struct Parts<'f> {
    file: TraceFile<'f>,
    last_uses: LastUses,
    chunk: Chunk,
    /// Parts, as ranges of instructions in ascending order that do not overlap.
    parts: Vec<Range<u64>>,
    warm_up: u64,
    /// Rest of the last chunk that was read, and the number of the rest's first instruction.
    rest: Option<(Chunk, u64)>,
    next: usize,
    /// Whether the last chunk that was read has a switch; `last_switch` is the number of the last
    /// chunk before it that has one.
    has_switch: bool,
    last_switch: Option<usize>,
    /// Number of the first instruction of the chunk that was returned last.
    start: u64,
}

impl<'f> Parts<'f> {
    /// Creates a reader of `parts`, which must be ascending and must not overlap. At least
    /// `warm_up` instructions before each part are read in full. Caches must have lines of at least
    /// `line_bytes` bytes.
    pub fn new(
        file: TraceFile<'f>,
        parts: Vec<Range<u64>>,
        warm_up: u64,
        line_bytes: u64,
    ) -> Parts<'f> {
        Parts {
            file,
            last_uses: LastUses::new(line_bytes),
            chunk: Chunk::default(),
            parts,
            warm_up,
            rest: None,
            next: 0,
            has_switch: false,
            last_switch: None,
            start: 0,
        }
    }

    /// Reads the next piece of the trace into `chunk`, and returns its purpose; `None` after the
    /// last part.
    ///
    /// # Errors
    ///
    /// If a chunk cannot be read.
    pub fn next_into(&mut self, chunk: &mut Chunk) -> Result<Option<Purpose>, ReadTraceError> {
        chunk.clear();
        let end = self.end();
        let (mut piece, start) = match self.rest.take() {
            Some(rest) => rest,
            None => match self.range(self.next).filter(|range| range.start < end) {
                Some(range) => {
                    self.read()?;
                    (std::mem::take(&mut self.chunk), range.start)
                }
                None => return Ok(None),
            },
        };
        if start >= end {
            return Ok(None);
        }
        let (purpose, until) = self.purpose(start);
        let (blocks, passed) = blocks_before(&piece, until - start);
        if blocks < piece.blocks.len() {
            self.rest = Some((piece.split_off(blocks), start + passed));
        }
        self.start = start;
        if purpose == Purpose::LastUses {
            self.last_uses.keep(&piece, chunk);
        } else {
            self.last_uses.pass(&piece);
            *chunk = piece;
        }
        Ok(Some(purpose))
    }

    /// Returns how many instructions the running task had executed since its switch, at the start
    /// of the chunk that was returned last. Without a switch the count begins with the trace.
    ///
    /// # Errors
    ///
    /// If a chunk cannot be read.
    pub fn since_switch(&mut self) -> Result<u64, ReadTraceError> {
        let own = self.next.checked_sub(1);
        for number in own.into_iter().chain(self.last_switch) {
            let start = self.range(number).map_or(0, |range| range.start);
            let mut chunk = Chunk::default();
            self.file.go_to(number);
            self.file.next_into(&mut chunk)?;
            if let Some(switch) = last_switch(&chunk, self.start - start) {
                return Ok(self.start - start - switch);
            }
        }
        Ok(self.start)
    }

    /// Returns the number of the first instruction after all parts.
    fn end(&self) -> u64 {
        self.parts.last().map_or(0, |part| part.end)
    }

    fn read(&mut self) -> Result<(), ReadTraceError> {
        let number = self.next;
        if let Some(before) = number.checked_sub(1)
            && self.has_switch
        {
            self.last_switch = Some(before);
        }
        self.file.go_to(number);
        self.file.next_into(&mut self.chunk)?;
        self.has_switch = self
            .chunk
            .marks
            .iter()
            .any(|placed| is_switch(&placed.mark));
        self.next += 1;
        Ok(())
    }

    /// Returns the range of instructions of chunk `number`.
    fn range(&self, number: usize) -> Option<Range<u64>> {
        let index = self.file.index();
        let start = index.chunks.get(number)?.first_instruction;
        let end = index
            .chunks
            .get(number + 1)
            .map_or(index.instructions, |next| next.first_instruction);
        Some(start..end)
    }

    /// Returns the purpose of the instructions from `at` on, and the number of the first
    /// instruction with another purpose. `at` must lie before the end of the last part.
    fn purpose(&self, at: u64) -> (Purpose, u64) {
        let number = self.parts.partition_point(|part| part.end <= at);
        let part = &self.parts[number];
        let warm_up = part.start.saturating_sub(self.warm_up);
        if part.start <= at {
            (Purpose::Count { part: number }, part.end)
        } else if warm_up <= at {
            (Purpose::WarmUp, part.start)
        } else {
            (Purpose::LastUses, warm_up)
        }
    }
}

fn is_switch(mark: &Mark) -> bool {
    matches!(mark, Mark::Switch { .. })
}

/// Returns the position of the last switch within a chunk's first `within` instructions, in
/// instructions from the chunk's start; `None` without a switch.
fn last_switch(chunk: &Chunk, within: u64) -> Option<u64> {
    let mut marks = chunk
        .marks
        .iter()
        .filter(|placed| is_switch(&placed.mark))
        .peekable();
    let (mut passed, mut last) = (0, None);
    for (at, block) in chunk.blocks.iter().enumerate() {
        if passed > within {
            return last;
        }
        if marks
            .next_if(|placed| placed.before_block as usize <= at)
            .is_some()
        {
            last = Some(passed);
            while marks
                .next_if(|placed| placed.before_block as usize <= at)
                .is_some()
            {}
        }
        passed += u64::from(block.instructions);
    }
    if passed <= within && marks.peek().is_some() {
        Some(passed)
    } else {
        last
    }
}

/// Returns the number of blocks that begin within the first `instructions` instructions, and the
/// number of instructions in all these blocks.
fn blocks_before(chunk: &Chunk, instructions: u64) -> (usize, u64) {
    let mut passed = 0;
    for (at, block) in chunk.blocks.iter().enumerate() {
        if passed >= instructions {
            return (at, passed);
        }
        passed += u64::from(block.instructions);
    }
    (chunk.blocks.len(), passed)
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use super::*;
    use crate::Block;
    use crate::reorder::tests::{Event, events};
    use crate::testing::{seeded, written};

    fn file(bytes: &[u8]) -> TraceFile<'_> {
        TraceFile::open(Cursor::new(bytes)).expect("a trace")
    }

    fn instructions(events: &[Event]) -> u64 {
        let of = |event: &Event| {
            if let Event::Block(block, _) = event {
                block.instructions.into()
            } else {
                0
            }
        };
        events.iter().map(of).sum()
    }

    /// Returns the counted events of each part.
    fn counted(bytes: &[u8], parts: &[Range<u64>], warm_up: u64) -> Vec<Vec<Event>> {
        let mut reader = Parts::new(file(bytes), parts.to_vec(), warm_up, 64);
        let mut all: Vec<Vec<Event>> = parts.iter().map(|_| Vec::new()).collect();
        let mut chunk = Chunk::default();
        while let Some(purpose) = reader.next_into(&mut chunk).expect("a whole trace") {
            if let Purpose::Count { part } = purpose {
                all[part].extend(events(std::slice::from_ref(&chunk)));
            }
        }
        all
    }

    #[test]
    fn parts_that_cover_a_trace_are_all_of_it_once() {
        for seed in 0..8 {
            let chunks = seeded(seed, 4000);
            let bytes = written(&chunks);
            let total = file(&bytes).index().instructions;
            let whole = events(&chunks);
            let cuts = [0, 1, total / 3, total / 3 + 1, total / 2, total];
            let parts: Vec<Range<u64>> = cuts.windows(2).map(|cut| cut[0]..cut[1]).collect();
            let one_by_one = parts
                .iter()
                .flat_map(|part| counted(&bytes, std::slice::from_ref(part), 100).remove(0));
            assert_eq!(one_by_one.collect::<Vec<_>>(), whole, "seed {seed}");
            let at_once = counted(&bytes, &parts, 100);
            assert_eq!(
                at_once.into_iter().flatten().collect::<Vec<_>>(),
                whole,
                "seed {seed}"
            );
        }
    }

    #[test]
    fn a_warm_up_is_at_least_as_long_as_asked_and_begins_with_what_is_left_of_the_rest() {
        let bytes = written(&seeded(3, 6000));
        let total = file(&bytes).index().instructions;
        let chunks = file(&bytes).index().chunks.len();
        assert!(chunks > 20, "{chunks}");
        for warm_up in [0, 1, 500, total] {
            let from = total * 2 / 3;
            let mut reader = Parts::new(
                file(&bytes),
                std::iter::once(from..total).collect(),
                warm_up,
                64,
            );
            let (mut chunk, mut passed, mut order) = (Chunk::default(), 0, Vec::new());
            while let Some(purpose) = reader.next_into(&mut chunk).expect("a whole trace") {
                passed += if purpose == Purpose::WarmUp {
                    chunk.instructions()
                } else {
                    0
                };
                order.push(purpose);
            }
            let rank = |purpose: &Purpose| match purpose {
                Purpose::LastUses => 0,
                Purpose::WarmUp => 1,
                Purpose::Count { .. } => 2,
            };
            assert!(order.is_sorted_by_key(rank), "{order:?}");
            // Blocks are not cut.
            assert!(
                passed + u64::from(Block::LONGEST) >= warm_up.min(from),
                "{passed} of {warm_up}"
            );
            assert_eq!(order.contains(&Purpose::LastUses), warm_up < total);
        }
    }

    #[test]
    fn instructions_since_the_switch_are_known_wherever_a_part_begins() {
        let chunks = seeded(5, 6000);
        let bytes = written(&chunks);
        let total = file(&bytes).index().instructions;
        for from in (0..total).step_by(total as usize / 20 + 1) {
            let mut reader =
                Parts::new(file(&bytes), std::iter::once(from..total).collect(), 0, 64);
            let mut chunk = Chunk::default();
            while reader.next_into(&mut chunk).expect("a whole trace") == Some(Purpose::LastUses) {}
            let mut passed = 0;
            let is_behind = |event: &Event| {
                let is_behind = matches!(event, Event::Block(..)) && passed >= from;
                passed += instructions(std::slice::from_ref(event));
                is_behind
            };
            let all = events(&chunks);
            let behind = all.iter().position(is_behind).expect("within the trace");
            let is_block = |event: &Event| matches!(event, Event::Block(..));
            let before = &all[..all[..behind]
                .iter()
                .rposition(is_block)
                .map_or(0, |last| last + 1)];
            let is_switch = |event: &Event| matches!(event, Event::Mark(Mark::Switch { .. }));
            // A switch directly before the part belongs to the part.
            if all[before.len()..behind].iter().any(is_switch) {
                continue;
            }
            let since = before
                .iter()
                .rposition(is_switch)
                .map_or(before, |at| &before[at..]);
            assert_eq!(
                reader.since_switch().expect("a whole trace"),
                instructions(since),
                "from {from}"
            );
        }
    }
}
