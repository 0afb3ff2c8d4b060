//! Parts of a trace, found by its index, and before each of them what caches are to be warm of.
//!
//! What comes in: a trace with an index, and runs of instructions. What goes out: chunks in the order of the trace, each with what
//! it is for. Up to a warm-up before a part [the last uses](LastUses) are all that is left of a chunk; behind the last part nothing
//! is read.

use std::ops::Range;

use crate::file::{ReadTraceError, TraceFile};
use crate::{Chunk, LastUses, Mark};

/// What a chunk of a part is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// What it does is wanted, and belongs to the part of this number, from 0.
    Count {
        /// The number.
        part: usize,
    },
    /// What it leaves in caches is wanted.
    WarmUp,
    /// The same, of a chunk of which only last uses are left.
    LastUses,
}

/// Plays parts of a trace.
pub struct Parts<'f> {
    file: TraceFile<'f>,
    last_uses: LastUses,
    /// Last uses of each chunk, where they are known.
    known: Option<TraceFile<'f>>,
    chunk: Chunk,
    /// In ascending order, and apart from each other.
    parts: Vec<Range<u64>>,
    warm_up: u64,
    /// What is left of the chunk that is read, and its first instruction.
    rest: Option<(Chunk, u64)>,
    next: usize,
    /// The chunk with the last switch, the one given last left out, and with it.
    last_switch: [Option<usize>; 2],
}

impl<'f> Parts<'f> {
    /// Parts in ascending order that do not overlap, each behind a warm-up of so many instructions or more; for caches whose lines
    /// have so many bytes or more.
    pub fn new(file: TraceFile<'f>, parts: Vec<Range<u64>>, warm_up: u64, line_bytes: u64) -> Parts<'f> {
        Parts {
            file,
            last_uses: LastUses::of_lines(line_bytes),
            known: None,
            chunk: Chunk::default(),
            parts,
            warm_up,
            rest: None,
            next: 0,
            last_switch: [None; 2],
        }
    }

    /// Takes the last uses of chunks from a file that has them: these are not decoded.
    pub fn with_last_uses(self, known: TraceFile<'f>) -> Parts<'f> {
        Parts { known: Some(known), ..self }
    }

    /// The trace.
    pub fn file(&self) -> &TraceFile<'f> {
        &self.file
    }

    /// Gives the next chunk in place of what is in `chunk`; none behind the last part.
    ///
    /// # Errors
    /// A chunk that cannot be read.
    pub fn next_into(&mut self, chunk: &mut Chunk) -> Result<Option<Purpose>, ReadTraceError> {
        let end = self.parts.last().map_or(0, |part| part.end);
        if let Some((rest, start)) = self.rest.take().filter(|&(_, start)| start < end) {
            return Ok(Some(self.piece(chunk, rest, start)));
        }
        let Some(range) = self.range(self.next).filter(|range| range.start < end) else {
            chunk.clear();
            return Ok(None);
        };
        let is_near = self.is_near(&range);
        let file = self.known.as_mut().filter(|_| !is_near).unwrap_or(&mut self.file);
        file.go_to(self.next);
        file.next_into(&mut self.chunk)?;
        self.last_switch[0] = self.last_switch[1];
        if self.chunk.marks.iter().any(|placed| matches!(placed.mark, Mark::Switch { .. })) {
            self.last_switch[1] = Some(self.next);
        }
        self.next += 1;
        if !is_near {
            match self.known {
                Some(_) => std::mem::swap(&mut self.chunk, chunk),
                None => self.last_uses.keep(&self.chunk, chunk),
            }
            return Ok(Some(Purpose::LastUses));
        }
        if self.known.is_none() {
            self.last_uses.pass(&self.chunk);
        }
        let whole = std::mem::take(&mut self.chunk);
        Ok(Some(self.piece(chunk, whole, range.start)))
    }

    /// Instructions that the running task has executed since it was switched to, at the start of the chunk of the trace that was given
    /// last; since the start of the trace, if it was not.
    ///
    /// # Errors
    /// A chunk that cannot be read.
    pub fn since_switch(&mut self) -> Result<u64, ReadTraceError> {
        let now = self.next.checked_sub(1).and_then(|given| self.range(given)).map_or(0, |range| range.start);
        let Some(number) = self.last_switch[0] else { return Ok(now) };
        self.file.go_to(number);
        let mut chunk = Chunk::default();
        self.file.next_into(&mut chunk)?;
        let is_switch = |mark: &Mark| matches!(mark, Mark::Switch { .. });
        let last = chunk.marks.iter().rev().find(|placed| is_switch(&placed.mark));
        let before = last.map_or(0, |placed| placed.before_block as usize);
        let blocks = chunk.blocks.run().slice(0..before);
        let instructions: u64 = blocks.iter().map(|block| u64::from(block.instructions)).sum();
        let start = self.range(number).map_or(0, |range| range.start);
        Ok(now.saturating_sub(start + instructions))
    }

    /// Instructions of a chunk.
    fn range(&self, number: usize) -> Option<Range<u64>> {
        let index = self.file.index();
        let start = index.chunks.get(number)?.first_instruction;
        let end = index.chunks.get(number + 1).map_or(index.instructions, |next| next.first_instruction);
        Some(start..end)
    }

    /// Whether any of these instructions is in a part, or in the warm-up before it.
    fn is_near(&self, range: &Range<u64>) -> bool {
        let behind = self.parts.partition_point(|part| part.end <= range.start);
        self.parts.get(behind).is_some_and(|part| part.start.saturating_sub(self.warm_up) < range.end)
    }

    /// Gives a chunk up to where a part begins or ends, and remembers the rest.
    fn piece(&mut self, into: &mut Chunk, mut chunk: Chunk, start: u64) -> Purpose {
        let behind = self.parts.partition_point(|part| part.end <= start);
        let part = self.parts.get(behind).cloned().unwrap_or(u64::MAX..u64::MAX);
        let (purpose, end) = match part.start <= start {
            true => (Purpose::Count { part: behind }, part.end),
            false => (Purpose::WarmUp, part.start),
        };
        let (blocks, passed) = blocks_before(&chunk, end - start);
        if blocks < chunk.blocks.len() {
            self.rest = Some((chunk.split_off(blocks), start + passed));
        }
        *into = chunk;
        purpose
    }
}

/// How many blocks begin within so many instructions, and how many instructions these have.
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
    use crate::testing::seeded;
    use crate::{Block, Placed, Reference, TraceHeader, TraceOrder, TraceWriter};

    fn written(chunks: &[Chunk]) -> Vec<u8> {
        let header = TraceHeader::new("synthetic", TraceOrder::Synthetic, "x86_64");
        let mut writer = TraceWriter::create(Vec::new(), &header).expect("a header");
        chunks.iter().for_each(|chunk| writer.write(chunk).expect("a valid chunk"));
        writer.finish().expect("memory").0
    }

    fn file(bytes: &[u8]) -> TraceFile<'_> {
        TraceFile::open(Cursor::new(bytes)).expect("a trace")
    }

    /// What happens, wherever chunks are cut: the blocks with their references, and the marks.
    #[derive(Debug, PartialEq)]
    enum Event {
        Block(Block, Vec<Reference>),
        Mark(Mark),
    }

    fn events(chunk: &Chunk) -> Vec<Event> {
        let mut events = Vec::new();
        let mut references = chunk.references.iter();
        let mut marks = chunk.marks.iter().peekable();
        for (at, block) in chunk.blocks.iter().enumerate() {
            while let Some(Placed { mark, .. }) = marks.next_if(|placed| placed.before_block as usize <= at) {
                events.push(Event::Mark(mark.clone()));
            }
            let own = references.by_ref().take(usize::from(block.references)).copied().collect();
            events.push(Event::Block(*block, own));
        }
        events.extend(marks.map(|placed| Event::Mark(placed.mark.clone())));
        events
    }

    fn instructions(events: &[Event]) -> u64 {
        let of = |event: &Event| if let Event::Block(block, _) = event { block.instructions.into() } else { 0 };
        events.iter().map(of).sum()
    }

    /// Of a run of parts: what counts in each.
    fn counted(bytes: &[u8], parts: &[Range<u64>], warm_up: u64) -> Vec<Vec<Event>> {
        let mut reader = Parts::new(file(bytes), parts.to_vec(), warm_up, 64);
        let mut all: Vec<Vec<Event>> = parts.iter().map(|_| Vec::new()).collect();
        let mut chunk = Chunk::default();
        while let Some(purpose) = reader.next_into(&mut chunk).expect("a whole trace") {
            if let Purpose::Count { part } = purpose {
                all[part].extend(events(&chunk));
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
            let whole: Vec<Event> = chunks.iter().flat_map(events).collect();
            let cuts = [0, 1, total / 3, total / 3 + 1, total / 2, total];
            let parts: Vec<Range<u64>> = cuts.windows(2).map(|cut| cut[0]..cut[1]).collect();
            let one_by_one = parts.iter().flat_map(|part| counted(&bytes, std::slice::from_ref(part), 100).remove(0));
            assert_eq!(one_by_one.collect::<Vec<_>>(), whole, "seed {seed}");
            let at_once = counted(&bytes, &parts, 100);
            assert_eq!(at_once.into_iter().flatten().collect::<Vec<_>>(), whole, "seed {seed}");
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
            let mut reader = Parts::new(file(&bytes), std::iter::once(from..total).collect(), warm_up, 64);
            let (mut chunk, mut passed, mut order) = (Chunk::default(), 0, Vec::new());
            while let Some(purpose) = reader.next_into(&mut chunk).expect("a whole trace") {
                passed += if purpose == Purpose::WarmUp { chunk.instructions() } else { 0 };
                order.push(purpose);
            }
            let rank = |purpose: &Purpose| match purpose {
                Purpose::LastUses => 0,
                Purpose::WarmUp => 1,
                Purpose::Count { .. } => 2,
            };
            assert!(order.is_sorted_by_key(rank), "{order:?}");
            assert!(passed >= warm_up.min(from), "{passed} of {warm_up}");
            assert_eq!(order.contains(&Purpose::LastUses), warm_up < total);
        }
    }

    #[test]
    fn instructions_since_the_switch_are_known_wherever_a_part_begins() {
        let chunks = seeded(5, 6000);
        let bytes = written(&chunks);
        let mut last_uses = LastUses::of_lines(64);
        let kept: Vec<Chunk> = chunks.iter().map(|chunk| last_uses.kept(chunk)).collect();
        let known = written(&kept);
        assert_eq!(file(&known).index().chunks.len(), file(&bytes).index().chunks.len());
        let total = file(&bytes).index().instructions;
        for from in (0..total).step_by(total as usize / 50 + 1) {
            for has_known in [false, true] {
                let mut reader = Parts::new(file(&bytes), std::iter::once(from..total).collect(), 0, 64);
                if has_known {
                    reader = reader.with_last_uses(file(&known));
                }
                let mut chunk = Chunk::default();
                while reader.next_into(&mut chunk).expect("a whole trace") == Some(Purpose::LastUses) {}
                let number = file(&bytes).index().chunk_of(from).expect("within the trace");
                let before: Vec<Event> = chunks[..number].iter().flat_map(events).collect();
                let is_switch = |event: &Event| matches!(event, Event::Mark(Mark::Switch { .. }));
                let since = before.iter().rposition(is_switch).map_or(&before[..], |at| &before[at..]);
                assert_eq!(reader.since_switch().expect("a whole trace"), instructions(since), "from {from}");
            }
        }
    }
}
