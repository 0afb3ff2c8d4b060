//! Tests prefetchers that react to requests.

use switchcost_design::{Level, Streamer, StrideKey, StridePrefetcher, Ways};

use super::build::{LINE, Program, data_cache, level, run};

const START: u64 = 0x1_0000;

/// Returns misses, prefetches, and lookups that found a prefetched line.
fn of_loads(cache: Level, addresses: impl Iterator<Item = u64>) -> (u64, u64, u64) {
    let mut program = Program::new(1);
    addresses.for_each(|address| program.load(address));
    let result = run(cache, &program);
    let data = level(&result, "D");
    (data.load_misses, data.prefetches, data.prefetch_hits)
}

const STRIDE: StridePrefetcher = StridePrefetcher {
    entries: 4,
    degree: 1,
    distance: 1,
    by: StrideKey::Instruction,
};

fn with_stride(stride: StridePrefetcher) -> Level {
    Level {
        stride: Some(stride),
        ..data_cache(256, Ways::Full)
    }
}

#[test]
fn a_stride_that_comes_twice_is_followed() {
    // The third of 20 loads has the stride of the second.
    let upwards = |step: u64| (0..20).map(move |load| START + load * step);
    assert_eq!(
        of_loads(with_stride(STRIDE), upwards(2 * LINE)),
        (3, 18, 17)
    );
    let downwards = (0..20).map(|load| START + 4092 - load * 2 * LINE);
    assert_eq!(of_loads(with_stride(STRIDE), downwards), (3, 18, 17));
    // With distance two and degree two, the third load prefetches the fifth and sixth line; the
    // fourth is missed.
    let far = StridePrefetcher {
        degree: 2,
        distance: 2,
        ..STRIDE
    };
    assert_eq!(of_loads(with_stride(far), upwards(2 * LINE)), (4, 19, 16));
}

#[test]
fn a_stride_ends_at_its_page_and_is_a_line_at_least() {
    let stride = StridePrefetcher {
        degree: 4,
        ..STRIDE
    };
    // The loads are consecutive words of one line, and four lines after it are prefetched.
    assert_eq!(
        of_loads(with_stride(stride), (0..3).map(|load| START + load * 4)),
        (1, 4, 0)
    );
    // Two lines remain to the end of the page.
    assert_eq!(
        of_loads(
            with_stride(stride),
            (0..3).map(|load| START + 4096 - (5 - load) * LINE)
        ),
        (3, 2, 0)
    );
}

#[test]
fn strides_of_two_instructions_in_turn_are_one_only_by_page() {
    let loads = |by| {
        let mut program = Program::new(1);
        for load in 0..10 {
            program.load_by(
                0x40_0140 + load % 2 * 0x40,
                START + load * (2 + load % 2) * LINE,
            );
        }
        let result = run(with_stride(StridePrefetcher { by, ..STRIDE }), &program);
        level(&result, "D").prefetches
    };
    assert!(loads(StrideKey::Instruction) > 0);
    assert_eq!(loads(StrideKey::Page), 0);
}

#[test]
fn a_page_that_is_gone_through_is_fetched_ahead() {
    let streamer = Streamer {
        entries: 4,
        degree: 2,
        distance: 4,
    };
    let cache = || Level {
        streamer: Some(streamer),
        ..data_cache(256, Ways::Full)
    };
    // After two steps, two lines are prefetched at each request until the farthest is four lines
    // ahead, then one.
    let downwards = |lines: u64| (0..lines).map(|line| START + 4096 - (line + 1) * LINE);
    assert_eq!(of_loads(cache(), downwards(3)), (3, 2, 0));
    assert_eq!(of_loads(cache(), downwards(5)), (3, 6, 2));
    assert_eq!(of_loads(cache(), downwards(20)), (3, 21, 17));
    let upwards = |lines: u64| (0..lines).map(|line| START + line * LINE);
    assert_eq!(of_loads(cache(), upwards(256)), (3, 253, 253));
    // The loads alternate between two directions.
    assert_eq!(
        of_loads(
            cache(),
            [4, 5, 4, 5, 4, 5]
                .into_iter()
                .map(|line| START + line * LINE)
        ),
        (2, 0, 0)
    );
}
