//! One task's place in the ring: its memory, its discipline, and the two loops it runs.

use std::io;
use std::sync::atomic::AtomicU64;

use host::ipc::Channel;
use host::memory::Memory;
use record::{Case, Mechanism};
use units::Ticks;
use workload::{WorkingSet, walk};

use super::shared::{Command, Shared};
use crate::controls::{Discipline, Imposed, private_array};
use crate::experiment::time;
use crate::preempt::{antagonise, antagonise_nobody};

pub(crate) struct Seat {
    index: usize,
    mechanism: Mechanism,
    array: Option<Memory>,
    set: WorkingSet,
    _imposed: Imposed,
}

impl Seat {
    /// Pins the calling task, maps and touches its memory, and then takes its priority.
    pub(crate) fn take(
        index: usize,
        case: &Case,
        discipline: &Discipline,
        shared: &Shared,
        seed: u64,
    ) -> Result<Seat, String> {
        shared.introduce(index);
        let mut imposed = discipline.pin(index)?;
        let array = private_array(&case.working_set, seed.wrapping_add(index as u64))?;
        discipline.tighten(&mut imposed)?;
        Ok(Seat { index, mechanism: case.mechanism, array, set: case.working_set, _imposed: imposed })
    }

    /// The life of a peer: takes its seat and does what it is told until it is killed.
    pub(super) fn serve(
        index: usize,
        case: &Case,
        discipline: &Discipline,
        shared: &Shared,
        seed: u64,
    ) -> io::Result<()> {
        let seat = Seat::take(index, case, discipline, shared, seed);
        if let Err(why) = &seat {
            shared.fail(index, why);
        }
        shared.report_done(index)?;
        let seat = seat.map_err(io::Error::other)?;
        loop {
            let command = shared.next_command(index)?;
            seat.obey(command, shared)?;
            shared.report_done(index)?;
        }
    }

    fn obey(&self, command: Command, shared: &Shared) -> io::Result<()> {
        match command {
            Command::Ring { walks, rounds } => {
                let (from, to) = (shared.links.to(self.index), shared.links.to(self.index + 1));
                follow(from, to, self.memory(shared, walks), &self.set, rounds)?;
                follow(from, to, &[], &self.set, 1)
            }
            Command::StampedRing { rounds } => self.follow_stamped(shared, rounds + 1),
            Command::Preempt { walks, period } => antagonise(shared, self.memory(shared, walks), &self.set, period),
            Command::Baseline { walks, warm_up, rounds } => {
                let memory = self.memory(shared, walks);
                let ticks = match self.mechanism {
                    Mechanism::Preempt => antagonise_nobody(shared.clock, memory, &self.set, warm_up, rounds)?,
                    _ => self.hand_to_self(shared, walks, warm_up, rounds)?,
                };
                shared.set_ticks(self.index, ticks);
                Ok(())
            }
        }
    }

    /// What a walk touches: all of the array, or nothing.
    pub(crate) fn memory<'a>(&'a self, shared: &'a Shared, walks: bool) -> &'a [AtomicU64] {
        match self.array.as_ref().or(shared.array.as_ref()).filter(|_| walks) {
            Some(memory) => memory,
            None => &[],
        }
    }

    /// The baseline: the leader's loop over the channel to itself. `None` where the clock ran backwards.
    pub(super) fn hand_to_self(
        &self,
        shared: &Shared,
        walks: bool,
        warm_up: u64,
        rounds: u64,
    ) -> io::Result<Option<Ticks>> {
        let own = shared.links.own(self.index);
        let memory = self.memory(shared, walks);
        lead(own, own, memory, &self.set, warm_up)?;
        time(shared.clock, || lead(own, own, memory, &self.set, rounds))
    }

    fn follow_stamped(&self, shared: &Shared, rounds: u64) -> io::Result<()> {
        let (from, to) = (shared.links.to(self.index), shared.links.to(self.index + 1));
        for _ in 0..rounds {
            from.recv()?;
            if self.index == 1 {
                shared.stamp_received();
            }
            to.send()?;
        }
        Ok(())
    }
}

/// The loop of task 0, and of every task in the baseline: both arms run these bytes.
#[inline(never)]
pub(super) fn lead(
    out: &dyn Channel,
    back: &dyn Channel,
    memory: &[AtomicU64],
    set: &WorkingSet,
    rounds: u64,
) -> io::Result<()> {
    for _ in 0..rounds {
        walk(memory, set);
        out.send()?;
        back.recv()?;
    }
    Ok(())
}

/// The loop of every other task in the switching arm.
#[inline(never)]
fn follow(from: &dyn Channel, to: &dyn Channel, memory: &[AtomicU64], set: &WorkingSet, rounds: u64) -> io::Result<()> {
    for _ in 0..rounds {
        from.recv()?;
        walk(memory, set);
        to.send()?;
    }
    Ok(())
}
