//! A design that represents the machine on which the program runs, from the facts that the machine
//! reports.
//!
//! Sizes are those that the machine reports. Latencies, replacement policies, and the ways of TLBs
//! are assumed, because no machine reports them. The design's `source` states these assumptions.

use crate::{
    AddressKind, DESIGN_SCHEMA, Design, Holds, Level, OnSwitch, PageAllocation, PageOrder,
    Replacement, TlbLevel, UnrealisableDesign, Ways,
};
use switchcost_record::{Cache, CacheKind, Fact, HostManifest, Tlb, TlbKind};

/// Name of the design of this machine.
pub const HOST: &str = "host";

/// Returns true for the name of this machine's design, and of its variants, such as
/// `host[L2.ways=8]`.
pub fn is_host(design: &str) -> bool {
    design.split('[').next() == Some(HOST)
}

/// Assumed load-to-use cycles of a cache, indexed by its level minus 1, in the range of today's
/// servers and laptops.
const HIT_CYCLES: [u32; 4] = [0, 14, 50, 100];
/// Assumed cycles of a miss in the last cache: about 90 ns at 3.3 GHz.
const MEMORY_CYCLES: u32 = 300;
/// Assumed cycles of a page walk whose page tables are cached.
const WALK_CYCLES: u32 = 30;
const LATER_TLB_CYCLES: u32 = 7;
/// Assumed ways of TLBs after the first level, which are too large to be fully associative.
const LATER_TLB_WAYS: u32 = 8;

/// Error of making a design from the facts about a machine.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HostDesignError {
    /// The machine reports no caches.
    #[error(
        "this machine reports no caches; write a design file (docs/formats/design.md), or use a built-in design of a similar \
         machine"
    )]
    NoCaches,
    /// The machine does not describe one of its caches. Without that cache the design would
    /// represent a different machine.
    #[error(
        "this machine does not report each cache's level, type, size and line ({0}); write a design file \
         (docs/formats/design.md), or use a built-in design of a similar machine"
    )]
    Unreported(String),
    /// The machine does not report the associativity of a cache.
    #[error(
        "this machine does not report the associativity of {name}; write a design file (docs/formats/design.md), or use a \
         built-in design of a similar machine"
    )]
    NoWays {
        /// Name of the cache without associativity.
        name: String,
    },
    /// The machine reports a combination of caches that cannot exist.
    #[error("what this machine reports is not enough for a design: {0}")]
    Unrealisable(#[from] UnrealisableDesign),
}

/// Returns a design named `host` that represents the machine `host`.
///
/// # Errors
///
/// If the machine does not report its caches completely, or if its facts contradict each other.
pub fn host_design(host: &HostManifest) -> Result<Design, HostDesignError> {
    if let Some(undescribed) = host.undescribed_caches.first() {
        return Err(HostDesignError::Unreported(undescribed.clone()));
    }
    if host.caches.is_empty() {
        return Err(HostDesignError::NoCaches);
    }
    let on_switch = match host.has_pcid {
        Fact::Known(false) => OnSwitch::Flush,
        _ => OnSwitch::Keep,
    };
    let design = Design {
        schema: DESIGN_SCHEMA.to_owned(),
        name: HOST.to_owned(),
        title: format!(
            "This machine: {}",
            host.cpu_model
                .known()
                .map_or("unknown model", |model| model.as_str())
        ),
        source: source(host),
        cycle_ns: host.core_khz.map(cycle_ns),
        levels: levels(&host.caches)?,
        tlbs: tlbs(host, on_switch),
        pages: Some(PageAllocation {
            size: host.page_bytes,
            order: PageOrder::Random,
            seed: 1,
        }),
    };
    design.check()?;
    Ok(design)
}

/// Returns the shortest and the longest duration of a cycle in nanoseconds, from the sustained and
/// the highest clock rate in kHz.
fn cycle_ns([sustained, highest]: [u64; 2]) -> [f64; 2] {
    [highest, sustained].map(|khz| 1e6 / khz as f64)
}

/// Returns the text about the cycle time and its source, for the design's `source`.
fn clock(core_khz: Option<[u64; 2]>) -> String {
    match core_khz {
        None => {
            "No time of a cycle: this machine does not report the rate of its cores.".to_owned()
        }
        Some([sustained, highest]) if sustained == highest => {
            format!("Cores of {}.", gigahertz(highest))
        }
        Some([sustained, highest]) => format!(
            "Cores of {} to {}.",
            gigahertz(sustained),
            gigahertz(highest)
        ),
    }
}

fn gigahertz(khz: u64) -> String {
    format!("{:.2} GHz", khz as f64 / 1e6)
}

fn source(host: &HostManifest) -> String {
    let tlbs = match (&host.tlbs, host.doubted_tlb()) {
        (Fact::Known(_), Some(tlb)) => format!(
            "TLBs as this machine reports them, without the second level: its {} entries are made up by the hypervisor.",
            tlb.entries
        ),
        (Fact::Known(_), None) => "TLBs as this machine reports them.".to_owned(),
        (Fact::Unknown { unknown }, _) => {
            format!("No TLBs: this machine does not report them ({unknown}).")
        }
    };
    let ids = match &host.has_pcid {
        Fact::Known(true) => "TLBs kept on a switch: it has address-space ids.".to_owned(),
        Fact::Known(false) => "TLBs flushed on a switch: it has no address-space ids.".to_owned(),
        Fact::Unknown { unknown } => format!("Assumed: TLBs kept on a switch ({unknown})."),
    };
    format!(
        "Sizes, lines and ways of caches as this machine reports them. {} {tlbs} {ids}\nAssumed: cycles of {} for levels 2, 3 \
         and later ones; {MEMORY_CYCLES} more for memory; TLBs of the first level fully associative, later ones of \
         {LATER_TLB_WAYS} ways in {LATER_TLB_CYCLES} cycles; page walk of {WALK_CYCLES} cycles; LRU; write-back; neither \
         inclusive nor exclusive; no prefetch; the other CPUs leave shared caches to this one.",
        clock(host.core_khz),
        format_args!("{}, {} and {}", HIT_CYCLES[1], HIT_CYCLES[2], HIT_CYCLES[3]),
    )
}

fn levels(caches: &[Cache]) -> Result<Vec<Level>, HostDesignError> {
    let mut ordered: Vec<&Cache> = caches.iter().collect();
    ordered.sort_by_key(|cache| (cache.level, order_of(cache.kind)));
    let is_last = |cache: &Cache| {
        let is_behind =
            |later: &&Cache| later.level > cache.level && holds_same(later.kind, cache.kind);
        !ordered.iter().any(is_behind)
    };
    ordered
        .iter()
        .map(|cache| level(cache, is_last(cache)))
        .collect()
}

/// Returns the order of caches within a level. Instruction caches come first, as in the built-in
/// designs.
const fn order_of(kind: CacheKind) -> u32 {
    match kind {
        CacheKind::Instruction => 0,
        CacheKind::Data => 1,
        CacheKind::Unified => 2,
    }
}

fn holds_same(later: CacheKind, kind: CacheKind) -> bool {
    later == kind || later == CacheKind::Unified || kind == CacheKind::Unified
}

fn level(cache: &Cache, is_last: bool) -> Result<Level, HostDesignError> {
    let (suffix, holds) = match cache.kind {
        CacheKind::Instruction => ("I", Holds::Instructions),
        CacheKind::Data => ("D", Holds::Data),
        CacheKind::Unified => ("", Holds::Both),
    };
    let name = format!("L{}{suffix}", cache.level);
    let Some(ways) = cache.ways else {
        return Err(HostDesignError::NoWays { name });
    };
    let is_first = cache.level <= 1;
    let miss_cycles = if is_last { MEMORY_CYCLES } else { 0 };
    Ok(Level {
        hit_cycles: ways_by_level(cache.level),
        index: if is_first {
            AddressKind::Virtual
        } else {
            AddressKind::Physical
        },
        tag: AddressKind::Physical,
        ..Level::plain(
            &name,
            holds,
            cache.size_bytes,
            cache.line_bytes,
            Ways::Count(ways),
            miss_cycles,
        )
    })
}

fn ways_by_level(level: u32) -> u32 {
    let index = (level.saturating_sub(1) as usize).min(HIT_CYCLES.len() - 1);
    HIT_CYCLES[index]
}

/// Returns the TLBs for base pages. If the machine reports several of one kind and level (for loads
/// and for stores), the largest is used.
fn tlbs(host: &HostManifest, on_switch: OnSwitch) -> Vec<TlbLevel> {
    let mut ordered = host.plausible_tlbs();
    ordered.retain(|tlb| tlb.page_bytes == host.page_bytes);
    ordered.sort_by_key(|tlb| {
        (
            tlb.level,
            tlb_order(tlb.kind),
            std::cmp::Reverse(tlb.entries),
        )
    });
    ordered.dedup_by_key(|tlb| (tlb.level, tlb.kind));
    let is_last = |tlb: &Tlb| {
        let is_behind = |later: &&Tlb| later.level > tlb.level && serves_same(later.kind, tlb.kind);
        !ordered.iter().any(is_behind)
    };
    ordered
        .iter()
        .map(|tlb| tlb_level(tlb, is_last(tlb), on_switch))
        .collect()
}

const fn tlb_order(kind: TlbKind) -> u32 {
    match kind {
        TlbKind::Instruction => 0,
        TlbKind::Data => 1,
        TlbKind::Unified => 2,
    }
}

fn serves_same(later: TlbKind, kind: TlbKind) -> bool {
    later == kind || later == TlbKind::Unified || kind == TlbKind::Unified
}

fn tlb_level(tlb: &Tlb, is_last: bool, on_switch: OnSwitch) -> TlbLevel {
    let (kind, holds) = match tlb.kind {
        TlbKind::Instruction => ("ITLB", Holds::Instructions),
        TlbKind::Data => ("DTLB", Holds::Data),
        TlbKind::Unified => ("TLB", Holds::Both),
    };
    let is_first = tlb.level <= 1;
    let is_in_sets = !is_first && tlb.entries.is_multiple_of(LATER_TLB_WAYS);
    TlbLevel {
        name: format!("L{}-{kind}", tlb.level),
        holds,
        entries: tlb.entries,
        ways: if is_in_sets {
            Ways::Count(LATER_TLB_WAYS)
        } else {
            Ways::Full
        },
        page: tlb.page_bytes,
        replacement: Replacement::Lru,
        seed: 0,
        hit_cycles: if is_first { 0 } else { LATER_TLB_CYCLES },
        miss_cycles: if is_last { WALK_CYCLES } else { 0 },
        on_switch,
    }
}

#[cfg(test)]
mod tests;
