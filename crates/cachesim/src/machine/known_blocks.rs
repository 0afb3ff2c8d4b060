//! Remembers the slots of the code of recent blocks, because most blocks run many times between two
//! misses of code.

use super::way_predictor::Slots;

/// Slots that hold a block's code in the first TLB and the first cache.
#[derive(Clone, Copy, Debug)]
pub(super) struct CodeSlots {
    /// Slot of the page in the first TLB.
    pub(super) page: u16,
    /// Slots of the lines in the first cache.
    pub(super) lines: Slots,
}

#[derive(Clone, Copy, Debug)]
struct KnownBlock {
    /// Value of the counter of code losses when the slots were stored.
    losses: u64,
    slots: CodeSlots,
}

/// Code slots of each distinct block of a chunk.
#[derive(Debug, Default)]
pub(super) struct KnownBlocks(Vec<KnownBlock>);

impl KnownBlocks {
    /// Begins a chunk that has `kinds` distinct blocks.
    pub(super) fn begin(&mut self, kinds: usize) {
        let unknown = KnownBlock {
            losses: u64::MAX,
            slots: CodeSlots {
                page: 0,
                lines: Slots::default(),
            },
        };
        self.0.clear();
        self.0.resize(kinds, unknown);
    }

    /// Returns the slots of a block's code, if no code was lost since it was found.
    #[inline(always)]
    pub(super) fn get(&self, number: u32, losses: u64) -> Option<CodeSlots> {
        self.0
            .get(number as usize)
            .filter(|known| known.losses == losses)
            .map(|known| known.slots)
    }

    #[inline(always)]
    pub(super) fn set(&mut self, number: u32, losses: u64, slots: CodeSlots) {
        if let Some(known) = self.0.get_mut(number as usize) {
            *known = KnownBlock { losses, slots };
        }
    }
}
