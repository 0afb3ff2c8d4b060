//! Counts evictions by process.

use std::collections::HashMap;

use switchcost_design::result::{Detail, Eviction};

use super::column;
use crate::address::KERNEL;
use crate::machine::{Departure, Levels, Listener, Lookup, NO_PROCESS, Requester};

/// Number of evicted lines by level, evictor and victim.
#[derive(Debug)]
pub(crate) struct Evictions {
    running: u32,
    pairs: HashMap<(u32, u32, u32), u64>,
    /// Evictions that are not yet in `pairs`, by cache and by [`column()`] of the victim: those by
    /// the running process, and those by the kernel in the same time slice.
    fresh: Vec<Vec<[u32; 2]>>,
    fresh_victims: Vec<(u32, u32)>,
}

impl Evictions {
    fn flush(&mut self) {
        for (level, victim) in self.fresh_victims.drain(..) {
            let lines = std::mem::take(&mut self.fresh[level as usize][column(victim)]);
            for (evictor, lines) in [self.running, KERNEL]
                .into_iter()
                .zip(lines)
                .filter(|(_, lines)| *lines > 0)
            {
                *self.pairs.entry((level, evictor, victim)).or_default() += u64::from(lines);
            }
        }
    }
}

impl Listener for Evictions {
    fn new(levels: Levels) -> Evictions {
        Evictions {
            running: NO_PROCESS,
            pairs: HashMap::new(),
            fresh: vec![Vec::new(); levels.caches],
            fresh_victims: Vec::new(),
        }
    }

    fn switched_out(&mut self, _: Requester) {
        self.flush();
    }

    fn switched_in(&mut self, process: u32) {
        self.running = process;
        let columns = process as usize + 2;
        self.fresh
            .iter_mut()
            .filter(|lines| lines.len() < columns)
            .for_each(|lines| lines.resize(columns, [0; 2]));
    }

    #[inline]
    fn left(&mut self, lookup: &Lookup<'_>, level: usize, line: Requester, how: Departure) {
        let Some(fresh) = self.fresh.get_mut(level).filter(|_| how.is_eviction()) else {
            return;
        };
        let victim = line.owner();
        let lines = &mut fresh[column(victim)];
        if *lines == [0; 2] {
            self.fresh_victims.push((level as u32, victim));
        }
        let lines = &mut lines[usize::from(lookup.requester.is_kernel())];
        *lines += 1;
        if *lines == u32::MAX {
            self.flush();
        }
    }

    /// Adds to `detail` the pairs of evictor and victim that occur in each level; the kernel is
    /// last.
    fn report(&mut self, levels: &[String], detail: &mut Detail) {
        self.flush();
        let mut pairs: Vec<_> = self.pairs.iter().collect();
        pairs.sort_unstable();
        let process = |owner: u32| (owner != KERNEL).then_some(owner);
        let row = |(&(level, evictor, victim), &lines): (&(u32, u32, u32), &u64)| Eviction {
            level: levels[level as usize].clone(),
            evictor: process(evictor),
            victim: process(victim),
            lines,
        };
        detail.evictions = pairs.into_iter().map(row).collect();
    }
}
