//! Exports Dinero's `din` text: one line for each piece of memory that a block's code or a
//! reference touches, in the order in which they are touched. A piece is a word of 4 bytes, or as
//! large as the lines of the cache that the text is for.
//!
//! A block does not have the lengths of its single instructions, and a reference may be longer than
//! a word. Each line of text therefore stands for a piece. A cache of code, or of data, sees the
//! lines of the trace in their order, with repetitions, if its own lines are at least as large as a
//! piece. If the cache's lines are exactly as large as a piece, there are no such repetitions, and
//! a unified cache also sees the lines in the order of the trace. Switches, sizes and instruction
//! counts are lost.

use std::io::{self, Write};

use crate::{Block, Chunk, ProcessId, Reference};

use super::selection::Selection;
use super::{Exported, Exporter};

/// Size in bytes of a word in Dinero.
const WORD: u64 = 4;

/// Error for an invalid piece size. Field 0 is the size in bytes.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("blocks of {0} bytes are not possible; give --pieces a power of two from 4 to 4096")]
pub struct UnfitPiece(pub u64);

/// Bytes of memory for one line of `din` text: a power of two from 4 to 4096.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PieceSize(u64);

impl Default for PieceSize {
    fn default() -> Self {
        PieceSize(WORD)
    }
}

impl TryFrom<u64> for PieceSize {
    type Error = UnfitPiece;

    fn try_from(bytes: u64) -> Result<Self, UnfitPiece> {
        let is_fit = bytes.is_power_of_two() && (WORD..=4096).contains(&bytes);
        if is_fit {
            Ok(PieceSize(bytes))
        } else {
            Err(UnfitPiece(bytes))
        }
    }
}

/// Writer of chunks as `din` text.
pub struct DinExporter<W> {
    into: W,
    selection: Selection,
    piece_bytes: u64,
    lines: u64,
}

impl<W: Write> DinExporter<W> {
    /// Creates an exporter of the blocks of process `only`, or of all processes. If pieces are as
    /// large as a cache's lines, each reference within a line becomes one line of text.
    pub fn new(into: W, only: Option<ProcessId>, pieces: PieceSize) -> Self {
        DinExporter {
            into,
            selection: Selection::new(only),
            piece_bytes: pieces.0,
            lines: 0,
        }
    }
}

impl<W: Write> Exporter for DinExporter<W> {
    fn chunk(&mut self, chunk: &Chunk) -> io::Result<()> {
        let mut text = Text {
            into: &mut self.into,
            piece_bytes: self.piece_bytes,
            lines: &mut self.lines,
        };
        self.selection
            .blocks(chunk, |block, references| text.block(block, references))
    }

    fn finish(mut self) -> io::Result<Exported> {
        self.into.flush()?;
        Ok(Exported {
            lines: self.lines,
            processes: self.selection.processes(),
        })
    }
}

struct Text<'a, W> {
    into: &'a mut W,
    piece_bytes: u64,
    lines: &'a mut u64,
}

impl<W: Write> Text<'_, W> {
    fn block(&mut self, block: &Block, references: &[Reference]) -> io::Result<()> {
        let mut fetched = 0;
        for reference in references {
            let through = u64::from(reference.through());
            self.fetch(block, &mut fetched, through)?;
            let label = if reference.is_store() { 1 } else { 0 };
            let first = reference.address();
            self.pieces(
                label,
                first,
                first.saturating_add(u64::from(reference.bytes()) - 1),
            )?;
        }
        self.fetch(block, &mut fetched, u64::from(block.bytes) - 1)
    }

    /// Writes the unwritten pieces of the block's code up to byte `through`.
    fn fetch(&mut self, block: &Block, fetched: &mut u64, through: u64) -> io::Result<()> {
        if *fetched > through {
            return Ok(());
        }
        let last = block.address.saturating_add(through);
        self.pieces(2, block.address.saturating_add(*fetched), last)?;
        // The text has now fetched the whole piece.
        *fetched = (last | (self.piece_bytes - 1))
            .saturating_add(1)
            .saturating_sub(block.address)
            .max(*fetched + 1);
        Ok(())
    }

    fn pieces(&mut self, label: u8, first: u64, last: u64) -> io::Result<()> {
        let mut piece = first & !(self.piece_bytes - 1);
        loop {
            writeln!(self.into, "{label} {piece:x}")?;
            *self.lines += 1;
            match piece.checked_add(self.piece_bytes) {
                Some(next) if next <= last => piece = next,
                _ => return Ok(()),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::import::tests::all;
    use crate::testing::{birth, seeded, switch};
    use crate::{Event, ImportFormat, Importer};

    fn chunk() -> Chunk {
        let mut chunk = Chunk::default();
        (1..=2).for_each(|task| chunk.mark(birth(task, task, 0)));
        for task in 1..=2 {
            chunk.mark(switch(task - 1, task));
            let address = 0x1000 * u64::from(task) + 2;
            chunk.blocks.push(Block {
                address,
                bytes: 9,
                instructions: 3,
                references: 2,
                first_bytes: 3,
                ..Block::default()
            });
            chunk.references.push(Reference::new(0x8000, 7, 2, false));
            chunk.references.push(Reference::new(0x9003, 1, 8, true));
        }
        chunk
    }

    /// Returns the text of these chunks and the exporter's totals.
    fn exported(chunks: &[Chunk], only: Option<u32>, piece_bytes: u64) -> (String, Exported) {
        let mut text = Vec::new();
        let pieces = PieceSize::try_from(piece_bytes).expect("a size");
        let mut exporter = DinExporter::new(&mut text, only.map(ProcessId), pieces);
        for chunk in chunks {
            exporter.chunk(chunk).expect("memory");
        }
        let account = exporter.finish().expect("memory");
        (String::from_utf8(text).expect("ASCII"), account)
    }

    #[test]
    fn writes_the_words_that_are_touched_in_order() {
        let text = |only| exported(&[chunk()], only, WORD).0;
        assert_eq!(
            text(Some(1)),
            "2 1000\n2 1004\n0 8000\n0 8004\n2 1008\n1 9000\n1 9004\n"
        );
        assert_eq!(text(None).lines().count(), 14);
    }

    #[test]
    fn tells_how_many_processes_are_in_the_text() {
        let processes = |only| exported(&[chunk()], only, WORD).1.processes;
        assert_eq!([None, Some(1), Some(3)].map(processes), [2, 1, 0]);
    }

    #[test]
    fn reads_back_what_it_writes() {
        let (text, _) = exported(&[chunk()], Some(2), WORD);
        let chunks = all(Importer::new(ImportFormat::Din, text.as_bytes(), WORD).expect("a word"));
        assert_eq!(exported(&chunks, None, WORD).0, text);
    }

    #[test]
    fn writes_a_reference_within_a_line_once() {
        let (text, account) = exported(&[chunk()], Some(1), 16);
        assert_eq!((account.lines, account.processes), (3, 1));
        assert_eq!(text, "2 1000\n0 8000\n1 9000\n");
    }

    #[test]
    fn refuses_pieces_that_no_line_has() {
        for bytes in [0, 2, 12, 8192] {
            let Err(error) = PieceSize::try_from(bytes) else {
                panic!("{bytes}")
            };
            assert_eq!(
                error.to_string(),
                format!(
                    "blocks of {bytes} bytes are not possible; give --pieces a power of two from 4 to 4096"
                )
            );
        }
    }

    /// Returns the lines of 64 bytes that blocks and references touch, in order, each with its
    /// label of `din` text. Each line of a block's code occurs once.
    fn lines(chunks: &[Chunk]) -> Vec<(u8, u64)> {
        let mut lines = Vec::new();
        for event in chunks.iter().flat_map(Chunk::events) {
            let Event::Block(block, own) = event else {
                continue;
            };
            let last = |through: u16| (block.address + u64::from(through)) / 64;
            let mut next = block.address / 64;
            for reference in own {
                let reached = last(reference.through());
                lines.extend((next..=reached).map(|line| (2, line)));
                next = next.max(reached + 1);
                let first = reference.address();
                let end = first + u64::from(reference.bytes()) - 1;
                let label = u8::from(reference.is_store());
                lines.extend((first / 64..=end / 64).map(|line| (label, line)));
            }
            lines.extend((next..=last(block.bytes - 1)).map(|line| (2, line)));
        }
        lines
    }

    /// Returns the lines that a cache of code, or of data, sees, without immediate repetitions.
    fn of(is_code: bool, lines: &[(u8, u64)]) -> Vec<(u8, u64)> {
        let mut own: Vec<_> = lines
            .iter()
            .copied()
            .filter(|(label, _)| (*label == 2) == is_code)
            .collect();
        own.dedup();
        own
    }

    /// Returns the numbers of the lines that a unified cache sees, without immediate repetitions,
    /// even if one lookup is for code and the next for data.
    fn of_both(lines: &[(u8, u64)]) -> Vec<u64> {
        let mut numbers: Vec<_> = lines.iter().map(|(_, number)| *number).collect();
        numbers.dedup();
        numbers
    }

    #[test]
    fn touches_the_lines_of_any_stream_in_order() {
        for seed in 0..4 {
            let chunks = seeded(seed, 2_000);
            for piece_bytes in [4, 64] {
                let (text, _) = exported(&chunks, None, piece_bytes);
                let written: Vec<(u8, u64)> = text
                    .lines()
                    .map(|line| {
                        (
                            line[..1].parse().expect("a label"),
                            u64::from_str_radix(&line[2..], 16).expect("hex") / 64,
                        )
                    })
                    .collect();
                let expected = lines(&chunks);
                if piece_bytes == 64 {
                    assert!(written == expected, "seed {seed}: other lines");
                } else {
                    assert!(
                        of_both(&written) != of_both(&expected),
                        "seed {seed}: words would do for code and data"
                    );
                }
                for is_code in [true, false] {
                    assert!(
                        of(is_code, &written) == of(is_code, &expected),
                        "seed {seed}, pieces of {piece_bytes}"
                    );
                }
            }
        }
    }
}
