//! Two processes in turn.

use design::{Design, Ways};
use simulation_result::LostTo;

use super::build::{LINE, MISS, Program, behind_free_fetches, data_cache, simulated};
use crate::support::address;

const LINES: u64 = 24;
const TURNS: u64 = 10;
/// Walks in a turn: the quantum is `ROUNDS * LINES` instructions.
const ROUNDS: u64 = 3;

/// Two processes walk over arrays of [`LINES`] lines; the second one's begins `shift` lines later in the cache.
fn ping_pong(shift: u64) -> Program {
    let mut program = Program::new(2);
    for turn in 0..TURNS {
        if turn > 0 {
            program.switch_to(turn as u32 % 2 + 1);
        }
        let start = 0x1_0000 + turn % 2 * shift * LINE;
        (0..ROUNDS).for_each(|_| program.walk(start, LINES));
    }
    program
}

fn design(ways: Ways) -> Design {
    behind_free_fetches(vec![data_cache(32, ways)])
}

#[test]
fn direct_mapped_pays_for_the_sets_that_both_use() {
    for shift in 0..=32 {
        // Sets of the first: 0..24. Of the second: shift..shift + 24, modulo 32.
        let both = (0..LINES).filter(|line| (line + shift) % 32 < LINES).count() as u64;
        let result = simulated(&design(Ways::Count(1)), &ping_pong(shift));
        let instructions = TURNS * ROUNDS * LINES;
        let alone = instructions + 2 * LINES * MISS;
        assert_eq!(result.hierarchies.private.cycles, alone);
        // Each comes back TURNS / 2 - 1 times and finds the shared sets taken.
        let returns = TURNS - 2;
        assert_eq!(result.hierarchies.shared.cycles - alone, returns * both * MISS);
        assert_eq!(result.hierarchies.flushed.cycles, instructions + TURNS * LINES * MISS);

        let (origins, losses) = (&result.found.origins[1], &result.found.losses[1]);
        assert_eq!((origins.intrinsic, origins.evicted_by_others), (2 * LINES, returns * both));
        assert_eq!((origins.aged_by_others, origins.flushed), (0, 0));
        assert_eq!((losses.returns, losses.resident_at_departure), (returns, returns * LINES));
        assert_eq!((losses.lost, losses.restored), (returns * both, returns * both));
        // Every turn but the first drives out the other's lines.
        let evicted: u64 = result.found.evictions.iter().filter(|one| one.0 == "D").map(|one| one.3).sum();
        assert_eq!(evicted, (TURNS - 1) * both);
    }
}

#[test]
fn what_the_kernel_drives_out_is_told_apart() {
    const KERNEL: u64 = 0xffff_8000_0000_0000;
    let mut program = Program::new(2);
    // Sets 0 to 23, then the other process in sets 0 to 7, and the kernel meanwhile in sets 8 to 11.
    program.walk(0x1_0000, LINES);
    program.switch_to(2);
    program.walk(0x2_0000, 8);
    program.walk(KERNEL + 8 * LINE, 4);
    program.switch_to(1);
    program.walk(0x1_0000, LINES);
    // The kernel drives out lines of the process that runs: no loss to others, it would do so alone, too.
    program.walk(KERNEL + 16 * LINE, 2);
    program.walk(0x1_0000, LINES);
    let result = simulated(&design(Ways::Count(1)), &program);
    let lost = result.found.lost_to.expect("lookups are compared");
    let of_programs = LostTo { processes: 8 * MISS, kernel: 4 * MISS, ..LostTo::default() };
    assert_eq!((lost.programs, lost.kernel), (of_programs, LostTo::default()));
    let origins = &result.found.origins[1];
    assert_eq!((origins.evicted_by_others, origins.evicted_by_kernel, origins.aged_by_others), (8, 4, 0));
    // Only lines of the process are lost, and its own count among those that it has.
    let losses = &result.found.losses[1];
    assert_eq!((losses.returns, losses.resident_at_departure, losses.lost), (1, LINES, 12));
    let by_kernel: Vec<_> = result.found.evictions.iter().filter(|one| one.1 == address::KERNEL).collect();
    assert_eq!(by_kernel, [&("D".to_owned(), address::KERNEL, 1, 6)]);
}

#[test]
fn lru_loses_all_or_nothing() {
    let program = |lines: u64| {
        let mut program = Program::new(2);
        for turn in 0..TURNS {
            if turn > 0 {
                program.switch_to(turn as u32 % 2 + 1);
            }
            (0..ROUNDS).for_each(|_| program.walk(0x1_0000, lines));
        }
        program
    };
    for lines in 1..=32 {
        let result = simulated(&design(Ways::Full), &program(lines));
        // Two arrays of up to 16 lines fit beside each other. Of longer ones the first line has left; it drives out the
        // oldest one left, which is the one needed soonest, and so on through the whole array.
        let lost_a_switch = if 2 * lines <= 32 { 0 } else { lines };
        let excess = result.hierarchies.shared.cycles - result.hierarchies.private.cycles;
        assert_eq!(excess, (TURNS - 2) * lost_a_switch * MISS, "{lines} lines");
    }
}

#[test]
fn a_flushed_cache_starts_each_turn_cold() {
    let mut design = design(Ways::Count(1));
    design.levels[1].on_switch = design::OnSwitch::Flush;
    // The arrays lie beside each other where they can: only the flush costs something.
    let result = simulated(&design, &ping_pong(4));
    assert_eq!(result.hierarchies.shared.cycles, result.hierarchies.flushed.cycles);
    let origins = &result.found.origins[1];
    assert_eq!((origins.intrinsic, origins.flushed), (2 * LINES, (TURNS - 2) * LINES));
    assert_eq!((origins.evicted_by_others, origins.aged_by_others), (0, 0));
}
