//! Follows values from loads through registers and memory to the addresses of later loads.

use crate::{Block, Dependences, Followed, Mark, Reference, Values};

/// Number of pieces of memory for which the last stored value is kept; a power of two. Spilled
/// registers and arguments are soon loaded again.
const STORES: usize = 4096;
/// Binary logarithm of the size of a piece of memory, in bytes.
const PIECE_BITS: u32 = 3;

#[derive(Clone, Copy, Debug, Default)]
struct Stored<T> {
    piece: u64,
    since: u32,
    value: T,
}

/// Tracker of values through the code of the running task. At a switch or an exec, all values are
/// reset.
#[derive(Debug)]
pub struct DataFlow<T> {
    values: Values<T>,
    stores: Vec<Stored<T>>,
    /// Number of the current time slice. Stores of earlier time slices do not count.
    slice: u32,
}

impl<T: Copy + Default + Ord> Default for DataFlow<T> {
    fn default() -> Self {
        DataFlow {
            values: Values::default(),
            stores: vec![Stored::default(); STORES],
            slice: 1,
        }
    }
}

impl<T: Copy + Default + Ord> DataFlow<T> {
    /// Follows an executed block. Calls `take` with each load or store, the largest value on which
    /// its address depends (`None` if the block's dependences are unknown), and a stored value: for
    /// a load, the value last stored at its address, for a store, the value of its data. For a
    /// load, `take` returns the value that is loaded.
    #[inline]
    pub fn follow(
        &mut self,
        dependences: &Dependences,
        block: &Block,
        references: &[Reference],
        mut take: impl FnMut(Reference, Option<T>, T) -> T,
    ) {
        let Some(rules) = dependences.rules(block) else {
            self.values = Values::default();
            for &reference in references {
                take(reference, None, T::default());
                if reference.is_store() {
                    store(&mut self.stores, self.slice, reference, T::default());
                }
            }
            return;
        };
        let DataFlow {
            values,
            stores,
            slice,
        } = self;
        rules.follow(values, references, |followed| match followed {
            Followed::Load(reference, address) => {
                take(reference, Some(address), load(stores, *slice, reference))
            }
            Followed::Store(reference, address, data) => {
                store(stores, *slice, reference, data);
                take(reference, Some(address), data)
            }
        });
    }

    /// Follows a mark. A switch or an exec resets all values.
    pub fn mark(&mut self, mark: &Mark) {
        if matches!(mark, Mark::Switch { .. } | Mark::Exec { .. }) {
            self.values = Values::default();
            self.slice = self.slice.wrapping_add(1);
        }
    }
}

fn pieces(reference: Reference) -> std::ops::RangeInclusive<u64> {
    let first = reference.address();
    let last = first.saturating_add(u64::from(reference.bytes()) - 1);
    first >> PIECE_BITS..=last >> PIECE_BITS
}

#[inline]
fn load<T: Copy + Default + Ord>(stores: &[Stored<T>], slice: u32, reference: Reference) -> T {
    let value = |piece: u64| {
        let stored = &stores[piece as usize % STORES];
        if (stored.piece, stored.since) == (piece, slice) {
            stored.value
        } else {
            T::default()
        }
    };
    pieces(reference).map(value).max().unwrap_or_default()
}

#[inline]
fn store<T: Copy>(stores: &mut [Stored<T>], since: u32, reference: Reference, value: T) {
    for piece in pieces(reference) {
        stores[piece as usize % STORES] = Stored {
            piece,
            since,
            value,
        };
    }
}
