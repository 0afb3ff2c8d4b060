//! SHiP's prediction of whether lines that an instruction brings in are found again (Wu et al., MICRO 2011).

use super::{SRRIP_INSERTED, SRRIP_LEAVES};

/// Counters of 3 bits, by the 14 bits that are left of an instruction's address.
const BITS: u32 = 14;
const MOST: u8 = 7;
/// Initial counter of an instruction: its lines are expected to be found again.
const UNKNOWN: u8 = 1;

/// The signature history counter table, and its state of each line. Empty if the policy is not SHiP.
#[derive(Debug)]
pub(super) struct Signatures {
    counters: Vec<u8>,
    /// By slot: signature of the instruction that brought the line in, and whether the line was found since.
    lines: Vec<(u16, bool)>,
    /// Signature of the requesting instruction.
    asking: u16,
}

impl Signatures {
    /// Makes the table for `lines` lines.
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

    /// Handles a hit: other lines of the same instruction are likely to be found, too.
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

    /// Handles a line that leaves for another: if it was not found, others of its instruction are not likely to be.
    pub(super) fn left(&mut self, slot: usize) {
        let (signature, is_found) = self.lines[slot];
        if !is_found {
            let counter = &mut self.counters[usize::from(signature)];
            *counter = counter.saturating_sub(1);
        }
    }
}
