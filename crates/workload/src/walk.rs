use std::hint::black_box;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use crate::addresses::cycle;
use crate::{Access, Pattern, WorkingSet};

/// Prepares `memory` for [`walk`]: writes every element once, so that every page is present, and
/// links the cycle of a chase. Equal seeds give equal cycles.
///
/// `memory` has [`WorkingSet::elements`] doubles. The elements of a strided set are set to 1.0. In
/// a chase, the first word of each node is set to the index of the next node's first word.
pub fn prepare(memory: &[AtomicU64], set: &WorkingSet, seed: u64) {
    for element in memory {
        element.store(1.0_f64.to_bits(), Relaxed);
    }
    if set.pattern == Pattern::Chase && !set.is_empty() {
        lay_cycle(memory, set.stride_elements(), seed);
    }
}

/// Links all nodes to one cycle in random order, by storing in each node the index of its
/// successor.
fn lay_cycle(memory: &[AtomicU64], node: usize, seed: u64) {
    let order = cycle(memory.len() / node, seed);
    for (here, next) in order.iter().zip(order.iter().cycle().skip(1)) {
        memory[here * node].store((next * node) as u64, Relaxed);
    }
}

/// Touches `memory` once as `set` describes. All arms call this function, which is never inlined,
/// so that both arms of a difference execute the same code at the same address.
///
/// `memory` may be a part of the array, or empty to touch nothing. A chase needs the whole array.
#[inline(never)]
pub fn walk(memory: &[AtomicU64], set: &WorkingSet) {
    if memory.is_empty() {
        return;
    }
    let stride = set.stride_elements();
    match (set.pattern, set.access) {
        (Pattern::Strided, Access::Read) => strided_read(memory, stride),
        (Pattern::Strided, Access::Write) => strided(memory, stride, |element| {
            element.store(2.0_f64.to_bits(), Relaxed)
        }),
        (Pattern::Strided, Access::Rmw) => strided(memory, stride, increment),
        (Pattern::Chase, Access::Read) => chase(memory, stride, |_| ()),
        (Pattern::Chase, Access::Write) => chase(memory, stride, |data| {
            data.store(2.0_f64.to_bits(), Relaxed)
        }),
        (Pattern::Chase, Access::Rmw) => chase(memory, stride, increment),
    }
}

#[inline(always)]
fn increment(element: &AtomicU64) {
    let value = f64::from_bits(element.load(Relaxed)) + 1.0;
    element.store(value.to_bits(), Relaxed);
}

#[inline(always)]
pub(crate) fn strided(memory: &[AtomicU64], stride: usize, touch: impl Fn(&AtomicU64)) {
    for first in 0..stride {
        let mut at = first;
        while let Some(element) = memory.get(at) {
            touch(element);
            at += stride;
        }
    }
}

#[inline(always)]
fn strided_read(memory: &[AtomicU64], stride: usize) {
    let mut sum = 0.0;
    for first in 0..stride {
        let mut at = first;
        while let Some(element) = memory.get(at) {
            sum += f64::from_bits(element.load(Relaxed));
            at += stride;
        }
    }
    black_box(sum);
}

/// Follows the cycle of a chase once, and calls `touch` with the second word of each node, which is
/// its data.
#[inline(always)]
pub(crate) fn chase(memory: &[AtomicU64], node: usize, touch: impl Fn(&AtomicU64)) {
    let mut at = 0;
    for _ in 0..memory.len() / node {
        touch(&memory[at + 1]);
        at = memory[at].load(Relaxed) as usize;
    }
    black_box(at);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Sharing;
    use switchcost_units::Bytes;

    fn memory(set: &WorkingSet) -> Vec<AtomicU64> {
        let memory: Vec<_> = (0..set.elements()).map(|_| AtomicU64::new(0)).collect();
        prepare(&memory, set, 7);
        memory
    }

    fn set(size: u64, stride: u64, access: Access, pattern: Pattern) -> WorkingSet {
        let (size_bytes, stride_bytes) = (Bytes(size), Bytes(stride));
        WorkingSet {
            size_bytes,
            stride_bytes,
            access,
            pattern,
            sharing: Sharing::Private,
            ..WorkingSet::NONE
        }
    }

    fn values(memory: &[AtomicU64]) -> Vec<f64> {
        memory
            .iter()
            .map(|e| f64::from_bits(e.load(Relaxed)))
            .collect()
    }

    #[test]
    fn every_element_is_touched_exactly_once_at_any_stride() {
        for stride in [8, 16, 24, 64, 4096, 4000] {
            let set = set(8192, stride, Access::Rmw, Pattern::Strided);
            let memory = memory(&set);
            walk(&memory, &set);
            assert!(values(&memory).iter().all(|v| *v == 2.0), "stride {stride}");
            walk(&memory, &set);
            assert!(values(&memory).iter().all(|v| *v == 3.0), "stride {stride}");
        }
    }

    #[test]
    fn a_read_leaves_memory_alone_and_a_write_overwrites_it() {
        let read = set(4096, 64, Access::Read, Pattern::Strided);
        let touched = memory(&read);
        walk(&touched, &read);
        assert!(values(&touched).iter().all(|v| *v == 1.0));
        let write = set(4096, 64, Access::Write, Pattern::Strided);
        walk(&touched, &write);
        assert!(values(&touched).iter().all(|v| *v == 2.0));
    }

    #[test]
    fn a_chase_visits_every_node_exactly_once_and_comes_home() {
        let set = set(64 * 1024, 64, Access::Rmw, Pattern::Chase);
        let memory = memory(&set);
        walk(&memory, &set);
        let data: Vec<f64> = values(&memory).into_iter().skip(1).step_by(8).collect();
        assert_eq!(data, vec![2.0; 1024]);
        let mut at = 0;
        let mut visits = 0;
        loop {
            at = memory[at].load(Relaxed) as usize;
            visits += 1;
            if at == 0 {
                break;
            }
        }
        assert_eq!(visits, 1024, "one cycle, not several");
    }

    #[test]
    fn a_chase_has_no_fixed_step() {
        let set = set(64 * 1024, 64, Access::Read, Pattern::Chase);
        let memory = memory(&set);
        let step = |node: usize| memory[node * 8].load(Relaxed) as i64 - (node * 8) as i64;
        let mut steps: Vec<i64> = (0..1024).map(step).collect();
        steps.sort_unstable();
        steps.dedup();
        assert!(steps.len() > 400, "{} different steps of 1024", steps.len());
    }

    #[test]
    fn touching_nothing_is_allowed() {
        walk(&[], &WorkingSet::NONE);
    }
}
