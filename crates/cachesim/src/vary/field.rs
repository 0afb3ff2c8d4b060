//! What can be varied, and where.

use strum::{Display, EnumIter, EnumString, IntoEnumIterator};
use switchcost_design::Design;

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
    Index,
    Tag,
    Prefetch,
    Stride,
    Streamer,
    Streams,
    Victim,
    Partition,
    /// `index` and `tag` together, of the levels where they belong; not a field of a file.
    Addressing,
}

impl Field {
    /// Whether axes of both fields would set the same.
    pub(super) fn meets(self, other: Field) -> bool {
        let sets = |one: Field, other: Field| {
            one == Field::Addressing && matches!(other, Field::Index | Field::Tag)
        };
        self == other || sets(self, other) || sets(other, self)
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
        use Field::{Entries, HitCycles, MissCycles, OnSwitch, Page, Replacement, Ways};
        match self {
            Target::Level(_) => !matches!(field, Entries | Page),
            Target::Tlb(_) => {
                matches!(
                    field,
                    Entries | Page | Ways | Replacement | OnSwitch | HitCycles | MissCycles
                )
            }
        }
    }

    pub(super) fn field(self, name: &str) -> Option<Field> {
        name.parse().ok().filter(|field| self.has(*field))
    }

    pub(super) fn known_fields(self) -> String {
        let known = Field::iter().filter(|field| self.has(*field));
        known
            .map(|field| field.to_string())
            .collect::<Vec<_>>()
            .join(", ")
    }
}
