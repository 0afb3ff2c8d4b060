//! Exports the text of Valgrind's lackey. A block has the length of its first instruction and of
//! all instructions together, but not of each. The exporter divides the rest of the length evenly
//! among the other instructions, except that an instruction with references ends at the byte that
//! they state. Each reference follows its instruction. Switches are lost, and a read-modify-write
//! becomes a load and a store.

use std::io::{self, Write};

use crate::{Block, Chunk, ProcessId, Reference};

use super::selection::Selection;
use super::{Exported, Exporter};

/// Writer of chunks in the format of lackey's `--trace-mem=yes`.
pub struct LackeyExporter<W> {
    into: W,
    selection: Selection,
    ends: Vec<u16>,
    lines: u64,
}

impl<W: Write> LackeyExporter<W> {
    /// Creates an exporter of the blocks of process `only`, or of all processes.
    pub fn new(into: W, only: Option<ProcessId>) -> Self {
        LackeyExporter {
            into,
            selection: Selection::new(only),
            ends: Vec::new(),
            lines: 0,
        }
    }
}

impl<W: Write> Exporter for LackeyExporter<W> {
    fn chunk(&mut self, chunk: &Chunk) -> io::Result<()> {
        let LackeyExporter {
            into,
            selection,
            ends,
            lines,
        } = self;
        selection.blocks(chunk, |block, references| {
            lay_out(block, references, ends);
            *lines += (ends.len() + references.len()) as u64;
            write_block(into, block, references, ends)
        })
    }

    fn finish(mut self) -> io::Result<Exported> {
        self.into.flush()?;
        Ok(Exported {
            lines: self.lines,
            processes: self.selection.processes(),
        })
    }
}

fn write_block(
    into: &mut impl Write,
    block: &Block,
    references: &[Reference],
    ends: &[u16],
) -> io::Result<()> {
    let mut rest = references;
    let mut start = 0;
    for &end in ends {
        writeln!(
            into,
            "I  {:08x},{}",
            block.address.wrapping_add(start.into()),
            end - start
        )?;
        while let [reference, later @ ..] = rest
            && reference.through() < end
        {
            let kind = if reference.is_store() { 'S' } else { 'L' };
            writeln!(
                into,
                " {kind} {:08x},{}",
                reference.address(),
                reference.bytes()
            )?;
            rest = later;
        }
        start = end;
    }
    Ok(())
}

/// Computes the end of each instruction as an offset in the block. There are as many ends as
/// instructions, unless the references leave too few bytes between them.
fn lay_out(block: &Block, references: &[Reference], ends: &mut Vec<u16>) {
    let first = u16::from(block.first_bytes);
    ends.clear();
    ends.push(first);
    ends.extend(
        references
            .iter()
            .map(|reference| reference.through() + 1)
            .filter(|&end| end > first),
    );
    ends.push(block.bytes);
    ends.sort_unstable();
    ends.dedup();
    let known = ends.len();
    let mut missing = usize::from(block.instructions).saturating_sub(known);
    for number in 0..known {
        let start = if number == 0 { 0 } else { ends[number - 1] };
        // Only the first instruction's length is known.
        let room = if number == 0 {
            0
        } else {
            usize::from(ends[number] - start - 1).min(missing)
        };
        let parts = room as u32 + 1;
        let length = u32::from(ends[number] - start);
        ends.extend((1..parts).map(|part| start + (length * part / parts) as u16));
        missing -= room;
    }
    ends.sort_unstable();
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ImportFormat;
    use crate::import::tests::{all, open, touched};
    use crate::testing::seeded;

    fn text(chunks: &[Chunk]) -> String {
        let mut text = Vec::new();
        let mut exporter = LackeyExporter::new(&mut text, None);
        chunks
            .iter()
            .for_each(|chunk| exporter.chunk(chunk).expect("memory"));
        let lines = exporter.finish().expect("memory").lines;
        let text = String::from_utf8(text).expect("ASCII");
        assert_eq!(text.lines().count() as u64, lines);
        text
    }

    #[test]
    fn ends_an_instruction_where_its_references_say() {
        let mut chunk = Chunk::default();
        chunk.blocks.push(Block {
            address: 16,
            bytes: 12,
            instructions: 4,
            references: 2,
            first_bytes: 2,
            ..Block::default()
        });
        chunk.references = vec![
            Reference::new(0x80, 7, 5, false),
            Reference::new(0x88, 3, 11, true),
        ];
        assert_eq!(
            text(&[chunk]),
            "I  00000010,2\nI  00000012,2\nI  00000014,2\n L 00000080,8\nI  00000016,6\n S 00000088,4\n"
        );
    }

    #[test]
    fn keeps_instructions_and_references_of_any_stream() {
        for seed in 0..6 {
            let chunks = seeded(seed, 2_000);
            let again = all(open(ImportFormat::Lackey, text(&chunks).as_bytes()).expect("text"));
            let counts = |chunks: &[Chunk]| chunks.iter().map(Chunk::instructions).sum::<u64>();
            assert_eq!(counts(&again), counts(&chunks), "seed {seed}");
            let references = |chunks: &[Chunk]| chunks.iter().flat_map(touched).collect::<Vec<_>>();
            assert_eq!(references(&again), references(&chunks), "seed {seed}");
            assert_eq!(
                text(&again).lines().filter(|l| l.starts_with(' ')).count(),
                references(&chunks).len()
            );
        }
    }
}
