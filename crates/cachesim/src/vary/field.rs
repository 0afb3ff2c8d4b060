use std::fmt;

use strum::{Display, EnumIter, EnumString, IntoEnumIterator};
use switchcost_design::{
    AddressKind, Design, Holds, Inclusion, OnSwitch, PageAllocation, PageOrder, Replacement, Ways,
};
use switchcost_units::Bytes;

/// A level or TLB, by its place in the design.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Target {
    Level(usize),
    Tlb(usize),
}

/// A field that can be varied, with its name in a design file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Display, EnumIter, EnumString)]
#[strum(serialize_all = "snake_case")]
pub(super) enum Field {
    Size,
    Line,
    Entries,
    Page,
    Ways,
    Replacement,
    Inclusion,
    OnSwitch,
    HitCycles,
    MissCycles,
    BusCycles,
    /// `index` and `tag` together, of the levels where they belong; not a field of a file.
    Addressing,
}

/// By which addresses caches are indexed and tagged, as processors' manuals call it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Display, EnumString)]
#[strum(serialize_all = "snake_case")]
pub(super) enum Addressing {
    /// Virtually indexed and tagged, with numbers of address spaces: a kernel line is one for each of them.
    Vivt,
    /// First levels virtually indexed and physically tagged, and the others physical: the kernel's lines are everybody's.
    Vipt,
    /// Physically indexed and tagged.
    Pipt,
}

impl Addressing {
    /// Index and tag of a first level, or of one behind it.
    fn of(self, is_first: bool) -> (AddressKind, AddressKind) {
        match (self, is_first) {
            (Addressing::Vivt, _) => (AddressKind::Virtual, AddressKind::Virtual),
            (Addressing::Vipt, true) => (AddressKind::Virtual, AddressKind::Physical),
            (Addressing::Vipt, false) | (Addressing::Pipt, _) => (AddressKind::Physical, AddressKind::Physical),
        }
    }
}

/// What a field becomes. Prints as a file would say it, without blanks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Value {
    Size(Bytes),
    Ways(Ways),
    Replacement(Replacement),
    Inclusion(Inclusion),
    OnSwitch(OnSwitch),
    Number(u32),
    Addressing(Addressing),
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Size(size) => f.write_str(&size.to_string().replace(' ', "")),
            Value::Ways(ways) => ways.fmt(f),
            Value::Replacement(replacement) => replacement.fmt(f),
            Value::Inclusion(inclusion) => inclusion.fmt(f),
            Value::OnSwitch(on_switch) => on_switch.fmt(f),
            Value::Number(number) => number.fmt(f),
            Value::Addressing(addressing) => addressing.fmt(f),
        }
    }
}

impl Field {
    pub(super) fn parse_value(self, text: &str) -> Result<Value, String> {
        match self {
            Field::Size | Field::Line | Field::Page => {
                text.parse().map(Value::Size).map_err(|error: switchcost_units::ParseBytesError| error.to_string())
            }
            Field::Ways if text == "full" => Ok(Value::Ways(Ways::Full)),
            Field::Ways => match text.parse() {
                Ok(count) => Ok(Value::Ways(Ways::Count(count))),
                Err(_) => Err(format!("found {text:?}, need a number of ways, or full")),
            },
            Field::Replacement => text
                .parse()
                .map(Value::Replacement)
                .map_err(|_| format!("found {text:?}, need one of lru, fifo, random, tree-plru, srrip")),
            Field::Inclusion => text
                .parse()
                .map(Value::Inclusion)
                .map_err(|_| format!("found {text:?}, need one of neither, inclusive, exclusive")),
            Field::OnSwitch => {
                text.parse().map(Value::OnSwitch).map_err(|_| format!("found {text:?}, need one of keep, flush"))
            }
            Field::Addressing => {
                text.parse().map(Value::Addressing).map_err(|_| format!("found {text:?}, need one of vivt, vipt, pipt"))
            }
            Field::Entries | Field::HitCycles | Field::MissCycles | Field::BusCycles => {
                text.parse().map(Value::Number).map_err(|_| format!("found {text:?}, need a whole number"))
            }
        }
    }
}

/// Where a design says nothing of pages: the size of today's base pages, and of the DECstation's.
const PAGES: PageAllocation = PageAllocation { size: Bytes::kib(4), order: PageOrder::Random, seed: 0 };

/// Whether no level before it holds what it holds.
fn is_first(design: &Design, index: usize) -> bool {
    let own = design.levels[index].holds;
    let meets = |other: Holds| own.data() && other.data() || own.instructions() && other.instructions();
    !design.levels[..index].iter().any(|before| meets(before.holds))
}

impl Target {
    pub(super) fn name(self, design: &Design) -> &str {
        match self {
            Target::Level(index) => &design.levels[index].name,
            Target::Tlb(index) => &design.tlbs[index].name,
        }
    }

    fn has(self, field: Field) -> bool {
        match self {
            Target::Level(_) => !matches!(field, Field::Entries | Field::Page),
            Target::Tlb(_) => {
                !matches!(field, Field::Size | Field::Line | Field::Inclusion | Field::BusCycles | Field::Addressing)
            }
        }
    }

    pub(super) fn field(self, name: &str) -> Option<Field> {
        name.parse().ok().filter(|field| self.has(*field))
    }

    pub(super) fn known_fields(self) -> String {
        let known = Field::iter().filter(|field| self.has(*field));
        known.map(|field| field.to_string()).collect::<Vec<_>>().join(", ")
    }

    /// Sets a field to a value that [`Field::parse_value`] gave for it.
    pub(super) fn set(self, design: &mut Design, field: Field, value: Value) {
        match self {
            Target::Level(index) => {
                let is_first = is_first(design, index);
                if matches!(value, Value::Addressing(Addressing::Vipt | Addressing::Pipt)) {
                    design.pages.get_or_insert(PAGES);
                }
                let level = &mut design.levels[index];
                match (field, value) {
                    (Field::Size, Value::Size(size)) => level.size = size,
                    (Field::Line, Value::Size(line)) => level.line = line,
                    (Field::Ways, Value::Ways(ways)) => level.ways = ways,
                    (Field::Replacement, Value::Replacement(replacement)) => level.replacement = replacement,
                    (Field::Inclusion, Value::Inclusion(inclusion)) => level.inclusion = inclusion,
                    (Field::OnSwitch, Value::OnSwitch(on_switch)) => level.on_switch = on_switch,
                    (Field::HitCycles, Value::Number(cycles)) => level.hit_cycles = cycles,
                    (Field::MissCycles, Value::Number(cycles)) => level.miss_cycles = cycles,
                    (Field::BusCycles, Value::Number(cycles)) => level.bus_cycles = cycles,
                    (Field::Addressing, Value::Addressing(kind)) => (level.index, level.tag) = kind.of(is_first),
                    _ => unreachable!("a level has the field, and the value is of its kind"),
                }
            }
            Target::Tlb(index) => {
                let tlb = &mut design.tlbs[index];
                match (field, value) {
                    (Field::Entries, Value::Number(entries)) => tlb.entries = entries,
                    (Field::Page, Value::Size(page)) => tlb.page = page,
                    (Field::Ways, Value::Ways(ways)) => tlb.ways = ways,
                    (Field::Replacement, Value::Replacement(replacement)) => tlb.replacement = replacement,
                    (Field::OnSwitch, Value::OnSwitch(on_switch)) => tlb.on_switch = on_switch,
                    (Field::HitCycles, Value::Number(cycles)) => tlb.hit_cycles = cycles,
                    (Field::MissCycles, Value::Number(cycles)) => tlb.miss_cycles = cycles,
                    _ => unreachable!("a TLB has the field, and the value is of its kind"),
                }
            }
        }
    }
}
