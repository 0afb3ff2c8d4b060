//! SHiP's prediction of whether lines that an instruction brings in will hit again (Wu et al.,
//! MICRO 2011).

use super::{SRRIP_INSERTED, SRRIP_LEAVES};

/// Number of bits of a signature, a hash of an instruction's address that indexes the 3-bit
/// counters.
const BITS: u32 = 14;
const MOST: u8 = 7;
/// Initial value of an instruction's counter, at which its lines are expected to hit again.
const UNKNOWN: u8 = 1;

/// SHiP's signature history counter table, with the state of each line; empty under other policies.
#[derive(Debug)]
pub(super) struct Signatures {
    counters: Vec<u8>,
    /// For each slot, the signature of the instruction that brought the line in, and whether the
    /// line has hit since.
    lines: Vec<(u16, bool)>,
    /// Signature of the instruction that makes the current request.
    asking: u16,
}

impl Signatures {
    /// Makes SHiP's table of counters, and the signatures of `lines` lines.
    pub(super) fn new(lines: usize) -> Signatures {
        let counters = if lines > 0 { 1 << BITS } else { 0 };
        Signatures {
            counters: vec![UNKNOWN; counters],
            lines: vec![(0, false); lines],
            asking: 0,
        }
    }

    pub(super) fn asked_by(&mut self, instruction: u64) {
        let mask = (1 << BITS) - 1;
        self.asking = (0..u64::BITS)
            .step_by(BITS as usize)
            .fold(0, |all, bit| all ^ (instruction >> bit & mask) as u16);
    }

    /// Records that a line was hit, which raises the counter of the instruction that brought it in.
    pub(super) fn found(&mut self, slot: usize) {
        let (signature, is_found) = &mut self.lines[slot];
        *is_found = true;
        let counter = &mut self.counters[usize::from(*signature)];
        *counter = (*counter + 1).min(MOST);
    }

    /// Records that a line comes in. Returns the line's re-reference prediction.
    pub(super) fn came(&mut self, slot: usize) -> u64 {
        self.lines[slot] = (self.asking, false);
        if self.counters[usize::from(self.asking)] == 0 {
            SRRIP_LEAVES
        } else {
            SRRIP_INSERTED
        }
    }

    /// Records that a line is evicted. If the line never hit, the counter of its instruction is
    /// lowered.
    pub(super) fn left(&mut self, slot: usize) {
        let (signature, is_found) = self.lines[slot];
        if !is_found {
            let counter = &mut self.counters[usize::from(signature)];
            *counter = counter.saturating_sub(1);
        }
    }
}
