//! Generates random designs. Raw choices are drawn first, and then adjusted until the design could
//! be built, so that shrinking yields valid designs only.

use std::ops::Range;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::{bool::weighted, option, sample::select};
use strum::IntoEnumIterator;
use switchcost_design::{
    AddressKind, Design, Holds, Inclusion, Level, OnSwitch, PageAllocation, PageOrder, Prefetch,
    Replacement, StreamBuffers, Streamer, StrideKey, StridePrefetcher, TlbLevel, VictimCache, Ways,
    WriteBuffers, WritePolicy,
};
use switchcost_units::Bytes;

use AddressKind::{Physical, Virtual};
use Holds::{Both, Data, Instructions};

use crate::closed_forms::build::design_of;

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

/// Classes that a partition may name: some of the streams' programs, and a process.
const CLASSES: [&str; 5] = ["p0", "p1", "p2", "process:2", "default"];

/// Generates a level for any position, with lines of one byte, and with sets and ways in about
/// these ranges. [`placed`] turns such a draft into a level that could be built.
#[expect(clippy::too_many_lines, reason = "each property of a level is drawn")]
fn draft(sets: Range<u64>, ways: Range<u32>) -> impl Strategy<Value = Level> {
    let shape = (
        sets,
        ways,
        weighted(0.15),
        select(Replacement::iter().collect::<Vec<_>>()),
        0..3_u64,
    );
    let write = (
        prop_oneof![3 => Just(WritePolicy::Back), 2 => Just(WritePolicy::Through)],
        option::weighted(0.4, any::<bool>()),
        option::weighted(0.7, (1..4_u32, 0..8_u32)),
    );
    let cycles = (
        prop_oneof![2 => Just(0_u32), 1 => 1..5_u32],
        0..40_u32,
        prop_oneof![3 => Just(0_u32), 1 => 1..30_u32],
    );
    let rules = (
        select(vec![
            Inclusion::Neither,
            Inclusion::Neither,
            Inclusion::Inclusive,
            Inclusion::Exclusive,
        ]),
        prop_oneof![1 => Just((Physical, Physical)), 1 => Just((Virtual, Physical)), 4 => Just((Virtual, Virtual))],
        prop_oneof![3 => Just(OnSwitch::Keep), 1 => Just(OnSwitch::Flush)],
        prop_oneof![3 => Just(Prefetch::None), 1 => Just(Prefetch::NextLine)],
    );
    let streams = (
        (1..4_u32, 1..5_u32, 0..4_u32),
        prop_oneof![2 => Just(1_u32), 2 => Just(2), 1 => Just(3)],
        weighted(0.6),
    );
    let stride_key = prop_oneof![7 => Just(StrideKey::Instruction), 3 => Just(StrideKey::Page)];
    let beside = (
        option::weighted(0.3, (1..4_u32, 0..4_u32)),
        option::weighted(0.25, streams),
        option::weighted(0.25, (1..4_u32, 1..4_u32, 1..4_u32, stride_key)),
        option::weighted(0.25, (1..4_u32, 1..4_u32, 1..6_u32)),
        // Ways of each class as bits; only ways below 256 count.
        option::weighted(0.25, [0..512_u16, 0..512, 0..512, 0..512, 0..512]),
    );
    (shape, write, cycles, rules, beside).prop_map(|(shape, write, cycles, rules, beside)| {
        let (sets, ways, is_full, replacement, seed) = shape;
        let sets = if is_full { 1 } else { sets };
        let ways = match replacement {
            Replacement::TreePlru => ways.next_power_of_two(),
            _ => ways,
        };
        let (victim, streams, stride, streamer, masks) = beside;
        Level {
            replacement: match replacement {
                // DRRIP needs more than one set for its duel.
                Replacement::Drrip if sets == 1 => Replacement::Srrip,
                replacement => replacement,
            },
            seed,
            write: write.0,
            write_allocate: write.1,
            write_buffers: write.2.map(|(count, drain_cycles)| WriteBuffers {
                count,
                drain_cycles,
            }),
            hit_cycles: cycles.0,
            bus_cycles: cycles.2,
            inclusion: rules.0,
            index: rules.1.0,
            tag: rules.1.1,
            on_switch: rules.2,
            prefetch: rules.3,
            victim: victim.map(|(lines, hit_cycles)| VictimCache { lines, hit_cycles }),
            streams: streams.map(|((count, depth, hit_cycles), allocate_after, timed)| {
                StreamBuffers {
                    count,
                    depth,
                    hit_cycles,
                    allocate_after,
                    timed,
                }
            }),
            stride: stride.map(|(entries, degree, distance, by)| StridePrefetcher {
                entries,
                degree,
                distance,
                by,
            }),
            streamer: streamer.map(|(entries, degree, distance)| Streamer {
                entries,
                degree,
                distance,
            }),
            partition: masks.and_then(|masks| {
                let masks = CLASSES.iter().zip(masks).filter(|(_, bits)| *bits < 256);
                let text: Vec<String> = masks
                    .map(|(class, bits)| format!("{class}:{:x}", (bits & ((1 << ways) - 1)).max(1)))
                    .collect();
                text.join("+").parse().ok()
            }),
            ..Level::plain(
                "",
                Both,
                Bytes(sets * u64::from(ways)),
                Bytes(1),
                if is_full {
                    Ways::Full
                } else {
                    Ways::Count(ways)
                },
                cycles.1,
            )
        }
    })
}

fn level() -> impl Strategy<Value = Level> {
    draft(1..6, 1..9)
}

/// Generates a level, and the binary logarithm of how many times longer its lines are than the
/// longest lines before.
fn longer_level() -> impl Strategy<Value = (Level, u32)> {
    (level(), prop_oneof![3 => Just(0_u32), 1 => Just(1)])
}

/// Returns a draft as a level of a design, without the settings that depend on other levels.
fn placed(draft: &Level, name: String, holds: Holds, line: u64) -> Level {
    let mut level = Level {
        name,
        holds,
        size: Bytes(draft.size.0 * line),
        line: Bytes(line),
        inclusion: Inclusion::Neither,
        ..draft.clone()
    };
    if !holds.data() {
        (level.write, level.write_allocate, level.stride) = (WritePolicy::Back, None, None);
    }
    if level.write == WritePolicy::Back {
        level.write_buffers = None;
    }
    level
}

/// Generates any design that could be built.
pub(crate) fn design() -> impl Strategy<Value = Design> {
    let order = prop_oneof![7 => Just(PageOrder::Random), 3 => Just(PageOrder::Consecutive)];
    let parts = (
        select(&CACHES[..]),
        vec(longer_level(), 4),
        select(&TLBS[..]),
        vec((draft(1..4, 1..5), 0..3_u32), 3),
        (3..6_u32, 0..2_u32, order, 0..4_u64),
    );
    parts.prop_map(
        |(caches, levels, tlbs, tlb_levels, (mut bits, page, order, seed))| {
            let mut design = design_of(Vec::new());
            for (&holds, (draft, longer)) in caches.iter().zip(&levels) {
                // Levels of the same number are siblings: only a level that follows on a path has
                // longer lines.
                bits = (bits + longer).min(7);
                add_level(&mut design.levels, holds, draft, bits);
            }
            let mut page_bits = 12;
            for (place, (&holds, (draft, larger))) in tlbs.iter().zip(&tlb_levels).enumerate() {
                page_bits += larger / 2;
                design.tlbs.push(tlb(place, holds, draft, page_bits));
            }
            design.pages = Some(PageAllocation {
                size: Bytes(4096 << page),
                order,
                seed,
            });
            checked(design)
        },
    )
}

/// Generates typical designs: caches with sizes that are powers of two and LRU or FIFO, without
/// prefetchers and victim caches.
pub(crate) fn plain_design() -> impl Strategy<Value = Design> {
    let size = || (0..6_u32, 0..4_u32);
    let policy = select(vec![Replacement::Lru, Replacement::Fifo]);
    (design(), vec(size(), 4), policy, any::<bool>()).prop_map(
        |(mut design, sizes, policy, is_physical)| {
            for (level, (sets, ways)) in design.levels.iter_mut().zip(sizes) {
                strip(level);
                resize(level, 1 << sets, 1 << ways);
                level.replacement = policy;
            }
            if is_physical
                && let Some(last) = design.levels.last_mut().filter(|last| last.holds == Both)
            {
                (last.index, last.tag) = (Physical, Physical);
            }
            checked(design)
        },
    )
}

/// Generates designs with split, direct-mapped first levels, mostly write-through, without
/// prefetchers and victim caches, as in Mogul and Borg. The simulator has its fastest path for
/// these designs.
pub(crate) fn split_design() -> impl Strategy<Value = Design> {
    (3..6_u32, raw_split()).prop_map(|(bits, raw)| raw.with_lines(bits, bits))
}

/// Generates several split designs with lines of the same lengths, like the four of Mogul and Borg;
/// a few have other lengths.
pub(crate) fn split_designs() -> impl Strategy<Value = Vec<Design>> {
    let members = vec((raw_split(), option::weighted(0.1, 3..6_u32)), 2..6);
    (3..6_u32, 3..6_u32, members).prop_map(|(code_bits, data_bits, members)| {
        let members = members.iter();
        members
            .map(|(raw, other)| raw.with_lines(code_bits, other.unwrap_or(data_bits)))
            .collect()
    })
}

/// Random choices for a design with split first levels, except the line lengths.
#[derive(Clone, Debug)]
struct RawSplit {
    /// The instruction cache and the data cache, each with its sets as a power of two.
    firsts: [(Level, u32); 2],
    /// The level after the first ones: how much longer its lines are, its sets and ways as powers
    /// of two, and whether it is a plain one.
    next: Option<(Level, u32, u32, u32, bool)>,
}

fn raw_split() -> impl Strategy<Value = RawSplit> {
    let next = (level(), 0..3_u32, 0..6_u32, 0..2_u32, any::<bool>());
    let write = prop_oneof![1 => Just(WritePolicy::Back), 4 => Just(WritePolicy::Through)];
    let firsts = [(level(), 0..6_u32), (level(), 0..6_u32)];
    (firsts, option::weighted(0.6, next), write, weighted(0.2)).prop_map(
        |(mut firsts, next, write, allocates)| {
            let data = &mut firsts[1].0;
            data.write = write;
            data.write_allocate = Some(allocates);
            RawSplit { firsts, next }
        },
    )
}

impl RawSplit {
    fn with_lines(&self, code_bits: u32, data_bits: u32) -> Design {
        let first = |place: usize, holds: Holds, bits: u32| {
            let (draft, sets) = &self.firsts[place];
            let mut level = placed(draft, format!("C{place}"), holds, 1 << bits);
            let on_switch = level.on_switch;
            strip(&mut level);
            resize(&mut level, 1 << sets, 1);
            (level.hit_cycles, level.replacement, level.on_switch) =
                (0, Replacement::Lru, on_switch);
            level
        };
        let mut levels = vec![first(0, Instructions, code_bits), first(1, Data, data_bits)];
        if let Some((draft, longer, sets, ways, is_plain)) = &self.next {
            let mut level = placed(
                draft,
                "C2".to_owned(),
                Both,
                1 << (code_bits.max(data_bits) + longer),
            );
            if *is_plain {
                (level.write, level.write_allocate, level.write_buffers) =
                    (WritePolicy::Back, None, None);
            }
            strip(&mut level);
            level.replacement = Replacement::Lru;
            resize(&mut level, 1 << sets, if *is_plain { 1 } else { 1 << ways });
            levels.push(level);
        }
        checked(design_of(levels))
    }
}

/// Generates one plain design in several sizes and associativities.
pub(crate) fn family() -> impl Strategy<Value = Vec<Design>> {
    let sizes = vec(vec((0..6_u32, 0..4_u32), 4), 2..10);
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

/// Values in which the members of a family differ in one level: sets as a power of two, ways, hit
/// and miss cycles.
type Size = (u32, u32, u32, u32);

fn size() -> impl Strategy<Value = Size> {
    (0..6_u32, 1..=9_u32, 0..3_u32, 0..20_u32)
}

fn set_size(level: &mut Level, (sets, ways, hit_cycles, miss_cycles): Size) {
    resize(level, 1 << sets, ways);
    (level.hit_cycles, level.miss_cycles) = (hit_cycles, miss_cycles);
}

/// Designs that differ only in their last levels, or in one level and all levels after it.
#[derive(Clone, Debug)]
pub(crate) struct Family {
    pub(crate) designs: Vec<Design>,
    /// Whether stores bring lines into the last levels. If not, members must not be swept though
    /// they look alike.
    pub(crate) allocates: bool,
}

/// Whether any of the levels `before` shares a path with `level`.
fn is_before(before: &[Level], level: &Level) -> bool {
    before.iter().any(|other| meets(other.holds, level.holds))
}

/// Generates any design with last levels that can mostly be swept, in several sizes.
pub(crate) fn swept_family() -> impl Strategy<Value = Family> {
    // Levels that the processor requests are not swept, even if only by fetches.
    let bases = design().prop_filter("a last level is first too", |design| {
        let levels = &design.levels;
        (1..levels.len()).any(|at| is_before(&levels[..at], &levels[at]))
            && (levels[0].holds != Data || levels[1].holds != Both)
    });
    let members = vec(vec(size(), 4), 6..14);
    (bases, members, any::<bool>(), weighted(0.9)).prop_map(
        |(mut base, members, is_physical, allocates)| {
            for at in 0..base.levels.len() {
                let (before, rest) = base.levels.split_at_mut(at);
                let Some((level, later)) = rest.split_first_mut() else {
                    continue;
                };
                untime(level);
                level.partition = None;
                if is_before(later, level) {
                    continue;
                }
                fetch_on_demand_only(level);
                (level.inclusion, level.replacement) = (Inclusion::Neither, Replacement::Lru);
                level.write_allocate = level.holds.data().then_some(allocates);
                let is_physical = is_before(before, level)
                    && (is_physical || before.iter().any(|other| other.tag == Physical));
                let kind = if is_physical { Physical } else { Virtual };
                (level.index, level.tag) = (kind, kind);
            }
            let member = |sizes: Vec<Size>| {
                let mut member = base.clone();
                for (at, size) in sizes.into_iter().enumerate().take(base.levels.len()) {
                    if !is_before(&base.levels[at + 1..], &base.levels[at]) {
                        set_size(&mut member.levels[at], size);
                    }
                }
                checked(member)
            };
            Family {
                designs: members.into_iter().map(member).collect(),
                allocates,
            }
        },
    )
}

/// Generates a family with common first levels, a next level that differs between members, and
/// further levels that may differ as well.
pub(crate) fn family_between() -> impl Strategy<Value = Family> {
    let members = vec((size(), vec(longer_level(), 1..3)), 6..10);
    (
        design(),
        longer_level(),
        members,
        any::<bool>(),
        any::<bool>(),
    )
        .prop_map(|(base, swept, mut members, is_exclusive, are_alike)| {
            if are_alike {
                let after = members[0].1.clone();
                members
                    .iter_mut()
                    .for_each(|member| member.1.clone_from(&after));
            }
            // Otherwise there is nothing to sweep.
            (members[0].0.1, members[1].0.1) = (1, 2);
            let member = |(size, after)| between(&base, &swept, size, after, is_exclusive);
            Family {
                designs: members.into_iter().map(member).collect(),
                allocates: true,
            }
        })
}

fn between(
    base: &Design,
    (draft, longer): &(Level, u32),
    size: Size,
    after: Vec<(Level, u32)>,
    is_exclusive: bool,
) -> Design {
    let mut design = base.clone();
    design.levels.iter_mut().for_each(|level| {
        untime(level);
        level.partition = None;
    });
    let longest = design.levels.iter().map(|level| level.line.0).max();
    let line = longest.expect("a level") << longer;
    let is_physical =
        draft.index == Physical || design.levels.iter().any(|level| level.tag == Physical);
    let kind = if is_physical { Physical } else { Virtual };
    let mut swept = placed(draft, "S".to_owned(), Both, line);
    strip(&mut swept);
    set_size(&mut swept, size);
    (swept.replacement, swept.write, swept.bus_cycles) = (Replacement::Lru, WritePolicy::Back, 0);
    (swept.write_allocate, swept.write_buffers) = (None, None);
    (swept.index, swept.tag, swept.on_switch) = (kind, kind, draft.on_switch);
    design.levels.push(swept);
    for (place, (draft, longer)) in after.into_iter().enumerate() {
        let line = design.levels.last().expect("a level").line.0;
        let line = if is_exclusive { line } else { line << longer };
        let mut level = placed(&draft, format!("B{place}"), Both, line);
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
    if let Some(streams) = &mut level.streams {
        streams.timed = false;
    }
}

/// Replaces SHiP, which learns from the addresses of instructions.
fn forget_instructions(level: &mut Level) {
    if level.replacement == Replacement::Ship {
        level.replacement = Replacement::Srrip;
    }
}

/// Removes prefetchers and the victim cache.
fn fetch_on_demand_only(level: &mut Level) {
    (level.prefetch, level.victim, level.streams) = (Prefetch::None, None, None);
    (level.stride, level.streamer) = (None, None);
}

fn strip(level: &mut Level) {
    fetch_on_demand_only(level);
    level.partition = None;
    level.bus_cycles = if level.bus_cycles > 25 { 9 } else { 0 };
    (level.inclusion, level.on_switch) = (Inclusion::Neither, OnSwitch::Keep);
    (level.index, level.tag) = (Virtual, Virtual);
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

fn add_level(built: &mut Vec<Level>, holds: Holds, draft: &Level, bits: u32) {
    let mut level = placed(draft, format!("C{}", built.len()), holds, 1 << bits);
    let before: Vec<usize> = (0..built.len())
        .filter(|&index| meets(built[index].holds, holds))
        .collect();
    if before.iter().any(|&index| built[index].tag == Physical) {
        (level.index, level.tag) = (Physical, Physical);
    }
    let is_after = |is_on: fn(Holds) -> bool| {
        !is_on(holds) || before.iter().any(|&index| is_on(built[index].holds))
    };
    let has_same_tags = before.iter().all(|&index| built[index].tag == level.tag);
    if is_after(Holds::instructions) && is_after(Holds::data) && has_same_tags {
        match draft.inclusion {
            Inclusion::Inclusive => make_inclusive(built, &mut level, &before),
            Inclusion::Exclusive => make_exclusive(built, &mut level, &before),
            Inclusion::Neither => {}
        }
    }
    built.push(level);
}

fn make_inclusive(built: &[Level], level: &mut Level, before: &[usize]) {
    level.inclusion = Inclusion::Inclusive;
    let sizes = before.iter().map(|&index| built[index].size.0);
    let largest = sizes.max().expect("it is after a level");
    if level.ways == Ways::Full {
        resize(level, 1, 4);
        level.partition = None;
    }
    let set = level.line.0 * level.ways.of(1);
    level.size = Bytes(level.size.0.max(largest).div_ceil(set) * set);
}

fn make_exclusive(built: &mut [Level], level: &mut Level, before: &[usize]) {
    if before.iter().any(|&index| built[index].line != level.line) {
        return;
    }
    level.inclusion = Inclusion::Exclusive;
    (level.write, level.write_buffers) = (WritePolicy::Back, None);
    level.write_allocate = None;
    fetch_on_demand_only(level);
    forget_instructions(level);
    for &index in before {
        let earlier = &mut built[index];
        (earlier.write, earlier.write_allocate, earlier.write_buffers) =
            (WritePolicy::Back, None, None);
        earlier.streams = None;
    }
}

fn tlb(place: usize, holds: Holds, draft: &Level, page_bits: u32) -> TlbLevel {
    TlbLevel {
        name: format!("T{place}"),
        holds,
        entries: draft.size.0 as u32,
        ways: draft.ways,
        page: Bytes(1 << page_bits),
        replacement: draft.replacement,
        seed: draft.seed,
        hit_cycles: draft.hit_cycles,
        miss_cycles: draft.miss_cycles,
        on_switch: draft.on_switch,
    }
}
