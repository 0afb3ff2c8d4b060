//! Fields set to values.

use switchcost_design::{
    AddressKind, Design, Holds, Level, PageAllocation, PageOrder, StreamBuffers, Streamer,
    StridePrefetcher, TlbLevel, VictimCache,
};
use switchcost_units::Bytes;

use super::field::{Field, Target};
use super::value::{Addressing, Value};

/// Where a design says nothing of pages: the size of today's base pages, and of the DECstation's.
const PAGES: PageAllocation = PageAllocation {
    size: Bytes::kib(4),
    order: PageOrder::Random,
    seed: 0,
};

/// Sets a field to a value that [`Value::parse`] gave for it.
pub(super) fn set(design: &mut Design, target: Target, field: Field, value: &Value) {
    match target {
        Target::Level(index) => {
            let is_first = is_first(design, index);
            if wants_pages(value) {
                design.pages.get_or_insert(PAGES);
            }
            match (field, value) {
                (Field::Addressing, Value::Addressing(kind)) => {
                    let level = &mut design.levels[index];
                    (level.index, level.tag) = kind.of(is_first);
                }
                _ => set_level(&mut design.levels[index], field, value),
            }
        }
        Target::Tlb(index) => set_tlb(&mut design.tlbs[index], field, value),
    }
}

fn wants_pages(value: &Value) -> bool {
    matches!(
        value,
        Value::Addressing(Addressing::Vipt | Addressing::Pipt)
            | Value::Address(AddressKind::Physical)
    )
}

/// Whether no level before it holds what it holds.
fn is_first(design: &Design, index: usize) -> bool {
    let own = design.levels[index].holds;
    let meets =
        |other: Holds| own.data() && other.data() || own.instructions() && other.instructions();
    !design.levels[..index]
        .iter()
        .any(|before| meets(before.holds))
}

fn set_level(level: &mut Level, field: Field, value: &Value) {
    match (field, value) {
        (Field::Size, Value::Size(size)) => level.size = *size,
        (Field::Line, Value::Size(line)) => level.line = *line,
        (Field::Ways, Value::Ways(ways)) => level.ways = *ways,
        (Field::Replacement, Value::Replacement(replacement)) => level.replacement = *replacement,
        (Field::Inclusion, Value::Inclusion(inclusion)) => level.inclusion = *inclusion,
        (Field::OnSwitch, Value::OnSwitch(on_switch)) => level.on_switch = *on_switch,
        (Field::HitCycles, Value::Number(cycles)) => level.hit_cycles = *cycles,
        (Field::MissCycles, Value::Number(cycles)) => level.miss_cycles = *cycles,
        (Field::BusCycles, Value::Number(cycles)) => level.bus_cycles = *cycles,
        (Field::Index, Value::Address(kind)) => level.index = *kind,
        (Field::Tag, Value::Address(kind)) => level.tag = *kind,
        (Field::Partition, Value::Partition(partition)) => level.partition = partition.clone(),
        _ => set_beside(level, field, value),
    }
}

/// What is not numbered stays as the design has it.
fn set_beside(level: &mut Level, field: Field, value: &Value) {
    match (field, value) {
        (Field::Prefetch, Value::Prefetch(prefetch)) => level.prefetch = *prefetch,
        (Field::Victim, Value::Pair(numbers)) => {
            level.victim = numbers.map(|[lines, hit_cycles]| VictimCache { lines, hit_cycles });
        }
        (Field::Streams, Value::Triple(numbers)) => {
            let own = level.streams.unwrap_or_default();
            level.streams = numbers.map(|[count, depth, hit_cycles]| StreamBuffers {
                count,
                depth,
                hit_cycles,
                ..own
            });
        }
        (Field::Stride, Value::Triple(numbers)) => {
            let by = level.stride.map(|stride| stride.by).unwrap_or_default();
            level.stride = numbers.map(|[entries, degree, distance]| StridePrefetcher {
                entries,
                degree,
                distance,
                by,
            });
        }
        (Field::Streamer, Value::Triple(numbers)) => {
            level.streamer = numbers.map(|[entries, degree, distance]| Streamer {
                entries,
                degree,
                distance,
            });
        }
        _ => unreachable!("a level has the field, and the value is of its kind"),
    }
}

fn set_tlb(tlb: &mut TlbLevel, field: Field, value: &Value) {
    match (field, value) {
        (Field::Entries, Value::Number(entries)) => tlb.entries = *entries,
        (Field::Page, Value::Size(page)) => tlb.page = *page,
        (Field::Ways, Value::Ways(ways)) => tlb.ways = *ways,
        (Field::Replacement, Value::Replacement(replacement)) => tlb.replacement = *replacement,
        (Field::OnSwitch, Value::OnSwitch(on_switch)) => tlb.on_switch = *on_switch,
        (Field::HitCycles, Value::Number(cycles)) => tlb.hit_cycles = *cycles,
        (Field::MissCycles, Value::Number(cycles)) => tlb.miss_cycles = *cycles,
        _ => unreachable!("a TLB has the field, and the value is of its kind"),
    }
}
