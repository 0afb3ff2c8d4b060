//! Tests two processes that alternate.

use std::collections::BTreeMap;

use proptest::prelude::*;
use switchcost_cachesim::Options;
use switchcost_design::result::{GainedCycles, LostTo, PrivateBy};
use switchcost_design::{Design, Level, OnSwitch, Replacement, Ways};
use switchcost_record::prices::Kind;
use switchcost_units::Bytes;

use super::build::{
    LINE, MISS, Program, Simulated, behind_free_fetches, data_cache, simulated, simulated_by,
    with_physical_tags,
};
use crate::findings::feed;

const LINES: u64 = 24;
const TURNS: u64 = 10;
/// Number of walks in a time slice: the quantum is `ROUNDS * LINES` instructions.
const ROUNDS: u64 = 3;

/// Makes alternating time slices of two tasks, each of which walks over an array of `lines` lines.
fn alternating(mut program: Program, starts: [u64; 2], lines: u64) -> Program {
    for turn in 0..TURNS {
        if turn > 0 {
            program.switch_to(turn as u32 % 2 + 1);
        }
        (0..ROUNDS).for_each(|_| program.walk(starts[turn as usize % 2], lines));
    }
    program
}

/// Makes two processes whose arrays have [`LINES`] lines; the second array begins `shift` lines
/// later in the cache.
fn ping_pong(shift: u64) -> Program {
    let starts = [0x1_0000, 0x1_0000 + shift * LINE];
    alternating(Program::new(2), starts, LINES)
}

fn design(ways: Ways) -> Design {
    behind_free_fetches(vec![data_cache(32, ways)])
}

#[test]
fn direct_mapped_pays_for_the_sets_that_both_use() {
    for shift in 0..=32 {
        // Sets of the first process are 0..24; those of the second are shift..shift + 24, modulo
        // 32.
        let both = (0..LINES)
            .filter(|line| (line + shift) % 32 < LINES)
            .count() as u64;
        let result = simulated(&design(Ways::Count(1)), &ping_pong(shift));
        let instructions = TURNS * ROUNDS * LINES;
        let alone = instructions + 2 * LINES * MISS;
        assert_eq!(result.hierarchies.private.cycles, alone);
        // Each process returns TURNS / 2 - 1 times and finds the shared sets occupied.
        let returns = TURNS - 2;
        assert_eq!(
            result.hierarchies.shared.cycles - alone,
            returns * both * MISS
        );
        assert_eq!(
            result.hierarchies.flushed.cycles,
            instructions + TURNS * LINES * MISS
        );

        let (origins, losses) = (&result.found.origins[1], &result.found.losses[1]);
        assert_eq!(
            (origins.intrinsic, origins.evicted_by_others),
            (2 * LINES, returns * both)
        );
        assert_eq!((origins.aged_by_others, origins.flushed), (0, 0));
        assert_eq!(
            (losses.returns, losses.resident_at_departure),
            (returns, returns * LINES)
        );
        assert_eq!(
            (losses.lost, losses.restored),
            (returns * both, returns * both)
        );
        // In every time slice except the first, a process evicts the other's lines.
        let evictions = result.found.evictions.iter();
        let evictions = evictions.filter(|one| one.level == "D");
        let evicted: u64 = evictions.map(|one| one.lines).sum();
        assert_eq!(evicted, (TURNS - 1) * both);
    }
}

fn threads(starts: [u64; 2]) -> Program {
    alternating(Program::of_threads(2), starts, LINES)
}

#[test]
fn threads_drive_out_lines_of_each_other_where_each_task_counts_as_one() {
    // Both processes use sets 0 to 23, so each loses all of its lines in the other's time slice.
    let program = threads([0x1_0000, 0x2_0000]);
    let mut design = design(Ways::Count(1));
    // Threads share one address space, so nothing is flushed.
    design.levels[1].on_switch = OnSwitch::Flush;
    let together = simulated_by(PrivateBy::Process, &design, &program);
    assert_eq!(together.hierarchies.shared, together.hierarchies.private);
    let apart = simulated_by(PrivateBy::Task, &design, &program);
    let instructions = TURNS * ROUNDS * LINES;
    assert_eq!(apart.hierarchies.shared, together.hierarchies.shared);
    assert_eq!(
        apart.hierarchies.private.cycles,
        instructions + 2 * LINES * MISS
    );
    let (returns, origins) = (TURNS - 2, &apart.found.origins[1]);
    assert_eq!(
        (origins.intrinsic, origins.evicted_by_others),
        (2 * LINES, returns * LINES)
    );
    assert_eq!(
        (apart.found.losses[1].returns, apart.found.losses[1].lost),
        (returns, returns * LINES)
    );
}

#[test]
fn threads_find_lines_of_each_other_for_the_first_time_once() {
    let program = threads([0x1_0000; 2]);
    let apart = simulated_by(PrivateBy::Task, &design(Ways::Count(1)), &program);
    let excess = |of: &GainedCycles| (of.first_touches_of_data, of.others, of.state);
    assert_eq!(excess(&apart.found.gained_cycles), (LINES * MISS, 0, 0));
    assert_eq!(apart.found.origins[1].intrinsic, LINES);
}

#[test]
fn what_the_kernel_drives_out_is_distinguished() {
    const KERNEL: u64 = 0xffff_8000_0000_0000;
    let mut program = Program::new(2);
    // The process uses sets 0 to 23, then the other process sets 0 to 7, and the kernel sets 8 to
    // 11 in between.
    program.walk(0x1_0000, LINES);
    program.switch_to(2);
    program.walk(0x2_0000, 8);
    program.walk(KERNEL + 8 * LINE, 4);
    program.switch_to(1);
    program.walk(0x1_0000, LINES);
    // The kernel evicts lines of the running process, which is no loss to others, because it also
    // happens alone.
    program.walk(KERNEL + 16 * LINE, 2);
    program.walk(0x1_0000, LINES);
    let result = simulated(&design(Ways::Count(1)), &program);
    let lost = result.found.lost_cycles;
    let of_programs = LostTo {
        processes: 8 * MISS,
        kernel: 4 * MISS,
        ..LostTo::default()
    };
    assert_eq!(
        (lost.programs, lost.kernel),
        (of_programs, LostTo::default())
    );
    let origins = &result.found.origins[1];
    assert_eq!(
        (
            origins.evicted_by_others,
            origins.evicted_by_kernel,
            origins.aged_by_others
        ),
        (8, 4, 0)
    );
    // Only lines of the process are lost, and only its own lines are counted as present.
    let losses = &result.found.losses[1];
    assert_eq!(
        (losses.returns, losses.resident_at_departure, losses.lost),
        (1, LINES, 12)
    );
    let evictions = result.found.evictions.iter();
    let by_kernel: Vec<_> = evictions
        .filter(|one| one.evictor.is_none())
        .map(|one| (one.level.as_str(), one.victim, one.lines))
        .collect();
    assert_eq!(by_kernel, [("D", Some(0), 6)]);
}

#[test]
fn lru_loses_all_or_nothing() {
    for lines in 1..=32 {
        let result = simulated(
            &design(Ways::Full),
            &alternating(Program::new(2), [0x1_0000; 2], lines),
        );
        // Two arrays of up to 16 lines fit together. The first line of longer arrays has left; it
        // evicts the oldest remaining line, which is the next one needed, and so on through the
        // whole array.
        let lost_a_switch = if 2 * lines <= 32 { 0 } else { lines };
        let excess = result.hierarchies.shared.cycles - result.hierarchies.private.cycles;
        assert_eq!(excess, (TURNS - 2) * lost_a_switch * MISS, "{lines} lines");
    }
}

#[test]
fn a_flushed_cache_starts_each_turn_cold() {
    let mut design = design(Ways::Count(1));
    design.levels[1].on_switch = OnSwitch::Flush;
    // The arrays fit next to each other, so only the flush costs something.
    let result = simulated(&design, &ping_pong(4));
    assert_eq!(
        result.hierarchies.shared.cycles,
        result.hierarchies.flushed.cycles
    );
    let origins = &result.found.origins[1];
    assert_eq!(
        (origins.intrinsic, origins.flushed),
        (2 * LINES, (TURNS - 2) * LINES)
    );
    assert_eq!((origins.evicted_by_others, origins.aged_by_others), (0, 0));
}

const LIBRARY: u64 = 0x50_0000;

/// The second process finds eight lines that the first has loaded: a first touch, once. Then the
/// second process's own array of 32 lines evicts them from its cache, the first process brings them
/// in again, and the second finds them: a gain, each time.
#[test]
fn a_line_that_another_loads_is_a_first_touch_once_and_then_a_gain() {
    let design = with_physical_tags(design(Ways::Full));
    let mut program = Program::new(2);
    program.map_library(LIBRARY);
    program.walk(LIBRARY, 8);
    program.switch_to(2);
    program.map_library(LIBRARY);
    program.walk(LIBRARY, 8);
    for _ in 0..3 {
        program.walk(0x1_0000, 32);
        program.switch_to(1);
        program.walk(LIBRARY, 8);
        program.switch_to(2);
        program.walk(LIBRARY, 8);
    }
    let result = simulated(&design, &program);
    let wanted = GainedCycles {
        others: 3 * 8 * MISS,
        first_touches_of_data: 8 * MISS,
        ..GainedCycles::default()
    };
    assert_eq!(result.found.gained_cycles, wanted);
    let difference = &result.found.miss_differences[1];
    assert_eq!((difference.gained, difference.first_touches), (4 * 8, 8));
}

/// Generates time slices of two processes, as the lines that each loads.
fn turns() -> impl Strategy<Value = Vec<Vec<u64>>> {
    prop::collection::vec(prop::collection::vec(0..24_u64, 1..40), 2..12)
}

/// Simulates time slices of two processes under `policy`. The lines of both are in one library
/// (`is_shared`), or in separate arrays.
fn in_turn(policy: Replacement, turns: &[Vec<u64>], is_shared: bool) -> Simulated {
    let mut program = Program::new(2);
    for (number, lines) in turns.iter().enumerate() {
        let task = number as u32 % 2 + 1;
        if number > 0 {
            program.switch_to(task);
        }
        if number < 2 && is_shared {
            program.map_library(LIBRARY);
        }
        let start = if is_shared {
            LIBRARY
        } else {
            0x1_0000 * u64::from(task)
        };
        lines
            .iter()
            .for_each(|line| program.load(start + line * LINE));
    }
    let level = Level {
        replacement: policy,
        ..data_cache(16, Ways::Count(8))
    };
    simulated(
        &with_physical_tags(behind_free_fetches(vec![level])),
        &program,
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    /// Shows that the simulator and the oracle split the excess in the same way for any policy, and
    /// that the parts add up. A process that shares no line gains nothing from others, and under
    /// LRU everything that it loses is lost to others.
    #[test]
    fn the_excess_is_split_into_what_is_lost_and_gained_whatever_the_policy(turns in turns(), is_shared: bool) {
        for policy in [Replacement::Lru, Replacement::Fifo, Replacement::Random, Replacement::Srrip, Replacement::TreePlru] {
            let result = in_turn(policy, &turns, is_shared);
            let (lost, gained) = (result.found.lost_cycles, result.found.gained_cycles);
            let excess = result.hierarchies.shared.cycles as i64 - result.hierarchies.private.cycles as i64;
            let all = gained.others + gained.first_touches() + gained.state;
            prop_assert_eq!(lost.total() as i64 - all as i64, excess, "{:?}", policy);
            if !is_shared {
                prop_assert_eq!(all, gained.state, "{:?}", policy);
            }
            if !is_shared && policy == Replacement::Lru {
                prop_assert_eq!((gained.state, lost.total()), (0, lost.to_others()));
            }
        }
    }
}

/// Returns the lines of 64 bytes lost to another process, by kind of request.
fn lost(program: &Program) -> BTreeMap<Kind, u64> {
    let cache = Level {
        size: Bytes(512 * 64),
        line: Bytes(64),
        ..data_cache(0, Ways::Count(1))
    };
    let designs = [behind_free_fetches(vec![cache])];
    let (outcome, _) = feed(
        &designs,
        &Options::default(),
        std::slice::from_ref(&program.chunk),
    );
    let detail = outcome.designs[0].detail.as_ref().expect("in full");
    let mut all = BTreeMap::new();
    for lost in &detail.lost_lines {
        *all.entry(lost.kind).or_default() += lost.lines;
    }
    all
}

/// Makes a process that walks 512 lines in an order, another process that evicts all of them, and
/// one more walk by the first.
fn walked_again(order: impl Fn(u64) -> u64) -> Program {
    let mut program = Program::new(2);
    let walk =
        |program: &mut Program| (0..512).for_each(|i| program.load(0x10_0000 + order(i) * 64));
    walk(&mut program);
    program.switch_to(2);
    (0..512).for_each(|i| program.load(0x20_0000 + i * 64));
    program.switch_to(1);
    walk(&mut program);
    program
}

#[test]
fn lost_lines_are_distinguished_by_how_they_are_asked_for() {
    // Two lines train the stream, of which one is under way when the other is requested. The first
    // 17 lines follow other instructions.
    let in_order = [
        (Kind::Sequential, 495),
        (Kind::SequentialSpaced, 15),
        (Kind::GatheredSpaced, 1),
        (Kind::Dependent, 1),
    ];
    assert_eq!(lost(&walked_again(|i| i)), BTreeMap::from(in_order));
    // The loads are of every fifth line, five times, because 512 is no multiple of 5.
    let strided = lost(&walked_again(|i| i * 5 % 512));
    assert!(strided[&Kind::Strided] > 480, "{strided:?}");
    // Loads from arbitrary places, one per instruction: except for the first of each 64, others are
    // under way. A linear congruential generator of full period gives each line once, without a
    // pattern (Knuth).
    let jumps: Vec<u64> = std::iter::successors(Some(7), |line| Some((line * 269 + 83) % 512))
        .take(512)
        .collect();
    let anywhere = lost(&walked_again(|i| jumps[i as usize]));
    assert!(anywhere[&Kind::Gathered] > 400, "{anywhere:?}");
}
