//! Memory systems to be simulated, as TOML files describe them (`docs/formats/design.md`).
//!
//! What comes in: a [`Design`], from a file ([`read_design`]), from those that come with the program ([`shipped`]), of this machine
//! ([`host_design`]), varied ([`vary`]) or built field by field. What goes out: whether it could be built ([`Design::check`]), and what
//! its parts are. Nothing here knows how a design is simulated, or what comes of it.
#![doc = include_str!("../README.md")]

mod aside;
mod check;
mod error;
mod file;
mod host;
mod pages;
mod partition;
mod paths;
pub mod result;
pub mod shipped;
#[cfg(test)]
mod tests;
mod vary;

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use strum::Display;
use switchcost_units::Bytes;

pub use aside::{StreamBuffers, Streamer, StrideKey, StridePrefetcher, VictimCache, WriteBuffers};
pub use error::UnrealisableDesign;
pub use file::{DesignError, Location, read_design, write_design};
pub use host::{HostDesignError, host_design};
pub use pages::{PageAllocation, PageOrder};
pub use partition::{CapacityBitmask, Partition};
pub use vary::{VaryError, vary};

/// Name and version of the format.
pub const DESIGN_SCHEMA: &str = "switchcost.design/1";

/// A memory system: levels of caches, nearest the processor first, and TLBs. Every instruction costs one cycle; all
/// other cycles are those of misses, late hits, page walks and full write buffers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Design {
    /// [`DESIGN_SCHEMA`].
    pub schema: String,
    /// Short name, such as `mogul-1a`.
    pub name: String,
    /// One line for people.
    #[serde(default)]
    pub title: String,
    /// Where the figures come from.
    #[serde(default)]
    pub source: String,
    /// Shortest and longest time of a cycle in nanoseconds, to say costs in time too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cycle_ns: Option<[f64; 2]>,
    /// The caches. Levels that hold instructions form one path in the order of the file, those that hold data another;
    /// a level that holds both is on both.
    #[serde(rename = "level")]
    pub levels: Vec<Level>,
    /// The TLBs, in the same manner; looked up before the caches.
    #[serde(default, rename = "tlb", skip_serializing_if = "Vec::is_empty")]
    pub tlbs: Vec<TlbLevel>,
    /// How physical addresses are made up if a level wants them and the trace does not know them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pages: Option<PageAllocation>,
}

/// What a level holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, Display)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum Holds {
    /// Instructions only.
    Instructions,
    /// Data only.
    Data,
    /// Both.
    Both,
}

impl Holds {
    /// Whether instruction fetches look here.
    pub const fn instructions(self) -> bool {
        !matches!(self, Holds::Data)
    }

    /// Whether loads and stores look here.
    pub const fn data(self) -> bool {
        !matches!(self, Holds::Instructions)
    }
}

/// Which line of a full set leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, Display)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum Replacement {
    /// The one not used for longest.
    Lru,
    /// The one that came first.
    Fifo,
    /// Any, drawn with the level's seed.
    Random,
    /// Pseudo-LRU by a binary tree over the ways (a power of two of them).
    TreePlru,
    /// Static re-reference interval prediction with 2 bits (Jaleel et al., ISCA 2010): inserted at 2, set to 0 on a
    /// hit, the first way at 3 leaves.
    Srrip,
    /// The same, or mostly inserted at 3, whichever misses less in some sets (set dueling: Qureshi et al., ISCA 2007; dynamic
    /// re-reference interval prediction: Jaleel et al., ISCA 2010).
    Drrip,
    /// The same, inserted at 3 if lines that the same instruction brought in were not found again (signature-based hit
    /// prediction: Wu et al., MICRO 2011).
    Ship,
}

/// What becomes of a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, Display)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum WritePolicy {
    /// It goes on to the next level at once (through the write buffers, if there are any).
    Through,
    /// It stays here until the line leaves.
    Back,
}

/// How a level and the levels nearer to the processor hold the same lines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, Display)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum Inclusion {
    /// No rule.
    #[default]
    Neither,
    /// It holds all that they hold: a line that leaves here leaves there too.
    Inclusive,
    /// It holds what has left them: a line found here moves up, a line that leaves them comes here.
    Exclusive,
}

/// Which address chooses the set, or is compared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, Display)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum AddressKind {
    /// The virtual one; as a tag, with the address space's id beside it.
    #[default]
    Virtual,
    /// The physical one.
    Physical,
}

/// What a switch between address spaces does to a level.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, Display)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum OnSwitch {
    /// Nothing: lines carry the id of their address space, or physical tags.
    #[default]
    Keep,
    /// All lines leave; modified ones are written back.
    Flush,
}

/// What is fetched before it is asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, Display)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum Prefetch {
    /// Nothing.
    #[default]
    None,
    /// With each line that was missed, the next one in memory.
    NextLine,
}

/// The number of ways: a number, or `"full"` for one set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Ways {
    /// So many.
    Count(u32),
    /// As many as there are lines.
    Full,
}

impl Serialize for Ways {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Ways::Count(count) => serializer.serialize_u32(*count),
            Ways::Full => serializer.serialize_str("full"),
        }
    }
}

impl<'de> Deserialize<'de> for Ways {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl serde::de::Visitor<'_> for Visitor {
            type Value = Ways;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number of ways, or \"full\"")
            }
            fn visit_u64<E: serde::de::Error>(self, count: u64) -> Result<Ways, E> {
                u32::try_from(count)
                    .map(Ways::Count)
                    .map_err(|_| E::custom("found more ways than 4294967295"))
            }
            fn visit_i64<E: serde::de::Error>(self, count: i64) -> Result<Ways, E> {
                u32::try_from(count)
                    .map(Ways::Count)
                    .map_err(|_| E::custom(format!("found {count} ways")))
            }
            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Ways, E> {
                if text == "full" {
                    Ok(Ways::Full)
                } else {
                    Err(E::invalid_value(serde::de::Unexpected::Str(text), &self))
                }
            }
        }
        deserializer.deserialize_any(Visitor)
    }
}

/// One cache.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Level {
    /// Such as `L1I`; unique in the design.
    pub name: String,
    /// What it holds.
    pub holds: Holds,
    /// Capacity.
    #[serde(with = "size_text")]
    pub size: Bytes,
    /// Line size, a power of two.
    #[serde(with = "size_text")]
    pub line: Bytes,
    /// Associativity.
    pub ways: Ways,
    /// Which line leaves.
    #[serde(default = "default_replacement")]
    pub replacement: Replacement,
    /// Seed of random replacement.
    #[serde(default)]
    pub seed: u64,
    /// What becomes of a store.
    #[serde(default = "default_write")]
    pub write: WritePolicy,
    /// Whether a store that misses brings the line in. By default write-back levels do, write-through levels do not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub write_allocate: Option<bool>,
    /// Buffers after a write-through level; without them a store to the next level costs nothing here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub write_buffers: Option<WriteBuffers>,
    /// Cycles of a reference that is found here; 0 for a first level, whose hits are part of the instruction's cycle.
    #[serde(default)]
    pub hit_cycles: u32,
    /// Cycles of a reference that is not found here, on top of what the levels below take.
    pub miss_cycles: u32,
    /// Cycles that a line takes the bus to the next level, whichever way it goes; 0 if the bus is never busy.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub bus_cycles: u32,
    /// Its relation to the levels nearer to the processor.
    #[serde(default)]
    pub inclusion: Inclusion,
    /// The address that chooses the set.
    #[serde(default)]
    pub index: AddressKind,
    /// The address that is compared.
    #[serde(default)]
    pub tag: AddressKind,
    /// What a switch between address spaces does.
    #[serde(default)]
    pub on_switch: OnSwitch,
    /// What is prefetched into it.
    #[serde(default)]
    pub prefetch: Prefetch,
    /// Its victim cache.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub victim: Option<VictimCache>,
    /// Its stream buffers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub streams: Option<StreamBuffers>,
    /// Its stride prefetcher.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stride: Option<StridePrefetcher>,
    /// Its streamer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub streamer: Option<Streamer>,
    /// Who may fill which ways; without it everybody all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub partition: Option<Partition>,
}

impl Level {
    /// A level of which a file names no more than this.
    pub fn plain(
        name: &str,
        holds: Holds,
        size: Bytes,
        line: Bytes,
        ways: Ways,
        miss_cycles: u32,
    ) -> Level {
        Level {
            name: name.to_owned(),
            holds,
            size,
            line,
            ways,
            replacement: default_replacement(),
            seed: 0,
            write: default_write(),
            write_allocate: None,
            write_buffers: None,
            hit_cycles: 0,
            miss_cycles,
            bus_cycles: 0,
            inclusion: Inclusion::default(),
            index: AddressKind::default(),
            tag: AddressKind::default(),
            on_switch: OnSwitch::default(),
            prefetch: Prefetch::default(),
            victim: None,
            streams: None,
            stride: None,
            streamer: None,
            partition: None,
        }
    }
}

/// One TLB.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TlbLevel {
    /// Such as `DTLB`; unique in the design.
    pub name: String,
    /// Whose pages it holds.
    pub holds: Holds,
    /// Number of entries.
    pub entries: u32,
    /// Associativity.
    pub ways: Ways,
    /// Page size, a power of two.
    #[serde(with = "size_text")]
    pub page: Bytes,
    /// Which entry leaves.
    #[serde(default = "default_replacement")]
    pub replacement: Replacement,
    /// Seed of random replacement.
    #[serde(default)]
    pub seed: u64,
    /// Cycles of a translation that is found here; 0 for a first level.
    #[serde(default)]
    pub hit_cycles: u32,
    /// Cycles of the page walk if this is the last TLB, or of the miss alone if another follows.
    #[serde(alias = "walk_cycles")]
    pub miss_cycles: u32,
    /// `keep` if entries carry an address-space id.
    #[serde(default)]
    pub on_switch: OnSwitch,
}

const fn default_replacement() -> Replacement {
    Replacement::Lru
}

const fn default_write() -> WritePolicy {
    WritePolicy::Back
}

fn is_zero(number: &u32) -> bool {
    *number == 0
}

impl fmt::Display for Ways {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Ways::Count(count) => write!(f, "{count}"),
            Ways::Full => f.write_str("full"),
        }
    }
}

impl Ways {
    /// How many of `lines` lines a set has.
    pub fn of(self, lines: u64) -> u64 {
        match self {
            Ways::Count(count) => u64::from(count),
            Ways::Full => lines,
        }
    }
}

impl Level {
    /// Lines that it has room for; of a design that [`Design::check`] accepts, a multiple of its ways.
    pub fn lines(&self) -> u64 {
        self.size.0.checked_div(self.line.0).unwrap_or(0)
    }

    /// Whether what a request costs depends on when it comes, and not only on what is held.
    pub fn is_timed(&self) -> bool {
        self.bus_cycles != 0 || self.streams.is_some_and(|streams| streams.timed)
    }

    /// Whether lines come into the sets that were not asked for.
    pub fn prefetches(&self) -> bool {
        self.prefetch != Prefetch::None || self.stride.is_some() || self.streamer.is_some()
    }

    /// Whether what happens here depends on which instruction asks, and for which byte.
    pub fn knows_instructions(&self) -> bool {
        self.replacement == Replacement::Ship || self.stride.is_some()
    }

    /// Whether a store that misses brings its line in.
    pub fn allocates_on_write(&self) -> bool {
        self.write_allocate
            .unwrap_or(self.write == WritePolicy::Back)
    }
}

/// A size as text with its unit (`"64KiB"`), or as a number of bytes.
mod size_text {
    use std::fmt;

    use serde::{Deserializer, Serializer, de};
    use switchcost_units::Bytes;

    struct Size;

    impl de::Visitor<'_> for Size {
        type Value = Bytes;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a size such as \"64KiB\", or a number of bytes")
        }

        fn visit_u64<E: de::Error>(self, bytes: u64) -> Result<Bytes, E> {
            Ok(Bytes(bytes))
        }

        fn visit_i64<E: de::Error>(self, bytes: i64) -> Result<Bytes, E> {
            u64::try_from(bytes)
                .map(Bytes)
                .map_err(|_| E::invalid_value(de::Unexpected::Signed(bytes), &self))
        }

        fn visit_str<E: de::Error>(self, text: &str) -> Result<Bytes, E> {
            text.parse().map_err(E::custom)
        }
    }

    pub(super) fn serialize<S: Serializer>(size: &Bytes, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&size.to_string())
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Bytes, D::Error> {
        deserializer.deserialize_any(Size)
    }
}
