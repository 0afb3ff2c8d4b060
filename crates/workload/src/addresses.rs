//! The accesses of a walk as addresses, for simulations of memory.

use std::iter;

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;

use crate::{Access, ELEMENT_BYTES, Pattern, WorkingSet};

/// A load or store of one element of [`ELEMENT_BYTES`] bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Touch {
    /// Address of the element's first byte.
    pub address: u64,
    /// Whether the access is a store.
    pub is_store: bool,
}

/// Returns every load and store of one [`walk`](crate::walk()) of `set`, in order, for an array at
/// address `base`. The array is as [prepared](crate::prepare()) with `seed`, which matters only for
/// a chase. A chase also loads the word that links each node to the next. Empty for a set that
/// [`WorkingSet::check`] refuses.
pub fn addresses(
    set: &WorkingSet,
    base: u64,
    seed: u64,
) -> impl Iterator<Item = Touch> + Send + use<> {
    let set = if set.check().is_ok() {
        *set
    } else {
        WorkingSet::NONE
    };
    let (loads, stores) = match set.access {
        Access::Read => (true, false),
        Access::Write => (false, true),
        Access::Rmw => (true, true),
    };
    visits(&set, seed).flat_map(move |visit| {
        let at = move |element: usize| base.wrapping_add(element as u64 * ELEMENT_BYTES);
        let touch = move |is_store| Touch {
            address: at(visit.data),
            is_store,
        };
        let link = visit.link.map(|link| Touch {
            address: at(link),
            is_store: false,
        });
        [
            loads.then(|| touch(false)),
            stores.then(|| touch(true)),
            link,
        ]
        .into_iter()
        .flatten()
    })
}

/// One visit of a walk, as two indices of the array: the element whose data is touched, and the
/// element that leads to the next visit.
struct Visit {
    data: usize,
    link: Option<usize>,
}

fn visits(set: &WorkingSet, seed: u64) -> Box<dyn Iterator<Item = Visit> + Send> {
    let (elements, stride) = (set.elements(), set.stride_elements());
    match set.pattern {
        _ if set.is_empty() => Box::new(iter::empty()),
        Pattern::Strided => {
            let visit = |data| Visit { data, link: None };
            Box::new(
                (0..stride)
                    .flat_map(move |first| (first..elements).step_by(stride))
                    .map(visit),
            )
        }
        Pattern::Chase => {
            let cycle = cycle(elements / stride, seed);
            let start = cycle.iter().position(|&node| node == 0).unwrap_or(0);
            let visit = move |node: usize| Visit {
                data: node * stride + 1,
                link: Some(node * stride),
            };
            Box::new((0..cycle.len()).map(move |step| visit(cycle[(start + step) % cycle.len()])))
        }
    }
}

/// Returns a random cycle through all nodes: the nodes in the order in which each leads to the
/// next, and the last one to the first.
pub(crate) fn cycle(nodes: usize, seed: u64) -> Vec<usize> {
    let mut order: Vec<usize> = (0..nodes).collect();
    order.shuffle(&mut ChaCha8Rng::seed_from_u64(seed));
    order
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

    use switchcost_units::Bytes;

    use super::*;
    use crate::walk::{self, prepare, walk};

    const BASE: u64 = 0x7000_0000;
    const SEED: u64 = 7;

    fn set(size: u64, stride: u64, access: Access, pattern: Pattern) -> WorkingSet {
        WorkingSet {
            size_bytes: Bytes(size),
            stride_bytes: Bytes(stride),
            access,
            pattern,
            ..WorkingSet::NONE
        }
    }

    fn prepared(set: &WorkingSet) -> Vec<AtomicU64> {
        let memory: Vec<_> = (0..set.elements()).map(|_| AtomicU64::new(0)).collect();
        prepare(&memory, set, SEED);
        memory
    }

    fn touches(set: &WorkingSet) -> Vec<Touch> {
        addresses(set, BASE, SEED).collect()
    }

    fn sets() -> Vec<WorkingSet> {
        let mut sets = Vec::new();
        for access in [Access::Read, Access::Write, Access::Rmw] {
            for (size, stride) in [(8, 8), (4096, 8), (4096, 64), (4000, 24), (4096, 4096)] {
                sets.push(set(size, stride, access, Pattern::Strided));
            }
            for (size, stride) in [(128, 64), (4096, 64), (4096, 16), (960, 48)] {
                sets.push(set(size, stride, access, Pattern::Chase));
            }
        }
        sets
    }

    #[test]
    fn visits_as_often_and_as_the_access_says() {
        for set in sets() {
            let touches = touches(&set);
            let stores = touches.iter().filter(|touch| touch.is_store).count();
            let links = if set.pattern == Pattern::Chase {
                set.touches()
            } else {
                0
            };
            let (loads, expected_stores) = match set.access {
                Access::Read => (set.touches(), 0),
                Access::Write => (0, set.touches()),
                Access::Rmw => (set.touches(), set.touches()),
            };
            assert_eq!(
                (touches.len() - stores, stores),
                (loads + links, expected_stores),
                "{set:?}"
            );
        }
    }

    #[test]
    fn a_read_modify_write_loads_before_it_stores() {
        let set = set(32, 8, Access::Rmw, Pattern::Strided);
        let expected: Vec<_> = (0..4)
            .flat_map(|element| {
                [false, true].map(|is_store| Touch {
                    address: BASE + element * 8,
                    is_store,
                })
            })
            .collect();
        assert_eq!(touches(&set), expected);
    }

    #[test]
    fn the_real_walk_stores_to_the_very_same_elements() {
        for set in sets().into_iter().filter(|set| set.access != Access::Read) {
            let memory = prepared(&set);
            let before: Vec<u64> = memory.iter().map(|element| element.load(Relaxed)).collect();
            walk(&memory, &set);
            let changed: Vec<u64> = (0..memory.len())
                .filter(|&element| memory[element].load(Relaxed) != before[element])
                .map(|element| BASE + element as u64 * ELEMENT_BYTES)
                .collect();
            let mut stored: Vec<u64> = touches(&set)
                .iter()
                .filter(|touch| touch.is_store)
                .map(|touch| touch.address)
                .collect();
            stored.sort_unstable();
            assert_eq!(stored, changed, "{set:?}");
        }
    }

    /// Shows that a chase follows the links in prepared memory, as the walk does.
    #[test]
    fn a_chase_follows_the_cycle_that_is_laid_in_memory() {
        for set in sets()
            .into_iter()
            .filter(|set| set.pattern == Pattern::Chase)
        {
            let memory = prepared(&set);
            let mut at = 0_u64;
            let followed: Vec<u64> = (0..set.touches())
                .map(|_| {
                    let next = memory[at as usize].load(Relaxed);
                    std::mem::replace(&mut at, next)
                })
                .map(|element| BASE + element * ELEMENT_BYTES)
                .collect();
            assert_eq!(at, 0, "the cycle is closed");
            let per_visit = touches(&set).len() / set.touches();
            let links: Vec<u64> = touches(&set)
                .chunks(per_visit)
                .map(|visit| visit[per_visit - 1].address)
                .collect();
            assert_eq!(links, followed, "{set:?}");
            for visit in touches(&set).chunks(per_visit) {
                let link = visit[per_visit - 1].address;
                assert!(
                    visit[..per_visit - 1]
                        .iter()
                        .all(|touch| touch.address == link + ELEMENT_BYTES)
                );
            }
        }
    }

    /// Shows that the walk's own loops visit elements in the order of [`addresses`], by a touch
    /// function that records each element. (Only a strided read has a separate loop, because of its
    /// sum.)
    #[test]
    fn the_loops_of_the_walk_visit_in_the_same_order() {
        for set in sets() {
            let memory = prepared(&set);
            let visited = RefCell::new(Vec::new());
            let first = memory.as_ptr() as u64;
            let note = |element: &AtomicU64| {
                visited
                    .borrow_mut()
                    .push(std::ptr::from_ref(element) as u64 - first + BASE);
            };
            match set.pattern {
                Pattern::Strided => walk::strided(&memory, set.stride_elements(), note),
                Pattern::Chase => walk::chase(&memory, set.stride_elements(), note),
            }
            let per_visit = touches(&set).len() / set.touches();
            let expected: Vec<u64> = touches(&set)
                .chunks(per_visit)
                .map(|visit| visit[0].address)
                .collect();
            assert_eq!(visited.into_inner(), expected, "{set:?}");
        }
    }

    #[test]
    fn an_unfit_or_empty_set_has_none() {
        assert_eq!(touches(&WorkingSet::NONE), []);
        assert_eq!(touches(&set(64, 0, Access::Rmw, Pattern::Strided)), []);
        assert_eq!(touches(&set(64, 8, Access::Rmw, Pattern::Chase)), []);
    }
}
