//! What the tasks of a ring share: commands to each, what each reports, the channels, and a shared working set.

use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering::SeqCst;

use host::clock::Clock;
use host::ipc::{Channel, EventFd};
use host::memory::{Memory, Reach};
use record::Case;
use units::{Bytes, Nanos, Ticks};
use workload::{Pages, Sharing, prepare};

use super::links::Links;

/// What a peer is told to do next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Command {
    /// Pass the token on so many times, then once more without a walk.
    Ring { walks: bool, rounds: u64 },
    /// The same without a walk, with the time of each receive.
    StampedRing { rounds: u64 },
    /// Take the CPU from task 0 once a period, until told to stop.
    Preempt { walks: bool, period: Nanos },
    /// Hand the token to itself.
    Baseline { walks: bool, warm_up: u64, rounds: u64 },
}

/// Words of each task: numbers, then room for the text of a failure.
const WORDS: usize = 64;
const KIND: usize = 0;
const ROUNDS: usize = 1;
const WARM_UP: usize = 2;
const TICKS: usize = 3;
const RECEIVED_AT: usize = 4;
pub(super) const PROCESS: usize = 5;
pub(super) const THREAD: usize = 6;
const WAKES: usize = 7;
const STOP: usize = 8;
const TEXT_LENGTH: usize = 9;
const TEXT: usize = 10;

/// The tick count of a baseline in which the clock ran backwards.
const BACKWARDS: u64 = u64::MAX;

pub(super) fn word_index(task: usize, which: usize) -> usize {
    task * WORDS + which
}

/// Shared by all tasks, processes or threads.
pub(crate) struct Shared {
    words: Arc<Memory>,
    go: Vec<EventFd>,
    done: Vec<EventFd>,
    /// The one array of a shared working set.
    pub(super) array: Option<Memory>,
    pub(super) links: Links,
    pub(crate) clock: Clock,
}

impl Shared {
    pub(crate) fn new(case: &Case, clock: Clock, seed: u64) -> Result<Shared, String> {
        let tasks = case.tasks as usize;
        let size = Bytes((tasks * WORDS * 8) as u64);
        let words = Memory::map(size, Reach::Shared, Pages::Base).map_err(|error| error.to_string())?;
        let words = Arc::new(words);
        let bells = || (0..tasks).map(|_| EventFd::new()).collect::<io::Result<Vec<_>>>();
        let cannot = |error: io::Error| {
            format!(
                "found no room for the channels of {tasks} tasks over {} ({error}), need one to each; use fewer \
                 --tasks, or raise the limit: ulimit -n for files, -q for message queues, and to make it last \
                 /etc/security/limits.d",
                case.mechanism
            )
        };
        Ok(Shared {
            go: bells().map_err(cannot)?,
            done: bells().map_err(cannot)?,
            array: shared_array(case, seed)?,
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

    /// Tells a peer what to do, and wakes it.
    pub(crate) fn command(&self, task: usize, command: Command) -> io::Result<()> {
        let (kind, warm_up, rounds) = match command {
            Command::Ring { walks, rounds } => (u64::from(walks), 0, rounds),
            Command::Baseline { walks, warm_up, rounds } => (2 + u64::from(walks), warm_up, rounds),
            Command::StampedRing { rounds } => (4, 0, rounds),
            Command::Preempt { walks, period } => (5 + u64::from(walks), 0, period.0),
        };
        self.store(task, KIND, kind);
        self.store(task, WARM_UP, warm_up);
        self.store(task, ROUNDS, rounds);
        self.go[task].send()
    }

    /// Waits for the next command to this peer.
    pub(super) fn next_command(&self, task: usize) -> io::Result<Command> {
        self.go[task].recv()?;
        let rounds = self.load(task, ROUNDS);
        Ok(match self.load(task, KIND) {
            4 => Command::StampedRing { rounds },
            kind @ (5 | 6) => Command::Preempt { walks: kind == 6, period: Nanos(rounds) },
            kind @ (2 | 3) => Command::Baseline { walks: kind == 3, warm_up: self.load(task, WARM_UP), rounds },
            kind => Command::Ring { walks: kind == 1, rounds },
        })
    }

    /// Says that a peer has done what it was told.
    pub(super) fn report_done(&self, task: usize) -> io::Result<()> {
        self.done[task].send()
    }

    /// Waits until a peer has done what it was told.
    pub(crate) fn wait(&self, task: usize) -> io::Result<()> {
        self.done[task].recv()
    }

    /// Waits until a new peer is in its seat, or has said why it cannot be.
    pub(super) fn wait_until_ready(&self, task: usize) -> Result<(), String> {
        self.wait(task).map_err(|error| error.to_string())?;
        let length = self.load(task, TEXT_LENGTH) as usize;
        if length == 0 { Ok(()) } else { Err(self.failure(task, length)) }
    }

    /// Keeps why a peer cannot take its seat; what does not fit is cut off.
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
        self.store(task, PROCESS, host::task::current_pid() as u64);
        self.store(task, THREAD, host::task::current_tid() as u64);
    }

    pub(super) fn tid(&self, task: usize) -> i32 {
        self.load(task, THREAD) as i32
    }

    pub(super) fn set_ticks(&self, task: usize, ticks: Option<Ticks>) {
        self.store(task, TICKS, ticks.map_or(BACKWARDS, |ticks| ticks.0));
    }

    pub(crate) fn ticks(&self, task: usize) -> Option<Ticks> {
        Some(self.load(task, TICKS)).filter(|ticks| *ticks != BACKWARDS).map(Ticks)
    }

    pub(super) fn stamp_received(&self) {
        self.store(1, RECEIVED_AT, self.clock.now().0);
    }

    /// How often the antagonist has taken the CPU.
    pub(crate) fn wakes(&self) -> u64 {
        self.load(1, WAKES)
    }

    /// Counts one turn of the antagonist.
    pub(crate) fn count_wake(&self) {
        self.words[word_index(1, WAKES)].fetch_add(1, SeqCst);
    }

    pub(crate) fn set_stop(&self, should_stop: bool) {
        self.store(1, STOP, u64::from(should_stop));
    }

    pub(crate) fn should_stop(&self) -> bool {
        self.load(1, STOP) == 1
    }

    pub(super) fn received_at(&self) -> Ticks {
        Ticks(self.load(1, RECEIVED_AT))
    }
}

fn shared_array(case: &Case, seed: u64) -> Result<Option<Memory>, String> {
    let set = &case.working_set;
    if set.sharing == Sharing::Private || set.is_empty() {
        return Ok(None);
    }
    let memory = Memory::map(set.size_bytes, Reach::Shared, set.pages).map_err(|error| error.to_string())?;
    prepare(&memory, set, seed);
    if set.pages == Pages::Huge {
        memory.require_huge().map_err(|error| error.to_string())?;
    }
    Ok(Some(memory))
}
