//! Compares the program's lookups that miss only in the shared hierarchy with those that miss only
//! in the private one.

use switchcost_design::result::{Detail, MissDifference};

use crate::machine::{Levels, Listener, Lookup, Took, ViewSet};

#[derive(Clone, Copy, Debug, Default)]
struct Differences {
    lost: u64,
    gained: u64,
    /// Number of lookups gained (found only in the shared hierarchy) that were first touches:
    /// another process had brought in the line before the process requested it for the first time.
    first_touches: u64,
}

/// Number of lookups that missed in only one of the two hierarchies, by level.
#[derive(Debug)]
pub(crate) struct MissDifferences {
    levels: Vec<Differences>,
    /// Whether the current reference was faster because another process had brought its line in
    /// first.
    is_first_touch: bool,
}

impl MissDifferences {
    fn count(&mut self, level: usize, is_lost: bool, is_first_touch: bool) {
        let level = &mut self.levels[level];
        level.lost += u64::from(is_lost);
        level.gained += u64::from(!is_lost);
        level.first_touches += u64::from(!is_lost && is_first_touch);
    }
}

impl Listener for MissDifferences {
    const COMPARES: bool = true;

    fn new(levels: Levels) -> MissDifferences {
        MissDifferences {
            levels: vec![Differences::default(); levels.all],
            is_first_touch: false,
        }
    }

    #[inline]
    fn took(&mut self, _: &Lookup<'_>, took: &Took) {
        self.is_first_touch |= took.is_first_touch();
        for (level, is_lost) in took.differences() {
            self.count(level, is_lost, took.is_first_touch());
        }
    }

    #[inline]
    fn reference_missed(&mut self, level: usize, missed: ViewSet) {
        let is_first_touch = std::mem::take(&mut self.is_first_touch);
        if let Some(is_lost) = missed.is_shared_alone() {
            self.count(level, is_lost, is_first_touch);
        }
    }

    fn report(&mut self, levels: &[String], detail: &mut Detail) {
        let named = levels.iter().cloned().zip(&self.levels);
        let differences = named.map(|(level, of)| MissDifference {
            level,
            lost: of.lost,
            gained: of.gained,
            first_touches: of.first_touches,
        });
        detail.miss_differences = differences.collect();
    }
}
