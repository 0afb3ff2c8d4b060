//! Set dueling: a few leader sets show which of two policies misses less (Qureshi et al., ISCA
//! 2007; Jaleel et al., ISCA 2010).

use super::{SRRIP_INSERTED, SRRIP_LEAVES};

/// Number of leader sets for each policy, in caches with enough sets.
const LEADERS: usize = 32;
/// Least number of sets per pair of leader sets, in caches with enough sets.
const FEWEST_FOLLOWERS: usize = 8;
/// Middle of the 10-bit policy counter. If the counter is above the middle, SRRIP has missed more
/// than BRRIP.
const MIDDLE: u16 = 512;
const MOST: u16 = 1023;
/// Reciprocal rate of BRRIP: one line in this many is inserted with SRRIP's prediction, all others
/// as the next to leave.
const BIMODAL: u32 = 32;

/// Set dueling between SRRIP and BRRIP.
#[derive(Debug)]
pub(super) struct Duel {
    /// Number of sets per pair of leaders. In each run of this many sets, the first is a leader for
    /// SRRIP and the second for BRRIP.
    period: usize,
    counter: u16,
    /// Number of lines that BRRIP has brought in, modulo [`BIMODAL`].
    bimodal: u32,
}

impl Duel {
    pub(super) fn new(sets: usize) -> Duel {
        Duel {
            period: (sets / LEADERS).max(sets.min(FEWEST_FOLLOWERS)).max(1),
            counter: MIDDLE,
            bimodal: 0,
        }
    }

    /// Records that a line comes into a set, which counts as a miss if the set is a leader. Returns
    /// the re-reference prediction for the line.
    pub(super) fn comes_into(&mut self, set: usize) -> u64 {
        let is_bimodal = match set % self.period {
            0 => {
                self.counter = (self.counter + 1).min(MOST);
                false
            }
            1 => {
                self.counter = self.counter.saturating_sub(1);
                true
            }
            _ => self.counter > MIDDLE,
        };
        if !is_bimodal {
            return SRRIP_INSERTED;
        }
        self.bimodal = (self.bimodal + 1) % BIMODAL;
        if self.bimodal == 0 {
            SRRIP_INSERTED
        } else {
            SRRIP_LEAVES
        }
    }
}
