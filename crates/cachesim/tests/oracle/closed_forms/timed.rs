//! Tests buses, lines in transfer, and streams that begin late.

use switchcost_design::result::HierarchyCounts;
use switchcost_design::{Level, PageOrder, StreamBuffers, Ways};

use super::build::{
    LINE, MISS, Program, Simulated, behind_free_fetches, data_cache, level, run, simulated,
    with_physical_tags,
};

const LINES: u64 = 40;
const PAGE_LINES: u64 = 4096 / LINE;
/// Bus cycles per line: longer than a miss and the instruction before it.
const BUS: u64 = 20;

fn with_bus(cycles: u64) -> Level {
    Level {
        bus_cycles: cycles as u32,
        ..data_cache(8, Ways::Count(1))
    }
}

fn with_streams(streams: StreamBuffers) -> Level {
    Level {
        streams: Some(streams),
        ..data_cache(1024, Ways::Full)
    }
}

/// Returns a stream buffer of `depth` lines, each of which takes as long to arrive as a missed
/// line.
fn timed(depth: u32) -> StreamBuffers {
    StreamBuffers {
        depth,
        hit_cycles: 2,
        timed: true,
        ..StreamBuffers::default()
    }
}

fn shared(result: &Simulated) -> &HierarchyCounts {
    &result.hierarchies.shared
}

fn walk(lines: u64) -> Program {
    Program::of_walks(1, 0x1_0000, lines)
}

/// Makes a program that accesses two lines of one set alternately.
fn alternating(is_store: bool) -> Program {
    let mut program = Program::new(1);
    for time in 0..LINES {
        let address = 0x1_0000 + time % 2 * 0x1000;
        if is_store {
            program.store(address)
        } else {
            program.load(address)
        }
    }
    program
}

#[test]
fn misses_come_at_the_pace_of_the_bus() {
    // An instruction and a miss take as long as the bus is occupied, so nothing ever waits.
    let free = run(with_bus(MISS + 1), &walk(LINES));
    assert_eq!(shared(&free).cycles, LINES * (MISS + 1));
    // Each fetch except the first waits until the one before is complete.
    let busy = run(with_bus(BUS), &walk(LINES));
    assert_eq!(shared(&busy).cycles, 1 + MISS + (LINES - 1) * BUS);
    assert_eq!(level(&busy, "D").cycles, MISS + (LINES - 1) * (BUS - 1));
    assert_eq!(shared(&busy).write_stall_cycles, 0);
}

#[test]
fn a_line_written_back_takes_the_bus_as_long_as_one_that_is_fetched() {
    let loads = run(with_bus(BUS), &alternating(false));
    assert_eq!(shared(&loads).cycles, 1 + MISS + (LINES - 1) * BUS);
    // The second store evicts the first modified line. From the third store on, each waits for a
    // fetch and a write-back.
    let stores = run(with_bus(BUS), &alternating(true));
    assert_eq!(
        shared(&stores).cycles,
        1 + MISS + BUS + (LINES - 2) * 2 * BUS
    );
    assert_eq!(level(&stores, "D").write_backs, LINES - 1);
}

#[test]
fn the_bus_is_taken_by_the_lines_of_a_flush() {
    let mut program = Program::new(2);
    (0..8).for_each(|line| program.store(0x1_0000 + line * LINE));
    program.switch_to(2);
    program.load(0x2_0000);
    let result = run(with_bus(BUS), &program);
    // In the flushed view, 8 lines are queued after the last fetch, and the load after these lines.
    let flushed = &result.hierarchies.flushed;
    let begun = 1 + MISS + 7 * BUS;
    let is_free = 1 + 8 * BUS;
    assert_eq!(flushed.cycles, is_free + 8 * BUS + MISS);
    // In the private view of the second process, nothing was ever stored.
    assert_eq!(result.hierarchies.private.cycles, begun + 1 + MISS);
}

#[test]
fn a_line_on_its_way_is_waited_for() {
    // With one line ahead, each line is requested when the one before is found, so only the
    // instruction's time is hidden.
    let result = run(with_streams(timed(1)), &walk(LINES));
    assert_eq!(shared(&result).cycles, 1 + MISS + (LINES - 1) * MISS);
    assert_eq!(level(&result, "D").stream_hits, LINES - 1);
    // Only the first of four lines ahead is waited for; the others arrive in that time, and all
    // later lines are present.
    let four = run(with_streams(timed(4)), &walk(LINES));
    assert_eq!(
        shared(&four).cycles,
        1 + MISS + MISS + (LINES - 2) * (1 + 2)
    );
    // A stream without time costs only its hits.
    let untimed = run(
        with_streams(StreamBuffers {
            timed: false,
            ..timed(1)
        }),
        &walk(LINES),
    );
    assert_eq!(shared(&untimed).cycles, 1 + MISS + (LINES - 1) * (1 + 2));
}

#[test]
fn work_between_two_lines_hides_the_way_of_the_second() {
    for (idle, more) in [
        (0, MISS),
        (3, MISS),
        (4, MISS),
        (5, 1 + 5 + 2),
        (50, 1 + 50 + 2),
    ] {
        let mut program = Program::new(1);
        for line in 0..LINES {
            program.load(0x1_0000 + line * LINE);
            (0..idle).for_each(|_| program.load(0x1_0000));
        }
        let result = run(with_streams(timed(1)), &program);
        // A line is found 1 + idle cycles after its request: it takes the rest of a miss, but at
        // least 2.
        assert_eq!(
            shared(&result).cycles,
            1 + MISS + (LINES - 1) * more + idle,
            "{idle} loads between two lines"
        );
    }
}

#[test]
fn streams_run_at_the_pace_of_the_bus() {
    let cache = Level {
        bus_cycles: 10,
        ..with_streams(timed(4))
    };
    let result = run(cache, &walk(LINES));
    assert_eq!(shared(&result).cycles, 1 + MISS + (LINES - 1) * 10);
}

#[test]
fn a_stream_begins_with_the_last_fill_of_a_run() {
    for after in [1, 2, 3, 5] {
        let streams = StreamBuffers {
            depth: 2,
            hit_cycles: 2,
            allocate_after: after,
            ..StreamBuffers::default()
        };
        let result = run(with_streams(streams), &walk(3 * PAGE_LINES));
        // A stream ends with its page, and so does a run of fills: each page has the same number of
        // fills.
        let data = level(&result, "D");
        assert_eq!(
            (data.fills, data.stream_hits),
            (3 * u64::from(after), 3 * (PAGE_LINES - u64::from(after)))
        );
    }
}

#[test]
fn lines_that_do_not_follow_each_other_begin_no_stream() {
    let streams = StreamBuffers {
        count: 2,
        depth: 2,
        allocate_after: 2,
        ..StreamBuffers::default()
    };
    let mut program = Program::new(1);
    (0..LINES).for_each(|line| program.load(0x1_0000 + 2 * line * LINE));
    let apart = run(with_streams(streams), &program);
    assert_eq!(
        (level(&apart, "D").fills, level(&apart, "D").prefetches),
        (LINES, 0)
    );
    // Two runs are remembered at a time, and a third evicts the first.
    for (walks, prefetches) in [(2, 2 * 2), (3, 0)] {
        let mut program = Program::new(1);
        for line in 0..2 {
            (0..walks).for_each(|walk| program.load(0x1_0000 + walk * 0x1_0000 + line * LINE));
        }
        let result = run(with_streams(streams), &program);
        assert_eq!(level(&result, "D").prefetches, prefetches);
    }
}

#[test]
fn frames_in_a_row_fill_a_cache_evenly() {
    let cache = data_cache(4 * PAGE_LINES, Ways::Count(1));
    let mut design = with_physical_tags(behind_free_fetches(vec![cache]));
    let program = Program::of_walks(5, 0x1_0000, 4 * PAGE_LINES);
    let mut misses = |order| {
        design.pages.as_mut().expect("pages").order = order;
        level(&simulated(&design, &program), "D").load_misses
    };
    assert_eq!(misses(PageOrder::Consecutive), 4 * PAGE_LINES);
    // With random frames, two of the four pages share their sets.
    assert!(misses(PageOrder::Random) > 4 * PAGE_LINES);
}
