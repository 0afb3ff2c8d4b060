//! Memory systems for simulation (caches, TLBs and page placement), described by TOML files
//! (`docs/formats/design.md`).
//!
//! The input is a [`Design`]: from a file ([`read_design`]), built in ([`shipped`]), of this
//! machine ([`host_design`]), varied ([`vary`]), or built field by field. This crate checks whether
//! the design can exist in hardware ([`Design::check`]), and describes its parts. How a design is
//! simulated is in other crates.
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
use strum::{Display, EnumIter};
use switchcost_units::Bytes;

pub use aside::{StreamBuffers, Streamer, StrideKey, StridePrefetcher, VictimCache, WriteBuffers};
pub use error::UnrealisableDesign;
pub use file::{DesignError, Location, read_design, write_design};
pub use host::{HOST, HostDesignError, host_design, is_host};
pub use pages::{PageAllocation, PageOrder};
pub use partition::{CapacityBitmask, Partition};
pub use vary::{VaryError, vary};

/// Name and version of the format of design files.
pub const DESIGN_SCHEMA: &str = "switchcost.design/1";

/// A memory system: levels of caches, nearest to the processor first, and TLBs. Every instruction
/// costs one cycle. All other cycles are those of misses, hits after the first level, page walks,
/// full write buffers and busy buses.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Design {
    /// Name and version of the format, [`DESIGN_SCHEMA`].
    pub schema: String,
    /// Short name of the design, such as `mogul-1a`.
    pub name: String,
    /// Title for readers, on one line.
    #[serde(default)]
    pub title: String,
    /// Source of the figures, such as a paper or manual.
    #[serde(default)]
    pub source: String,
    /// Shortest and longest duration of a cycle in nanoseconds. With these, costs are also given in
    /// time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cycle_ns: Option<[f64; 2]>,
    /// Caches of the memory system. The levels that hold instructions form one path, in the order
    /// of the file. The levels that hold data form another. A level that holds both is on both
    /// paths.
    #[serde(rename = "level")]
    pub levels: Vec<Level>,
    /// TLBs of the memory system, which form paths as caches do. A reference looks in the TLBs
    /// before the caches.
    #[serde(default, rename = "tlb", skip_serializing_if = "Vec::is_empty")]
    pub tlbs: Vec<TlbLevel>,
    /// Assignment of physical addresses to pages, for levels that use physical addresses. Pages
    /// with a physical address in the trace keep that address.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pages: Option<PageAllocation>,
}

/// Kind of content that a cache or TLB holds.
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
    /// Whether instruction fetches look in a level with this content.
    pub const fn instructions(self) -> bool {
        !matches!(self, Holds::Data)
    }

    /// Whether loads and stores look in a level with this content.
    pub const fn data(self) -> bool {
        !matches!(self, Holds::Instructions)
    }
}

/// Policy that chooses the line to evict from a full set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, Display, EnumIter)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum Replacement {
    /// Evicts the least recently used line.
    Lru,
    /// Evicts the line that was filled first.
    Fifo,
    /// Evicts a random line, drawn with the level's seed.
    Random,
    /// Pseudo-LRU: a binary tree over the ways chooses the line to evict. The number of ways is a
    /// power of two.
    TreePlru,
    /// Static re-reference interval prediction with 2 bits (Jaleel et al., ISCA 2010). A line is
    /// inserted with the value 2, and a hit sets the value to 0. The first way with the value 3 is
    /// evicted.
    Srrip,
    /// Dynamic re-reference interval prediction (Jaleel et al., ISCA 2010): either SRRIP, or SRRIP
    /// with most lines inserted with the value 3. The variant with fewer misses in its leader sets
    /// is used (set dueling: Qureshi et al., ISCA 2007).
    Drrip,
    /// Signature-based hit prediction (Wu et al., MICRO 2011): SRRIP, but a line is inserted with
    /// the value 3 if earlier lines that the same instruction brought in had no hits.
    Ship,
}

/// Policy for stores: whether each store is passed on to the next level.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, Display)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum WritePolicy {
    /// Write-through: a store is passed on to the next level at once, through the write buffers if
    /// the level has any.
    Through,
    /// Write-back: a store modifies the line, which is written back when it is evicted.
    Back,
}

/// Relation between the lines of a level and those of the levels nearer to the processor.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, Display)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum Inclusion {
    /// The level holds lines independently of the nearer levels.
    #[default]
    Neither,
    /// The level holds all lines of the nearer levels. A line that is evicted from this level is
    /// also evicted from the nearer ones.
    Inclusive,
    /// The level holds lines that the nearer levels have evicted. A line found in this level moves
    /// to a nearer one.
    Exclusive,
}

/// Kind of address that selects the set, or that is compared with tags.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, Display)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum AddressKind {
    /// Virtual addresses. A tag also contains the ID of the address space.
    #[default]
    Virtual,
    /// Physical addresses, which select the set or are compared.
    Physical,
}

/// Effect of a switch to another address space on a cache or TLB.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, Display)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum OnSwitch {
    /// The switch changes nothing, because lines have physical tags or the ID of their address
    /// space.
    #[default]
    Keep,
    /// The switch empties the level, and modified lines are written back.
    Flush,
}

/// Prefetching of adjacent lines into a level.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, Display)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum Prefetch {
    /// No lines are prefetched.
    #[default]
    None,
    /// Each miss also prefetches the next line in memory.
    NextLine,
}

/// Associativity of a cache or TLB: a number, or `"full"` for a single set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Ways {
    /// Set-associative with this number of ways.
    Count(u32),
    /// Fully associative: as many ways as lines.
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
                    .map_err(|_| E::invalid_value(serde::de::Unexpected::Unsigned(count), &self))
            }
            fn visit_i64<E: serde::de::Error>(self, count: i64) -> Result<Ways, E> {
                u32::try_from(count)
                    .map(Ways::Count)
                    .map_err(|_| E::invalid_value(serde::de::Unexpected::Signed(count), &self))
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

/// One cache of a design.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Level {
    /// Name of the cache, such as `L1I`; unique in the design.
    pub name: String,
    /// Kind of content that the cache holds.
    pub holds: Holds,
    /// Capacity of the cache in bytes.
    #[serde(with = "size_text")]
    pub size: Bytes,
    /// Line size of the cache in bytes, a power of two.
    #[serde(with = "size_text")]
    pub line: Bytes,
    /// Number of ways of the cache.
    pub ways: Ways,
    /// Policy that chooses the line to evict from a full set.
    #[serde(default = "default_replacement")]
    pub replacement: Replacement,
    /// Seed of random replacement.
    #[serde(default)]
    pub seed: u64,
    /// Policy for stores: write-through or write-back.
    #[serde(default = "default_write")]
    pub write: WritePolicy,
    /// Whether a store that misses fills its line. The default is true in write-back levels and
    /// false in write-through levels.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub write_allocate: Option<bool>,
    /// Buffers after a write-through level. Without buffers, passing a store on costs no cycles in
    /// this level.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub write_buffers: Option<WriteBuffers>,
    /// Cycles of a hit in this level; 0 for a first level, whose hits are part of the instruction's
    /// own cycle.
    #[serde(default)]
    pub hit_cycles: u32,
    /// Cycles of a miss in this level, in addition to those of later levels.
    pub miss_cycles: u32,
    /// Cycles for which the transfer of a line, in either direction, occupies the bus to the next
    /// level; 0 for a bus without contention.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub bus_cycles: u32,
    /// Relation between the lines of this level and those of the levels nearer to the processor.
    #[serde(default)]
    pub inclusion: Inclusion,
    /// Kind of address that selects the set.
    #[serde(default)]
    pub index: AddressKind,
    /// Kind of address that is compared with tags.
    #[serde(default)]
    pub tag: AddressKind,
    /// Effect of a switch to another address space on the cache.
    #[serde(default)]
    pub on_switch: OnSwitch,
    /// Prefetching of adjacent lines into the level.
    #[serde(default)]
    pub prefetch: Prefetch,
    /// Victim cache of the level, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub victim: Option<VictimCache>,
    /// Stream buffers of the level, if there are any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub streams: Option<StreamBuffers>,
    /// Stride prefetcher of the level, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stride: Option<StridePrefetcher>,
    /// Streamer of the level, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub streamer: Option<Streamer>,
    /// Ways of the level that each program may fill. If absent, every program may fill all ways.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub partition: Option<Partition>,
}

impl Level {
    /// Returns a level with these fields and defaults for all others.
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

/// One TLB of a design.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TlbLevel {
    /// Name of the TLB, such as `DTLB`; unique in the design.
    pub name: String,
    /// Kind of accesses that use the TLB: instruction fetches, loads and stores, or both.
    pub holds: Holds,
    /// Number of entries of the TLB.
    pub entries: u32,
    /// Number of ways of the TLB.
    pub ways: Ways,
    /// Page size of the TLB's entries in bytes, a power of two.
    #[serde(with = "size_text")]
    pub page: Bytes,
    /// Policy that chooses the entry to evict from a full set.
    #[serde(default = "default_replacement")]
    pub replacement: Replacement,
    /// Seed of random replacement.
    #[serde(default)]
    pub seed: u64,
    /// Cycles of a hit in this TLB; 0 for a first TLB.
    #[serde(default)]
    pub hit_cycles: u32,
    /// Cycles of a miss in this TLB. In the last TLB these are the cycles of the page walk; in a
    /// TLB before it, the cycles of the miss alone.
    #[serde(alias = "walk_cycles")]
    pub miss_cycles: u32,
    /// Effect of a switch to another address space on the TLB: `keep` if entries have the ID of
    /// their address space.
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
    /// Returns the number of lines per set of a level with `lines` lines.
    pub fn of(self, lines: u64) -> u64 {
        match self {
            Ways::Count(count) => u64::from(count),
            Ways::Full => lines,
        }
    }
}

impl Level {
    /// Returns the capacity of the cache in lines. The capacity is a multiple of the ways in a
    /// design that [`Design::check`] accepts.
    pub fn lines(&self) -> u64 {
        self.size.0.checked_div(self.line.0).unwrap_or(0)
    }

    /// Returns the names and values of all fields that are a number of cycles.
    pub(crate) fn cycles(&self) -> [(&'static str, u32); 3] {
        [
            ("hit_cycles", self.hit_cycles),
            ("miss_cycles", self.miss_cycles),
            ("bus_cycles", self.bus_cycles),
        ]
    }

    /// Whether the cycles of a request depend on the time of the request, and not only on the
    /// contents of caches.
    pub fn is_timed(&self) -> bool {
        self.bus_cycles != 0 || self.streams.is_some_and(|streams| streams.timed)
    }

    /// Whether lines enter the level without a request, by a prefetcher of any kind except stream
    /// buffers.
    pub fn prefetches(&self) -> bool {
        self.prefetch != Prefetch::None || self.stride.is_some() || self.streamer.is_some()
    }

    /// Whether the level's behaviour depends on the address of the requesting instruction, or on
    /// the requested byte within a line.
    pub fn knows_instructions(&self) -> bool {
        self.replacement == Replacement::Ship || self.stride.is_some()
    }

    /// Whether a store that misses fills its line.
    pub fn allocates_on_write(&self) -> bool {
        self.write_allocate
            .unwrap_or(self.write == WritePolicy::Back)
    }
}

/// Serialization of sizes as text with a unit (`"64KiB"`); also reads a number of bytes.
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
