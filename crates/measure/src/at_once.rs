//! Tasks that walk concurrently, each on its own CPU: measures the cost of sharing caches without
//! any switch.
//!
//! Task 0 is the caller. In the arm called switching, which switches nothing here, all tasks walk
//! at the same time. In the baseline, the tasks walk one after the other while the others sleep.
//! Both arms run the same loop over the same pages on the same CPUs. The arms alternate in short
//! batches, like the arms of a switch.

use std::io;
use std::sync::Arc;

use switchcost_host::clock::Clock;
use switchcost_host::evidence::TaskId;
use switchcost_record::Case;

use crate::controls::TaskControls;
use crate::experiment::{Batch, Experiment, Split, Timed};
use crate::peers::{Command, Peer, Shared, Worker, start_peer};

/// Tasks that are set up and wait for commands to walk.
pub(crate) struct AtOnce {
    shared: Arc<Shared>,
    own: Worker,
    peers: Vec<Peer>,
    tasks: u64,
}

impl AtOnce {
    /// Starts the tasks. Each task pins itself, maps and touches its memory, and then takes its
    /// priority.
    pub(crate) fn start(
        case: &Case,
        controls: &TaskControls,
        clock: Clock,
        seed: u64,
    ) -> Result<AtOnce, String> {
        let shared = Arc::new(Shared::new(case, clock, seed)?);
        let peers = (1..case.tasks as usize)
            .map(|index| start_peer(index, case, controls, &shared, seed))
            .collect::<Result<Vec<_>, String>>()?;
        let own = Worker::set_up(0, case, controls, &shared, seed)?;
        Ok(AtOnce {
            shared,
            own,
            peers,
            tasks: u64::from(case.tasks),
        })
    }

    fn together(&self, batch: Batch) -> io::Result<Split> {
        self.shared.clear_meetings();
        let command = Command::AtOnce {
            warm_up: batch.warm_up,
            rounds: batch.rounds,
        };
        (1..=self.peers.len()).try_for_each(|index| self.shared.command(index, command))?;
        let mut time = self
            .own
            .walk_at_once(&self.shared, batch.warm_up, batch.rounds);
        for index in 1..=self.peers.len() {
            self.shared.wait(index)?;
            time += self.shared.time(index);
        }
        Ok(time)
    }

    fn one_after_the_other(&self, batch: Batch) -> io::Result<Split> {
        let mut time = self
            .own
            .walk_alone(&self.shared, batch.warm_up, batch.rounds);
        for index in 1..=self.peers.len() {
            self.shared.command(
                index,
                Command::Alone {
                    warm_up: batch.warm_up,
                    rounds: batch.rounds,
                },
            )?;
            self.shared.wait(index)?;
            time += self.shared.time(index);
        }
        Ok(time)
    }
}

impl Experiment for AtOnce {
    fn tasks(&self) -> Vec<TaskId> {
        std::iter::once(TaskId::own_thread())
            .chain(self.peers.iter().map(Peer::task_id))
            .collect()
    }

    fn run(&mut self, batch: Batch) -> io::Result<Timed> {
        let time = if batch.arm.switches() {
            self.together(batch)?
        } else {
            self.one_after_the_other(batch)?
        };
        // A walk counts as a hand-off with its walk.
        let handoffs = batch.rounds * self.tasks;
        Ok(Timed {
            handoffs,
            time,
            control_switches: 2 * self.peers.len() as u64,
            ..Timed::default()
        })
    }
}
