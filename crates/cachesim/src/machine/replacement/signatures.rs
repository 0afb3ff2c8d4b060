//! SHiP's prediction of whether lines that an instruction brings in will hit again (Wu et al.,
//! MICRO 2011).

use super::{SRRIP_INSERTED, SRRIP_LEAVES};

/// Number of bits of a signature, a hash of an instruction's address that indexes the 3-bit
/// counters.
const BITS: u32 = 14;
const MOST: u8 = 7;
/// Initial counter of an instruction: its lines are expected to hit again.
const UNKNOWN: u8 = 1;

/// Signature history counter table with its state for each line; empty if the policy is not SHiP.
#[derive(Debug)]
pub(super) struct Signatures {
    counters: Vec<u8>,
    /// Signature of the instruction that brought each line in, and whether the line hit since, by
    /// slot.
    lines: Vec<(u16, bool)>,
    /// Signature of the requesting instruction.
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

    /// Records that a line was hit, so that other lines of its instruction are expected to be hit,
    /// too.
    pub(super) fn found(&mut self, slot: usize) {
        let (signature, is_found) = &mut self.lines[slot];
        *is_found = true;
        let counter = &mut self.counters[usize::from(*signature)];
        *counter = (*counter + 1).min(MOST);
    }

    /// Handles a line that comes in. Returns its prediction.
    pub(super) fn came(&mut self, slot: usize) -> u64 {
        self.lines[slot] = (self.asking, false);
        if self.counters[usize::from(self.asking)] == 0 {
            SRRIP_LEAVES
        } else {
            SRRIP_INSERTED
        }
    }

    /// Handles a line that leaves for another: if the line never hit, others of its instruction are
    /// less likely to.
    pub(super) fn left(&mut self, slot: usize) {
        let (signature, is_found) = self.lines[slot];
        if !is_found {
            let counter = &mut self.counters[usize::from(signature)];
            *counter = counter.saturating_sub(1);
        }
    }
}
