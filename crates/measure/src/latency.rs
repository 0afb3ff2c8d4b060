//! Load latency by size: a pointer chase that no prefetcher follows, for the bound on what a reload can cost.

use host::clock::Clock;
use host::control::pin;
use host::memory::{Memory, Reach};
use record::Latency;
use units::{Bytes, CpuId};
use workload::{Access, Pages, Pattern, Sharing, WorkingSet, prepare, walk};

/// Walks that are timed at each size, after one that is not.
const WALKS: usize = 3;

/// Chases pointers through memory of each size on `cpu` (or anywhere) with the machine's usual pages.
///
/// A size for which there is no memory is left out.
pub fn measure_latencies(clock: Clock, cpu: Option<CpuId>, line: Bytes, sizes: &[Bytes]) -> Vec<Latency> {
    let _pin = cpu.and_then(|cpu| pin(&[cpu]).ok());
    sizes.iter().filter_map(|size| latency(clock, line, *size)).collect()
}

fn latency(clock: Clock, line: Bytes, size: Bytes) -> Option<Latency> {
    let set = WorkingSet {
        size_bytes: size,
        stride_bytes: line,
        access: Access::Read,
        pattern: Pattern::Chase,
        sharing: Sharing::Private,
        pages: Pages::Base,
    };
    set.check().ok()?;
    let memory = Memory::map(size, Reach::Private, Pages::Base).ok()?;
    prepare(&memory, &set, size.0);
    walk(&memory, &set);
    let repeats = repeats(&set);
    let walks = (0..WALKS).map(|_| {
        let start = clock.now();
        for _ in 0..repeats {
            walk(&memory, &set);
        }
        clock.now() - start
    });
    Some(Latency { size_bytes: size, loads: set.touches() as u64 * repeats, walk_ticks: walks.collect() })
}

/// Small sets are walked often enough for the clock's own cost to vanish.
fn repeats(set: &WorkingSet) -> u64 {
    (100_000 / set.touches() as u64).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_slower_than_the_nearest_cache() {
        let sizes = [Bytes::kib(8), Bytes::mib(64)];
        let latencies = measure_latencies(Clock::MonotonicRaw, None, Bytes(64), &sizes);
        let per_load = |l: &Latency| l.walk_ticks.iter().map(|t| t.0).min().expect("walks") as f64 / l.loads as f64;
        assert_eq!(latencies.len(), 2);
        let (near, far) = (per_load(&latencies[0]), per_load(&latencies[1]));
        assert!(near * 3.0 < far, "{near} ns against {far} ns");
    }
}
