use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{RngCore, SeedableRng};

use crate::{Block, BlockFlags, Reference};

use super::{CODE, DATA, Program, STACK, Synthetic};

/// Number of distinct blocks in a program's code.
const PIECES: usize = 4096;
const INSTRUCTION_BYTES: u16 = 4;
/// Size of the heap in lines of 64 bytes: 4 MiB.
const HEAP_LINES: u64 = 64 << 10;
const STREAM: u64 = DATA + (1 << 30);
const STREAM_BYTES: u64 = 1 << 20;
/// Probability of a reference per instruction, in 1/256: 0.35.
const REFERENCE_CHANCE: u8 = 90;

/// Synthetic processes that use their code and data as unevenly as real programs. A few blocks
/// account for most of the execution. There are a small stack, a heap with hot and cold lines, and
/// a streamed array. No particular program is modelled. On average a block has 5 instructions, and
/// an instruction 0.35 references.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mixed {
    /// Number of processes, each with separate code and random numbers.
    pub processes: u32,
    /// Number of instructions in a time slice.
    pub turn_instructions: u64,
    /// Number of time slices of all processes together. Each begins with a switch; with only one
    /// process, only the first does.
    pub switches: u64,
    /// Seed of the random numbers. Equal seeds give equal streams.
    pub seed: u64,
}

impl Mixed {
    /// Returns the stream of chunks.
    pub fn chunks(&self) -> Synthetic {
        let one = |number| Box::new(Worker::new(self.seed, number)) as Box<dyn Program + Send>;
        Synthetic::new(
            (0..self.processes).map(one).collect(),
            self.turn_instructions,
            self.switches,
        )
    }
}

/// A block of the code: its address, and the memory that each of its instructions touches.
struct Piece {
    address: u64,
    touches: Vec<Option<Touched>>,
}

#[derive(Clone, Copy)]
struct Touched {
    place: Region,
    is_store: bool,
    size_code: u8,
}

#[derive(Clone, Copy)]
enum Region {
    /// Memory at a constant distance below the end of the stack, in bytes.
    Stack(u64),
    Heap,
    Stream,
}

struct Worker {
    dice: ChaCha8Rng,
    pieces: Vec<Piece>,
    /// Index of the current block in `pieces`; `done` is the number of its executed instructions.
    at: usize,
    done: usize,
    stream: u64,
}

impl Worker {
    fn new(seed: u64, number: u32) -> Self {
        let mut dice = ChaCha8Rng::seed_from_u64(seed);
        dice.set_stream(number.into());
        let mut address = CODE;
        let pieces = (0..PIECES)
            .map(|_| {
                let piece = Piece::new(address, &mut dice);
                address += u64::from(INSTRUCTION_BYTES) * piece.touches.len() as u64;
                piece
            })
            .collect();
        Worker {
            dice,
            pieces,
            at: 0,
            done: 0,
            stream: 0,
        }
    }

    /// Continues with the next block, or one time in four with a random block, most likely one with
    /// a low number.
    fn go_on(&mut self) {
        let roll = self.dice.next_u64();
        self.done = 0;
        let jumps = roll.is_multiple_of(4);
        self.at = if jumps {
            uneven(roll >> 2, PIECES as u64) as usize
        } else {
            (self.at + 1) % PIECES
        };
    }

    fn address(&mut self, place: Region) -> u64 {
        match place {
            Region::Stack(below) => STACK - below,
            Region::Heap => DATA + uneven(self.dice.next_u64(), HEAP_LINES) * 64,
            Region::Stream => {
                self.stream = (self.stream + 8) % STREAM_BYTES;
                STREAM + self.stream
            }
        }
    }
}

impl Piece {
    fn new(address: u64, dice: &mut ChaCha8Rng) -> Self {
        let instructions = 2 + dice.next_u32() % 7;
        let touches = (0..instructions)
            .map(|_| Touched::roll(dice.next_u32()))
            .collect();
        Piece { address, touches }
    }
}

impl Touched {
    fn roll(roll: u32) -> Option<Self> {
        let [chance, place, offset, kind] = roll.to_le_bytes();
        if chance >= REFERENCE_CHANCE {
            return None;
        }
        let place = match place % 10 {
            0..5 => Region::Stack(8 + u64::from(offset) * 8),
            5..8 => Region::Heap,
            _ => Region::Stream,
        };
        // References have 4 or 8 bytes. One third are stores.
        Some(Touched {
            place,
            is_store: kind.is_multiple_of(3),
            size_code: if kind & 64 == 0 { 3 } else { 7 },
        })
    }
}

/// Returns a number below `below` with the distribution of the cube of a uniform number: half of
/// all results are in the lowest eighth.
fn uneven(roll: u64, below: u64) -> u64 {
    let unit = (roll >> 32) & 0xffff;
    let cubed = unit * unit * unit;
    ((u128::from(cubed) * u128::from(below)) >> 48) as u64
}

impl Program for Worker {
    fn block(&mut self, most: u64, references: &mut Vec<Reference>) -> Option<Block> {
        let piece = &self.pieces[self.at];
        let (first, length) = (self.done, piece.touches.len());
        let address = piece.address + u64::from(INSTRUCTION_BYTES) * first as u64;
        let instructions = ((length - first) as u64).min(most) as usize;
        let before = references.len();
        for number in 0..instructions {
            if let Some(touched) = self.pieces[self.at].touches[first + number] {
                let through = INSTRUCTION_BYTES * (number as u16 + 1) - 1;
                let address = self.address(touched.place);
                references.push(Reference::new(
                    address,
                    touched.size_code,
                    through,
                    touched.is_store,
                ));
            }
        }
        self.done += instructions;
        if self.done == length {
            self.go_on();
        }
        Some(Block {
            address,
            bytes: INSTRUCTION_BYTES * instructions as u16,
            instructions: instructions as u16,
            references: (references.len() - before) as u16,
            first_bytes: INSTRUCTION_BYTES as u8,
            flags: BlockFlags::USER,
        })
    }
}
