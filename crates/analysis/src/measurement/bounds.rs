//! Computes an upper bound of the cost of reloading all lines that a task can lose at a switch.

use switchcost_record::{Between, Cache, CacheKind, Case, HostManifest};
use switchcost_workload::{Access, Pattern, Sharing, WorkingSet};

use crate::measurement::latency;

/// Returns an upper bound of the reload cost in nanoseconds per switch: the number of lines that
/// one task accesses, times the latency of the cache level (or memory) from which the lines must be
/// reloaded.
///
/// The idea is from Mogul and Borg (1990, WRL TN-16): 8 k lines of 15 cycles each make more than
/// 120,000 cycles to reload a whole cache. Here the bound is
///
/// ```text
/// (lines + pages) x latency(footprint) x (2 if the lines are written: each is written back)
/// ```
///
/// `lines` is the number of lines that the task accesses, at most as many as the largest cache
/// holds. `pages` is the number of pages, each of which needs one more line of a page table.
/// `latency` is the load latency at a memory size, as this run measured it with pointer chases.
/// `footprint` is the memory that all tasks access between two time slices of one of them. If the
/// kernel makes the switch, `footprint` also includes the size of the nearest data cache, because
/// the kernel may evict that much. Returns `None` without a working set, caches or latencies.
pub(crate) fn reload_bound_ns(
    case: &Case,
    host: &HostManifest,
    latencies: &[(u64, f64)],
) -> Option<f64> {
    let set = &case.working_set;
    if set.is_empty() {
        return None;
    }
    let caches = data_caches(host);
    let nearest = *caches.first()?;
    let largest_bytes = caches.iter().map(|cache| cache.size_bytes.0).max()?;
    let line_bytes = nearest.line_bytes.0.max(1);
    let lines = touched_lines(set, line_bytes).min(largest_bytes / line_bytes);
    let pages = lines.min(
        set.size_bytes
            .0
            .min(largest_bytes)
            .div_ceil(host.page_bytes.0.max(1)),
    );
    let kernel_bytes = if case.between == Between::User {
        0
    } else {
        nearest.size_bytes.0
    };
    let load_ns = latency::interpolate(latencies, footprint_bytes(case) + kernel_bytes as f64)?;
    let transfers = if set.access == Access::Read { 1.0 } else { 2.0 };
    Some((lines + pages) as f64 * load_ns * transfers)
}

/// Returns the data and unified caches of the machine, nearest first.
pub(crate) fn data_caches(host: &HostManifest) -> Vec<&Cache> {
    let mut caches: Vec<_> = host
        .caches
        .iter()
        .filter(|cache| cache.kind != CacheKind::Instruction && cache.size_bytes.0 > 0)
        .collect();
    caches.sort_by_key(|cache| cache.level);
    caches
}

/// Returns the total size of the memory that all tasks of the case walk over, in bytes.
pub(crate) fn footprint_bytes(case: &Case) -> f64 {
    let others = if case.working_set.sharing == Sharing::Shared {
        0.0
    } else {
        f64::from(case.tasks) - 1.0
    };
    case.working_set.size_bytes.0 as f64 + others * case.working_set_of(1).size_bytes.0 as f64
}

/// Returns the number of lines that a task accesses. A strided walk accesses all lines of its
/// array. A pointer chase accesses one line per node.
fn touched_lines(set: &WorkingSet, line_bytes: u64) -> u64 {
    let all = set.size_bytes.0.div_ceil(line_bytes);
    match set.pattern {
        Pattern::Strided => all,
        Pattern::Chase => all.min(set.size_bytes.0 / set.stride_bytes.0.max(1)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{FakeCase, fiber, host, pipe};
    use switchcost_units::Bytes;

    /// Load latencies of the test machine by memory size. The machine has 48 KiB of L1d, 1 MiB of
    /// L2, 32 MiB of L3, lines of 64 B, and pages of 4 KiB.
    const LATENCIES: [(u64, f64); 3] = [(32 << 10, 1.0), (512 << 10, 4.0), (64 << 20, 100.0)];

    fn bound(fake: FakeCase) -> Option<f64> {
        reload_bound_ns(&fake.case, &host(), &LATENCIES)
    }

    fn read_only(case: &mut Case) {
        case.working_set.access = Access::Read;
    }

    #[test]
    fn the_bound_is_lines_times_latency() {
        // 4,096 lines and 64 pages return from a place with 512 KiB, and are written back.
        let set = fiber().sized_kib(256);
        assert_eq!(bound(set.clone()), Some((4096.0 + 64.0) * 4.0 * 2.0));
        assert_eq!(bound(set.change(read_only)), Some((4096.0 + 64.0) * 4.0));
    }

    #[test]
    fn no_more_is_lost_than_the_largest_cache_holds() {
        let set = fiber().with_set(Bytes::mib(512)).change(read_only);
        let lines = f64::from(32 << 20) / 64.0;
        assert_eq!(bound(set), Some((lines + lines / 64.0) * 100.0));
    }

    #[test]
    fn a_chase_touches_one_line_of_each_node() {
        let chase = |stride| {
            bound(fiber().sized_kib(256).change(|case| {
                case.working_set.pattern = Pattern::Chase;
                case.working_set.stride_bytes = Bytes(stride);
            }))
        };
        assert_eq!(chase(256), Some((1024.0 + 64.0) * 4.0 * 2.0));
        assert_eq!(chase(8 << 10), Some((32.0 + 32.0) * 4.0 * 2.0));
    }

    #[test]
    fn the_kernels_own_path_displaces_the_nearest_cache() {
        let user = fiber().sized_kib(16);
        assert_eq!(bound(user.clone()), Some((256.0 + 4.0) * 1.0 * 2.0));
        assert!(bound(pipe().sized_kib(16)) > bound(user.clone()));
        assert_eq!(bound(pipe()), None);
        assert_eq!(reload_bound_ns(&user.case, &host(), &[]), None);
    }
}
