//! Finds the cache or TLB whose capacity explains a knee, and the cache level that holds the arrays
//! of a region.

use switchcost_record::{Case, HostManifest, TlbKind};
use switchcost_units::Bytes;
use switchcost_workload::{Pages, Sharing};

use crate::measurement::bounds::{data_caches, footprint_bytes};

/// Largest distance between a knee and a capacity that may explain it, in powers of two: 0.75 is a
/// factor of 1.7.
const FARTHEST: f64 = 0.75;

/// A size of one task's array at which a cache or TLB stops holding the data of all tasks.
#[derive(Clone, Debug, PartialEq)]
pub struct Capacity {
    /// Size of one task's array in bytes.
    pub size_bytes: f64,
    /// Short name of the cache or TLB, with the number of arrays that share it, such as `L2/2`.
    pub label: String,
    /// Phrase for reports, such as `L2: one array fits, two do not`.
    pub cause: String,
}

/// Returns a phrase for the cause of a knee between two adjacent array sizes: the capacity between
/// these sizes, or else the nearest one; `None` if none is near.
pub(crate) fn cause(
    host: &HostManifest,
    case: &Case,
    after_bytes: u64,
    before_bytes: u64,
) -> Option<String> {
    let by_distance = capacities(host, case)
        .into_iter()
        .map(|candidate| (distance(&candidate, after_bytes, before_bytes), candidate));
    let nearest = by_distance.min_by(|a, b| a.0.total_cmp(&b.0))?;
    (nearest.0 <= FARTHEST).then_some(nearest.1.cause)
}

/// Returns the distance between a capacity and a knee in powers of two; 0 if the capacity is
/// between `after_bytes` and `before_bytes`.
fn distance(candidate: &Capacity, after_bytes: u64, before_bytes: u64) -> f64 {
    let (after, before) = (after_bytes as f64, before_bytes as f64);
    match candidate.size_bytes {
        size if size < after => (after / size).log2(),
        size if size < before => 0.0,
        // An array as large as a cache no longer fits well, so the knee may be one step earlier.
        // The distance is then the smallest number above 0.
        size => f64::EPSILON + (size / before).log2(),
    }
}

/// Returns the sizes of one task's array at which each cache and TLB of the machine stops holding
/// the data of the case's tasks. Caches come before TLBs, and nearer ones first, so that the first
/// of several equal sizes is the likeliest cause.
pub fn capacities(host: &HostManifest, case: &Case) -> Vec<Capacity> {
    let caches = data_caches(host)
        .into_iter()
        .map(|cache| (cache_name(cache.level, cache.kind), cache.size_bytes));
    let holders = caches.chain(tlbs(host, case.working_set.pages));
    holders
        .flat_map(|(name, capacity)| stops_fitting(&name, capacity, case))
        .collect()
}

fn stops_fitting(name: &str, capacity: Bytes, case: &Case) -> Vec<Capacity> {
    let one = Capacity {
        size_bytes: capacity.0 as f64,
        label: name.to_owned(),
        cause: format!("{name}: one array no longer fits"),
    };
    if case.working_set.sharing == Sharing::Shared || case.tasks < 2 {
        return vec![one];
    }
    let tasks = if case.tasks == 2 {
        "two".to_owned()
    } else {
        case.tasks.to_string()
    };
    let all = Capacity {
        size_bytes: capacity.0 as f64 / f64::from(case.tasks),
        label: format!("{name}/{}", case.tasks),
        cause: format!("{name}: one array fits, {tasks} do not"),
    };
    vec![all, one]
}

fn cache_name(level: u32, kind: switchcost_record::CacheKind) -> String {
    if kind == switchcost_record::CacheKind::Data {
        format!("L{level}d")
    } else {
        format!("L{level}")
    }
}

/// Returns the name and reach of each TLB for the pages in use, for data.
fn tlbs(host: &HostManifest, pages: Pages) -> Vec<(String, Bytes)> {
    let is_in_use = |page: Bytes| match pages {
        Pages::Base => page == host.page_bytes,
        // Of the page sizes above the base size, x86-64 and AArch64 use only 2 MiB transparently.
        // Pages of 1 GiB must be requested.
        Pages::Huge => page > host.page_bytes && page < Bytes(1 << 30),
    };
    let mut reaches: Vec<_> = host
        .plausible_tlbs()
        .into_iter()
        .filter(|tlb| {
            tlb.kind != TlbKind::Instruction && tlb.entries > 0 && is_in_use(tlb.page_bytes)
        })
        .map(|tlb| {
            (
                tlb_name(tlb.level, tlb.kind),
                Bytes(u64::from(tlb.entries).saturating_mul(tlb.page_bytes.0)),
            )
        })
        .collect();
    reaches.sort();
    reaches
}

fn tlb_name(level: u32, kind: TlbKind) -> String {
    if kind == TlbKind::Data {
        format!("L{level} dTLB")
    } else {
        format!("L{level} TLB")
    }
}

/// Returns the name of a region of array sizes: the cache or memory that holds the arrays of all
/// tasks at the first and at the last size, such as `L1d`, or `L2 to memory`.
pub(crate) fn region_name(
    host: &HostManifest,
    case: &Case,
    from_bytes: u64,
    to_bytes: u64,
) -> String {
    let home = |size| {
        let footprint = footprint_bytes(&Case {
            working_set: resized(case, size),
            ..case.clone()
        });
        let caches = data_caches(host);
        let holder = caches
            .into_iter()
            .find(|cache| footprint <= cache.size_bytes.0 as f64);
        holder.map_or_else(
            || "memory".to_owned(),
            |cache| cache_name(cache.level, cache.kind),
        )
    };
    let (first, last) = (home(from_bytes), home(to_bytes));
    if first == last {
        first
    } else {
        format!("{first} to {last}")
    }
}

fn resized(case: &Case, size: u64) -> switchcost_workload::WorkingSet {
    switchcost_workload::WorkingSet {
        size_bytes: Bytes(size),
        ..case.working_set
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{host, pipe};

    fn cause_between(after: u64, before: u64, change: fn(&mut Case)) -> Option<String> {
        let case = pipe().sized_kib(after).change(change).case();
        cause(&host(), &case, after << 10, before << 10)
    }

    #[test]
    fn a_knee_is_named_after_what_stops_fitting() {
        for (after, before, expected) in [
            (16, 32, "L1d: one array fits, two do not"),
            (32, 64, "L1d: one array no longer fits"),
            (128, 160, "L1 dTLB: one array fits, two do not"),
            (384, 512, "L2: one array fits, two do not"),
            (512, 1 << 10, "L2: one array fits, two do not"),
            (1 << 10, 2 << 10, "L2: one array no longer fits"),
            (16 << 10, 32 << 10, "L3: one array fits, two do not"),
        ] {
            let found = cause_between(after, before, |_| ());
            assert_eq!(found.as_deref(), Some(expected), "{after} KiB");
        }
        for (after, before) in [(1, 2), (128 << 10, 256 << 10)] {
            let found = cause_between(after, before, |_| ());
            assert_eq!(found, None, "it is far from everything");
        }
    }

    #[test]
    fn tasks_that_share_an_array_need_room_for_one() {
        let shared = cause_between(16 << 10, 32 << 10, |case| {
            case.working_set.sharing = Sharing::Shared;
        });
        assert_eq!(shared.as_deref(), Some("L3: one array no longer fits"));
        let eight = cause_between(4 << 10, 8 << 10, |case| case.tasks = 8);
        assert_eq!(eight.as_deref(), Some("L3: one array fits, 8 do not"));
    }

    #[test]
    fn a_region_is_named_after_the_holder_of_all_arrays() {
        let case = pipe().sized_kib(4).case();
        let name = |from: u64, to: u64| region_name(&host(), &case, from << 10, to << 10);
        assert_eq!(
            [name(1, 24), name(1, 512), name(64 << 10, 128 << 10)],
            ["L1d", "L1d to L2", "memory"]
        );
    }
}
