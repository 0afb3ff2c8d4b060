//! Counts the origins of misses, and the cycles that lookups took longer or shorter than if the
//! process ran alone.

use switchcost_design::result::{Detail, GainedCycles, LostCycles, LostTo, MissOrigins};

use crate::machine::{Gain, Levels, Listener, Lookup, Origin, Took};

/// Number of misses by origin, and the cycles lost and gained.
#[derive(Debug)]
pub(crate) struct Origins {
    misses: Vec<[u64; Origin::COUNT]>,
    /// Cycles lost, by whether the looked-up address is the kernel's, then by the origin of the
    /// miss.
    lost: [[u64; Origin::COUNT]; 2],
    gained: GainedCycles,
}

impl Listener for Origins {
    const COMPARES: bool = true;

    fn new(levels: Levels) -> Origins {
        Origins {
            misses: vec![[0; Origin::COUNT]; levels.all],
            lost: [[0; Origin::COUNT]; 2],
            gained: GainedCycles::default(),
        }
    }

    #[inline]
    fn filled(&mut self, _: &Lookup<'_>, level: usize, origin: Origin, _: u32) {
        self.misses[level][origin as usize] += 1;
    }

    #[inline]
    fn took(&mut self, lookup: &Lookup<'_>, took: &Took) {
        let cycles = took.longer.unsigned_abs();
        let sum = match took.gain {
            _ if took.longer == 0 => return,
            _ if took.longer > 0 => {
                &mut self.lost[usize::from(lookup.requester.is_kernel())][took.lost_to as usize]
            }
            Gain::FromOthers => &mut self.gained.others,
            Gain::FirstTouch if lookup.is_code => &mut self.gained.first_touches_of_code,
            Gain::FirstTouch => &mut self.gained.first_touches_of_data,
            Gain::State => &mut self.gained.state,
        };
        *sum += cycles;
    }

    fn report(&mut self, levels: &[String], detail: &mut Detail) {
        let named = levels.iter().cloned().zip(&self.misses);
        let origins = named.map(|(level, of)| MissOrigins {
            level,
            intrinsic: of[Origin::Intrinsic as usize],
            flushed: of[Origin::Flushed as usize],
            evicted_by_others: of[Origin::ByOthers as usize],
            evicted_by_kernel: of[Origin::ByKernel as usize],
            aged_by_others: of[Origin::Aged as usize],
            state: of[Origin::State as usize],
        });
        detail.origins = origins.collect();
        let to = |of: [u64; Origin::COUNT]| LostTo {
            processes: of[Origin::ByOthers as usize],
            kernel: of[Origin::ByKernel as usize],
            aged: of[Origin::Aged as usize],
            flushed: of[Origin::Flushed as usize],
            state: of[Origin::State as usize],
            other: of[Origin::Intrinsic as usize],
        };
        let [programs, kernel] = self.lost;
        detail.lost_cycles = LostCycles {
            programs: to(programs),
            kernel: to(kernel),
        };
        detail.gained_cycles = self.gained;
    }
}
