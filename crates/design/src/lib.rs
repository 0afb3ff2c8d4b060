//! Memory systems to be simulated, described by TOML files (`docs/formats/design.md`).
//!
//! The input is a [`Design`], from a file ([`read_design`]), built in ([`shipped`]), of this machine ([`host_design`]), varied ([`vary`])
//! or built field by field. This crate checks whether it could be built ([`Design::check`]), and describes its parts. It does not know how
//! a design is simulated, or the results.
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
    /// Name and version of the format, [`DESIGN_SCHEMA`].
    pub schema: String,
    /// Short name, such as `mogul-1a`.
    pub name: String,
    /// Title for people, on one line.
    #[serde(default)]
    pub title: String,
    /// Source of the figures.
    #[serde(default)]
    pub source: String,
    /// Shortest and longest time of a cycle in nanoseconds, with which costs are also given in
    /// time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cycle_ns: Option<[f64; 2]>,
    /// Caches of the memory system. Levels that hold instructions form one path, in the order of
    /// the file, and levels that hold data another; a level that holds both is on both paths.
    #[serde(rename = "level")]
    pub levels: Vec<Level>,
    /// TLBs of the memory system, with paths like those of caches. A reference looks in the TLBs
    /// before the caches.
    #[serde(default, rename = "tlb", skip_serializing_if = "Vec::is_empty")]
    pub tlbs: Vec<TlbLevel>,
    /// Assignment of physical addresses, for levels that need them when the trace does not have
    /// them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pages: Option<PageAllocation>,
}

/// Content of a level: instructions, data, or both.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, Display)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum Holds {
    /// The level holds instructions only.
    Instructions,
    /// The level holds data only.
    Data,
    /// The level holds both instructions and data.
    Both,
}

impl Holds {
    /// Whether instruction fetches look in this level.
    pub const fn instructions(self) -> bool {
        !matches!(self, Holds::Data)
    }

    /// Whether loads and stores look in this level.
    pub const fn data(self) -> bool {
        !matches!(self, Holds::Instructions)
    }
}

/// Choice of the line that leaves a full set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, Display)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum Replacement {
    /// The least recently used line leaves.
    Lru,
    /// The line that came in first leaves.
    Fifo,
    /// A random line leaves, drawn with the level's seed.
    Random,
    /// Pseudo-LRU: a binary tree over the ways (a power of two) chooses the line.
    TreePlru,
    /// Static re-reference interval prediction with 2 bits (Jaleel et al., ISCA 2010). A line is
    /// inserted at 2 and set to 0 on a hit; the first way at 3 leaves.
    Srrip,
    /// Dynamic re-reference interval prediction (Jaleel et al., ISCA 2010): either SRRIP, or most
    /// lines inserted at 3, whichever misses less in leader sets (set dueling: Qureshi et al., ISCA
    /// 2007).
    Drrip,
    /// Signature-based hit prediction (Wu et al., MICRO 2011): SRRIP, except that a line is
    /// inserted at 3 if earlier lines of the same instruction were not found again.
    Ship,
}

/// Way of a store through the levels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, Display)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum WritePolicy {
    /// A store goes to the next level at once, through the write buffers, if there are any.
    Through,
    /// A store stays in the level until its line leaves.
    Back,
}

/// Relation between the lines of a level and those of levels nearer to the processor.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, Display)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum Inclusion {
    /// The level holds lines independently of the nearer levels.
    #[default]
    Neither,
    /// The level holds all lines of the nearer levels; a line that leaves this level also leaves
    /// the nearer ones.
    Inclusive,
    /// The level holds lines that have left the nearer levels; a line found in this level moves to
    /// a nearer one.
    Exclusive,
}

/// Kind of address that chooses the set, or that tags are compared with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, Display)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum AddressKind {
    /// The virtual address chooses, or is compared; a tag also includes the address space's ID.
    #[default]
    Virtual,
    /// The physical address chooses, or is compared.
    Physical,
}

/// Effect that a switch between address spaces has on a level.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, Display)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum OnSwitch {
    /// A switch changes nothing: lines have the ID of their address space, or physical tags.
    #[default]
    Keep,
    /// A switch empties the level; modified lines are written back.
    Flush,
}

/// Simple prefetching into a level.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, Display)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum Prefetch {
    /// No lines are prefetched.
    #[default]
    None,
    /// Each missed line also brings in the next line of memory.
    NextLine,
}

/// Number of ways: either a number, or `"full"` for a single set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Ways {
    /// The number of ways.
    Count(u32),
    /// As many ways as the level has lines.
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

/// A cache of the design.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Level {
    /// Name of the cache, such as `L1I`; unique in the design.
    pub name: String,
    /// Content of the cache.
    pub holds: Holds,
    /// Capacity of the cache.
    #[serde(with = "size_text")]
    pub size: Bytes,
    /// Line size of the cache, a power of two.
    #[serde(with = "size_text")]
    pub line: Bytes,
    /// Associativity of the cache.
    pub ways: Ways,
    /// Choice of the line that leaves a full set.
    #[serde(default = "default_replacement")]
    pub replacement: Replacement,
    /// Seed of the random replacement.
    #[serde(default)]
    pub seed: u64,
    /// Way of a store through the level.
    #[serde(default = "default_write")]
    pub write: WritePolicy,
    /// Whether a store that misses brings its line in. By default write-back levels do, and
    /// write-through levels do not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub write_allocate: Option<bool>,
    /// Buffers after a write-through level; without buffers, a store to the next level costs
    /// nothing in this level.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub write_buffers: Option<WriteBuffers>,
    /// Cycles of a reference that is found in this level; 0 for a first level, whose hits are part of the instruction's cycle.
    #[serde(default)]
    pub hit_cycles: u32,
    /// Cycles of a reference that is not found in this level, in addition to those of later levels.
    pub miss_cycles: u32,
    /// Cycles for which a line occupies the bus to the next level, in either direction; 0 if the bus is never busy.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub bus_cycles: u32,
    /// Relation to the lines of the levels nearer to the processor.
    #[serde(default)]
    pub inclusion: Inclusion,
    /// Kind of address that chooses the set.
    #[serde(default)]
    pub index: AddressKind,
    /// Kind of address with which tags are compared.
    #[serde(default)]
    pub tag: AddressKind,
    /// Effect that a switch between address spaces has on the cache.
    #[serde(default)]
    pub on_switch: OnSwitch,
    /// Simple prefetching into the level.
    #[serde(default)]
    pub prefetch: Prefetch,
    /// Victim cache of the level.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub victim: Option<VictimCache>,
    /// Stream buffers of the level.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub streams: Option<StreamBuffers>,
    /// Stride prefetcher of the level.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stride: Option<StridePrefetcher>,
    /// Streamer of the level.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub streamer: Option<Streamer>,
    /// Ways of the level that each program may fill; if absent, every program may fill all ways.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub partition: Option<Partition>,
}

impl Level {
    /// Makes a level with defaults for everything but these fields.
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

/// A TLB of the design.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TlbLevel {
    /// Name of the TLB, such as `DTLB`; unique in the design.
    pub name: String,
    /// Kind of accesses whose pages the TLB translates.
    pub holds: Holds,
    /// Number of entries of the TLB.
    pub entries: u32,
    /// Associativity of the TLB.
    pub ways: Ways,
    /// Page size of the translations, a power of two.
    #[serde(with = "size_text")]
    pub page: Bytes,
    /// Choice of the entry that leaves a full set.
    #[serde(default = "default_replacement")]
    pub replacement: Replacement,
    /// Seed of the random replacement.
    #[serde(default)]
    pub seed: u64,
    /// Cycles of a translation that is found in this TLB; 0 for a first TLB.
    #[serde(default)]
    pub hit_cycles: u32,
    /// Cycles of the page walk in the last TLB, and of the miss alone in others.
    #[serde(alias = "walk_cycles")]
    pub miss_cycles: u32,
    /// Effect that a switch between address spaces has on the TLB: `keep` if entries have the
    /// address space's ID.
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
    /// Returns the lines per set in a level of `lines` lines.
    pub fn of(self, lines: u64) -> u64 {
        match self {
            Ways::Count(count) => u64::from(count),
            Ways::Full => lines,
        }
    }
}

impl Level {
    /// Returns the capacity in lines, which is a multiple of the ways in a design that
    /// [`Design::check`] accepts.
    pub fn lines(&self) -> u64 {
        self.size.0.checked_div(self.line.0).unwrap_or(0)
    }

    /// Whether the cost of a request depends on its time, and not on the contents alone.
    pub fn is_timed(&self) -> bool {
        self.bus_cycles != 0 || self.streams.is_some_and(|streams| streams.timed)
    }

    /// Whether lines come into the sets without a request.
    pub fn prefetches(&self) -> bool {
        self.prefetch != Prefetch::None || self.stride.is_some() || self.streamer.is_some()
    }

    /// Whether the behaviour depends on the requesting instruction, and on the byte that the
    /// instruction requests.
    pub fn knows_instructions(&self) -> bool {
        self.replacement == Replacement::Ship || self.stride.is_some()
    }

    /// Whether a store that misses brings its line in.
    pub fn allocates_on_write(&self) -> bool {
        self.write_allocate
            .unwrap_or(self.write == WritePolicy::Back)
    }
}

/// Serializes a size as text with its unit (`"64KiB"`), or as a number of bytes.
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
