//! Chooses the sizes of arrays for this machine: around the size of each cache and the reach of
//! each TLB.

use switchcost_record::{CacheKind, HostManifest, TlbKind};
use switchcost_units::Bytes;

/// Cache sizes that are assumed if the machine reports none.
const USUAL_CACHES: [Bytes; 3] = [Bytes::kib(32), Bytes::kib(512), Bytes::mib(8)];

/// Number of sizes in a sweep, unless the machine's caches and TLBs give more.
const SWEEP: usize = 16;

/// Returns the sizes of the data and unified caches in ascending order; [`USUAL_CACHES`] if the
/// machine reports none.
fn capacities(host: &HostManifest) -> Vec<Bytes> {
    let holds_data = host
        .caches
        .iter()
        .filter(|cache| cache.kind != CacheKind::Instruction);
    let mut sizes: Vec<Bytes> = holds_data
        .map(|cache| cache.size_bytes)
        .filter(|size| size.0 >= 4096)
        .collect();
    sizes.sort_unstable();
    sizes.dedup();
    if sizes.is_empty() {
        USUAL_CACHES.to_vec()
    } else {
        sizes
    }
}

fn tlb_reaches(host: &HostManifest) -> Vec<Bytes> {
    let tlbs = host.plausible_tlbs();
    let holds_data = tlbs
        .iter()
        .filter(|tlb| tlb.kind != TlbKind::Instruction && tlb.page_bytes == host.page_bytes);
    holds_data
        .map(|tlb| tlb.reach())
        .filter(|reach| reach.0 > 0)
        .collect()
}

/// Returns the largest size at which two arrays take at most half of the free memory, but at least
/// 1 MiB.
fn ceiling(host: &HostManifest) -> Bytes {
    Bytes((host.memory_available_bytes.0 / 4).max(1 << 20))
}

/// Returns array sizes from 1 KiB to four times the last-level cache: half, once and twice the size
/// of each cache, the reach of each TLB, and sizes in between. Sizes for which memory is too small
/// are left out.
pub fn sweep_sizes(host: &HostManifest) -> Vec<Bytes> {
    let caches = capacities(host);
    let last = *caches.last().unwrap_or(&USUAL_CACHES[2]);
    let mut wanted: Vec<u64> = vec![1 << 10, 4 << 10, last.0 * 4];
    wanted.extend(
        caches
            .iter()
            .flat_map(|cache| [cache.0 / 2, cache.0, cache.0 * 2]),
    );
    wanted.extend(tlb_reaches(host).iter().map(|reach| reach.0));
    let top = ceiling(host).0;
    wanted.retain(|size| *size >= 1 << 10 && *size <= top);
    wanted.sort_unstable();
    thin(&mut wanted);
    while wanted.len() < SWEEP && fill_widest_gap(&mut wanted) {}
    wanted
        .into_iter()
        .map(|size| Bytes(size / 64 * 64))
        .collect()
}

/// Removes each size that is less than a third larger than the one before.
fn thin(sizes: &mut Vec<u64>) {
    let mut last = 0;
    sizes.retain(|size| {
        let is_apart = *size * 3 >= last * 4;
        if is_apart {
            last = *size;
        }
        is_apart
    });
}

/// Inserts a size, the geometric mean, into the widest gap. Returns false if no two neighbours
/// differ by more than a factor of 1.5.
fn fill_widest_gap(sizes: &mut Vec<u64>) -> bool {
    let ratio = |pair: &[u64]| pair[1] * 1000 / pair[0];
    let widest = sizes
        .windows(2)
        .enumerate()
        .max_by_key(|(_, pair)| ratio(pair));
    let Some((index, pair)) = widest.filter(|(_, pair)| ratio(pair) > 1500) else {
        return false;
    };
    let middle = (pair[0] * pair[1]).isqrt();
    let middle = middle.next_multiple_of(if middle >= 64 << 10 { 4096 } else { 64 });
    if middle <= pair[0] || middle >= pair[1] {
        return false;
    }
    sizes.insert(index + 1, middle);
    true
}

/// Returns six array sizes for a sweep over strides: two that fit into the second-level cache (32
/// KiB and 128 KiB in Li 2007), and four at about its size and above.
pub(super) fn stride_sizes(host: &HostManifest) -> Vec<Bytes> {
    let caches = capacities(host);
    let near = caches[0];
    let middle = caches[caches.len().min(2) - 1];
    let top = ceiling(host);
    let sizes = [
        near,
        Bytes(middle.0 / 4),
        middle,
        Bytes(middle.0 * 2),
        Bytes(middle.0 * 4),
        Bytes(middle.0 * 8),
    ];
    sizes.into_iter().map(|size| size.min(top)).collect()
}

/// Returns four array sizes: half of the first-level cache, the second-level cache, a quarter of
/// the last-level cache, and the last-level cache.
pub(super) fn quick_sizes(host: &HostManifest) -> Vec<Bytes> {
    let caches = capacities(host);
    let last = caches[caches.len() - 1].min(ceiling(host));
    let mut sizes = vec![
        Bytes(caches[0].0 / 2),
        caches[caches.len().min(2) - 1],
        Bytes(last.0 / 4),
        last,
    ];
    sizes.dedup();
    sizes
}

/// Size of the largest array that is measured before an observation. A larger one takes longer to
/// set up than to walk, and the cost of a switch is then less than the variation of the walk.
const OBSERVE_TOP: Bytes = Bytes::mib(4);

/// Returns four array sizes that can be measured often enough in the few seconds before an
/// observation: half of the first level, half of the second level (two such arrays fit into it),
/// the second level, and one above.
pub(super) fn observe_sizes(host: &HostManifest) -> Vec<Bytes> {
    let caches = capacities(host);
    let (near, middle, last) = (
        caches[0],
        caches[caches.len().min(2) - 1],
        caches[caches.len() - 1],
    );
    let mut sizes = vec![
        Bytes(near.0 / 2),
        Bytes(middle.0 / 2),
        middle,
        last.min(OBSERVE_TOP).max(middle),
    ];
    sizes
        .iter_mut()
        .for_each(|size| *size = ceiling(host).min(*size));
    sizes.sort_unstable();
    sizes.dedup();
    sizes
}

/// Returns the array sizes for comparing concurrent with time-shared use of a cache: half of the
/// first level, half of the second level (two such arrays fit into it), twice the second level,
/// half of the last level, and the last level.
pub(super) fn concurrent_sizes(host: &HostManifest) -> Vec<Bytes> {
    let caches = capacities(host);
    let (near, middle, last) = (
        caches[0],
        caches[caches.len().min(2) - 1],
        caches[caches.len() - 1],
    );
    let mut sizes = vec![
        Bytes(near.0 / 2),
        Bytes(middle.0 / 2),
        Bytes(middle.0 * 2),
        Bytes(last.0 / 2),
        last,
    ];
    sizes
        .iter_mut()
        .for_each(|size| *size = Bytes(ceiling(host).min(*size).0 / 4096 * 4096));
    sizes.sort_unstable();
    sizes.dedup();
    sizes
}

/// Size of the largest pointer chase. A larger one takes seconds, and a guest rarely has more of a
/// server's last level for itself.
const LARGEST_CHASE: Bytes = Bytes::mib(64);

/// Size of the largest memory that is walked to empty the caches. More would take seconds.
const LARGEST_FLUSH: Bytes = Bytes(1 << 30);

/// Sizes with which the load latency is measured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LatencyPlan {
    /// Size of a cache line in bytes.
    pub line: Bytes,
    /// Size of a page in bytes.
    pub page: Bytes,
    /// Sizes of memory: inside each cache, and twice as large as each cache.
    pub sizes: Vec<Bytes>,
    /// Size of the largest cache in bytes.
    pub last_level: Bytes,
    /// Size of the memory that is walked to empty all caches: twice the last level. `None` if that
    /// is more than [`LARGEST_FLUSH`], or if there is not enough memory.
    pub flush: Option<Bytes>,
}

/// Returns the sizes with which the load latency is measured on this machine.
pub fn latency_plan(host: &HostManifest) -> LatencyPlan {
    let caches = capacities(host);
    let last_level = caches[caches.len() - 1];
    LatencyPlan {
        line: host
            .caches
            .first()
            .map_or(Bytes(64), |cache| cache.line_bytes),
        page: host.page_bytes,
        sizes: latency_sizes(host, &caches),
        last_level,
        flush: Some(Bytes(last_level.0 * 2))
            .filter(|size| *size <= ceiling(host).min(LARGEST_FLUSH)),
    }
}

fn latency_sizes(host: &HostManifest, caches: &[Bytes]) -> Vec<Bytes> {
    let last = caches[caches.len() - 1];
    let mut sizes: Vec<Bytes> = caches
        .iter()
        .flat_map(|cache| [Bytes(cache.0 / 2), Bytes(cache.0 / 4 * 3)])
        .chain([Bytes(last.0 * 2)])
        .collect();
    sizes.extend(caches.iter().map(|cache| Bytes(cache.0 * 2)));
    sizes.retain(|size| *size <= ceiling(host));
    sizes
        .iter_mut()
        .for_each(|size| *size = LARGEST_CHASE.min(*size));
    sizes.sort_unstable();
    sizes.dedup();
    sizes
        .into_iter()
        .map(|size| Bytes(size.0 / 4096 * 4096))
        .collect()
}
