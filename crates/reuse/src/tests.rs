use std::collections::BTreeSet;

use proptest::prelude::*;
use switchcost_trace::{
    BlockDependences, BlockFlags, ReferenceDependence, Sources, TaskId, TraceOrder,
};
use switchcost_units::Bytes;

use super::*;

/// Counts lines by definition: for each switch point and each time, the lines used after the switch
/// point, by the number of other lines since their previous use.
struct Oracle {
    /// All uses in order, each with its interval and line.
    uses: Vec<(u64, u64)>,
    cuts: u64,
}

impl Oracle {
    fn of(stream: &[(u64, u16)]) -> Oracle {
        let (mut at, mut uses) = (0_u64, Vec::new());
        for (line, instructions) in stream {
            let code = 0..u64::from(bytes_of(*instructions)).div_ceil(1 << LINE_BITS);
            uses.extend(code.map(|line| (at / CUT, CODE_LINE + line)));
            uses.push((at / CUT, *line));
            at += u64::from(*instructions);
        }
        Oracle {
            uses,
            cuts: at / CUT,
        }
    }

    /// Returns the number of other lines between the last use before a switch point and the first
    /// use after it.
    fn others(&self, before: usize, at: usize) -> usize {
        self.uses[before + 1..at]
            .iter()
            .map(|(_, line)| line)
            .collect::<BTreeSet<_>>()
            .len()
    }

    /// Returns the mean numbers of lines used within `time` intervals after a switch point: lines
    /// of age up to 16 KiB, older lines, and new lines.
    fn mean(&self, time: u64) -> [f64; 3] {
        let mut counts = [0_u64; 3];
        for cut in 0..=self.cuts {
            let mut met = BTreeSet::new();
            for (at, (interval, line)) in self.uses.iter().enumerate() {
                if (cut..cut + time).contains(interval) && met.insert(*line) {
                    let before = self.uses[..at].iter().rposition(|(_, used)| used == line);
                    let class =
                        before.map_or(2, |before| usize::from(self.others(before, at) + 1 > 256));
                    counts[class] += 1;
                }
            }
        }
        counts.map(|count| count as f64 / (self.cuts + 1) as f64)
    }
}

const CODE: u64 = 0x40_0000;
const CODE_LINE: u64 = CODE >> LINE_BITS;
const DATA: u64 = 0x100_0000;
const DATA_LINE: u64 = DATA >> LINE_BITS;

fn bytes_of(instructions: u16) -> u16 {
    instructions.max(4)
}

/// Adds a block of this many instructions that loads from a line.
fn push(chunk: &mut Chunk, line: u64, instructions: u16) {
    chunk.blocks.push(Block {
        address: CODE,
        bytes: bytes_of(instructions),
        instructions,
        references: 1,
        first_bytes: if instructions == 1 { 4 } else { 1 },
        flags: BlockFlags::USER,
    });
    chunk
        .references
        .push(Reference::new(line << LINE_BITS, 7, 0, false));
}

fn profile_of(stream: &[(u64, u16)], most: usize) -> Profile {
    let mut profiler = Profiler::new_bounded(most);
    for piece in stream.chunks(7) {
        let mut chunk = Chunk::default();
        piece
            .iter()
            .for_each(|(line, instructions)| push(&mut chunk, *line, *instructions));
        profiler.add(&chunk, &Dependences::default());
    }
    finish(profiler)
}

fn finish(profiler: Profiler) -> Profile {
    let header = TraceHeader::new("valgrind", TraceOrder::Scheduled, "x86_64");
    profiler.finish(&header, "1")
}

/// Returns the number of reused lines of all kinds that are older than 16 KiB (`is_old`), or not.
fn reused(profile: &Profile, time: usize, is_old: bool) -> f64 {
    let rows = profile
        .reused
        .iter()
        .filter(|row| (row.age_bytes > Bytes::kib(16)) == is_old);
    rows.map(|row| row.lines[time]).sum()
}

fn is_near(found: f64, need: f64) -> bool {
    (found - need).abs() < 0.01
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(20))]

    #[test]
    fn as_many_lines_are_used_again_as_when_each_cut_is_looked_at_by_itself(
        stream in prop::collection::vec((prop_oneof![0_u64..8, 0_u64..700], 1_u16..900), 1..400),
    ) {
        let stream: Vec<(u64, u16)> = stream.into_iter().map(|(line, run)| (DATA_LINE + line, run)).collect();
        let (profile, oracle) = (profile_of(&stream, MOST_LINES), Oracle::of(&stream));
        for (time, instructions) in profile.times_instructions.iter().enumerate() {
            let [young, old, new] = oracle.mean(instructions / CUT);
            prop_assert!(is_near(reused(&profile, time, false), young), "{time}: {young} {profile:?}");
            prop_assert!(is_near(reused(&profile, time, true), old), "{time}: {old} {profile:?}");
            prop_assert!(is_near(profile.new_lines[time], new), "{time}: {new} {profile:?}");
            prop_assert!((profile.lines[time].mean - young - old - new).abs() < 0.01);
        }
    }
}

/// Returns a repeated walk through this many lines, with 16 instructions per line.
fn walk(lines: u64, steps: u64, place: impl Fn(u64) -> u64) -> Vec<(u64, u16)> {
    (0..steps)
        .map(|step| (DATA_LINE + place(step % lines), 16))
        .collect()
}

/// Returns the numbers of lines of a kind in the age class from 64 to 128 KiB, by time.
fn row(profile: &Profile, kind: Kind) -> &[f64] {
    let mut rows = profile.reused.iter();
    let row = rows.find(|row| (row.kind, row.age_bytes) == (kind, Bytes::kib(128)));
    &row.expect("a row").lines
}

/// Shows that a walk is sequential and as old as its length: 2,047 lines of data and a line of code
/// are 128 KiB.
#[test]
fn a_walk_is_sequential_and_as_old_as_it_is_long() {
    let profile = profile_of(&walk(2047, 100_000, |step| step), MOST_LINES);
    let found = row(&profile, Kind::Sequential);
    // 64 lines in 1,024 instructions, until all have come; the first time round they are new.
    assert!((found[0] / 64.0 - 0.98).abs() < 0.01, "{found:?}");
    assert!((found[6] / 2047.0 - 0.98).abs() < 0.01, "{found:?}");
    // The first two of each round have no stream before them.
    let others = row(&profile, Kind::Dependent);
    assert!(others[6] < 2.5, "{others:?}");
    assert!(
        (profile.lines[0].p50 / 65.0 - 1.0).abs() < 0.04,
        "{:?}",
        profile.lines
    );
}

#[test]
fn steps_of_one_instruction_that_stay_the_same_are_strided() {
    let profile = profile_of(&walk(2047, 100_000, |step| step * 3), MOST_LINES);
    let found = row(&profile, Kind::Strided);
    assert!((found[0] / 64.0 - 0.98).abs() < 0.01, "{found:?}");
}

/// Shows that one of five loads from arbitrary places waits, if the loads begin close together.
/// There is one load in 16 instructions.
#[test]
fn of_loads_from_anywhere_one_waits_and_those_close_behind_it_with_it() {
    let profile = profile_of(
        &walk(2039, 100_000, |step| step * 797 % 2039 * 5),
        MOST_LINES,
    );
    let [gathered, dependent] =
        [Kind::Gathered, Kind::Dependent].map(|kind| row(&profile, kind)[0]);
    assert!(
        (gathered / dependent / 4.0 - 1.0).abs() < 0.01,
        "{gathered} {dependent}"
    );
    assert!(
        ((gathered + dependent) / 64.0 - 0.98).abs() < 0.01,
        "{gathered} {dependent}"
    );
    assert_eq!(profile.reused.len(), 3, "{:?}", profile.reused);
}

#[test]
fn what_is_forgotten_is_new_again_and_memory_is_bounded() {
    let stream = walk(3000, 20_000, |step| step * 2);
    let (all, few) = (profile_of(&stream, MOST_LINES), profile_of(&stream, 1024));
    assert!(
        all.new_lines[0] < 12.0 && few.new_lines[0] > 40.0,
        "{few:?}"
    );
    let mut recency = Recency::new(1024);
    for key in 0..1_000_000 {
        recency.touch(key);
        if key % 64 == 0 {
            recency.cut();
        }
    }
    assert!(recency.places() <= 3 * 4096, "{}", recency.places());
}

#[test]
fn the_program_is_the_file_that_was_executed_first() {
    let mut chunk = Chunk::default();
    chunk.mark(Mark::Birth {
        task: TaskId(1),
        process: ProcessId(1),
        parent: TaskId::NONE,
        name: b"gzip".to_vec(),
    });
    chunk.mark(Mark::Switch {
        from: TaskId::NONE,
        to: TaskId(1),
        is_voluntary: true,
        cause: switchcost_trace::Cause::Unknown,
    });
    let mapping = |build_id: &[u8], is_executable| {
        let build_id = build_id.to_vec();
        Mark::Map(Mapping {
            start: CODE,
            bytes: 4096,
            offset: 0,
            path: b"/bin/x".to_vec(),
            build_id,
            is_executable,
        })
    };
    [
        mapping(&[1], false),
        mapping(&[0xab, 0x0c], true),
        mapping(&[2], true),
    ]
    .into_iter()
    .for_each(|map| chunk.mark(map));
    push(&mut chunk, DATA_LINE, 100);
    let mut profiler = Profiler::default();
    profiler.add(&chunk, &Dependences::default());
    let profile = finish(profiler);
    let program = Program {
        name: "gzip".to_owned(),
        build_id: Some("ab0c".to_owned()),
        instructions: 100,
    };
    assert_eq!(profile.programs, [program]);
}

const ROUND: u64 = 2039;
const STACK: u64 = 0x7ff_0000;
const INDICES: u64 = 0x200_0000;
const OTHER_DATA: u64 = 0x400_0000;
/// Number of windows of instructions that begin in the second round.
const WINDOWS: u64 = 2 * ROUND / 32 - ROUND / 32;

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

/// Returns the numbers of chained and of gathered lines among the lines that are used again.
fn chained(
    dependences: BlockDependences,
    references: impl Fn(u64, u64) -> Vec<Reference>,
) -> [u64; 2] {
    let (chunk, known) = looped(dependences, references);
    let mut profiler = Profiler::default();
    profiler.add(&chunk, &known);
    [Kind::Chained, Kind::Gathered].map(|kind| profiler.lines.over_cuts.uses(kind))
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
    assert_eq!(chained(rules, |_, place| vec![load(place)]), [ROUND, 0]);
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
    assert_eq!(chained(rules, references), [ROUND, 0]);
}

/// Shows that only the first of the 32 iterations in a window waits. The second round begins within
/// a window: its first index is not prefetched yet, and the next load waits for that index. 32
/// lines of indices are used in two intervals between switch points.
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
        [WINDOWS + 1, ROUND + 2 + 32 - (WINDOWS + 1)]
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
        [WINDOWS, ROUND - WINDOWS]
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
    assert_eq!(chained(rules, references), [ROUND, ROUND]);
}

#[test]
fn two_fields_of_a_line_that_comes_are_waited_for_once() {
    let [register, loaded] = sources(0);
    let rules = BlockDependences {
        references: vec![ReferenceDependence::Load(register); 2],
        registers: vec![(0, loaded)],
    };
    let references = |_, place| vec![load(place), load(place + 8)];
    assert_eq!(chained(rules, references), [ROUND, 0]);
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
            Some(vec![(Kind::Gathered, 100)]),
            None
        ]
    );
}
