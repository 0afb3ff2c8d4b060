use std::collections::HashMap;
use std::slice;

use super::addresses::Row;
use super::known::{Cold, Hot, Known, Totals, more_rows};
use super::open::Open;
use super::residuals::Waiting;
use super::take::{self, OwnWords, Ran, ReadWords};
use crate::shape::{self, AddressKind, ShapeReference, UnfitShape};
use crate::{Block, BlockRun, Placed, Reference, UnfitBlock};

/// A part of a chunk that goes into one record.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Piece<'a> {
    pub(crate) blocks: BlockRun<'a>,
    pub(crate) references: &'a [Reference],
    pub(crate) marks: &'a [Placed],
    /// Number in the chunk of the piece's first block. Positions of marks are counted from this
    /// block.
    pub(crate) first_block: usize,
}

/// Why a piece cannot be encoded.
#[derive(Debug)]
pub(crate) enum EncodeError {
    /// A block, given by its index in the piece, breaks a rule of blocks.
    Unfit { block: usize, why: UnfitBlock },
    /// A shape of the chunk is invalid.
    Shape(UnfitShape),
}

/// Encoder of pieces of chunks, or of executed shapes, into chunks that can be closed. The encoder
/// reuses its memory.
pub(crate) struct ChunkEncoder {
    known: Known,
    open: Open,
    waiting: Waiting,
    /// ID of the latest shape with each hash of blocks and references. Shapes of one hash are
    /// linked.
    by_hash: HashMap<u64, u32>,
    same_hash: Vec<u32>,
    /// ID of the shape of each block of the piece.
    ids: Vec<u32>,
    forms: Vec<ShapeReference>,
    /// Executed shapes of the piece as words (heads and explicit addresses), [`WORDS_AT_ONCE`] at a
    /// time.
    words: Vec<u64>,
}

const NO_ID: u32 = 0;

/// Number of words that are assembled and encoded together: few enough for the first-level cache.
const WORDS_AT_ONCE: usize = 1024;

impl ChunkEncoder {
    pub(crate) fn new() -> Self {
        ChunkEncoder {
            known: Known::default(),
            open: Open::new(),
            waiting: Waiting::new(),
            by_hash: HashMap::new(),
            same_hash: Vec::new(),
            ids: Vec::new(),
            forms: Vec::new(),
            words: Vec::new(),
        }
    }

    /// Encodes a piece as a chunk. The piece must have as many references as its blocks state.
    /// Forgets all shapes that were defined before.
    pub(crate) fn encode(&mut self, piece: Piece<'_>) -> Result<&Open, EncodeError> {
        self.known.clear();
        self.by_hash.clear();
        self.same_hash.clear();
        self.open.begin(&mut self.known);
        self.find_shapes(&piece)?;
        let mut rest = piece.references;
        self.words.clear();
        for (place, block) in (0..).zip(piece.blocks.iter()) {
            let (references, later) = rest.split_at(usize::from(block.references));
            rest = later;
            self.words.push(u64::from(block.references) << 32 | place);
            self.words
                .extend(references.iter().map(|reference| reference.0));
            if self.words.len() >= WORDS_AT_ONCE {
                self.take_words();
            }
        }
        self.take_words();
        self.waiting.put_all(&mut self.open);
        self.open.end();
        Ok(&self.open)
    }

    /// Encodes the assembled words into the open chunk.
    fn take_words(&mut self) {
        let mut ran = Ran::<OwnWords> {
            words: &self.words,
            numbers: &self.ids,
        };
        // The piece is small enough for one chunk, so encoding continues after the chunk counts as
        // full.
        while take::take(&mut self.known, &mut self.open, &mut self.waiting, &mut ran) {
            self.open.counts.make_room();
        }
        debug_assert!(ran.words.is_empty(), "each shape fits what was found of it");
        self.words.clear();
    }

    /// Finds or defines the shape of each block of the piece.
    fn find_shapes(&mut self, piece: &Piece<'_>) -> Result<(), EncodeError> {
        self.ids.clear();
        let mut rest = piece.references;
        for (place, block) in piece.blocks.iter().enumerate() {
            let (references, later) = rest.split_at(usize::from(block.references));
            rest = later;
            let mut forms = std::mem::take(&mut self.forms);
            forms.clear();
            forms.extend(references.iter().map(|reference| ShapeReference {
                reference: Reference(reference.0 & !super::addresses::ADDRESS_MASK),
                place: AddressKind::Explicit,
            }));
            let id = self
                .define(slice::from_ref(block), &forms)
                .map_err(|why| unfit(place, block, references, why));
            self.forms = forms;
            self.ids.push(id?);
        }
        Ok(())
    }

    /// Returns the ID of a shape, and defines the shape if it is new. The ID is valid until
    /// [`Self::encode`] is called.
    pub(crate) fn define(
        &mut self,
        blocks: &[Block],
        forms: &[ShapeReference],
    ) -> Result<u32, UnfitShape> {
        let hash = hash_of(blocks, forms);
        let first = self.by_hash.get(&hash).copied().unwrap_or(NO_ID);
        let mut id = first;
        while id != NO_ID {
            if self.known.parts_of(id as usize) == (blocks, forms) {
                return Ok(id);
            }
            id = self.same_hash[id as usize];
        }
        shape::check_shape(blocks, forms)?;
        if self.known.hot.is_empty() {
            self.begin();
        }
        let id = self.known.hot.len() as u32;
        self.by_hash.insert(hash, id);
        self.same_hash.resize(id as usize, NO_ID);
        self.same_hash.push(first);
        self.learn(blocks, forms);
        Ok(id)
    }

    fn learn(&mut self, blocks: &[Block], forms: &[ShapeReference]) {
        let known = &mut self.known;
        let (explicit, totals) = (shape::explicit(forms), Totals::count(blocks));
        known.hot.push(Hot::new(totals, explicit));
        known.cold.push(Cold {
            first_block: known.blocks.len() as u32,
            blocks: blocks.len() as u32,
            explicit: explicit as u32,
            first_form: known.forms.len() as u32,
            references: forms.len() as u32,
            first_row: known.rows.len() as u32,
            ..Cold::default()
        });
        known
            .rows
            .resize(known.rows.len() + more_rows(explicit), Row::default());
        known.blocks.extend_from_slice(blocks);
        known.forms.extend_from_slice(forms);
        let largest = known.largest.largest(totals);
        if largest != known.largest {
            known.largest = largest;
            self.open.counts.forget_room();
        }
    }

    /// Returns the number of shapes in memory.
    pub(crate) fn shapes(&self) -> usize {
        self.known.hot.len()
    }

    /// Returns the number of references (*forms*) of all shapes in memory.
    pub(crate) fn forms(&self) -> usize {
        self.known.forms.len()
    }

    /// Begins a chunk that is then filled by [`Self::take`].
    pub(crate) fn begin(&mut self) {
        self.open.begin(&mut self.known);
    }

    /// Encodes executed shapes until no word is left, a shape does not fit its definition, or the
    /// chunk is full. Returns the number of words taken, and whether the chunk is full.
    #[inline]
    pub(crate) fn take<R: ReadWords>(
        &mut self,
        words: &[R::Word],
        numbers: &[u32],
    ) -> (usize, bool) {
        let mut ran = Ran::<R> { words, numbers };
        let is_full = take::take(&mut self.known, &mut self.open, &mut self.waiting, &mut ran);
        (words.len() - ran.words.len(), is_full)
    }

    /// Returns the open chunk, and begins the next one in the memory of `spare`.
    pub(crate) fn exchange(&mut self, spare: Open) -> Open {
        self.waiting.put_all(&mut self.open);
        self.open.end();
        let open = std::mem::replace(&mut self.open, spare);
        self.begin();
        open
    }

    /// Returns the number of blocks in the open chunk.
    pub(crate) fn blocks(&self) -> usize {
        self.open.totals().blocks
    }
}

fn unfit(place: usize, block: &Block, references: &[Reference], why: UnfitShape) -> EncodeError {
    match (why, block.check(references)) {
        (UnfitShape::Block(why), _) | (_, Err(why)) => EncodeError::Unfit { block: place, why },
        (why, Ok(())) => EncodeError::Shape(why),
    }
}

fn hash_of(blocks: &[Block], forms: &[ShapeReference]) -> u64 {
    /// Factor of Knuth's multiplicative hash: 2 to the 64 over the golden ratio, odd.
    const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;
    let mix = |hash: u64, word: u64| (hash ^ word).wrapping_mul(FACTOR).rotate_left(29);
    let of_blocks = blocks.iter().fold(0, |hash, block| {
        let Block {
            address,
            bytes,
            instructions,
            references: count,
            first_bytes,
            flags,
        } = *block;
        let rest = u64::from(bytes)
            | u64::from(instructions) << 16
            | u64::from(count) << 32
            | u64::from(first_bytes) << 48
            | u64::from(flags.0) << 56;
        mix(mix(hash, address), rest)
    });
    forms.iter().fold(of_blocks, |hash, form| {
        let place = match form.place {
            AddressKind::Explicit => 0,
            AddressKind::Fixed(address) => address << 2 | 1,
            AddressKind::Relative { base, offset } => offset << 18 | u64::from(base) << 2 | 2,
        };
        mix(hash, form.reference.0 >> 48 | place << 16)
    })
}
