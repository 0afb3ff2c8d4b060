//! Generates random designs. Raw choices are drawn first, and then adjusted until the design could
//! be built, so that shrinking yields valid designs only.

use proptest::prelude::*;
use switchcost_design::{
    AddressKind, DESIGN_SCHEMA, Design, Holds, Inclusion, Level, OnSwitch, PageAllocation,
    PageOrder, Partition, Prefetch, Replacement, StreamBuffers, Streamer, StrideKey,
    StridePrefetcher, TlbLevel, VictimCache, Ways, WriteBuffers, WritePolicy,
};
use switchcost_units::Bytes;

use Holds::{Both, Data, Instructions};

const CACHES: [&[Holds]; 10] = [
    &[Both],
    &[Instructions, Data],
    &[Both, Both],
    &[Instructions, Data, Both],
    &[Data, Instructions, Both],
    &[Data, Both],
    &[Instructions, Data, Instructions, Data],
    &[Both, Instructions, Data],
    &[Instructions, Data, Both, Both],
    &[Both, Both, Both],
];

const TLBS: [&[Holds]; 6] = [
    &[],
    &[Both],
    &[Instructions, Data],
    &[Data],
    &[Instructions, Data, Both],
    &[Both, Both],
];

const REPLACEMENTS: [Replacement; 7] = [
    Replacement::Lru,
    Replacement::Fifo,
    Replacement::Random,
    Replacement::TreePlru,
    Replacement::Srrip,
    Replacement::Drrip,
    Replacement::Ship,
];

/// Classes that a partition may name: some of the streams' programs, and a process.
const CLASSES: [&str; 5] = ["p0", "p1", "p2", "process:2", "default"];

/// Random choices for one level, whatever its position.
#[derive(Clone, Debug)]
struct RawLevel {
    line_step: u32,
    sets: u64,
    ways: u32,
    is_full: bool,
    replacement: usize,
    seed: u64,
    write: (bool, Option<bool>, Option<(u32, u32)>),
    cycles: (u32, u32),
    inclusion: u8,
    /// Kind of addresses: virtual, virtually indexed and physically tagged, or physical.
    addresses: u8,
    flushes: bool,
    prefetches: bool,
    victim: Option<(u32, u32)>,
    streams: Option<(u32, u32, u32)>,
    /// Number of fills before a stream begins, and whether its lines take time to arrive.
    streams_begin: (u32, bool),
    bus_cycles: u32,
    /// Stride prefetcher: entries, degree, distance, and whether it works by pages.
    stride: Option<(u32, u32, u32, bool)>,
    streamer: Option<(u32, u32, u32)>,
    /// Ways of each class as bits; only ways below 256 count.
    partition: Option<[u16; 5]>,
}

fn raw_level() -> impl Strategy<Value = RawLevel> {
    let shape = (
        prop_oneof![3 => Just(0_u32), 1 => Just(1)],
        1..6_u64,
        1..=8_u32,
        prop::bool::weighted(0.15),
        0..REPLACEMENTS.len(),
        0..3_u64,
    );
    let write = (
        prop::bool::weighted(0.4),
        prop::option::weighted(0.4, any::<bool>()),
        prop::option::weighted(0.7, (1..4_u32, 0..8_u32)),
    );
    let cycles = (prop_oneof![2 => Just(0_u32), 1 => 1..5_u32], 0..40_u32);
    let rules = (
        0..4_u8,
        0..6_u8,
        prop::bool::weighted(0.25),
        prop::bool::weighted(0.25),
    );
    let buffers = (
        prop::option::weighted(0.3, (1..4_u32, 0..4_u32)),
        prop::option::weighted(0.25, (1..4_u32, 1..5_u32, 0..4_u32)),
        (
            prop_oneof![2 => Just(1_u32), 2 => Just(2), 1 => Just(3)],
            prop::bool::weighted(0.6),
        ),
        prop_oneof![3 => Just(0_u32), 1 => 1..30_u32],
    );
    let prefetchers = (
        prop::option::weighted(
            0.25,
            (1..4_u32, 1..4_u32, 1..4_u32, prop::bool::weighted(0.3)),
        ),
        prop::option::weighted(0.25, (1..4_u32, 1..4_u32, 1..6_u32)),
        prop::option::weighted(0.25, [0..512_u16, 0..512, 0..512, 0..512, 0..512]),
    );
    let parts = (shape, write, cycles, rules, buffers, prefetchers);
    parts.prop_map(
        |(shape, write, cycles, rules, buffers, prefetchers)| RawLevel {
            line_step: shape.0,
            sets: shape.1,
            ways: shape.2,
            is_full: shape.3,
            replacement: shape.4,
            seed: shape.5,
            write,
            cycles,
            inclusion: rules.0,
            addresses: rules.1,
            flushes: rules.2,
            prefetches: rules.3,
            victim: buffers.0,
            streams: buffers.1,
            streams_begin: buffers.2,
            bus_cycles: buffers.3,
            stride: prefetchers.0,
            streamer: prefetchers.1,
            partition: prefetchers.2,
        },
    )
}

/// Generates any design that could be built.
pub(crate) fn design() -> impl Strategy<Value = Design> {
    let raw_tlb = (raw_level(), 0..3_u32);
    let parts = (
        0..CACHES.len(),
        prop::collection::vec(raw_level(), 4),
        0..TLBS.len(),
        prop::collection::vec(raw_tlb, 3),
        (3..6_u32, 0..2_u32, prop::bool::weighted(0.3), 0..4_u64),
    );
    parts.prop_map(
        |(caches, levels, tlbs, tlb_levels, (line, page, is_consecutive, seed))| {
            let mut bits = line;
            let mut built = Vec::new();
            for (place, &holds) in CACHES[caches].iter().enumerate() {
                // Levels of the same number are siblings: only a level that follows on a path has
                // longer lines.
                bits = (bits + levels[place].line_step).min(7);
                add_level(&mut built, holds, &levels[place], bits);
            }
            let mut page_bits = 12;
            let mut built_tlbs = Vec::new();
            for (place, &holds) in TLBS[tlbs].iter().enumerate() {
                page_bits += tlb_levels[place].1 / 2;
                built_tlbs.push(tlb(place, holds, &tlb_levels[place].0, page_bits));
            }
            checked(Design {
                schema: DESIGN_SCHEMA.to_owned(),
                name: "random".to_owned(),
                title: String::new(),
                source: String::new(),
                cycle_ns: None,
                levels: built,
                tlbs: built_tlbs,
                pages: Some(PageAllocation {
                    size: Bytes(4096 << page),
                    order: if is_consecutive {
                        PageOrder::Consecutive
                    } else {
                        PageOrder::Random
                    },
                    seed,
                }),
            })
        },
    )
}

/// Generates typical designs: powers of two, LRU or FIFO, caches and TLBs only.
pub(crate) fn plain_design() -> impl Strategy<Value = Design> {
    let size = || (0..6_u32, 0..4_u32);
    (
        design(),
        prop::collection::vec(size(), 4),
        any::<bool>(),
        any::<bool>(),
    )
        .prop_map(|(mut design, sizes, is_fifo, is_physical)| {
            for (level, (sets, ways)) in design.levels.iter_mut().zip(sizes) {
                strip(level);
                resize(level, 1 << sets, 1 << ways);
                level.replacement = if is_fifo {
                    Replacement::Fifo
                } else {
                    Replacement::Lru
                };
            }
            if is_physical
                && let Some(last) = design.levels.last_mut().filter(|last| last.holds == Both)
            {
                (last.index, last.tag) = (AddressKind::Physical, AddressKind::Physical);
            }
            checked(design)
        })
}

/// Generates designs with split first levels of one way and no buffers, mostly write-through, as in
/// Mogul and Borg: the engine has its fastest path for these.
pub(crate) fn split_design() -> impl Strategy<Value = Design> {
    (3..6_u32, raw_split()).prop_map(|(bits, raw)| raw.with_lines(bits, bits))
}

/// Generates several split designs with lines of the same lengths, like the four of Mogul and Borg;
/// a few have other lengths.
pub(crate) fn split_designs() -> impl Strategy<Value = Vec<Design>> {
    let bits = || 3..6_u32;
    let other = prop::option::weighted(0.1, bits());
    (
        bits(),
        bits(),
        prop::collection::vec((raw_split(), other), 2..6),
    )
        .prop_map(|(code_bits, data_bits, members)| {
            let member = |(raw, other): &(RawSplit, Option<u32>)| {
                raw.with_lines(code_bits, other.unwrap_or(data_bits))
            };
            members.iter().map(member).collect()
        })
}

/// Random choices for a design with split first levels, except the line lengths.
#[derive(Clone, Debug)]
struct RawSplit {
    levels: Vec<RawLevel>,
    is_through: bool,
    allocates: bool,
    /// Sets of the instruction and the data cache, as powers of two.
    sets: [u32; 2],
    next: Option<RawNext>,
}

/// Random choices for the level after the first ones: how much longer its lines are, and its sets
/// and ways as powers of two.
#[derive(Clone, Debug)]
struct RawNext {
    longer: u32,
    sets: u32,
    ways: u32,
    is_plain: bool,
}

fn raw_split() -> impl Strategy<Value = RawSplit> {
    let next = (0..3_u32, 0..6_u32, 0..2_u32, prop::bool::weighted(0.5)).prop_map(
        |(longer, sets, ways, is_plain)| RawNext {
            longer,
            sets,
            ways,
            is_plain,
        },
    );
    let write = (prop::bool::weighted(0.8), prop::bool::weighted(0.2));
    let sets = (0..6_u32, 0..6_u32);
    (
        prop::collection::vec(raw_level(), 3),
        prop::option::weighted(0.6, next),
        write,
        sets,
    )
        .prop_map(
            |(levels, next, (is_through, allocates), (code_sets, data_sets))| RawSplit {
                levels,
                is_through,
                allocates,
                sets: [code_sets, data_sets],
                next,
            },
        )
}

impl RawSplit {
    fn with_lines(&self, code_bits: u32, data_bits: u32) -> Design {
        let mut raw = self.levels.clone();
        raw[1].write.0 = self.is_through;
        raw[1].write.1 = Some(self.allocates);
        let first = |place: usize, holds: Holds, bits: u32| {
            let mut level = plain_level(format!("C{place}"), holds, &raw[place], 1 << bits);
            let on_switch = level.on_switch;
            strip(&mut level);
            resize(&mut level, 1 << self.sets[place], 1);
            (level.hit_cycles, level.replacement, level.on_switch) =
                (0, Replacement::Lru, on_switch);
            level
        };
        let mut levels = vec![first(0, Instructions, code_bits), first(1, Data, data_bits)];
        if let Some(next) = &self.next {
            if next.is_plain {
                (raw[2].write.0, raw[2].write.1) = (false, None);
            }
            let bits = code_bits.max(data_bits) + next.longer;
            let mut level = plain_level("C2".to_owned(), Both, &raw[2], 1 << bits);
            strip(&mut level);
            level.replacement = Replacement::Lru;
            resize(
                &mut level,
                1 << next.sets,
                if next.is_plain { 1 } else { 1 << next.ways },
            );
            levels.push(level);
        }
        checked(Design {
            schema: DESIGN_SCHEMA.to_owned(),
            name: "random".to_owned(),
            title: String::new(),
            source: String::new(),
            cycle_ns: None,
            levels,
            tlbs: Vec::new(),
            pages: None,
        })
    }
}

/// Generates one plain design in several sizes and associativities.
pub(crate) fn family() -> impl Strategy<Value = Vec<Design>> {
    let sizes = prop::collection::vec(prop::collection::vec((0..6_u32, 0..4_u32), 4), 2..10);
    (plain_design(), sizes).prop_map(|(base, sizes)| {
        let member = |sizes: &Vec<(u32, u32)>| {
            let mut member = base.clone();
            for (level, &(sets, ways)) in member.levels.iter_mut().zip(sizes) {
                resize(level, 1 << sets, 1 << ways);
            }
            checked(member)
        };
        sizes.iter().map(member).collect()
    })
}

/// Values in which the members of [`swept_family`] differ in one level: sets, ways, hit and miss
/// cycles.
type Member = Vec<(u32, u32, u32, u32)>;

/// Designs that differ only in their last levels.
#[derive(Clone, Debug)]
pub(crate) struct Family {
    pub(crate) designs: Vec<Design>,
    /// Whether stores bring lines into the last levels. If not, members must not be swept though
    /// they look alike.
    pub(crate) allocates: bool,
}

/// Generates any design with last levels that can mostly be swept, in several sizes.
pub(crate) fn swept_family() -> impl Strategy<Value = Family> {
    let size = (0..6_u32, 1..=9_u32, 0..3_u32, 0..20_u32);
    let members = prop::collection::vec(prop::collection::vec(size, 4), 6..14);
    // Levels that the processor requests are not swept, even if only by fetches.
    let is_behind = |level: &Level, other: &Level| meets(level.holds, other.holds);
    let bases = design().prop_filter("a last level is first too", move |design| {
        let levels = &design.levels;
        let has_before = |at: usize| {
            levels[..at]
                .iter()
                .any(|other| is_behind(&levels[at], other))
        };
        (1..levels.len()).any(has_before) && (levels[0].holds != Data || levels[1].holds != Both)
    });
    (bases, members, any::<bool>(), prop::bool::weighted(0.9)).prop_map(
        move |(mut base, members, is_physical, allocates)| {
            for at in 0..base.levels.len() {
                let (before, rest) = base.levels.split_at_mut(at);
                let Some((level, later)) = rest.split_first_mut() else {
                    continue;
                };
                untime(level);
                level.partition = None;
                if later.iter().any(|other| is_behind(level, other)) {
                    continue;
                }
                (level.prefetch, level.victim, level.streams) = (Prefetch::None, None, None);
                (level.stride, level.streamer) = (None, None);
                (level.inclusion, level.replacement) = (Inclusion::Neither, Replacement::Lru);
                level.write_allocate = level.holds.data().then_some(allocates);
                let is_physical = before.iter().any(|other| is_behind(level, other))
                    && (is_physical
                        || before
                            .iter()
                            .any(|other| other.tag == AddressKind::Physical));
                let kind = if is_physical {
                    AddressKind::Physical
                } else {
                    AddressKind::Virtual
                };
                (level.index, level.tag) = (kind, kind);
            }
            Family {
                designs: members.iter().map(|sizes| resized(&base, sizes)).collect(),
                allocates,
            }
        },
    )
}

/// Returns a member: the base design with other sizes of the last levels.
fn resized(base: &Design, sizes: &Member) -> Design {
    let mut member = base.clone();
    for (at, &(sets, ways, hit_cycles, miss_cycles)) in
        sizes.iter().enumerate().take(base.levels.len())
    {
        let is_last = base.levels[at + 1..]
            .iter()
            .all(|other| !meets(base.levels[at].holds, other.holds));
        if is_last {
            let level = &mut member.levels[at];
            resize(level, 1 << sets, ways);
            (level.hit_cycles, level.miss_cycles) = (hit_cycles, miss_cycles);
        }
    }
    checked(member)
}

/// Generates first levels, a next level that differs between members, and further levels that each
/// member has for itself.
pub(crate) fn family_between() -> impl Strategy<Value = Family> {
    let size = (0..6_u32, 1..=9_u32, 0..3_u32, 0..20_u32);
    let behind = prop::collection::vec(raw_level(), 1..3);
    let members = prop::collection::vec((size, behind), 6..10);
    let is_so = any::<bool>;
    (design(), raw_level(), members, is_so(), is_so()).prop_map(
        |(base, raw, mut members, is_exclusive, are_alike)| {
            if are_alike {
                let behind = members[0].1.clone();
                members
                    .iter_mut()
                    .for_each(|member| member.1.clone_from(&behind));
            }
            // Otherwise there is nothing to sweep.
            (members[0].0.1, members[1].0.1) = (1, 2);
            let member = |(size, behind): &(_, Vec<RawLevel>)| {
                between(&base, &raw, *size, behind, is_exclusive)
            };
            Family {
                designs: members.iter().map(member).collect(),
                allocates: true,
            }
        },
    )
}

fn between(
    base: &Design,
    raw: &RawLevel,
    (sets, ways, hit_cycles, miss_cycles): (u32, u32, u32, u32),
    behind: &[RawLevel],
    is_exclusive: bool,
) -> Design {
    let mut design = base.clone();
    design.levels.iter_mut().for_each(|level| {
        untime(level);
        level.partition = None;
    });
    let line = design
        .levels
        .iter()
        .map(|level| level.line.0)
        .max()
        .expect("a level")
        << raw.line_step;
    let is_physical = raw.addresses == 0
        || design
            .levels
            .iter()
            .any(|level| level.tag == AddressKind::Physical);
    let kind = if is_physical {
        AddressKind::Physical
    } else {
        AddressKind::Virtual
    };
    let mut swept = plain_level("S".to_owned(), Both, raw, line);
    strip(&mut swept);
    resize(&mut swept, 1 << sets, ways);
    (
        swept.replacement,
        swept.write,
        swept.write_allocate,
        swept.write_buffers,
    ) = (Replacement::Lru, WritePolicy::Back, None, None);
    (swept.index, swept.tag, swept.on_switch) = (kind, kind, on_switch(raw));
    (swept.hit_cycles, swept.miss_cycles, swept.bus_cycles) = (hit_cycles, miss_cycles, 0);
    design.levels.push(swept);
    for (place, raw) in behind.iter().enumerate() {
        let line = design.levels.last().expect("a level").line.0;
        let mut level = plain_level(
            format!("B{place}"),
            Both,
            raw,
            line << if is_exclusive { 0 } else { raw.line_step },
        );
        (level.index, level.tag) = (kind, kind);
        (level.stride, level.partition) = (None, None);
        forget_instructions(&mut level);
        untime(&mut level);
        let before: Vec<usize> = (0..design.levels.len()).collect();
        if is_exclusive && place == 0 && design.levels.iter().all(|before| before.tag == kind) {
            make_exclusive(&mut design.levels, &mut level, &before);
        }
        design.levels.push(level);
    }
    checked(design)
}

fn untime(level: &mut Level) {
    (level.write_buffers, level.bus_cycles) = (None, 0);
    level.streams = level.streams.map(|streams| StreamBuffers {
        timed: false,
        ..streams
    });
}

/// Replaces policies and prefetchers that learn from instructions.
fn forget_instructions(level: &mut Level) {
    if level.replacement == Replacement::Ship {
        level.replacement = Replacement::Srrip;
    }
}

fn strip(level: &mut Level) {
    (level.stride, level.streamer, level.partition) = (None, None, None);
    (
        level.prefetch,
        level.victim,
        level.streams,
        level.bus_cycles,
    ) = (
        Prefetch::None,
        None,
        None,
        if level.bus_cycles > 25 { 9 } else { 0 },
    );
    (level.inclusion, level.on_switch) = (Inclusion::Neither, OnSwitch::Keep);
    (level.index, level.tag) = (AddressKind::Virtual, AddressKind::Virtual);
}

fn resize(level: &mut Level, sets: u64, ways: u32) {
    level.ways = Ways::Count(ways);
    level.size = Bytes(level.line.0 * sets * u64::from(ways));
}

fn checked(design: Design) -> Design {
    design
        .check()
        .unwrap_or_else(|error| panic!("a design that cannot be built was made: {error}"));
    design
}

fn meets(one: Holds, other: Holds) -> bool {
    one.instructions() && other.instructions() || one.data() && other.data()
}

fn add_level(built: &mut Vec<Level>, holds: Holds, raw: &RawLevel, bits: u32) {
    let mut level = plain_level(format!("C{}", built.len()), holds, raw, 1 << bits);
    let before: Vec<usize> = (0..built.len())
        .filter(|&index| meets(built[index].holds, holds))
        .collect();
    if before
        .iter()
        .any(|&index| built[index].tag == AddressKind::Physical)
    {
        (level.index, level.tag) = (AddressKind::Physical, AddressKind::Physical);
    }
    let is_behind = |is_on: fn(Holds) -> bool| {
        !is_on(holds) || before.iter().any(|&index| is_on(built[index].holds))
    };
    let has_same_tags = before.iter().all(|&index| built[index].tag == level.tag);
    if is_behind(Holds::instructions) && is_behind(Holds::data) && has_same_tags {
        match raw.inclusion {
            1 => make_inclusive(built, &mut level, &before),
            2 => make_exclusive(built, &mut level, &before),
            _ => {}
        }
    }
    built.push(level);
}

fn make_inclusive(built: &[Level], level: &mut Level, before: &[usize]) {
    level.inclusion = Inclusion::Inclusive;
    let largest = before
        .iter()
        .map(|&index| built[index].size.0)
        .max()
        .expect("it is behind a level");
    if level.ways == Ways::Full {
        level.ways = Ways::Count(4);
        level.size = Bytes(level.line.0 * 4);
        level.partition = None;
    }
    let set = level.line.0
        * if let Ways::Count(ways) = level.ways {
            u64::from(ways)
        } else {
            1
        };
    level.size = Bytes(level.size.0.max(largest).div_ceil(set) * set);
}

fn make_exclusive(built: &mut [Level], level: &mut Level, before: &[usize]) {
    if before.iter().any(|&index| built[index].line != level.line) {
        return;
    }
    level.inclusion = Inclusion::Exclusive;
    (level.write, level.write_buffers) = (WritePolicy::Back, None);
    level.write_allocate = None;
    (level.prefetch, level.victim, level.streams) = (Prefetch::None, None, None);
    (level.stride, level.streamer) = (None, None);
    forget_instructions(level);
    for &index in before {
        let earlier = &mut built[index];
        (earlier.write, earlier.write_allocate, earlier.write_buffers) =
            (WritePolicy::Back, None, None);
        earlier.streams = None;
    }
}

/// Returns the replacement policy; DRRIP needs more than one set for its duel.
fn replacement(raw: &RawLevel, sets: u64) -> Replacement {
    match REPLACEMENTS[raw.replacement] {
        Replacement::Drrip if sets == 1 => Replacement::Srrip,
        replacement => replacement,
    }
}

fn partition(raw: &RawLevel, ways: u32) -> Option<Partition> {
    let masks = CLASSES
        .iter()
        .zip(raw.partition?)
        .filter(|(_, bits)| *bits < 256);
    let text: Vec<String> = masks
        .map(|(class, bits)| format!("{class}:{:x}", (bits & ((1 << ways) - 1)).max(1)))
        .collect();
    (!text.is_empty()).then(|| text.join("+").parse().expect("a partition"))
}

fn plain_level(name: String, holds: Holds, raw: &RawLevel, line: u64) -> Level {
    let sets = if raw.is_full { 1 } else { raw.sets };
    let replacement = replacement(raw, sets);
    let ways = match replacement {
        Replacement::TreePlru => 1 << (raw.ways % 4),
        _ => raw.ways,
    };
    let is_through = raw.write.0 && holds.data();
    let buffers = raw.write.2.map(|(count, drain_cycles)| WriteBuffers {
        count,
        drain_cycles,
    });
    let (index, tag) = match raw.addresses {
        0 => (AddressKind::Physical, AddressKind::Physical),
        1 => (AddressKind::Virtual, AddressKind::Physical),
        _ => (AddressKind::Virtual, AddressKind::Virtual),
    };
    Level {
        name,
        holds,
        size: Bytes(line * sets * u64::from(ways)),
        line: Bytes(line),
        ways: if raw.is_full {
            Ways::Full
        } else {
            Ways::Count(ways)
        },
        replacement,
        seed: raw.seed,
        write: if is_through {
            WritePolicy::Through
        } else {
            WritePolicy::Back
        },
        write_allocate: raw.write.1.filter(|_| holds.data()),
        write_buffers: buffers.filter(|_| is_through),
        hit_cycles: raw.cycles.0,
        miss_cycles: raw.cycles.1,
        bus_cycles: raw.bus_cycles,
        inclusion: Inclusion::Neither,
        index,
        tag,
        on_switch: on_switch(raw),
        prefetch: if raw.prefetches {
            Prefetch::NextLine
        } else {
            Prefetch::None
        },
        victim: raw
            .victim
            .map(|(lines, hit_cycles)| VictimCache { lines, hit_cycles }),
        streams: raw.streams.map(|(count, depth, hit_cycles)| StreamBuffers {
            count,
            depth,
            hit_cycles,
            allocate_after: raw.streams_begin.0,
            timed: raw.streams_begin.1,
        }),
        stride: raw
            .stride
            .filter(|_| holds.data())
            .map(|(entries, degree, distance, is_page)| StridePrefetcher {
                entries,
                degree,
                distance,
                by: if is_page {
                    StrideKey::Page
                } else {
                    StrideKey::Instruction
                },
            }),
        streamer: raw.streamer.map(|(entries, degree, distance)| Streamer {
            entries,
            degree,
            distance,
        }),
        partition: partition(raw, ways),
    }
}

fn on_switch(raw: &RawLevel) -> OnSwitch {
    if raw.flushes {
        OnSwitch::Flush
    } else {
        OnSwitch::Keep
    }
}

fn tlb(place: usize, holds: Holds, raw: &RawLevel, page_bits: u32) -> TlbLevel {
    let sets = if raw.is_full { 1 } else { raw.sets % 3 + 1 };
    let replacement = replacement(raw, sets);
    let ways = if replacement == Replacement::TreePlru {
        1 << (raw.ways % 3)
    } else {
        raw.ways % 4 + 1
    };
    TlbLevel {
        name: format!("T{place}"),
        holds,
        entries: ways * sets as u32,
        ways: if raw.is_full {
            Ways::Full
        } else {
            Ways::Count(ways)
        },
        page: Bytes(1 << page_bits),
        replacement,
        seed: raw.seed,
        hit_cycles: raw.cycles.0,
        miss_cycles: raw.cycles.1,
        on_switch: on_switch(raw),
    }
}
