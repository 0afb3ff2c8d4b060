//! One task of an experiment: its memory, its controls, and the loops that it runs.

use std::io;
use std::sync::atomic::AtomicU64;

use switchcost_host::clock::Clock;
use switchcost_host::ipc::Channel;
use switchcost_host::memory::Memory;
use switchcost_host::usage;
use switchcost_host::vector_state::Vectors;
use switchcost_record::{Case, KernelSwitches, Mechanism};
use switchcost_workload::{Sharing, WorkingSet, walk};

use super::preemptor::{run_preemptor, run_preemptor_baseline};
use super::shared::{Command, Shared};
use crate::controls::{ControlGuards, TaskControls, array_if};
use crate::experiment::Split;

/// Times and switches of the rounds in which a task passed the token on.
pub(crate) struct Passed {
    pub(crate) time: Split,
    /// Switches of the task up to its first receive; `None` if that receive was timed.
    first: Option<KernelSwitches>,
}

impl Passed {
    /// Returns the switches of the task in the counted rounds. Must be called after the receive
    /// that follows the last round.
    pub(crate) fn switches_since(&self) -> KernelSwitches {
        self.first
            .map(|first| usage::own_switches().since(first))
            .unwrap_or_default()
    }

    /// Whether the task counted its switches.
    pub(crate) fn is_counted(&self) -> bool {
        self.first.is_some()
    }

    /// Creates a report that has only a time.
    pub(crate) fn timed(time: Split) -> Passed {
        Passed { time, first: None }
    }
}

/// A task that is set up for its case.
pub(crate) struct Worker {
    index: usize,
    tasks: u64,
    mechanism: Mechanism,
    array: Option<Memory>,
    set: WorkingSet,
    vectors: Option<Vectors>,
    _guards: ControlGuards,
}

/// Work of a task between receiving the token and sending it on.
#[derive(Clone, Copy)]
pub(crate) struct Turn<'a> {
    memory: &'a [AtomicU64],
    set: &'a WorkingSet,
    vectors: Option<&'a Vectors>,
}

impl Turn<'_> {
    /// Walks, then loads the vector registers, so that they are in use when the kernel switches.
    #[inline(always)]
    fn take(self) {
        walk(self.memory, self.set);
        if let Some(vectors) = self.vectors {
            vectors.load();
        }
    }

    /// Checks that the vector registers are still in use after the last hand-off.
    fn check(self) -> io::Result<()> {
        match self.vectors.filter(|vectors| !vectors.are_in_use()) {
            None => Ok(()),
            Some(_) => Err(io::Error::other(
                "vector registers that were loaded are not in use after a hand-off",
            )),
        }
    }
}

impl Worker {
    /// Sets up the calling task: pins it, maps and touches its memory, and then takes its priority.
    pub(crate) fn set_up(
        index: usize,
        case: &Case,
        controls: &TaskControls,
        shared: &Shared,
        seed: u64,
    ) -> Result<Worker, String> {
        shared.introduce(index);
        let mut guards = controls.pin(index)?;
        let set = case.working_set_of(index);
        let array = array_if(Sharing::Private, &set, seed.wrapping_add(index as u64))?;
        let vectors = case
            .vectors
            .map(|vectors| Vectors::new(vectors.state))
            .transpose()?;
        controls.apply(&mut guards)?;
        let (tasks, mechanism) = (u64::from(case.tasks), case.mechanism);
        Ok(Worker {
            index,
            tasks,
            mechanism,
            array,
            set,
            vectors,
            _guards: guards,
        })
    }

    /// Runs a peer: sets it up, and carries out commands until it is killed.
    pub(super) fn serve(
        index: usize,
        case: &Case,
        controls: &TaskControls,
        shared: &Shared,
        seed: u64,
    ) -> io::Result<()> {
        let worker = Worker::set_up(index, case, controls, shared, seed);
        if let Err(why) = &worker {
            shared.fail(index, why);
        }
        shared.report_done(index)?;
        let worker = worker.map_err(io::Error::other)?;
        loop {
            let command = shared.next_command(index)?;
            worker.obey(command, shared)?;
            shared.report_done(index)?;
        }
    }

    fn obey(&self, command: Command, shared: &Shared) -> io::Result<()> {
        match command {
            Command::Ring {
                walks,
                warm_up,
                rounds,
            } => {
                let (from, to) = (shared.links.to(self.index), shared.links.to(self.index + 1));
                let passed = self.pass_on(shared, from, to, walks, warm_up, rounds)?;
                shared.set_time(self.index, passed.time);
                // An additional round, untimed and without a walk, in which every peer leaves its
                // loop.
                from.recv()?;
                shared.set_switches(self.index, passed.switches_since());
                shared.stamp_sent();
                to.send()?;
                to.sender_leaves()
            }
            Command::AtOnce { warm_up, rounds } => {
                shared.set_time(self.index, self.walk_at_once(shared, warm_up, rounds));
                Ok(())
            }
            Command::Alone { warm_up, rounds } => {
                shared.set_time(self.index, self.walk_alone(shared, warm_up, rounds));
                Ok(())
            }
            Command::Preempt { walks, period } => {
                run_preemptor(shared, self.memory(shared, walks), &self.set, period)
            }
            Command::Baseline {
                walks,
                warm_up,
                rounds,
            } => {
                let time = match self.mechanism {
                    Mechanism::Preempt => run_preemptor_baseline(
                        shared.clock,
                        self.memory(shared, walks),
                        &self.set,
                        warm_up,
                        rounds,
                    )?,
                    _ => self.hand_to_self(shared, walks, warm_up, rounds)?,
                };
                shared.set_time(self.index, time);
                Ok(())
            }
        }
    }

    /// Returns the memory that the task walks; empty if `walks` is false.
    pub(crate) fn memory<'a>(&'a self, shared: &'a Shared, walks: bool) -> &'a [AtomicU64] {
        match self
            .array
            .as_ref()
            .or(shared.array.as_ref())
            .filter(|_| walks)
        {
            Some(memory) => memory,
            None => &[],
        }
    }

    /// Returns what the task does each time that it gets the token.
    pub(crate) fn turn<'a>(&'a self, shared: &'a Shared, walks: bool) -> Turn<'a> {
        Turn {
            memory: self.memory(shared, walks),
            set: &self.set,
            vectors: self.vectors.as_ref(),
        }
    }

    /// Takes the token and passes it on, `warm_up` times untimed and `rounds` times timed. Switches
    /// are counted from the first receive on, if that one is untimed.
    pub(crate) fn pass_on(
        &self,
        shared: &Shared,
        from: &dyn Channel,
        to: &dyn Channel,
        walks: bool,
        warm_up: u64,
        rounds: u64,
    ) -> io::Result<Passed> {
        let turn = self.turn(shared, walks);
        let first = if warm_up > 0 {
            Some(first_round(shared, from, to, turn)?)
        } else {
            None
        };
        pass_on(shared, from, to, turn, warm_up.saturating_sub(1), None)?;
        let time = pass_on(shared, from, to, turn, rounds, None)?;
        turn.check()?;
        Ok(Passed { time, first })
    }

    /// Walks while all other tasks walk. No task begins before all are ready, and none stops before
    /// all have made their walks, so the others walk during each timed walk.
    pub(crate) fn walk_at_once(&self, shared: &Shared, warm_up: u64, rounds: u64) -> Split {
        let memory = self.memory(shared, true);
        shared.meet(self.tasks);
        walk_timed(shared.clock, memory, &self.set, warm_up);
        let time = walk_timed(shared.clock, memory, &self.set, rounds);
        shared.say_ended();
        while !shared.have_all_ended(self.tasks) {
            walk_timed(shared.clock, memory, &self.set, 1);
        }
        time
    }

    /// Makes the same walks as [`walk_at_once`](Self::walk_at_once), while no other task walks.
    pub(crate) fn walk_alone(&self, shared: &Shared, warm_up: u64, rounds: u64) -> Split {
        let memory = self.memory(shared, true);
        walk_timed(shared.clock, memory, &self.set, warm_up);
        walk_timed(shared.clock, memory, &self.set, rounds)
    }

    /// Runs the baseline: passes the token on as in the ring, but over a channel to itself.
    pub(crate) fn hand_to_self(
        &self,
        shared: &Shared,
        walks: bool,
        warm_up: u64,
        rounds: u64,
    ) -> io::Result<Split> {
        let own = shared.links.own(self.index);
        shared.stamp_sent();
        own.send()?;
        let passed = self.pass_on(shared, own, own, walks, warm_up, rounds)?;
        own.recv()?;
        own.receiver_leaves()?;
        Ok(passed.time)
    }
}

/// Runs the first untimed round. Returns the task's switches up to the receive in that round.
fn first_round(
    shared: &Shared,
    from: &dyn Channel,
    to: &dyn Channel,
    turn: Turn<'_>,
) -> io::Result<KernelSwitches> {
    from.recv()?;
    let so_far = usage::own_switches();
    turn.take();
    shared.stamp_sent();
    to.send()?;
    Ok(so_far)
}

/// Walks `rounds` times without hand-offs and returns the time. Concurrent and single walks use
/// this same loop.
#[inline(never)]
fn walk_timed(clock: Clock, memory: &[AtomicU64], set: &WorkingSet, rounds: u64) -> Split {
    let mut time = Split::default();
    for _ in 0..rounds {
        let start = clock.now();
        walk(memory, set);
        time.add_walk(start, clock.now());
    }
    time
}

/// Takes the token, walks, and passes the token on, `rounds` times: the loop of every task in both
/// arms. The time of a hand-off is from before the send, by any task, to after the receive; each
/// walk is timed separately. If `singles` is given, the time of each hand-off is added to it.
#[inline(never)]
pub(crate) fn pass_on(
    shared: &Shared,
    from: &dyn Channel,
    to: &dyn Channel,
    turn: Turn<'_>,
    rounds: u64,
    mut singles: Option<&mut Vec<u32>>,
) -> io::Result<Split> {
    let mut time = Split::default();
    for _ in 0..rounds {
        from.recv()?;
        let received = shared.clock.now();
        let sent = shared.sent_at();
        time.add_handoff(sent, received);
        if let Some(singles) = &mut singles {
            singles.push(u32::try_from(received.0.wrapping_sub(sent.0)).unwrap_or(u32::MAX));
        }
        turn.take();
        time.add_walk(received, shared.stamp_sent());
        to.send()?;
    }
    Ok(time)
}
