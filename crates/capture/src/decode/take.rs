//! Receivers of decoded blocks and marks, which pass chunks on or write a trace.

use std::collections::HashMap;
use std::io::Write;

use switchcost_trace::{
    Block, Chunk, Dependences, Mark, ReadWords, Recorder, ShapeId, ShapeReference, UnfitShape,
    Unfold, WriteTraceError,
};

use super::Problem;
use super::dependences::find_dependences;

/// Receiver of decoded blocks and marks.
pub(crate) trait Take {
    /// Reason why the receiver takes no more blocks.
    type Error;

    /// Defines a shape and returns its number, which is never 0. Equal shapes have the same number.
    fn define(&mut self, blocks: &[Block], forms: &[ShapeReference]) -> Result<u32, Problem>;

    /// Takes the machine code of a block of a defined shape. `_references` are the references of
    /// that block.
    fn learn(&mut self, _block: &Block, _references: &[ShapeReference], _code: &[u8]) {}

    /// Takes executed shapes, as [`Recorder::take`] does. Returns the number of words taken.
    /// `numbers` has the numbers that [`Take::define`] returned.
    fn shapes<R: ReadWords>(
        &mut self,
        words: &[R::Word],
        numbers: &[u32],
    ) -> Result<usize, Self::Error>;

    /// Takes a mark after all blocks so far.
    fn mark(&mut self, mark: Mark) -> Result<(), Self::Error>;

    /// Does other work while there is nothing to take. Returns whether anything was done.
    fn use_time(&mut self) -> bool {
        false
    }

    /// Passes on the blocks and marks taken so far.
    fn flush(&mut self) -> Result<(), Self::Error>;

    /// Returns the number of instructions in the blocks taken so far. Those of an unfinished chunk
    /// may be missing before [`Take::flush`].
    fn instructions(&self) -> u64;
}

/// Maximum number of shapes (constant parts of executed code). All programs of a workload together
/// have fewer.
const MOST_SHAPES: usize = 8 << 20;
const MOST_FORMS: usize = 64 << 20;

fn problem(error: &UnfitShape) -> Problem {
    Problem::Unfit(error.to_string())
}

impl<W: Write + Send + 'static> Take for Recorder<W> {
    type Error = WriteTraceError;

    fn define(&mut self, blocks: &[Block], forms: &[ShapeReference]) -> Result<u32, Problem> {
        let (shapes, kept_forms) = self.kept();
        if shapes >= MOST_SHAPES || kept_forms >= MOST_FORMS {
            return Err(Problem::TooManyShapes);
        }
        Recorder::define(self, blocks, forms)
            .map(ShapeId::number)
            .map_err(|error| problem(&error))
    }

    fn learn(&mut self, block: &Block, references: &[ShapeReference], code: &[u8]) {
        add_dependences(self.dependences(), block, references, code);
    }

    fn shapes<R: ReadWords>(
        &mut self,
        words: &[R::Word],
        numbers: &[u32],
    ) -> Result<usize, WriteTraceError> {
        self.take::<R>(words, numbers)
    }

    fn mark(&mut self, mark: Mark) -> Result<(), WriteTraceError> {
        Recorder::mark(self, mark)
    }

    fn use_time(&mut self) -> bool {
        self.write_one()
    }

    fn flush(&mut self) -> Result<(), WriteTraceError> {
        self.cut()
    }

    fn instructions(&self) -> u64 {
        Recorder::instructions(self)
    }
}

/// Adds the dependences of a block, derived from its code. Does nothing for machines other than
/// x86-64.
fn add_dependences(
    known: &mut Dependences,
    block: &Block,
    references: &[ShapeReference],
    code: &[u8],
) {
    if cfg!(target_arch = "x86_64") {
        known.learn(block, code, || find_dependences(block, references, code));
    }
}

/// A shape as ranges in the tables of [`Chunks`].
#[derive(Clone, Copy, Debug, Default)]
struct Shape {
    first_block: u32,
    blocks: u32,
    first_unfold: u32,
    references: u32,
    explicit: u32,
    instructions: u32,
}

/// Error of a sink that wants no more chunks. The sink itself has stored the reason.
#[derive(Debug, thiserror::Error)]
#[error("no more is wanted")]
pub(crate) struct Refused;

/// Function that receives a full chunk and the dependences of its blocks. The function may take the
/// chunk's memory.
pub(crate) type Sink<'s> = dyn FnMut(&mut Chunk, &Dependences) -> Result<(), Refused> + 's;

/// Assembler of chunks, which passes each full chunk to a sink. The type does not depend on the
/// sink, so that the code for each executed shape is compiled only once, in this crate.
pub(crate) struct Chunks<'s> {
    sink: &'s mut Sink<'s>,
    chunk: Chunk,
    shapes: Vec<Shape>,
    blocks: Vec<Block>,
    unfolds: Vec<Unfold>,
    numbers: HashMap<(Vec<Block>, Vec<ShapeReference>), u32>,
    instructions: u64,
    dependences: Dependences,
}

/// Number of references at which a chunk ends. The blocks of a full chunk usually have somewhat
/// fewer.
const MOST_REFERENCES: usize = 8 * Chunk::BLOCKS;
const MOST_MARKS: usize = Chunk::BLOCKS / 4;

impl<'s> Chunks<'s> {
    pub(crate) fn new(sink: &'s mut Sink<'s>) -> Chunks<'s> {
        Chunks {
            sink,
            chunk: Chunk::default(),
            shapes: vec![Shape::default()],
            blocks: Vec::new(),
            unfolds: Vec::new(),
            numbers: HashMap::new(),
            instructions: 0,
            dependences: Dependences::default(),
        }
    }

    /// Returns the next executed shape and its explicit addresses; `None` if the words name no
    /// shape, or do not fit the shape that they name.
    #[inline]
    fn next<'a, R: ReadWords>(
        &self,
        words: &'a [R::Word],
        numbers: &[u32],
    ) -> Option<(Shape, &'a [R::Word])> {
        let (head, rest) = words.split_first()?;
        let head = R::one(head);
        let number = numbers
            .get(head as u32 as usize)
            .copied()
            .filter(|&number| number != 0)?;
        let shape = *self.shapes.get(number as usize)?;
        if u64::from(shape.explicit) != head >> 32 {
            return None;
        }
        Some((shape, rest.get(..shape.explicit as usize)?))
    }
}

impl Take for Chunks<'_> {
    type Error = Refused;

    fn define(&mut self, blocks: &[Block], forms: &[ShapeReference]) -> Result<u32, Problem> {
        let key = (blocks.to_vec(), forms.to_vec());
        if let Some(&number) = self.numbers.get(&key) {
            return Ok(number);
        }
        if self.shapes.len() >= MOST_SHAPES || self.unfolds.len() >= MOST_FORMS {
            return Err(Problem::TooManyShapes);
        }
        switchcost_trace::check_shape(blocks, forms).map_err(|error| problem(&error))?;
        let number = self.shapes.len() as u32;
        let explicit = forms
            .iter()
            .filter(|form| form.place == switchcost_trace::AddressKind::Explicit)
            .count();
        self.shapes.push(Shape {
            first_block: self.blocks.len() as u32,
            blocks: blocks.len() as u32,
            first_unfold: self.unfolds.len() as u32,
            references: forms.len() as u32,
            explicit: explicit as u32,
            instructions: blocks
                .iter()
                .map(|block| u32::from(block.instructions))
                .sum(),
        });
        self.blocks.extend_from_slice(blocks);
        self.unfolds.extend(switchcost_trace::unfold(forms));
        self.numbers.insert(key, number);
        Ok(number)
    }

    fn learn(&mut self, block: &Block, references: &[ShapeReference], code: &[u8]) {
        add_dependences(&mut self.dependences, block, references, code);
    }

    fn shapes<R: ReadWords>(
        &mut self,
        words: &[R::Word],
        numbers: &[u32],
    ) -> Result<usize, Refused> {
        let mut rest = words;
        while let Some((shape, addresses)) = self.next::<R>(rest, numbers) {
            if is_full(&self.chunk) {
                self.flush()?;
            }
            let unfolds = &self.unfolds[shape.first_unfold as usize..][..shape.references as usize];
            self.chunk
                .blocks
                .extend(&self.blocks[shape.first_block as usize..][..shape.blocks as usize]);
            // A fixed address needs no word, so there may be none.
            let address = |number| addresses.get(number).map_or(0, R::one);
            self.chunk.references.extend(
                unfolds
                    .iter()
                    .map(|unfold| unfold.reference_at(address(unfold.source()))),
            );
            self.instructions += u64::from(shape.instructions);
            rest = &rest[1 + addresses.len()..];
        }
        Ok(words.len() - rest.len())
    }

    fn mark(&mut self, mark: Mark) -> Result<(), Refused> {
        if self.chunk.marks.len() >= MOST_MARKS {
            self.flush()?;
        }
        self.chunk.mark(mark);
        Ok(())
    }

    fn flush(&mut self) -> Result<(), Refused> {
        if !self.chunk.is_empty() {
            (self.sink)(&mut self.chunk, &self.dependences)?;
            self.chunk.clear();
        }
        Ok(())
    }

    fn instructions(&self) -> u64 {
        self.instructions
    }
}

fn is_full(chunk: &Chunk) -> bool {
    chunk.blocks.len() >= Chunk::BLOCKS || chunk.references.len() >= MOST_REFERENCES
}
