use std::fmt;

use strum::{Display, EnumIter, EnumString, IntoEnumIterator};
use switchcost_design::{Design, Inclusion, OnSwitch, Replacement, Ways};
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
            Field::Entries | Field::HitCycles | Field::MissCycles | Field::BusCycles => {
                text.parse().map(Value::Number).map_err(|_| format!("found {text:?}, need a whole number"))
            }
        }
    }
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
            Target::Tlb(_) => !matches!(field, Field::Size | Field::Line | Field::Inclusion | Field::BusCycles),
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
