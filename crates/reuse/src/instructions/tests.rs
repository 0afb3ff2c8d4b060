use switchcost_trace::{BlockDependences, BlockFlags, ReferenceDependence, Sources};

use super::*;

const CODE: u64 = 0x40_0000;
const DATA_LINE: u64 = 0x100_0000 >> LINE_BITS;

/// Returns the share of each kind in the requests of a repeated walk through this many lines, by
/// one instruction that loads from a line every 16 instructions. Spaced lines count as unspaced.
fn shares(lines: u64, place: impl Fn(u64) -> u64) -> BTreeMap<Kind, f64> {
    let mut shares = BTreeMap::new();
    for (kind, share) in shares_with(16, lines, place) {
        *shares.entry(kind.unspaced()).or_default() += share;
    }
    shares
}

/// Returns the share of each kind in the same requests, if the walk executes `instructions` per line.
fn shares_with(instructions: u16, lines: u64, place: impl Fn(u64) -> u64) -> BTreeMap<Kind, f64> {
    let mut chunk = Chunk::default();
    for step in 0..100_000 {
        chunk.blocks.push(Block {
            address: CODE,
            bytes: 16,
            instructions,
            references: 1,
            first_bytes: 1,
            flags: BlockFlags::USER,
        });
        let line = DATA_LINE + place(step % lines);
        chunk.references.push(load(line << LINE_BITS));
    }
    let mut kinds = KindsByInstruction::default();
    kinds.add(&chunk, &Dependences::default());
    let counts = kinds.lines.counts.into_values().flatten();
    counts
        .map(|(kind, count)| (kind, count as f64 / 100_000.0))
        .collect()
}

/// Shows that a walk is sequential, except for the first two lines of each round.
#[test]
fn a_walk_is_sequential() {
    let found = shares(2047, |step| step);
    assert!(found[&Kind::Sequential] > 0.999, "{found:?}");
}

#[test]
fn steps_of_one_instruction_that_stay_the_same_are_strided() {
    let found = shares(2047, |step| step * 3);
    assert!(found[&Kind::Strided] > 0.998, "{found:?}");
}

/// Shows that one of five loads from arbitrary places waits, if the loads begin close together.
/// There is one load in 16 instructions.
#[test]
fn of_loads_from_anywhere_one_waits_and_those_close_behind_it_with_it() {
    let found = shares(2039, |step| step * 797 % 2039 * 5);
    let [gathered, dependent] = [found[&Kind::Gathered], found[&Kind::Dependent]];
    assert!((gathered / dependent / 4.0 - 1.0).abs() < 0.01, "{found:?}");
    assert!(gathered + dependent > 0.999, "{found:?}");
}

#[test]
fn lines_with_many_instructions_between_them_are_spaced() {
    for (kind, step, apart) in [
        (Kind::Sequential, 1, 1),
        (Kind::Strided, 1, 3),
        (Kind::Gathered, 797, 5),
    ] {
        for (instructions, found, other) in [
            (8, kind, kind.spaced()),
            (24, kind, kind.spaced()),
            (32, kind.spaced(), kind),
            (64, kind.spaced(), kind),
        ] {
            let shares = shares_with(instructions, 2039, |at| at * step % 2039 * apart);
            let share = |kind| shares.get(&kind).copied().unwrap_or_default();
            assert!(share(found) > 0.3 && share(other) < 0.001, "{shares:?}");
        }
    }
}

const ROUND: u64 = 2039;
const STACK: u64 = 0x7ff_0000;
const INDICES: u64 = 0x200_0000;
const OTHER_DATA: u64 = 0x400_0000;
/// Number of windows of instructions in two rounds.
const WINDOWS: u64 = (2 * ROUND).div_ceil(32);

/// Returns a loop of 16 instructions that goes through all lines twice, and its dependences.
/// `references` returns the references of one iteration, from its number in the round and an
/// address. The addresses have no pattern.
fn looped(
    dependences: BlockDependences,
    references: impl Fn(u64, u64) -> Vec<Reference>,
) -> (Chunk, Dependences) {
    let block = Block {
        address: CODE,
        bytes: 64,
        instructions: 16,
        references: dependences.references.len() as u16,
        first_bytes: 4,
        flags: BlockFlags::USER,
    };
    let mut known = Dependences::default();
    known.learn(&block, b"code", || Some(dependences));
    let mut chunk = Chunk::default();
    for step in 0..2 * ROUND {
        let step = step % ROUND;
        chunk.blocks.push(block);
        let place = (DATA_LINE + step * 797 % ROUND * 5) << LINE_BITS;
        chunk.references.extend(references(step, place));
    }
    (chunk, known)
}

/// Returns the numbers of chained and of gathered lines in two rounds.
fn chained(
    dependences: BlockDependences,
    references: impl Fn(u64, u64) -> Vec<Reference>,
) -> [u64; 2] {
    let (chunk, known) = looped(dependences, references);
    let mut kinds = KindsByInstruction::default();
    kinds.add(&chunk, &known);
    let counts = || kinds.lines.counts.values().flatten();
    [Kind::Chained, Kind::Gathered].map(|kind| {
        let of_kind = counts().filter(|(counted, _)| counted.unspaced() == kind);
        of_kind.map(|(_, count)| count).sum()
    })
}

fn load(address: u64) -> Reference {
    Reference::new(address, 7, 0, false)
}

fn sources(number: u8) -> [Sources; 2] {
    [Sources::register(number), Sources::load(number)].map(|source| source.expect("followed"))
}

#[test]
fn every_line_of_a_chase_is_chained() {
    let [register, loaded] = sources(0);
    let rules = BlockDependences {
        references: vec![ReferenceDependence::Load(register)],
        registers: vec![(0, loaded)],
    };
    assert_eq!(chained(rules, |_, place| vec![load(place)]), [2 * ROUND, 0]);
}

#[test]
fn every_line_of_a_chase_through_a_saved_pointer_is_chained() {
    let [register, loaded] = sources(0);
    let [_, saved] = sources(1);
    let rules = BlockDependences {
        references: vec![
            ReferenceDependence::Load(register),
            ReferenceDependence::Store(Sources::NONE, loaded),
            ReferenceDependence::Load(Sources::NONE),
        ],
        registers: vec![(0, saved)],
    };
    let references = |_, place| {
        let save = Reference::new(STACK, 7, 0, true);
        vec![load(place), save, load(STACK)]
    };
    assert_eq!(chained(rules, references), [2 * ROUND, 0]);
}

/// Shows that only the first of the 32 iterations in a window waits. Two lines of indices are not
/// prefetched in each round. At the start of a round, the next load waits for the first of these.
#[test]
fn an_array_indexed_by_a_prefetched_one_is_gathered() {
    let [_, index] = sources(0);
    let rules = BlockDependences {
        references: vec![
            ReferenceDependence::Load(Sources::NONE),
            ReferenceDependence::Load(index),
        ],
        registers: Vec::new(),
    };
    let references = |step: u64, place| vec![load(INDICES + step * 8), load(place)];
    assert_eq!(
        chained(rules, references),
        [WINDOWS + 2, 2 * ROUND + 4 - (WINDOWS + 2)]
    );
}

#[test]
fn of_a_sum_over_an_array_in_any_order_the_first_line_of_each_window_is_waited_for() {
    let rules = BlockDependences {
        references: vec![ReferenceDependence::Load(Sources::NONE)],
        registers: Vec::new(),
    };
    assert_eq!(
        chained(rules, |_, place| vec![load(place)]),
        [WINDOWS, 2 * ROUND - WINDOWS]
    );
}

#[test]
fn one_of_two_interleaved_chases_is_waited_for() {
    let [[first, first_loaded], [second, second_loaded]] = [0, 1].map(sources);
    let rules = BlockDependences {
        references: vec![
            ReferenceDependence::Load(first),
            ReferenceDependence::Load(second),
        ],
        registers: vec![(0, first_loaded), (1, second_loaded)],
    };
    let references = |_, place| vec![load(place), load(place + OTHER_DATA)];
    assert_eq!(chained(rules, references), [2 * ROUND, 2 * ROUND]);
}

#[test]
fn two_fields_of_a_line_that_comes_are_waited_for_once() {
    let [register, loaded] = sources(0);
    let rules = BlockDependences {
        references: vec![ReferenceDependence::Load(register); 2],
        registers: vec![(0, loaded)],
    };
    let references = |_, place| vec![load(place), load(place + 8)];
    assert_eq!(chained(rules, references), [2 * ROUND, 0]);
}

/// A chase waits in each iteration. The next instruction loads from another array at addresses that
/// are known, and overlaps with the chase.
#[test]
fn the_kinds_of_each_instruction_are_counted() {
    let [register, loaded] = sources(0);
    let rules = BlockDependences {
        references: vec![
            ReferenceDependence::Load(register),
            ReferenceDependence::Load(Sources::NONE),
        ],
        registers: vec![(0, loaded)],
    };
    let at = |address, through| Reference::new(address, 7, through, false);
    let (chunk, known) = looped(rules, |_, place| {
        vec![at(place, 3), at(place + OTHER_DATA, 7)]
    });
    let mut kinds = KindsByInstruction::default();
    kinds.add(&chunk, &known);
    let divided = |through| kinds.divide(CODE + through, 100);
    assert_eq!(
        [divided(3), divided(7), divided(11)],
        [
            Some(vec![(Kind::Chained, 100)]),
            // The first lines of the trace are spaced.
            Some(vec![(Kind::Gathered, 99), (Kind::GatheredSpaced, 1)]),
            None
        ]
    );
}

/// A chase ends within a window. After skipped chunks, a load requests the last line again: it
/// neither overlaps with the chase nor finds the line in a first level.
#[test]
fn a_load_after_skipped_chunks_is_the_first_of_its_window() {
    let [register, loaded] = sources(0);
    let rules = BlockDependences {
        references: vec![ReferenceDependence::Load(register)],
        registers: vec![(0, loaded)],
    };
    let (chase, mut known) = looped(rules, |_, place| vec![load(place)]);
    let last = *chase.references.last().expect("a load");
    let alone = Block {
        address: CODE + 64,
        ..*chase.blocks.get(0).expect("a block")
    };
    let rules = BlockDependences {
        references: vec![ReferenceDependence::Load(Sources::NONE)],
        registers: Vec::new(),
    };
    known.learn(&alone, b"another", || Some(rules));
    let mut chunk = Chunk::default();
    chunk.blocks.push(alone);
    chunk.references.push(last);
    let mut kinds = KindsByInstruction::default();
    kinds.add(&chase, &known);
    (1..ONE_IN).for_each(|_| kinds.add(&Chunk::default(), &known));
    kinds.add(&chunk, &known);
    assert_eq!(
        kinds.divide(alone.address, 1),
        Some(vec![(Kind::Chained, 1)])
    );
}
