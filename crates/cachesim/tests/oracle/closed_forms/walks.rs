//! Tests walks of one process through one cache.

use switchcost_design::{Level, Prefetch, Replacement, StreamBuffers, Ways};

use super::build::{LINE, MISS, Program, data_cache, level, run};

const ROUNDS: u64 = 5;

fn rounds(lines: u64) -> Program {
    Program::of_walks(ROUNDS, 0x1_0000, lines)
}

#[test]
fn what_fits_misses_once() {
    for ways in [Ways::Count(1), Ways::Count(2), Ways::Count(8), Ways::Full] {
        let result = run(data_cache(32, ways), &rounds(32));
        let data = level(&result, "D");
        // 32 lines come in once each; 32 x 5 loads take one cycle per instruction.
        assert_eq!(
            (data.load_accesses, data.load_misses, data.fills),
            (160, 32, 32)
        );
        assert_eq!(result.hierarchies.shared.cycles, 160 + 32 * MISS);
        assert_eq!(result.hierarchies.private.cycles, 160 + 32 * MISS);
    }
}

#[test]
fn one_line_more_than_lru_and_fifo_hold_always_misses() {
    for replacement in [Replacement::Lru, Replacement::Fifo] {
        let mut cache = data_cache(8, Ways::Full);
        cache.replacement = replacement;
        let result = run(cache, &rounds(9));
        // The next line needed is the one that left last: 9 x 5 of 9 x 5 loads miss.
        assert_eq!(level(&result, "D").load_misses, 45);
        assert_eq!(result.hierarchies.shared.cycles, 45 + 45 * MISS);
    }
}

#[test]
fn one_line_too_many_in_a_direct_mapped_cache_costs_two_misses_a_round() {
    let result = run(data_cache(8, Ways::Count(1)), &rounds(9));
    // Lines 0 and 8 share a set and drive each other out; the other 7 miss once: 7 + 2 x 5.
    assert_eq!(level(&result, "D").load_misses, 7 + 2 * ROUNDS);
}

#[test]
fn sets_need_not_be_a_power_of_two() {
    // 6 sets of 2 ways hold 12 lines in a row, wherever they begin.
    let program = Program::of_walks(ROUNDS, 0x1_0050, 12);
    let result = run(data_cache(12, Ways::Count(2)), &program);
    assert_eq!(level(&result, "D").load_misses, 12);
}

#[test]
fn stores_are_written_back_when_their_lines_leave() {
    let mut program = Program::new(1);
    (0..ROUNDS).for_each(|_| (0..16).for_each(|line| program.store(0x1_0000 + line * LINE)));
    let result = run(data_cache(8, Ways::Count(1)), &program);
    // Each of the 8 sets is shared by two lines: all 16 x 5 stores miss, all but the first in each set drive out a
    // modified line.
    let data = level(&result, "D");
    assert_eq!(
        (data.store_misses, data.fills, data.write_backs),
        (80, 80, 80 - 8)
    );
}

/// Number of lines in a page, at whose end prefetching stops.
const PAGE_LINES: u64 = 4096 / LINE;

fn with_next_line() -> Level {
    Level {
        prefetch: Prefetch::NextLine,
        ..data_cache(1024, Ways::Full)
    }
}

#[test]
fn the_next_line_halves_the_misses_of_a_sequential_walk() {
    let program = Program::of_walks(1, 0x1_0000, 2 * PAGE_LINES);
    let result = run(with_next_line(), &program);
    // Each even line misses and brings in the odd one behind it.
    let data = level(&result, "D");
    assert_eq!(
        (data.load_misses, data.fills, data.prefetches),
        (PAGE_LINES, PAGE_LINES, PAGE_LINES)
    );
    assert_eq!(
        result.hierarchies.shared.cycles,
        2 * PAGE_LINES + PAGE_LINES * MISS
    );
}

#[test]
fn the_next_line_is_not_fetched_from_another_page() {
    let program = Program::of_walks(1, 0x1_0000 + LINE, PAGE_LINES - 1);
    let result = run(with_next_line(), &program);
    // Lines 1, 3, 5 ... miss; the page ends after the last one.
    let data = level(&result, "D");
    assert_eq!(
        (data.load_misses, data.prefetches),
        (PAGE_LINES / 2, PAGE_LINES / 2 - 1)
    );
}

#[test]
fn a_stream_buffer_delivers_a_sequential_walk() {
    let mut cache = data_cache(1024, Ways::Full);
    cache.streams = Some(StreamBuffers {
        count: 1,
        depth: 4,
        hit_cycles: 2,
        ..StreamBuffers::default()
    });
    let program = Program::of_walks(1, 0x1_0000, 2 * PAGE_LINES);
    let result = run(cache, &program);
    // The first line of each page is filled; the others come from the buffer, which requests each
    // of them once.
    let data = level(&result, "D");
    let streamed = 2 * (PAGE_LINES - 1);
    assert_eq!((data.load_misses, data.fills), (2 * PAGE_LINES, 2));
    assert_eq!((data.stream_hits, data.prefetches), (streamed, streamed));
    assert_eq!(
        result.hierarchies.shared.cycles,
        2 * PAGE_LINES + 2 * MISS + 2 * streamed
    );
}
