//! Tests recording shape by shape, with shapes of several blocks: some references are explicit,
//! some fixed, and some relative to an explicit one of the same shape.

use proptest::prelude::*;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{RngCore, SeedableRng};
use switchcost_trace::{
    AddressKind, Block, BlockFlags, OwnWords, Recorder, Reference, ShapeReference,
};

use crate::support::{header, read_whole};

const ADDRESS_MASK: u64 = (1 << 48) - 1;

/// Position in a head of the number of explicit addresses, above the shape's number.
const EXPLICIT_SHIFT: u32 = 32;

#[derive(Clone, Debug)]
struct Shape {
    blocks: Vec<Block>,
    forms: Vec<ShapeReference>,
}

impl Shape {
    fn any(random: &mut ChaCha8Rng) -> Shape {
        let mut roll = |sides: u64| random.next_u64() % sides;
        let (mut blocks, mut forms) = (Vec::new(), Vec::<ShapeReference>::new());
        for _ in 0..=roll(5) {
            let references = roll(4) as u16;
            blocks.push(Block {
                address: roll(1 << 47),
                bytes: 8,
                instructions: 2,
                references,
                first_bytes: 3,
                flags: BlockFlags(roll(2) as u8),
            });
            for number in 0..references {
                let through = 2 + 5 * u16::from(number > 1);
                let explicit: Vec<u16> = (0..forms.len())
                    .filter(|&at| forms[at].place == AddressKind::Explicit)
                    .map(|at| at as u16)
                    .collect();
                let place = match (roll(4), &explicit[..]) {
                    (0, _) => AddressKind::Fixed(roll(1 << 48)),
                    (1, [_, ..]) => AddressKind::Relative {
                        base: explicit[roll(explicit.len() as u64) as usize],
                        offset: roll(1 << 48),
                    },
                    _ => AddressKind::Explicit,
                };
                let reference = Reference::new(0, roll(32) as u8, through, roll(2) == 1);
                forms.push(ShapeReference { reference, place });
            }
        }
        Shape { blocks, forms }
    }

    fn explicit(&self) -> usize {
        self.forms
            .iter()
            .filter(|form| form.place == AddressKind::Explicit)
            .count()
    }

    /// Computes the references for the addresses `explicit`, one by one.
    fn references(&self, explicit: &[u64]) -> Vec<Reference> {
        let mut explicit = explicit.iter();
        let mut addresses: Vec<u64> = Vec::new();
        for form in &self.forms {
            addresses.push(match form.place {
                AddressKind::Explicit => *explicit.next().expect("one for each"),
                AddressKind::Fixed(address) => address,
                AddressKind::Relative { base, offset } => {
                    addresses[usize::from(base)].wrapping_add(offset)
                }
            });
        }
        let at = |(form, address): (&ShapeReference, u64)| {
            Reference(form.reference.0 | address & ADDRESS_MASK)
        };
        self.forms.iter().zip(addresses).map(at).collect()
    }
}

/// A trace that was recorded shape by shape, and its expected content.
pub(crate) struct Recorded {
    pub(crate) file: Vec<u8>,
    pub(crate) blocks: Vec<Block>,
    pub(crate) references: Vec<Reference>,
}

impl Recorded {
    /// Records `runs` executions of `shapes` random shapes, in an order that mostly repeats itself.
    pub(crate) fn seeded(seed: u64, shapes: usize, runs: usize) -> Recorded {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let mut recorder = Recorder::create(Vec::new(), &header()).expect("memory takes it");
        let shapes: Vec<Shape> = (0..shapes).map(|_| Shape::any(&mut random)).collect();
        let mut numbers = Vec::new();
        let mut recorded = Recorded {
            file: Vec::new(),
            blocks: Vec::new(),
            references: Vec::new(),
        };
        let mut words = Vec::new();
        let mut next = 0;
        for run in 0..runs {
            // Later shapes are defined while others have run.
            if numbers.len() < shapes.len()
                && (numbers.is_empty() || random.next_u64().is_multiple_of(8))
            {
                take(&mut recorder, &mut words);
                let Shape { blocks, forms } = &shapes[numbers.len()];
                numbers.push(recorder.define(blocks, forms).expect("a shape").number());
            }
            let is_turn = random.next_u64().is_multiple_of(4);
            next = if is_turn {
                random.next_u64() as usize
            } else {
                next + 1
            } % numbers.len();
            let addresses: Vec<u64> = (0..shapes[next].explicit() as u64)
                .map(|number| match random.next_u64() % 8 {
                    0 => random.next_u64() & ADDRESS_MASK,
                    some => (number << 20) + run as u64 * 8 * some,
                })
                .collect();
            words.push(head(numbers[next], addresses.len()));
            words.extend(&addresses);
            recorded.blocks.extend(&shapes[next].blocks);
            recorded
                .references
                .extend(shapes[next].references(&addresses));
        }
        take(&mut recorder, &mut words);
        recorded.file = recorder.finish().expect("memory takes it").0;
        recorded
    }

    /// Checks that the file holds what was recorded.
    pub(crate) fn check(&self, file: &[u8]) {
        let chunks = read_whole(file);
        assert!(
            chunks
                .iter()
                .flat_map(|chunk| chunk.blocks.iter())
                .eq(&self.blocks),
            "other blocks"
        );
        assert!(
            chunks
                .iter()
                .flat_map(|chunk| &chunk.references)
                .eq(&self.references),
            "other references"
        );
    }
}

fn take(recorder: &mut Recorder<Vec<u8>>, words: &mut Vec<u64>) {
    let numbers: Vec<u32> = (0..=recorder.kept().0 as u32).collect();
    let taken = recorder
        .take::<OwnWords>(words, &numbers)
        .expect("memory takes it");
    assert_eq!(taken, words.len(), "all was taken");
    words.clear();
}

/// Returns the head of an execution of shape `number`, which has `explicit` explicit addresses.
pub(crate) fn head(number: u32, explicit: usize) -> u64 {
    (explicit as u64) << EXPLICIT_SHIFT | u64::from(number)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn what_ran_is_what_is_read(seed in any::<u64>(), shapes in 1_usize..40, runs in 1_usize..3_000) {
        let recorded = Recorded::seeded(seed, shapes, runs);
        recorded.check(&recorded.file);
    }
}

#[test]
fn chunks_end_between_shapes() {
    let recorded = Recorded::seeded(7, 30, 150_000);
    recorded.check(&recorded.file);
    let chunks = read_whole(&recorded.file);
    assert!(
        chunks.len() > 1,
        "{} blocks are more than a chunk's",
        recorded.blocks.len()
    );
}
