//! Checks whether each part of a design can exist in hardware. [`crate::paths`] checks how the
//! levels of a path fit together.

mod beside;
mod partition;

use std::collections::HashSet;
use std::ops::RangeInclusive;

use switchcost_units::Bytes;

use crate::error::{Checked, Part, quoted};
use crate::paths;
use crate::{
    AddressKind, DESIGN_SCHEMA, Design, Holds, Inclusion, Level, Prefetch, Replacement, TlbLevel,
    Ways, WritePolicy,
};

/// Largest number of levels in a design: more than any machine has, and a limit on what a file can
/// request.
const MOST_LEVELS: usize = 64;
const LONGEST_LEVEL_NAME_BYTES: usize = 64;
/// Longest name of a design, in bytes. The limit is larger than that of a level's name, because a
/// sweep adds the varied fields to the names of its designs.
const LONGEST_DESIGN_NAME_BYTES: usize = 256;
const LONGEST_TEXT_BYTES: usize = 4096;
const LINES: RangeInclusive<u64> = 4..=4096;
/// Possible page sizes in bytes. The least is 4 KiB, because prefetches end at page boundaries of 4
/// KiB.
const PAGES: RangeInclusive<u64> = 4096..=1 << 30;
const LARGEST_LEVEL: Bytes = Bytes(4 << 30);
/// Largest number of lines of all caches and TLBs of a design together, which limits the memory of
/// a simulated hierarchy.
const MOST_LINES: u64 = 1 << 26;
/// Largest number of cycles for a miss or hit in one level. A reference looks in each level at most
/// once, so the cycles of 64 levels over 10^11 references fit in 64 bits.
const MOST_CYCLES: u32 = 1_000_000;
/// Largest number of lines in a victim cache or in stream buffers, which the simulator searches
/// linearly, and of write buffers.
const MOST_BUFFERED: u64 = 65_536;
/// Largest seed: the largest integer in TOML.
const LARGEST_SEED: u64 = i64::MAX as u64;
const LONGEST_CYCLE_NS: f64 = 1e6;

impl Design {
    /// Checks whether the design can exist in hardware and be simulated. Code that reads or
    /// simulates designs calls this function first.
    ///
    /// # Errors
    ///
    /// If a field is impossible: the first such field, and the change that makes it possible.
    pub fn check(&self) -> Checked {
        check_head(self)?;
        check_names(self)?;
        self.levels.iter().try_for_each(check_level)?;
        self.tlbs.iter().try_for_each(check_tlb)?;
        check_total(self)?;
        check_pages(self)?;
        paths::check(self)
    }
}

fn check_head(design: &Design) -> Checked {
    let place = Part::design(design);
    place.require(
        design.schema == DESIGN_SCHEMA,
        format_args!(
            "schema is {}, not {DESIGN_SCHEMA:?}",
            quoted(&design.schema)
        ),
        "this version reads no other schema",
    )?;
    let is_name = !design.name.is_empty()
        && design.name.len() <= LONGEST_DESIGN_NAME_BYTES
        && is_clean(&design.name);
    place.require(
        is_name,
        format_args!(
            "name is {}, not 1 to {LONGEST_DESIGN_NAME_BYTES} bytes without control characters",
            quoted(&design.name)
        ),
        "choose a short name",
    )?;
    for (field, text) in [("title", &design.title), ("source", &design.source)] {
        place.require(
            text.len() <= LONGEST_TEXT_BYTES && is_clean(&text.replace(['\n', '\t'], " ")),
            format_args!(
                "{field} is {}, which is longer than {LONGEST_TEXT_BYTES} bytes or has control characters",
                quoted(text)
            ),
            "shorten it, and use only line ends and tabs as control characters",
        )?;
    }
    check_cycle_time(&place, design)
}

fn check_cycle_time(place: &Part, design: &Design) -> Checked {
    let Some([shortest, longest]) = design.cycle_ns else {
        return Ok(());
    };
    place.require(
        shortest > 0.0 && shortest <= longest && longest <= LONGEST_CYCLE_NS,
        format_args!(
            "cycle_ns is [{shortest}, {longest}], not two times above 0 and up to {LONGEST_CYCLE_NS}, the shorter first"
        ),
        "write a single time twice",
    )
}

fn is_clean(text: &str) -> bool {
    !text.chars().any(char::is_control)
}

fn check_names(design: &Design) -> Checked {
    let place = Part::design(design);
    for (field, count) in [("level", design.levels.len()), ("tlb", design.tlbs.len())] {
        place.require(
            count <= MOST_LEVELS,
            format_args!("there are {count} {field}s, more than {MOST_LEVELS}"),
            "leave some out",
        )?;
    }
    let mut seen = HashSet::new();
    let levels = design
        .levels
        .iter()
        .map(|level| (Part::level(level), &level.name));
    let tlbs = design.tlbs.iter().map(|tlb| (Part::tlb(tlb), &tlb.name));
    for (part, name) in levels.chain(tlbs) {
        part.require(
            is_level_name(name),
            format_args!(
                "name is {}, not 1 to {LONGEST_LEVEL_NAME_BYTES} ASCII letters, digits, - and _",
                quoted(name)
            ),
            "choose a name such as L1D",
        )?;
        part.require(
            seen.insert(name),
            "this name is used twice",
            "give each level and TLB its own name",
        )?;
    }
    Ok(())
}

fn is_level_name(name: &str) -> bool {
    let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    (1..=LONGEST_LEVEL_NAME_BYTES).contains(&name.len()) && name.bytes().all(is_allowed)
}

fn check_level(level: &Level) -> Checked {
    let place = Part::level(level);
    check_size(&place, level)?;
    check_replacement(
        &place,
        level.replacement,
        level.lines(),
        level.ways,
        level.seed,
    )?;
    for (field, cycles) in level.cycles() {
        check_cycles(&place, field, cycles)?;
    }
    check_writes(&place, level)?;
    beside::check_buffers(&place, level)?;
    beside::check_prefetchers(&place, level)?;
    partition::check(&place, level)?;
    place.require(
        !(level.index == AddressKind::Physical && level.tag == AddressKind::Virtual),
        "tag is virtual, but the index is physical",
        "set tag = \"physical\", or index = \"virtual\"",
    )?;
    check_exclusive(&place, level)
}

fn check_size(place: &Part, level: &Level) -> Checked {
    let (size, line) = (level.size, level.line);
    place.require(
        line.0.is_power_of_two() && LINES.contains(&line.0),
        format_args!("line is {line}, not a power of two from 4 B to 4 KiB"),
        "64 B is common",
    )?;
    place.require(
        size.0 != 0 && size <= LARGEST_LEVEL,
        format_args!("size is {size}, not above 0 and up to {LARGEST_LEVEL}"),
        "give the capacity of one cache",
    )?;
    check_ways(place, level.ways)?;
    let set = line.0.saturating_mul(level.ways.of(1));
    let ways = level.ways.of(1);
    place.require(
        size.0.is_multiple_of(set),
        format_args!(
            "size is {size}, not a multiple of line x ways ({line} x {ways} = {})",
            Bytes(set)
        ),
        "change size, line or ways",
    )
}

fn check_ways(place: &Part, ways: Ways) -> Checked {
    place.require(
        ways != Ways::Count(0),
        "ways is 0",
        "set it to 1 (direct-mapped) or more, or to \"full\"",
    )
}

fn check_replacement(
    place: &Part,
    replacement: Replacement,
    lines: u64,
    ways: Ways,
    seed: u64,
) -> Checked {
    let ways = ways.of(lines);
    place.require(
        replacement != Replacement::Drrip || lines > ways,
        "replacement is drrip, which needs two sets or more, but there is one set",
        "use srrip, or fewer ways",
    )?;
    place.require(
        replacement != Replacement::TreePlru || ways.is_power_of_two(),
        format_args!("replacement is tree-plru, but ways ({ways}) is not a power of two"),
        "change ways, or use lru",
    )?;
    place.require(
        seed <= LARGEST_SEED,
        format_args!("seed is {seed}, more than {LARGEST_SEED}"),
        "choose a smaller one",
    )
}

fn check_cycles(place: &Part, field: &'static str, cycles: u32) -> Checked {
    place.require(
        cycles <= MOST_CYCLES,
        format_args!("{field} is {cycles}, more than {MOST_CYCLES}"),
        "choose a smaller number",
    )
}

fn check_writes(place: &Part, level: &Level) -> Checked {
    if level.holds == Holds::Instructions {
        return check_no_writes(place, level);
    }
    let Some(buffers) = level.write_buffers else {
        return Ok(());
    };
    place.require(
        level.write == WritePolicy::Through,
        "write_buffers is set, but the level is write-back",
        "set write = \"through\", or leave write_buffers out",
    )?;
    place.require(
        buffers.count != 0 && u64::from(buffers.count) <= MOST_BUFFERED,
        format_args!(
            "write_buffers.count is {}, not 1 to {MOST_BUFFERED}",
            buffers.count
        ),
        "leave write_buffers out if stores never wait",
    )?;
    check_cycles(place, "write_buffers.drain_cycles", buffers.drain_cycles)
}

fn check_no_writes(place: &Part, level: &Level) -> Checked {
    let settings = [
        ("write", level.write == WritePolicy::Through),
        ("write_allocate", level.write_allocate.is_some()),
        ("write_buffers", level.write_buffers.is_some()),
    ];
    settings.into_iter().try_for_each(|(field, is_set)| {
        place.require(
            !is_set,
            format_args!("{field} is set, but the level holds only instructions"),
            "leave it out",
        )
    })
}

/// Checks that an exclusive level has none of the settings that need lines to be filled on demand
/// or to stay in the level after a hit.
fn check_exclusive(place: &Part, level: &Level) -> Checked {
    if level.inclusion != Inclusion::Exclusive {
        return Ok(());
    }
    let settings = [
        ("write = \"through\"", level.write == WritePolicy::Through),
        (
            "write_allocate = false",
            level.write_allocate == Some(false),
        ),
        ("prefetch = \"next-line\"", level.prefetch != Prefetch::None),
        ("stride", level.stride.is_some()),
        ("streamer", level.streamer.is_some()),
        (
            "replacement = \"ship\"",
            level.replacement == Replacement::Ship,
        ),
        ("victim", level.victim.is_some()),
        ("streams", level.streams.is_some()),
    ];
    settings.into_iter().try_for_each(|(setting, is_set)| {
        place.require(
            !is_set,
            format_args!("an exclusive level cannot have {setting}"),
            "leave it out, or set inclusion = \"neither\"",
        )
    })
}

fn check_tlb(tlb: &TlbLevel) -> Checked {
    let place = Part::tlb(tlb);
    place.require(
        tlb.page.0.is_power_of_two() && PAGES.contains(&tlb.page.0),
        format_args!(
            "page is {}, not a power of two from 4 KiB to 1 GiB",
            tlb.page
        ),
        "4 KiB is common",
    )?;
    place.require(
        tlb.entries != 0,
        "entries is 0",
        "leave the tlb out if there is none",
    )?;
    check_ways(&place, tlb.ways)?;
    let (entries, ways) = (u64::from(tlb.entries), tlb.ways.of(1));
    place.require(
        entries.is_multiple_of(ways),
        format_args!("entries is {entries}, not a multiple of ways ({ways})"),
        "change entries or ways",
    )?;
    check_replacement(&place, tlb.replacement, entries, tlb.ways, tlb.seed)?;
    check_cycles(&place, "hit_cycles", tlb.hit_cycles)?;
    check_cycles(&place, "miss_cycles", tlb.miss_cycles)
}

fn check_total(design: &Design) -> Checked {
    let levels = design.levels.iter().map(Level::lines);
    let total: u64 = levels
        .chain(design.tlbs.iter().map(|tlb| u64::from(tlb.entries)))
        .sum();
    Part::design(design).require(
        total <= MOST_LINES,
        format_args!("all levels and TLBs have {total} lines and entries, more than {MOST_LINES}"),
        "use smaller sizes or longer lines, so that the simulation fits into memory",
    )
}

fn check_pages(design: &Design) -> Checked {
    let place = Part::design(design);
    let is_physical =
        |level: &&Level| level.index == AddressKind::Physical || level.tag == AddressKind::Physical;
    let Some(pages) = design.pages else {
        let physical = design.levels.iter().find(is_physical);
        let name = physical
            .map(|level| quoted(&level.name))
            .unwrap_or_default();
        return place.require(
            physical.is_none(),
            format_args!("pages is missing, but level {name} has physical addresses"),
            "add pages = { size = \"4KiB\" }",
        );
    };
    place.require(
        pages.size.0.is_power_of_two() && PAGES.contains(&pages.size.0),
        format_args!(
            "pages.size is {}, not a power of two from 4 KiB to 1 GiB",
            pages.size
        ),
        "4 KiB is common",
    )?;
    place.require(
        pages.seed <= LARGEST_SEED,
        format_args!("pages.seed is {}, more than {LARGEST_SEED}", pages.seed),
        "choose a smaller one",
    )
}
