//! Checks a level's optional parts: victim cache, write and stream buffers, and prefetchers.

use std::ops::RangeInclusive;

use super::{MOST_BUFFERED, check_cycles};
use crate::Level;
use crate::error::{Checked, Part};

/// Possible numbers of fills before a stream begins. The largest is the number of lines of 4 bytes
/// in a page.
const RUNS: RangeInclusive<u32> = 1..=1024;
/// Possible numbers of entries of a prefetcher.
const ENTRIES: RangeInclusive<u32> = 1..=65_536;
const DEGREES: RangeInclusive<u32> = 1..=64;
const DISTANCES: RangeInclusive<u32> = 1..=1024;

pub(super) fn check_buffers(place: &Part, level: &Level) -> Checked {
    if let Some(victim) = level.victim {
        place.require(
            victim.lines != 0 && u64::from(victim.lines) <= MOST_BUFFERED,
            format_args!("victim.lines is {}, not 1 to {MOST_BUFFERED}", victim.lines),
            "leave victim out if there is none",
        )?;
        check_cycles(place, "victim.hit_cycles", victim.hit_cycles)?;
    }
    let Some(streams) = level.streams else {
        return Ok(());
    };
    for (field, number) in [
        ("streams.count", streams.count),
        ("streams.depth", streams.depth),
    ] {
        place.require(
            number != 0,
            format_args!("{field} is 0"),
            "leave streams out if there are none",
        )?;
    }
    let lines = u64::from(streams.count) * u64::from(streams.depth);
    place.require(
        lines <= MOST_BUFFERED,
        format_args!("streams has {lines} lines (count x depth), more than {MOST_BUFFERED}"),
        "use fewer or shorter streams",
    )?;
    place.require(
        RUNS.contains(&streams.allocate_after),
        format_args!(
            "streams.allocate_after is {}, not 1 to 1024",
            streams.allocate_after
        ),
        "leave it out if every miss begins a stream",
    )?;
    check_cycles(place, "streams.hit_cycles", streams.hit_cycles)
}

pub(super) fn check_prefetchers(place: &Part, level: &Level) -> Checked {
    let stride = level.stride.map(|stride| {
        [
            ("stride.entries", stride.entries, ENTRIES),
            ("stride.degree", stride.degree, DEGREES),
            ("stride.distance", stride.distance, DISTANCES),
        ]
    });
    let streamer = level.streamer.map(|streamer| {
        [
            ("streamer.entries", streamer.entries, ENTRIES),
            ("streamer.degree", streamer.degree, DEGREES),
            ("streamer.distance", streamer.distance, DISTANCES),
        ]
    });
    for (field, number, range) in [stride, streamer].into_iter().flatten().flatten() {
        let (least, most) = (range.start(), range.end());
        let name = field.split('.').next().unwrap_or(field);
        place.require(
            range.contains(&number),
            format_args!("{field} is {number}, not {least} to {most}"),
            format_args!("leave {name} out if there is none"),
        )?;
    }
    place.require(
        level.stride.is_none() || level.holds.data(),
        "stride is set, but the level holds only instructions",
        "leave it out: strides are those of loads and stores",
    )
}
