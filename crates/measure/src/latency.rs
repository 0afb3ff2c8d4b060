//! Measures the time of loads from memory of several sizes: with a pointer chase that no prefetcher
//! follows (its latency bounds the cost of a reload), with the same chase and empty caches, and
//! with independent loads in order, which give the highest rate at which lines arrive.

use switchcost_host::clock::{Clock, monotonic};
use switchcost_host::control::{StepsBelowTop, pin, set_policy};
use switchcost_host::memory::{MapType, Memory};
use switchcost_record::{Latency, Policy, Walks};
use switchcost_units::{Bytes, CpuId, Nanos, Ticks};
use switchcost_workload::{Access, Pages, Pattern, Sharing, WorkingSet, prepare, walk};

use crate::LatencyPlan;

/// Number of timed walks at each size.
const WALKS: usize = 3;

/// Measures the load latency for memory of each size on `cpu`, or on any CPU if `None`, with base
/// pages. A real-time `policy` keeps other tasks away: with ten busy tasks on the CPU, the walks
/// took ten times as long.
///
/// Sizes for which there is no memory are left out.
pub fn measure_latencies(
    clock: Clock,
    cpu: Option<CpuId>,
    policy: Policy,
    plan: &LatencyPlan,
) -> Vec<Latency> {
    let _pin = cpu.and_then(|cpu| pin(&[cpu]).ok());
    let flush = plan.flush.and_then(CacheFlush::prepare);
    let of_size = |size: &Bytes| {
        let began = monotonic();
        let priority = set_policy(policy, StepsBelowTop(0));
        let found = latency(
            clock,
            plan,
            *size,
            flush.as_ref().filter(|_| *size <= plan.last_level),
        );
        drop(priority);
        if policy.is_real_time() {
            // Other tasks get an eighth of the time, as after each window of a repetition.
            let taken = monotonic().saturating_sub(began);
            std::thread::sleep(Nanos(taken.0 / 8).as_duration());
        }
        found
    };
    plan.sizes.iter().filter_map(of_size).collect()
}

fn latency(
    clock: Clock,
    plan: &LatencyPlan,
    size: Bytes,
    flush: Option<&CacheFlush>,
) -> Option<Latency> {
    let chase = chasing(size, plan.line);
    chase.check().ok()?;
    let memory = Memory::map(size, MapType::Private, Pages::Base).ok()?;
    // After a walk of memory larger than all caches, the next walk finds no lines in them.
    let settles = size <= plan.last_level;
    let in_order = settled(clock, &memory, &reading(size, plan.line), settles);
    let Walks { loads, walk_ticks } = settled(clock, &memory, &chase, settles);
    let emptied = |set: &WorkingSet| flush.and_then(|flush| flush.walks_after(clock, &memory, set));
    Some(Latency {
        size_bytes: size,
        loads,
        walk_ticks,
        emptied: emptied(&chase),
        emptied_by_page: emptied(&chasing(size, plan.page)),
        in_order: Some(in_order),
    })
}

fn chasing(size: Bytes, node: Bytes) -> WorkingSet {
    WorkingSet {
        pattern: Pattern::Chase,
        ..reading(size, node)
    }
}

/// Returns a working set of which one word per stride is read.
fn reading(size_bytes: Bytes, stride_bytes: Bytes) -> WorkingSet {
    WorkingSet {
        size_bytes,
        stride_bytes,
        access: Access::Read,
        sharing: Sharing::Private,
        ..WorkingSet::NONE
    }
}

/// Times walks of `memory`. If `settles`, the memory is walked once before, so that its lines are
/// in the caches.
fn settled(clock: Clock, memory: &Memory, set: &WorkingSet, settles: bool) -> Walks {
    prepare(memory, set, set.size_bytes.0);
    if settles {
        walk(memory, set);
    }
    let repeats = repeats(set);
    let walks = (0..WALKS).map(|_| timed(clock, || (0..repeats).for_each(|_| walk(memory, set))));
    Walks {
        loads: set.touches() as u64 * repeats,
        walk_ticks: walks.collect(),
    }
}

fn timed(clock: Clock, work: impl FnOnce()) -> Ticks {
    let start = clock.now();
    work();
    clock.now() - start
}

/// Returns how often memory is walked in one timed walk. Small sets are walked so often that the
/// cost of reading the clock is negligible.
fn repeats(set: &WorkingSet) -> u64 {
    (100_000 / set.touches() as u64).max(1)
}

/// Memory that is walked to evict everything else from the caches and TLBs.
struct CacheFlush {
    memory: Memory,
    set: WorkingSet,
}

impl CacheFlush {
    fn prepare(size_bytes: Bytes) -> Option<CacheFlush> {
        let set = WorkingSet {
            size_bytes,
            ..WorkingSet::NONE
        };
        let memory = Memory::map(size_bytes, MapType::Private, Pages::Base).ok()?;
        prepare(&memory, &set, 0);
        Some(CacheFlush { memory, set })
    }

    fn walks_after(&self, clock: Clock, memory: &Memory, set: &WorkingSet) -> Option<Walks> {
        set.check().ok()?;
        prepare(memory, set, set.size_bytes.0);
        let walks = (0..WALKS).map(|_| {
            walk(&self.memory, &self.set);
            timed(clock, || walk(memory, set))
        });
        Some(Walks {
            loads: set.touches() as u64,
            walk_ticks: walks.collect(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measured() -> Vec<Latency> {
        let plan = LatencyPlan {
            line: Bytes(64),
            page: Bytes::kib(4),
            sizes: vec![Bytes::kib(8), Bytes::mib(64)],
            last_level: Bytes::mib(1),
            flush: Some(Bytes::mib(64)),
        };
        measure_latencies(Clock::MonotonicRaw, None, Policy::Other, &plan)
    }

    fn per_load(loads: u64, ticks: &[Ticks]) -> f64 {
        ticks.iter().map(|ticks| ticks.0).min().expect("walks") as f64 / loads as f64
    }

    #[test]
    fn memory_is_slower_than_the_nearest_cache_and_what_was_emptied_comes_from_memory() {
        let latencies = measured();
        assert_eq!(latencies.len(), 2);
        let settled = |latency: &Latency| per_load(latency.loads, &latency.walk_ticks);
        let (near, far) = (settled(&latencies[0]), settled(&latencies[1]));
        assert!(near * 3.0 < far, "{near} ns against {far} ns");
        let emptied = latencies[0]
            .emptied
            .as_ref()
            .expect("there is memory to empty caches of this size");
        let cold = per_load(emptied.loads, &emptied.walk_ticks);
        assert!(
            near * 3.0 < cold,
            "{near} ns, and {cold} ns with empty caches"
        );
        assert_eq!(latencies[1].emptied, None, "no cache holds it");
    }

    #[test]
    fn lines_come_faster_in_order_than_one_behind_another() {
        let latencies = measured();
        let far = latencies.last().expect("measured");
        let in_order = far.in_order.as_ref().expect("measured");
        let (chased, walked) = (
            per_load(far.loads, &far.walk_ticks),
            per_load(in_order.loads, &in_order.walk_ticks),
        );
        assert!(
            walked * 2.0 < chased,
            "{walked} ns in order, {chased} ns one behind another"
        );
    }
}
