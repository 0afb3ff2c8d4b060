//! Tests partitions, in which a program may fill only some ways.

use switchcost_design::{Design, Level, Replacement, Ways};

use super::build::{
    LINE, MISS, Program, Simulated, behind_free_fetches, data_cache, level, simulated,
};

const TURNS: u64 = 10;

/// Simulates process 1 walking over 16 lines, two in each set, and process 2 over 64 lines that it
/// never finds.
fn one_scans(design: &Design) -> Simulated {
    let mut program = Program::new(2);
    for turn in 0..TURNS {
        if turn > 0 {
            program.switch_to(turn as u32 % 2 + 1);
        }
        if turn % 2 == 0 {
            program.walk(0x1_0000, 16)
        } else {
            program.walk(0x2_0000 + turn * 64 * LINE, 64)
        }
    }
    simulated(design, &program)
}

fn design(replacement: Replacement, partition: Option<&str>) -> Design {
    let partition = partition.map(|text| text.parse().expect("a partition"));
    behind_free_fetches(vec![Level {
        replacement,
        partition,
        ..data_cache(32, Ways::Count(4))
    }])
}

#[test]
fn a_program_keeps_what_is_in_its_own_ways() {
    let misses = |result: &Simulated| level(result, "D").load_misses;
    let cold = 16 + TURNS / 2 * 64;
    for replacement in [
        Replacement::Lru,
        Replacement::Fifo,
        Replacement::TreePlru,
        Replacement::Srrip,
    ] {
        let shared = one_scans(&design(replacement, None));
        assert_eq!(
            misses(&shared),
            cold + (TURNS / 2 - 1) * 16,
            "{replacement}"
        );
        let divided = one_scans(&design(replacement, Some("process:1:3+process:2:c")));
        assert_eq!(misses(&divided), cold, "{replacement}");
        let hierarchies = &divided.hierarchies;
        assert_eq!(
            hierarchies.shared.cycles, hierarchies.private.cycles,
            "{replacement}"
        );
    }
    for replacement in [Replacement::Random, Replacement::Drrip, Replacement::Ship] {
        let divided = one_scans(&design(replacement, Some("process:1:3+default:c")));
        assert_eq!(misses(&divided), cold, "{replacement}");
    }
}

/// Shows that a program has only its own ways even when it runs alone, because fewer ways are no
/// cost of switches.
#[test]
fn a_program_has_no_more_ways_alone() {
    let result = one_scans(&design(Replacement::Lru, Some("walk:1")));
    let private = &result.hierarchies.private;
    let instructions = TURNS / 2 * (16 + 64);
    assert_eq!(private.cycles, instructions + instructions * MISS);
    assert_eq!(result.hierarchies.shared.cycles, private.cycles);
}

#[test]
fn ways_in_common_are_lost_to_others() {
    let result = one_scans(&design(Replacement::Lru, Some("process:1:3+process:2:e")));
    let origins = &result.found.origins[1];
    // Each set has one of two lines.
    assert_eq!(
        (origins.evicted_by_others, origins.aged_by_others),
        (8 * (TURNS / 2 - 1), 0)
    );
    let hierarchies = &result.hierarchies;
    assert_eq!(
        hierarchies.shared.cycles - hierarchies.private.cycles,
        8 * (TURNS / 2 - 1) * MISS
    );
}
