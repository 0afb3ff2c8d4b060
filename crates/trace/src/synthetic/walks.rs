use switchcost_workload::{Access, Pattern, Touch, WorkingSet, addresses};

use crate::{
    Block, BlockDependences, BlockFlags, Dependences, Reference, ReferenceDependence, Sources,
};

use super::{CODE, DATA, Program, Synthetic};

/// Index in [`crate::SIZES`] of 8 bytes, the size of one element.
const EIGHT_BYTES: u8 = 7;

/// Length of every instruction in bytes.
const INSTRUCTION_BYTES: u32 = 4;
/// Maximum number of instructions of the loop for one element. More would not fit into a block.
const MOST_INSTRUCTIONS: u32 = 250;

/// Synthetic processes that each walk a working set of `workload` once per time slice. The
/// processes make the accesses of `measure`, except accesses by the kernel and to the stack.
/// Instructions are 4 bytes long.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Walks {
    /// The working set of each process.
    pub sets: Vec<WorkingSet>,
    /// Number of instructions in the loop for each element: at least one for each load and store,
    /// at most 250. `None` means two for each load or store (the access, and a jump back).
    pub instructions: Option<u32>,
    /// Number of time slices of all processes together. Each begins with a switch; with only one
    /// process, only the first does.
    pub switches: u64,
    /// Seed of the random cycles of pointer chases.
    pub seed: u64,
}

struct Walk {
    set: WorkingSet,
    seed: u64,
    rest: Option<Box<dyn Iterator<Item = Touch> + Send>>,
    /// Number of instructions of each block of the loop. Each block begins with a load or store.
    blocks: Vec<u32>,
    /// Index in `blocks` of the next block.
    at: usize,
}

impl Walks {
    /// Returns the stream of chunks. A working set that [`WorkingSet::check`] refuses touches
    /// nothing.
    pub fn chunks(&self) -> Synthetic {
        let one = |set: &WorkingSet| {
            let blocks = blocks(set, self.instructions);
            Box::new(Walk {
                set: *set,
                seed: self.seed,
                rest: None,
                blocks,
                at: 0,
            }) as Box<dyn Program + Send>
        };
        Synthetic::new(self.sets.iter().map(one).collect(), u64::MAX, self.switches)
    }

    /// Returns the dependences of the code: in a chase, each load takes its address from the load
    /// before; otherwise no address depends on a load. Unknown unless all processes only load, in
    /// the same pattern.
    pub fn dependences(&self) -> Dependences {
        let mut all = Dependences::default();
        let Some(first) = self.sets.first() else {
            return all;
        };
        let is_alike =
            |set: &WorkingSet| set.access == Access::Read && set.pattern == first.pattern;
        if !self.sets.iter().all(is_alike) {
            return all;
        }
        let pointer = match first.pattern {
            Pattern::Chase => Sources::register(0).zip(Sources::load(0)),
            Pattern::Strided => None,
        };
        let (address, _) = pointer.unwrap_or_default();
        let rules = BlockDependences {
            references: vec![ReferenceDependence::Load(address)],
            registers: pointer.map(|(_, loaded)| (0, loaded)).into_iter().collect(),
        };
        let blocks = blocks(first, self.instructions);
        for (number, instructions) in blocks.iter().enumerate() {
            let before = blocks[..number].iter().sum();
            all.learn(&block(before, *instructions), &[], || Some(rules.clone()));
        }
        all
    }
}

/// Returns the block of `instructions` instructions that follows the first `before` instructions of
/// the loop.
fn block(before: u32, instructions: u32) -> Block {
    Block {
        address: CODE + u64::from(before * INSTRUCTION_BYTES),
        bytes: (instructions * INSTRUCTION_BYTES) as u16,
        instructions: instructions as u16,
        references: 1,
        first_bytes: INSTRUCTION_BYTES as u8,
        flags: BlockFlags::USER,
    }
}

/// Divides the instructions for one element among its loads and stores.
fn blocks(set: &WorkingSet, instructions: Option<u32>) -> Vec<u32> {
    let Some(instructions) = instructions else {
        return vec![2];
    };
    let touches =
        u32::from(set.access == Access::Rmw) + u32::from(set.pattern == Pattern::Chase) + 1;
    let all = instructions.clamp(touches, MOST_INSTRUCTIONS);
    (0..touches)
        .map(|touch| all * (touch + 1) / touches - all * touch / touches)
        .collect()
}

impl Program for Walk {
    fn block(&mut self, _most: u64, references: &mut Vec<Reference>) -> Option<Block> {
        let rest = self
            .rest
            .get_or_insert_with(|| Box::new(addresses(&self.set, DATA, self.seed)));
        let Some(touch) = rest.next() else {
            (self.rest, self.at) = (None, 0);
            return None;
        };
        references.push(Reference::new(
            touch.address,
            EIGHT_BYTES,
            3,
            touch.is_store,
        ));
        let before: u32 = self.blocks[..self.at].iter().sum();
        let instructions = self.blocks[self.at];
        self.at = (self.at + 1) % self.blocks.len();
        Some(block(before, instructions))
    }
}
