//! Counts the lines that each process has in the shared levels, and those that it loses there while
//! it does not run.

use switchcost_design::result::{Detail, FillPoint, WorkingSetLoss};

use super::column;
use crate::machine::{Departure, Levels, Listener, Lookup, Origin, Requester};

/// The time since a process left the CPU to another process.
#[derive(Clone, Debug)]
struct Absence {
    /// Number of the last time slice in which the process ran.
    turn: u32,
    is_over: bool,
    /// Number of the process's lines at its departure, by cache. `lost` is the number of these
    /// lines that have left since.
    resident: Vec<u32>,
    lost: Vec<u32>,
}

#[derive(Clone, Debug, Default)]
struct Sums {
    /// Number of lines held at present; `most_held` is the highest number at any time.
    held: u64,
    most_held: u64,
    returns: u64,
    resident: u64,
    lost: u64,
    restored: u64,
}

/// Working sets of all processes in all levels.
#[derive(Debug)]
pub(crate) struct WorkingSets {
    sums: Vec<Sums>,
    absences: Vec<Option<Absence>>,
    /// Number of lines by cache and [`column()`] of the owner.
    residents: Vec<Vec<u32>>,
    fill_curve: Vec<FillPoint>,
}

impl WorkingSets {
    fn most_held(&self) -> Vec<u64> {
        self.sums.iter().map(|sums| sums.most_held).collect()
    }

    #[inline]
    fn lose(&mut self, lookup: &Lookup<'_>, level: usize, line: Requester) {
        if line.owner() != lookup.requester.process()
            && let Some(Some(absence)) = self.absences.get_mut(line.owner() as usize)
            && !absence.is_over
            && line.turn <= absence.turn
        {
            absence.lost[level] += 1;
        }
    }
}

impl Listener for WorkingSets {
    const COMPARES: bool = true;

    fn new(levels: Levels) -> WorkingSets {
        WorkingSets {
            sums: vec![Sums::default(); levels.all],
            absences: Vec::new(),
            residents: vec![Vec::new(); levels.caches],
            fill_curve: Vec::new(),
        }
    }

    fn switched_out(&mut self, requester: Requester) {
        let process = requester.process();
        let resident: Vec<u32> = self
            .residents
            .iter()
            .map(|counts| counts[column(process)])
            .collect();
        let lost = vec![0; resident.len()];
        self.absences[process as usize] = Some(Absence {
            turn: requester.turn,
            is_over: false,
            resident,
            lost,
        });
    }

    fn switched_in(&mut self, process: u32) {
        let processes = process as usize + 1;
        if self.absences.len() < processes {
            self.absences.resize(processes, None);
            self.residents
                .iter_mut()
                .for_each(|counts| counts.resize(processes + 1, 0));
        }
        let Some(absence) = &mut self.absences[process as usize] else {
            return;
        };
        absence.is_over = true;
        for ((sums, resident), lost) in self
            .sums
            .iter_mut()
            .zip(&absence.resident)
            .zip(&absence.lost)
        {
            sums.returns += 1;
            sums.resident += u64::from(*resident);
            sums.lost += u64::from(*lost);
        }
    }

    #[inline]
    fn filled(&mut self, lookup: &Lookup<'_>, level: usize, origin: Origin, turn: u32) {
        if matches!(
            origin,
            Origin::Flushed | Origin::ByOthers | Origin::ByKernel
        ) && let Some(Some(absence)) = self.absences.get(lookup.requester.process() as usize)
        {
            self.sums[level].restored += u64::from(turn > absence.turn);
        }
    }

    #[inline]
    fn came(&mut self, level: usize, line: Requester) {
        let sums = &mut self.sums[level];
        sums.held += 1;
        sums.most_held = sums.most_held.max(sums.held);
        if let Some(residents) = self.residents.get_mut(level) {
            residents[column(line.owner())] += 1;
        }
    }

    #[inline]
    fn left(&mut self, lookup: &Lookup<'_>, level: usize, line: Requester, _: Departure) {
        self.sums[level].held -= 1;
        if let Some(residents) = self.residents.get_mut(level) {
            residents[column(line.owner())] -= 1;
            self.lose(lookup, level, line);
        }
    }

    #[inline]
    fn exchanged(&mut self, lookup: &Lookup<'_>, level: usize, left: Requester, came: Requester) {
        if left.owner() != came.owner()
            && let Some(residents) = self.residents.get_mut(level)
        {
            residents[column(left.owner())] -= 1;
            residents[column(came.owner())] += 1;
            self.lose(lookup, level, left);
        }
    }

    fn instructions_doubled(&mut self, instructions: u64) {
        self.fill_curve.push(FillPoint {
            instructions,
            most_held: self.most_held(),
        });
    }

    fn report(&mut self, levels: &[String], detail: &mut Detail) {
        let named = levels
            .iter()
            .cloned()
            .zip(&self.sums)
            .take(self.residents.len());
        let losses = named.map(|(level, sums)| WorkingSetLoss {
            level,
            returns: sums.returns,
            resident_at_departure: sums.resident,
            lost: sums.lost,
            restored: sums.restored,
        });
        detail.losses = losses.collect();
        detail.most_held = self.most_held();
        detail.fill_curve = self.fill_curve.clone();
    }
}
