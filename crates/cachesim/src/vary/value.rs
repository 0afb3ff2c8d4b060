//! What fields become.

use std::fmt;
use std::str::FromStr;

use strum::{Display, EnumString};
use switchcost_design::{AddressKind, Inclusion, OnSwitch, Partition, Prefetch, Replacement, Ways};
use switchcost_units::{Bytes, ParseBytesError};

use super::field::Field;

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
    pub(super) fn of(self, is_first: bool) -> (AddressKind, AddressKind) {
        match (self, is_first) {
            (Addressing::Vivt, _) => (AddressKind::Virtual, AddressKind::Virtual),
            (Addressing::Vipt, true) => (AddressKind::Virtual, AddressKind::Physical),
            (Addressing::Vipt, false) | (Addressing::Pipt, _) => {
                (AddressKind::Physical, AddressKind::Physical)
            }
        }
    }
}

/// What a field becomes. Prints as an axis says it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Value {
    Size(Bytes),
    Ways(Ways),
    Replacement(Replacement),
    Inclusion(Inclusion),
    OnSwitch(OnSwitch),
    Number(u32),
    Address(AddressKind),
    Addressing(Addressing),
    Prefetch(Prefetch),
    /// Of a victim cache: lines and hit cycles.
    Pair(Option<[u32; 2]>),
    /// Of stream buffers and prefetchers: the fields that they must have, in the order of a file.
    Triple(Option<[u32; 3]>),
    Partition(Option<Partition>),
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
            Value::Address(kind) => kind.fmt(f),
            Value::Addressing(addressing) => addressing.fmt(f),
            Value::Prefetch(prefetch) => prefetch.fmt(f),
            Value::Pair(Some(numbers)) => f.write_str(&joined(numbers)),
            Value::Triple(Some(numbers)) => f.write_str(&joined(numbers)),
            Value::Partition(Some(partition)) => partition.fmt(f),
            Value::Pair(None) | Value::Triple(None) | Value::Partition(None) => f.write_str(NONE),
        }
    }
}

/// What is not there.
const NONE: &str = "none";

fn joined(numbers: &[u32]) -> String {
    numbers
        .iter()
        .map(u32::to_string)
        .collect::<Vec<_>>()
        .join(":")
}

impl Value {
    pub(super) fn parse(field: Field, text: &str) -> Result<Value, String> {
        match field {
            Field::Size | Field::Line | Field::Page => text
                .parse()
                .map(Value::Size)
                .map_err(|error: ParseBytesError| error.to_string()),
            Field::Ways if text == "full" => Ok(Value::Ways(Ways::Full)),
            Field::Ways => one_of(text, "a number of ways, or full")
                .map(|count| Value::Ways(Ways::Count(count))),
            Field::Replacement => one_of(
                text,
                "one of lru, fifo, random, tree-plru, srrip, drrip, ship",
            )
            .map(Value::Replacement),
            Field::Inclusion => {
                one_of(text, "one of neither, inclusive, exclusive").map(Value::Inclusion)
            }
            Field::OnSwitch => one_of(text, "one of keep, flush").map(Value::OnSwitch),
            Field::Index | Field::Tag => {
                one_of(text, "one of virtual, physical").map(Value::Address)
            }
            Field::Addressing => one_of(text, "one of vivt, vipt, pipt").map(Value::Addressing),
            Field::Prefetch => one_of(text, "one of none, next-line").map(Value::Prefetch),
            Field::Victim => numbers(text, "LINES:HIT_CYCLES").map(Value::Pair),
            Field::Streams => numbers(text, "COUNT:DEPTH:HIT_CYCLES").map(Value::Triple),
            Field::Stride | Field::Streamer => {
                numbers(text, "ENTRIES:DEGREE:DISTANCE").map(Value::Triple)
            }
            Field::Partition if text == NONE => Ok(Value::Partition(None)),
            Field::Partition => text
                .parse()
                .map(|partition| Value::Partition(Some(partition))),
            Field::Entries | Field::HitCycles | Field::MissCycles | Field::BusCycles => {
                one_of(text, "a whole number").map(Value::Number)
            }
        }
    }
}

fn one_of<T: FromStr>(text: &str, needed: &str) -> Result<T, String> {
    text.parse()
        .map_err(|_| format!("found {text:?}, need {needed}"))
}

/// Numbers joined by colons.
fn numbers<const COUNT: usize>(text: &str, form: &str) -> Result<Option<[u32; COUNT]>, String> {
    if text == NONE {
        return Ok(None);
    }
    let numbers: Option<Vec<u32>> = text.split(':').map(|number| number.parse().ok()).collect();
    let numbers = numbers.and_then(|numbers| numbers.try_into().ok());
    numbers
        .map(Some)
        .ok_or_else(|| format!("found {text:?}, need none, or {form} in whole numbers"))
}
