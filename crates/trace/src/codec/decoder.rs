use std::io;

use super::addresses::{ADDRESS_MASK, PICKED, Slot, WIDTH_MASKS, is_class};
use super::columns::{BadBody, Column, Directory, NAMES, Unpacker};
use super::sequence::{SequenceReader, Unrolled};
use super::shapes::{Shape, ShapeReader};
use super::varint::Numbers;
use super::{limits, marks};
use crate::{Block, Chunk, Placed, Reference, TaskId};

/// What stands at the front of a chunk's body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ChunkHead {
    pub(crate) blocks: u32,
    pub(crate) references: u32,
    pub(crate) marks: u32,
    pub(crate) shapes: u32,
    pub(crate) slots: u32,
    pub(crate) running: TaskId,
    pub(crate) instructions: u64,
    pub(crate) first_instruction: u64,
    pub(crate) first_block: u64,
}

const HEAD_BYTES: usize = 48;
const WIDTHS: usize = 6;
/// Residuals are read eight bytes at once.
const PADDING: usize = 8;

impl ChunkHead {
    pub(super) fn put(&self, body: &mut Vec<u8>) {
        for word in [self.blocks, self.references, self.marks, self.shapes, self.slots, self.running.0] {
            body.extend_from_slice(&word.to_le_bytes());
        }
        for word in [self.instructions, self.first_instruction, self.first_block] {
            body.extend_from_slice(&word.to_le_bytes());
        }
    }

    /// Reads it and checks its counts against the limits.
    pub(crate) fn read(body: &[u8]) -> Result<(Self, &[u8]), BadBody> {
        let (head, rest) = body.split_at_checked(HEAD_BYTES).ok_or(BadBody::Head)?;
        let word = |at: usize| u32::from_le_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]);
        let long = |at: usize| u64::from(word(at)) | u64::from(word(at + 4)) << 32;
        let head = ChunkHead {
            blocks: word(0),
            references: word(4),
            marks: word(8),
            shapes: word(12),
            slots: word(16),
            running: TaskId(word(20)),
            instructions: long(24),
            first_instruction: long(32),
            first_block: long(40),
        };
        head.check()?;
        Ok((head, rest))
    }

    fn check(&self) -> Result<(), BadBody> {
        for (what, found, most) in [
            ("blocks", self.blocks, limits::BLOCKS as u32),
            ("references", self.references, limits::REFERENCES as u32),
            ("marks", self.marks, limits::MARKS as u32),
            ("shapes", self.shapes, self.blocks),
            ("references of shapes", self.slots, self.references),
        ] {
            if found > most {
                return Err(BadBody::Large { what, found: found.into(), most: most.into() });
            }
        }
        Ok(())
    }

    /// The largest length of each column that these counts allow.
    fn check_lengths(&self, directory: &Directory<'_>) -> Result<(), BadBody> {
        let (blocks, references) = (self.blocks as usize, self.references as usize);
        let (shapes, slots) = (self.shapes as usize, self.slots as usize);
        let most = [10 * shapes, 13 * shapes, 3 * slots, 4 * blocks, 4 * blocks, references];
        let residuals = (1..=WIDTHS).map(|width| width * references);
        for (column, most) in most.into_iter().chain(residuals).chain([limits::MARK_BYTES]).enumerate() {
            if directory.length(column) > most {
                return Err(BadBody::Long { column: NAMES[column], bytes: directory.length(column) - most });
            }
        }
        let residuals = (1..=WIDTHS).map(|width| directory.length(column_of(width)) / width).sum::<usize>();
        if residuals > references {
            let (found, most) = (residuals as u64, references as u64);
            return Err(BadBody::Large { what: "residuals", found, most });
        }
        Ok(())
    }
}

/// Turns bodies of records into chunks, using its memory again.
pub(crate) struct ChunkDecoder {
    unpacker: Unpacker,
    columns: [Vec<u8>; 3],
    classes: Vec<u8>,
    residuals: Vec<u8>,
    shapes: Vec<Shape>,
    slots: Vec<Slot>,
    slot_of_reference: Vec<u32>,
}

impl ChunkDecoder {
    pub(crate) fn new() -> io::Result<Self> {
        Ok(ChunkDecoder {
            unpacker: Unpacker::new()?,
            columns: Default::default(),
            classes: Vec::new(),
            residuals: Vec::new(),
            shapes: Vec::new(),
            slots: Vec::new(),
            slot_of_reference: Vec::new(),
        })
    }

    /// Decodes a whole body in place of what is in `chunk`, which is empty where this fails.
    pub(crate) fn decode(&mut self, body: &[u8], chunk: &mut Chunk) -> Result<ChunkHead, BadBody> {
        chunk.marks.clear();
        let outcome = self.decode_parts(body, chunk);
        if outcome.is_err() {
            chunk.clear();
        }
        outcome
    }

    /// Decodes the marks alone.
    pub(crate) fn decode_marks(&mut self, body: &[u8], marks: &mut Vec<Placed>) -> Result<ChunkHead, BadBody> {
        marks.clear();
        let (head, rest) = ChunkHead::read(body)?;
        let directory = Directory::read(rest)?;
        head.check_lengths(&directory)?;
        self.marks(&head, &directory, marks)?;
        Ok(head)
    }

    fn decode_parts(&mut self, body: &[u8], chunk: &mut Chunk) -> Result<ChunkHead, BadBody> {
        let (head, rest) = ChunkHead::read(body)?;
        let directory = Directory::read(rest)?;
        head.check_lengths(&directory)?;
        self.table(&head, &directory)?;
        self.sequence(&head, &directory, &mut chunk.blocks)?;
        self.addresses(&head, &directory, &mut chunk.references)?;
        self.marks(&head, &directory, &mut chunk.marks)?;
        Ok(head)
    }

    fn table(&mut self, head: &ChunkHead, directory: &Directory<'_>) -> Result<(), BadBody> {
        let [addresses, shapes, references] = &mut self.columns;
        self.unpacker.column(directory, Column::ShapeAddresses, addresses)?;
        self.unpacker.column(directory, Column::Shapes, shapes)?;
        self.unpacker.column(directory, Column::ShapeReferences, references)?;
        let (count, slots) = (head.shapes as usize, head.slots as usize);
        ShapeReader::new(addresses, shapes, references).read(count, slots, &mut self.shapes, &mut self.slots)
    }

    fn sequence(
        &mut self,
        head: &ChunkHead,
        directory: &Directory<'_>,
        blocks: &mut Vec<Block>,
    ) -> Result<(), BadBody> {
        let [runs, choices, _] = &mut self.columns;
        self.unpacker.column(directory, Column::Runs, runs)?;
        self.unpacker.column(directory, Column::Choices, choices)?;
        let reader = SequenceReader { runs: Numbers::new("runs", runs), choices: Numbers::new("choices", choices) };
        self.shapes.push(Shape::default());
        blocks.resize(head.blocks as usize, Block::default());
        let unrolled = Unrolled { blocks, slots: &mut self.slot_of_reference };
        let sums = reader.read(&mut self.shapes, head.references as usize, unrolled)?;
        for (what, found, need) in [
            ("references", sums.references as u64, head.references.into()),
            ("instructions", sums.instructions, head.instructions),
        ] {
            if found != need {
                return Err(BadBody::Count { what, found, need });
            }
        }
        Ok(())
    }

    fn addresses(
        &mut self,
        head: &ChunkHead,
        directory: &Directory<'_>,
        references: &mut Vec<Reference>,
    ) -> Result<(), BadBody> {
        self.unpacker.column(directory, Column::Classes, &mut self.classes)?;
        let count = head.references as usize;
        if self.classes.len() != count {
            let (found, need) = (self.classes.len() as u64, count as u64);
            return Err(BadBody::Count { what: "classes of addresses", found, need });
        }
        if !self.classes.iter().fold(true, |all, &class| all & is_class(class)) {
            let class = self.classes.iter().copied().find(|&class| !is_class(class));
            return Err(BadBody::Class(class.unwrap_or_default()));
        }
        let mut places = self.residuals(directory)?;
        let starts = places;
        references.resize(count, Reference(0));
        self.unroll(references, &mut places)?;
        for (width, (start, place)) in starts.into_iter().zip(places).enumerate().skip(1).take(WIDTHS) {
            let (number, used) = (column_of(width), place - start);
            let (column, length) = (NAMES[number], directory.length(number));
            if used > length {
                return Err(BadBody::Short { column });
            }
            if used < length {
                return Err(BadBody::Long { column, bytes: length - used });
            }
        }
        Ok(())
    }

    /// Unpacks the columns of residuals behind one another; says where each begins, by width.
    fn residuals(&mut self, directory: &Directory<'_>) -> Result<[usize; 8], BadBody> {
        let mut places = [0; 8];
        let mut end = 0;
        for (width, place) in places.iter_mut().enumerate().skip(1).take(WIDTHS) {
            *place = end;
            end += directory.length(column_of(width));
        }
        self.residuals.clear();
        self.residuals.resize(end + PADDING, 0);
        for (width, &place) in places.iter().enumerate().skip(1).take(WIDTHS) {
            let column = column_of(width);
            let into = &mut self.residuals[place..][..directory.length(column)];
            self.unpacker.slice(directory, column, into)?;
        }
        Ok(places)
    }

    /// The innermost loop. Most references are as predicted: those that are not take the longer way.
    fn unroll(&mut self, references: &mut [Reference], places: &mut [usize; 8]) -> Result<(), BadBody> {
        let mut previous = 0;
        let (slots, residuals) = (&mut self.slots[..], &self.residuals[..]);
        let of_reference = references.iter_mut().zip(&self.slot_of_reference).zip(&self.classes);
        for ((reference, &slot), &class) in of_reference {
            let Some(slot) = slots.get_mut(slot as usize) else {
                return Err(BadBody::Short { column: "shape references" });
            };
            *reference = if class == PICKED {
                slot.decode_predicted(previous)
            } else {
                let width = usize::from(class & 7);
                let place = places[width];
                let Some(bytes) = residuals.get(place..).and_then(|rest| rest.first_chunk::<8>()) else {
                    return Err(BadBody::Short { column: "residuals" });
                };
                places[width] = place + width;
                slot.decode(previous, class, u64::from_le_bytes(*bytes) & WIDTH_MASKS[width])
            };
            previous = reference.0 & ADDRESS_MASK;
        }
        Ok(())
    }

    fn marks(&mut self, head: &ChunkHead, directory: &Directory<'_>, marks: &mut Vec<Placed>) -> Result<(), BadBody> {
        let column = &mut self.columns[0];
        self.unpacker.column(directory, Column::Marks, column)?;
        marks::decode(column, head.marks as usize, head.blocks as usize, marks)
    }
}

/// The column of residuals of a width.
fn column_of(width: usize) -> usize {
    Column::Residuals1 as usize + width - 1
}
