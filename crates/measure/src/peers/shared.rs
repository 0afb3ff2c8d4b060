//! Memory that the kernel tasks of an experiment share: commands to each task, reports of each
//! task, the channels, and a shared working set.

use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering::{Relaxed, SeqCst};

use switchcost_host::clock::Clock;
use switchcost_host::ipc::{Channel, EventFd};
use switchcost_host::memory::{MapType, Memory};
use switchcost_record::{Case, KernelSwitches};
use switchcost_units::{Bytes, Nanos, Ticks};
use switchcost_workload::{Pages, Sharing};

use super::links::Links;
use super::words::{
    BEGUN, ENDED, HANDOFF_TICKS, INVOLUNTARY, KIND, PROCESS, ROUNDS, SENT_AT, STOP, TEXT,
    TEXT_LENGTH, THREAD, VOLUNTARY, WAKES, WALK_TICKS, WARM_UP, WORDS, word_index,
};
use crate::controls::array_if;
use crate::experiment::Split;

/// Command to a peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Command {
    /// The task passes the token on for `warm_up` untimed and `rounds` timed rounds, and in a last
    /// round without a walk.
    Ring {
        walks: bool,
        warm_up: u64,
        rounds: u64,
    },
    /// The task takes the CPU from task 0 once per `period` until asked to stop.
    Preempt { walks: bool, period: Nanos },
    /// The task hands the token to itself over its own channel.
    Baseline {
        walks: bool,
        warm_up: u64,
        rounds: u64,
    },
    /// Walks for the given numbers of untimed and timed rounds while all other tasks walk.
    AtOnce { warm_up: u64, rounds: u64 },
    /// Walks for the given numbers of untimed and timed rounds while no other task walks.
    Alone { warm_up: u64, rounds: u64 },
}

/// Values of the word that controls the preemptor: it runs, is asked to stop, or has stopped.
const RUNS: u64 = 0;
const SHOULD_STOP: u64 = 1;
const HAS_STOPPED: u64 = 2;

/// State that all tasks of an experiment share, whether they are processes or threads.
pub(crate) struct Shared {
    words: Arc<Memory>,
    go: Vec<EventFd>,
    done: Vec<EventFd>,
    /// Array of a shared working set; `None` if each task has a private one.
    pub(super) array: Option<Memory>,
    pub(crate) links: Links,
    pub(crate) clock: Clock,
}

impl Shared {
    pub(crate) fn new(case: &Case, clock: Clock, seed: u64) -> Result<Shared, String> {
        let tasks = case.tasks as usize;
        let size = Bytes((tasks * WORDS * 8) as u64);
        let words =
            Memory::map(size, MapType::Shared, Pages::Base).map_err(|error| error.to_string())?;
        let words = Arc::new(words);
        let bells = || {
            (0..tasks)
                .map(|_| EventFd::new())
                .collect::<io::Result<Vec<_>>>()
        };
        let cannot = |error: io::Error| {
            let remedy = switchcost_remedies::channel_remedy(&error, &case.mechanism.to_string());
            format!(
                "the channels of {tasks} tasks over {} cannot be created ({error}); {remedy}",
                case.mechanism
            )
        };
        Ok(Shared {
            go: bells().map_err(cannot)?,
            done: bells().map_err(cannot)?,
            array: array_if(Sharing::Shared, &case.working_set, seed)?,
            links: Links::new(case.mechanism, tasks, &words).map_err(cannot)?,
            words,
            clock,
        })
    }

    fn load(&self, task: usize, which: usize) -> u64 {
        self.words[word_index(task, which)].load(SeqCst)
    }

    fn store(&self, task: usize, which: usize, value: u64) {
        self.words[word_index(task, which)].store(value, SeqCst);
    }

    /// Gives a peer a command and wakes it.
    pub(crate) fn command(&self, task: usize, command: Command) -> io::Result<()> {
        let (kind, warm_up, rounds) = match command {
            Command::Ring {
                walks,
                warm_up,
                rounds,
            } => (u64::from(walks), warm_up, rounds),
            Command::Baseline {
                walks,
                warm_up,
                rounds,
            } => (2 + u64::from(walks), warm_up, rounds),
            Command::Preempt { walks, period } => (5 + u64::from(walks), 0, period.0),
            Command::AtOnce { warm_up, rounds } => (7, warm_up, rounds),
            Command::Alone { warm_up, rounds } => (8, warm_up, rounds),
        };
        self.store(task, KIND, kind);
        self.store(task, WARM_UP, warm_up);
        self.store(task, ROUNDS, rounds);
        self.go[task].send()
    }

    /// Waits for the next command to peer `task`.
    pub(super) fn next_command(&self, task: usize) -> io::Result<Command> {
        self.go[task].recv()?;
        let (warm_up, rounds) = (self.load(task, WARM_UP), self.load(task, ROUNDS));
        Ok(match self.load(task, KIND) {
            7 => Command::AtOnce { warm_up, rounds },
            8 => Command::Alone { warm_up, rounds },
            kind @ (5 | 6) => Command::Preempt {
                walks: kind == 6,
                period: Nanos(rounds),
            },
            kind @ (2 | 3) => Command::Baseline {
                walks: kind == 3,
                warm_up,
                rounds,
            },
            kind => Command::Ring {
                walks: kind == 1,
                warm_up,
                rounds,
            },
        })
    }

    /// Reports that a peer has carried out its command.
    pub(super) fn report_done(&self, task: usize) -> io::Result<()> {
        self.done[task].send()
    }

    /// Waits until a peer has carried out its command.
    pub(crate) fn wait(&self, task: usize) -> io::Result<()> {
        self.done[task].recv()
    }

    /// Waits until a new peer is set up.
    ///
    /// # Errors
    ///
    /// If the peer cannot be set up: the reason, as text.
    pub(super) fn wait_until_ready(&self, task: usize) -> Result<(), String> {
        self.wait(task).map_err(|error| error.to_string())?;
        let length = self.load(task, TEXT_LENGTH) as usize;
        if length == 0 {
            Ok(())
        } else {
            Err(self.failure(task, length))
        }
    }

    /// Stores the reason why a peer cannot be set up. The text is cut to the space that there is.
    pub(super) fn fail(&self, task: usize, why: &str) {
        let bytes = &why.as_bytes()[..why.len().min((WORDS - TEXT) * 8)];
        for (index, chunk) in bytes.chunks(8).enumerate() {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            self.store(task, TEXT + index, u64::from_ne_bytes(word));
        }
        self.store(task, TEXT_LENGTH, bytes.len() as u64);
    }

    fn failure(&self, task: usize, length: usize) -> String {
        let words = (TEXT..WORDS).map(|which| self.load(task, which).to_ne_bytes());
        let bytes: Vec<u8> = words.flatten().take(length).collect();
        String::from_utf8_lossy(&bytes).into_owned()
    }

    pub(super) fn introduce(&self, task: usize) {
        self.store(task, PROCESS, switchcost_host::task::current_pid() as u64);
        self.store(task, THREAD, switchcost_host::task::current_tid() as u64);
    }

    pub(super) fn tid(&self, task: usize) -> i32 {
        self.load(task, THREAD) as i32
    }

    pub(super) fn set_time(&self, task: usize, time: Split) {
        self.store(task, HANDOFF_TICKS, time.handoffs.0);
        self.store(task, WALK_TICKS, time.walks.0);
    }

    /// Returns the time that a peer measured in its last command.
    pub(crate) fn time(&self, task: usize) -> Split {
        Split {
            handoffs: Ticks(self.load(task, HANDOFF_TICKS)),
            walks: Ticks(self.load(task, WALK_TICKS)),
        }
    }

    pub(super) fn set_switches(&self, task: usize, switches: KernelSwitches) {
        self.store(task, VOLUNTARY, switches.voluntary);
        self.store(task, INVOLUNTARY, switches.involuntary);
    }

    /// Returns the switches that a peer counted for itself in its last command.
    pub(crate) fn switches(&self, task: usize) -> KernelSwitches {
        KernelSwitches {
            voluntary: self.load(task, VOLUNTARY),
            involuntary: self.load(task, INVOLUNTARY),
        }
    }

    /// Stores the present time as the time of the hand-off, for the receiver, and returns it.
    #[inline(always)]
    pub(crate) fn stamp_sent(&self) -> Ticks {
        let now = self.clock.now();
        self.words[word_index(0, SENT_AT)].store(now.0, Relaxed);
        now
    }

    /// Returns the time of the last hand-off. The receipt of the token orders this read after the
    /// write.
    #[inline(always)]
    pub(super) fn sent_at(&self) -> Ticks {
        Ticks(self.words[word_index(0, SENT_AT)].load(Relaxed))
    }

    /// Resets the counts by which concurrent tasks wait for each other. Must be called before the
    /// tasks are commanded to walk.
    pub(crate) fn clear_meetings(&self) {
        [BEGUN, ENDED]
            .into_iter()
            .for_each(|which| self.store(0, which, 0));
    }

    /// Reports that one more task is ready to walk, and spins until `tasks` tasks are. Each task
    /// has its own CPU.
    pub(super) fn meet(&self, tasks: u64) {
        self.words[word_index(0, BEGUN)].fetch_add(1, SeqCst);
        while self.load(0, BEGUN) < tasks {
            std::hint::spin_loop();
        }
    }

    /// Reports that one more task has made all its walks.
    pub(super) fn say_ended(&self) {
        self.words[word_index(0, ENDED)].fetch_add(1, SeqCst);
    }

    /// Whether all tasks have made all their walks.
    pub(super) fn have_all_ended(&self, tasks: u64) -> bool {
        self.load(0, ENDED) >= tasks
    }

    /// Returns the number of times that the preemptor has taken the CPU so far.
    pub(crate) fn wakes(&self) -> u64 {
        self.load(1, WAKES)
    }

    /// Adds one to the number of times that the preemptor has taken the CPU.
    pub(crate) fn count_wake(&self) {
        self.words[word_index(1, WAKES)].fetch_add(1, SeqCst);
    }

    /// Returns the time of all walks of the preemptor so far.
    pub(crate) fn preemptor_walks(&self) -> Ticks {
        Ticks(self.load(1, WALK_TICKS))
    }

    /// Adds the time of one walk of the preemptor.
    pub(crate) fn add_preemptor_walk(&self, from: Ticks, to: Ticks) {
        self.words[word_index(1, WALK_TICKS)].fetch_add(to.0.wrapping_sub(from.0), SeqCst);
    }

    /// Clears the request to stop, so that the preemptor continues.
    pub(crate) fn let_run(&self) {
        self.store(1, STOP, RUNS);
    }

    /// Asks the preemptor to stop when it next runs.
    pub(crate) fn tell_to_stop(&self) {
        self.store(1, STOP, SHOULD_STOP);
    }

    pub(crate) fn should_stop(&self) -> bool {
        self.load(1, STOP) == SHOULD_STOP
    }

    /// Reports that the preemptor has stopped.
    pub(crate) fn say_stopped(&self) {
        self.store(1, STOP, HAS_STOPPED);
    }

    pub(crate) fn has_stopped(&self) -> bool {
        self.load(1, STOP) == HAS_STOPPED
    }
}
