//! A ring of kernel tasks that pass one token round, for every mechanism whose switches the kernel
//! makes.
//!
//! Task 0 is the caller. The baseline is the same loop over a channel from a task to itself, which
//! the tasks run one after another over their own memory. Both arms therefore use the same pages.
//!
//! ```text
//!  switching arm                       baseline arm
//!  ┌── link 1 ──> task 1 ── link 2 ─┐   ┌─ own 0 ─┐  ┌─ own 1 ─┐  ┌─ own 2 ─┐
//!  task 0                      task 2   └> task 0 ┘  └> task 1 ┘  └> task 2 ┘
//!  └────────────< link 0 <──────────┘       first       then         then
//! ```
//!
//! To measure the reload of a working set, task 0 walks several times after one switch, and hands
//! the token to itself in between. The other tasks run again only afterwards.

use std::io;
use std::sync::Arc;

use switchcost_host::clock::Clock;
use switchcost_host::evidence::TaskId;
use switchcost_host::ipc::Channel;
use switchcost_record::{Case, CountedHandoffs, Mechanism};

use crate::controls::TaskControls;
use crate::experiment::{Batch, Experiment, Split, Timed};
use crate::peers::{Command, Passed, Peer, Shared, Worker, pass_on, start_peer};

/// A ring of tasks that are set up and wait for commands.
pub(crate) struct Ring {
    shared: Arc<Shared>,
    own: Worker,
    peers: Vec<Peer>,
    case: Case,
}

impl Ring {
    /// Starts the tasks. Each task pins itself, maps and touches its memory, and then takes its
    /// priority.
    pub(crate) fn start(
        case: &Case,
        controls: &TaskControls,
        clock: Clock,
        seed: u64,
    ) -> Result<Ring, String> {
        let shared = Arc::new(Shared::new(case, clock, seed)?);
        let peers = (1..case.tasks as usize)
            .map(|index| start_peer(index, case, controls, &shared, seed))
            .collect::<Result<Vec<_>, String>>()?;
        let own = Worker::set_up(0, case, controls, &shared, seed)?;
        Ok(Ring {
            shared,
            own,
            peers,
            case: case.clone(),
        })
    }

    fn switching(&mut self, batch: Batch) -> io::Result<Timed> {
        let walks = batch.arm.walks();
        self.command_all(Command::Ring {
            walks,
            warm_up: batch.warm_up,
            rounds: batch.rounds,
        })?;
        let (out, back) = (self.shared.links.to(1), self.shared.links.to(0));
        self.shared.stamp_sent();
        out.send()?;
        let passed =
            self.own
                .pass_on(&self.shared, back, out, walks, batch.warm_up, batch.rounds)?;
        self.finish(batch, back, passed)
    }

    /// Takes the token out of the ring, and collects the times and counts of every peer.
    fn finish(&self, batch: Batch, back: &dyn Channel, passed: Passed) -> io::Result<Timed> {
        back.recv()?;
        let (mut time, mut switches) = (passed.time, passed.switches_since());
        back.receiver_leaves()?;
        for index in 1..=self.peers.len() {
            self.shared.wait(index)?;
            time += self.shared.time(index);
            switches += self.shared.switches(index);
        }
        let tasks = u64::from(self.case.tasks);
        // With yields, a task is still in its loop when the token is out, and each task gets the
        // CPU once more.
        let control_switches = if self.case.mechanism == Mechanism::Yield {
            tasks
        } else {
            0
        };
        let switching_handoffs = (batch.total_rounds() + 1) * tasks;
        let handoffs = if passed.is_counted() {
            batch.total_rounds() * tasks
        } else {
            0
        };
        let counted = CountedHandoffs {
            handoffs,
            switches: if handoffs > 0 {
                switches
            } else {
                Default::default()
            },
        };
        let handoffs = batch.rounds * tasks;
        Ok(Timed {
            handoffs,
            time,
            switching_handoffs,
            control_switches,
            counted,
            ..Timed::default()
        })
    }

    fn baseline(&mut self, batch: Batch) -> io::Result<Timed> {
        let walks = batch.arm.walks();
        let mut time = self
            .own
            .hand_to_self(&self.shared, walks, batch.warm_up, batch.rounds)?;
        for index in 1..=self.peers.len() {
            let command = Command::Baseline {
                walks,
                warm_up: batch.warm_up,
                rounds: batch.rounds,
            };
            self.shared.command(index, command)?;
            self.shared.wait(index)?;
            time += self.shared.time(index);
        }
        let handoffs = batch.rounds * u64::from(self.case.tasks);
        // One hand-off to each peer, and one back.
        Ok(Timed {
            handoffs,
            time,
            control_switches: 2 * self.peers.len() as u64,
            ..Timed::default()
        })
    }

    fn command_all(&self, command: Command) -> io::Result<()> {
        (1..=self.peers.len()).try_for_each(|index| self.shared.command(index, command))
    }
}

impl Experiment for Ring {
    fn tasks(&self) -> Vec<TaskId> {
        std::iter::once(TaskId::own_thread())
            .chain(self.peers.iter().map(Peer::task_id))
            .collect()
    }

    fn run(&mut self, batch: Batch) -> io::Result<Timed> {
        if batch.arm.switches() {
            self.switching(batch)
        } else {
            self.baseline(batch)
        }
    }

    /// Makes one round of a reload measurement (a visit): each peer walks once, and the token
    /// returns to task 0, which keeps it for its own walks.
    fn visit(&mut self, walks: u32, before: &mut dyn FnMut()) -> io::Result<(Timed, Vec<Split>)> {
        let batch = Batch {
            arm: switchcost_record::Arm::SwitchTotal,
            rounds: 1,
            warm_up: 0,
        };
        let (shared, links) = (&self.shared, &self.shared.links);
        let (out, back, own) = (links.to(1), links.to(0), links.own(0));
        before();
        self.command_all(Command::Ring {
            walks: true,
            warm_up: 0,
            rounds: 1,
        })?;
        shared.stamp_sent();
        out.send()?;
        let mut times = vec![self.own.pass_on(shared, back, own, true, 0, 1)?.time];
        own.recv()?;
        for _ in 1..walks {
            before();
            times.push(self.own.hand_to_self(shared, true, 0, 1)?);
        }
        out.send()?;
        Ok((
            self.finish(batch, back, Passed::timed(Split::default()))?,
            times,
        ))
    }

    /// Times each hand-off to task 0, from before the send to after the receive.
    fn single_handoffs(&mut self, count: u64) -> io::Result<Option<(Timed, Vec<u32>)>> {
        if self.case.mechanism == Mechanism::Yield {
            return Ok(None);
        }
        let batch = Batch {
            arm: switchcost_record::Arm::SwitchDirect,
            rounds: count,
            warm_up: 10,
        };
        self.command_all(Command::Ring {
            walks: false,
            warm_up: batch.warm_up,
            rounds: batch.rounds,
        })?;
        let (out, back) = (self.shared.links.to(1), self.shared.links.to(0));
        let mut handoffs = Vec::with_capacity(count as usize);
        self.shared.stamp_sent();
        out.send()?;
        let turn = self.own.turn(&self.shared, false);
        pass_on(&self.shared, back, out, turn, batch.warm_up, None)?;
        let time = pass_on(&self.shared, back, out, turn, count, Some(&mut handoffs))?;
        let timed = self.finish(batch, back, Passed::timed(time))?;
        Ok(Some((timed, handoffs)))
    }
}
