use workload::{Touch, WorkingSet, addresses};

use crate::{Block, BlockFlags, Reference};

use super::{CODE, DATA, Program, Synthetic};

/// Index of 8 bytes, one element of a walk, in [`crate::SIZES`].
const EIGHT_BYTES: u8 = 7;

/// Processes that each walk a working set of `workload` once a turn: the very accesses that `measure` makes, without
/// the kernel's and without those of the stack. The loop around each access is two instructions of 4 bytes: one that
/// touches, one that jumps back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Walks {
    /// What each process walks.
    pub sets: Vec<WorkingSet>,
    /// Turns of all processes together; each begins with a switch, unless there is one process.
    pub switches: u64,
    /// Seed of the cycles of chases.
    pub seed: u64,
}

struct Walk {
    set: WorkingSet,
    seed: u64,
    rest: Option<Box<dyn Iterator<Item = Touch> + Send>>,
}

impl Walks {
    /// The stream. A set that [`WorkingSet::check`] refuses touches nothing.
    pub fn chunks(&self) -> Synthetic {
        let one =
            |set: &WorkingSet| Box::new(Walk { set: *set, seed: self.seed, rest: None }) as Box<dyn Program + Send>;
        Synthetic::new(self.sets.iter().map(one).collect(), u64::MAX, self.switches)
    }
}

impl Program for Walk {
    fn block(&mut self, _most: u64, references: &mut Vec<Reference>) -> Option<Block> {
        let rest = self.rest.get_or_insert_with(|| Box::new(addresses(&self.set, DATA, self.seed)));
        let Some(touch) = rest.next() else {
            self.rest = None;
            return None;
        };
        references.push(Reference::new(touch.address, EIGHT_BYTES, 3, touch.is_store));
        let (address, flags) = (CODE, BlockFlags::USER);
        Some(Block { address, bytes: 8, instructions: 2, references: 1, first_bytes: 4, flags })
    }
}
