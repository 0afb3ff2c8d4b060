//! Tests write buffers, TLBs, victim caches, inclusive and exclusive levels.

use switchcost_design::{
    Holds, Inclusion, Level, OnSwitch, Replacement, TlbLevel, VictimCache, Ways, WriteBuffers,
    WritePolicy,
};
use switchcost_units::Bytes;

use super::build::{MISS, Program, behind_free_fetches, data_cache, level, run, simulated};

/// Makes a write-through cache with write buffers.
fn buffered(count: u32, drain_cycles: u32) -> Level {
    Level {
        write: WritePolicy::Through,
        write_buffers: Some(WriteBuffers {
            count,
            drain_cycles,
        }),
        ..data_cache(8, Ways::Count(1))
    }
}

#[test]
fn a_store_a_cycle_fills_the_write_buffers() {
    for (buffers, drain, stores) in [
        (1, 1, 50),
        (1, 5, 50),
        (4, 6, 100),
        (4, 4, 100),
        (3, 9, 7),
        (8, 20, 8),
    ] {
        let mut program = Program::new(1);
        (0..stores).for_each(|_| program.store(0x1_0000));
        let result = run(buffered(buffers, drain), &program);
        // Store k (from 1) comes at cycle k if none waits, and is written at 1 + k x drain, one after another. Store
        // k > buffers waits for store k - buffers: until 1 + (k - buffers) x drain, which is never earlier than k for
        // drain >= buffers.
        let (buffers, drain) = (u64::from(buffers), u64::from(drain));
        assert!(drain >= buffers);
        let last = if stores > buffers {
            1 + (stores - buffers) * drain
        } else {
            stores
        };
        let shared = &result.hierarchies.shared;
        assert_eq!(
            (shared.cycles, shared.write_stall_cycles),
            (last, last - stores)
        );
        assert_eq!(level(&result, "D").store_misses, stores);
    }
}

#[test]
fn slow_stores_never_wait() {
    let mut program = Program::new(1);
    program.load(0x2_0000);
    for _ in 0..20 {
        program.store(0x1_0000);
        (0..3).for_each(|_| program.load(0x2_0000));
    }
    let result = run(buffered(1, 4), &program);
    // There is a store every 4 cycles, and each is written 4 cycles after it came.
    assert_eq!(result.hierarchies.shared.write_stall_cycles, 0);
    assert_eq!(result.hierarchies.shared.cycles, 81 + MISS);
}

fn tlb(entries: u32) -> TlbLevel {
    TlbLevel {
        name: "DTLB".to_owned(),
        holds: Holds::Data,
        entries,
        ways: Ways::Full,
        page: Bytes(4096),
        replacement: Replacement::Lru,
        seed: 0,
        hit_cycles: 0,
        miss_cycles: 30,
        on_switch: OnSwitch::Keep,
    }
}

#[test]
fn a_tlb_holds_its_pages_and_not_one_more() {
    for (pages, misses) in [(8, 8), (9, 9 * 4)] {
        let mut cache = data_cache(64, Ways::Full);
        cache.miss_cycles = 0;
        let mut design = behind_free_fetches(vec![cache]);
        design.tlbs.push(tlb(8));
        let mut program = Program::new(1);
        for _ in 0..4 {
            (0..pages).for_each(|page| program.load(0x10_0000 + page * 4096));
        }
        let result = simulated(&design, &program);
        assert_eq!(level(&result, "DTLB").load_misses, misses);
        assert_eq!(result.hierarchies.shared.cycles, 4 * pages + misses * 30);
    }
}

const TIMES: u64 = 40;

/// Makes a program that stores alternately to two lines that share a set in any direct-mapped cache
/// used here.
fn alternating() -> Program {
    let mut program = Program::new(1);
    (0..TIMES).for_each(|time| program.store(0x1_0000 + time % 2 * 0x1000));
    program
}

#[test]
fn a_victim_cache_removes_the_conflict_of_two_lines() {
    let mut cache = data_cache(8, Ways::Count(1));
    cache.victim = Some(VictimCache {
        lines: 1,
        hit_cycles: 1,
    });
    let result = run(cache.clone(), &alternating());
    // Both lines come in once; from then on each is in the victim cache when it is needed, and none
    // is written back.
    let data = level(&result, "D");
    assert_eq!(
        (
            data.store_misses,
            data.fills,
            data.victim_hits,
            data.write_backs
        ),
        (TIMES, 2, TIMES - 2, 0)
    );
    assert_eq!(
        result.hierarchies.shared.cycles,
        TIMES + 2 * MISS + (TIMES - 2)
    );

    cache.victim = None;
    let result = run(cache, &alternating());
    assert_eq!(level(&result, "D").fills, TIMES);
}

fn second(lines: u64) -> Level {
    Level {
        name: "L2".to_owned(),
        holds: Holds::Both,
        miss_cycles: 20,
        ..data_cache(lines, Ways::Count(1))
    }
}

#[test]
fn an_inclusive_level_takes_lines_from_the_first() {
    // The first level could hold both lines, but the second cannot.
    let mut cache = second(8);
    cache.inclusion = Inclusion::Inclusive;
    let result = simulated(
        &behind_free_fetches(vec![data_cache(8, Ways::Full), cache]),
        &alternating(),
    );
    let (first, second) = (level(&result, "D"), level(&result, "L2"));
    // Each store misses twice; each except the first evicts a line of the second level that is
    // modified in the first.
    assert_eq!(
        (first.store_misses, first.fills, first.write_backs),
        (TIMES, TIMES, 0)
    );
    // The stores are loads in the second level. The code's line is in another set.
    assert_eq!((second.load_misses, second.write_backs), (TIMES, TIMES - 1));
    // The first lookup of code misses the second level once, too.
    assert_eq!(
        result.hierarchies.shared.cycles,
        TIMES + TIMES * (MISS + 20) + 20
    );
}

#[test]
fn without_inclusion_the_first_level_keeps_them() {
    let result = simulated(
        &behind_free_fetches(vec![data_cache(8, Ways::Full), second(8)]),
        &alternating(),
    );
    assert_eq!(
        (level(&result, "D").fills, level(&result, "L2").load_misses),
        (2, 2)
    );
}

#[test]
fn an_exclusive_level_adds_its_room() {
    // Together, 8 lines in the first level and 8 in the second hold 16 lines, and no line twice.
    let mut cache = second(8);
    (cache.ways, cache.hit_cycles, cache.holds) = (Ways::Full, 3, Holds::Data);
    cache.inclusion = Inclusion::Exclusive;
    let design = behind_free_fetches(vec![data_cache(8, Ways::Full), cache]);
    let program = Program::of_walks(5, 0x1_0000, 16);
    let result = simulated(&design, &program);
    let (first, second) = (level(&result, "D"), level(&result, "L2"));
    // With LRU in the first level every load misses. 16 lines come from memory, all others from the
    // second level.
    assert_eq!((first.load_misses, first.fills), (80, 80));
    assert_eq!(
        (second.load_accesses, second.load_misses, second.fills),
        (80, 16, 0)
    );
    assert_eq!(
        result.hierarchies.shared.cycles,
        80 + 80 * MISS + 16 * 20 + 64 * 3
    );
    // The program has one line more than both levels hold, so the next line has always left.
    let program = Program::of_walks(5, 0x1_0000, 17);
    assert_eq!(
        level(&simulated(&design, &program), "L2").load_misses,
        17 * 5
    );
}
