//! Captures tasks in the order in which the kernel schedules them on one CPU (as-run captures).
//!
//! The input is buffers. Each buffer is written in one *run*, the time from when a task gets the
//! CPU until it loses it, and has the time stamp of the run's start. The output is the runs in the
//! order of their stamps, with the switches between them and their causes.
//!
//! The caller's thread does everything: it starts the commands, decodes, and checks for dead tasks.
//! Memory is bounded by the buffers: if all are in use, tasks wait. Some causes are known only when
//! the task returns ([`causes`]). The buffers of the next run wait until then, unless the kernel
//! reports that the task sleeps.

mod begin;
mod causes;
mod launch;
mod order;
mod poll;
mod task_monitor;

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::time::{Duration, Instant};

use switchcost_trace::TaskId;

use crate::control::{Ending, LONGEST_END, Outcome, check_fault};
use crate::decode::{DecodeError, Decoder, Left, Problem, Stamp, Stopped, Take, is_birth};
use crate::error::Failure;
use crate::programs::Programs;
use crate::protocol::header;
use crate::ring::{Full, Ring};
use task_monitor::TaskMonitor;

/// Longest wait without a notification before flags and kernel are checked.
const TIMEOUT: Duration = Duration::from_millis(50);
/// Longest time between two checks for ended tasks while there is always a buffer to read.
const LONGEST_WITHOUT_LOOK: Duration = Duration::from_millis(250);
/// Wait between two checks while a buffer waits for the cause of the switch before it.
const SHORT_PAUSE: Duration = Duration::from_micros(200);
/// Longest time that tasks may take to end their last runs.
const LONGEST_STOP: Duration = Duration::from_secs(5);
/// A task that sleeps longer than this in the middle of a run counts as stopped. Other tasks do not
/// wait for a stopped task.
const LONGEST_SLEEP: Duration = Duration::from_secs(1);

/// The run that is being decoded, or the one decoded last.
#[derive(Clone, Copy, Debug)]
struct Run {
    slot: u32,
    stamp: u64,
    task: TaskId,
    left: Option<Left>,
}

/// Numbers of switches that the kernel counted, of switches in the trace (without exits), and of
/// runs that come later in the trace than they began.
#[derive(Debug, Default)]
struct Account {
    counted: u64,
    marked: u64,
    late: u64,
}

/// A command that was started and whose process has not written anything yet.
#[derive(Debug)]
struct Launch {
    process: Option<u32>,
    since: Instant,
}

/// Reason why a capture's loop ended before all tasks had ended.
enum Halt<E: std::error::Error + 'static> {
    Ending(Ending),
    Failed(Failure<E>),
}

impl<E: std::error::Error + 'static, F: Into<Failure<E>>> From<F> for Halt<E> {
    fn from(error: F) -> Self {
        Halt::Failed(error.into())
    }
}

pub(crate) struct AsRun<'a, 'd, T> {
    ring: &'a Ring,
    programs: Programs,
    stop: &'a AtomicBool,
    stop_after_switches: Option<u64>,
    commands: Vec<String>,
    decoder: &'a mut Decoder<'d, T>,
    monitor: TaskMonitor<'a>,
    launched: u32,
    launch: Option<Launch>,
    run: Option<Run>,
    /// Time stamp of the latest run so far.
    newest: u64,
    /// For each slot of the ring, whether its task had gone to sleep when another traced task last
    /// followed it on the CPU.
    sleepers: HashMap<u32, bool>,
    /// Time stamps of unfinished runs for which other tasks do not wait, because the tasks of these
    /// runs are stopped.
    suspended: Vec<u64>,
    stuck_since: Option<Instant>,
    last_poll: Instant,
    account: Account,
    is_over: bool,
    warnings: Vec<String>,
}

impl<'a, 'd, T: Take<Error: std::error::Error + 'static>> AsRun<'a, 'd, T> {
    pub(crate) fn new(
        ring: &'a Ring,
        programs: Programs,
        stop: &'a AtomicBool,
        stop_after_switches: Option<u64>,
        commands: Vec<String>,
        decoder: &'a mut Decoder<'d, T>,
    ) -> Self {
        let monitor = TaskMonitor::new(ring, programs.task_files().clone());
        AsRun {
            ring,
            programs,
            stop,
            stop_after_switches,
            commands,
            decoder,
            monitor,
            launched: 0,
            launch: None,
            run: None,
            newest: 0,
            sleepers: HashMap::new(),
            suspended: Vec::new(),
            stuck_since: None,
            last_poll: Instant::now(),
            account: Account::default(),
            is_over: false,
            warnings: Vec::new(),
        }
    }

    /// Runs all commands to their end. When this returns, no process is left, and everything that
    /// was decoded has been passed on.
    pub(crate) fn run(mut self) -> Result<Outcome, Failure<T::Error>> {
        let mut halt = self.drive();
        if matches!(halt, Err(Halt::Ending(Ending::Interrupted)))
            && let Err(failed @ Halt::Failed(_)) = self.wind_down()
        {
            halt = Err(failed);
        }
        self.ring.close();
        self.programs.dismiss();
        if matches!(halt, Err(Halt::Ending(Ending::Interrupted)))
            && let Err(failed @ Halt::Failed(_)) = self.drain()
        {
            halt = Err(failed);
        }
        self.decoder.flush().map_err(Failure::Sink)?;
        match halt {
            Ok(()) => Ok(self.outcome(Ending::Finished)),
            Err(Halt::Ending(ending)) => Ok(self.outcome(ending)),
            Err(Halt::Failed(failure)) => Err(failure),
        }
    }

    fn outcome(mut self, ending: Ending) -> Outcome {
        if self.account.late > 0 {
            self.warnings.push(format!(
                "{} runs of tasks that were stopped in the middle are later in the trace than they began",
                self.account.late
            ));
        }
        let switches_elsewhere = self.account.counted.saturating_sub(self.account.marked);
        Outcome {
            ending,
            statuses: self.programs.into_statuses(),
            warnings: self.warnings,
            switches_elsewhere,
        }
    }

    fn drive(&mut self) -> Result<(), Halt<T::Error>> {
        loop {
            let rings = self.ring.rings();
            self.check()?;
            self.launch_next()?;
            let next = self.next();
            if let Some(full) = next
                && self.take(&full)?
            {
                self.stuck_since = None;
                if self.last_poll.elapsed() > LONGEST_WITHOUT_LOOK {
                    self.poll_tasks(Instant::now())?;
                }
                continue;
            }
            if self.is_finished() {
                return self.await_statuses();
            }
            self.pause(rings, next.is_some())?;
        }
    }

    /// Fails if the caller, the end of a command or a task's fault ends the capture.
    fn check(&self) -> Result<(), Halt<T::Error>> {
        if self.stop.load(SeqCst) {
            return Err(Halt::Ending(Ending::Interrupted));
        }
        if self.programs.are_to_end() {
            return Err(Halt::Ending(Ending::CommandEnded));
        }
        Ok(check_fault(self.ring)?)
    }

    /// Returns the next buffer in order; `None` if it cannot be determined yet.
    fn next(&self) -> Option<Full> {
        if self.is_over {
            return order::oldest(self.ring.full());
        }
        order::next(
            self.ring.full(),
            || self.oldest_open(),
            || order::oldest(self.ring.full()),
        )
    }

    fn oldest_open(&self) -> Option<u64> {
        let open = (0..self.ring.slots_used()).map(|slot| self.ring.slot(slot).open_stamp());
        open.filter(|stamp| *stamp != 0 && !self.suspended.contains(stamp))
            .min()
    }

    /// Decodes a buffer. Returns false, without decoding, if the cause of the preceding switch is
    /// not yet known.
    fn take(&mut self, full: &Full) -> Result<bool, Halt<T::Error>> {
        let words = self.ring.words(full);
        let is_new = self
            .run
            .is_none_or(|run| (run.slot, run.stamp) != (full.slot, full.stamp));
        let mut at = 0;
        if is_new {
            let stamp = self.stamp(full, words)?;
            at = stamp.map_or(0, |_| Stamp::WORDS);
            let Some(begin) =
                self.beginning(full, is_birth(words, at), stamp.unwrap_or_default())?
            else {
                return Ok(false);
            };
            at += self.decoder.birth_at(full.order, words, at)?;
            self.begin(full, begin)?;
        }
        self.decoder.buffer_from(full.order, words, at)?;
        self.note_ends();
        self.ring.free(full.index)?;
        Ok(true)
    }

    /// Returns the counts at the start of a run's first buffer. `None` if the buffer continues a
    /// run: one that was suspended, or one that the rest of a suspended run interrupted.
    fn stamp(&self, full: &Full, words: &[AtomicU64]) -> Result<Option<Stamp>, Halt<T::Error>> {
        let stamp = Stamp::read(words);
        if stamp.is_none() && full.stamp > self.newest {
            let damaged = DecodeError {
                buffer: full.order,
                word: 0,
                problem: Problem::NoStamp,
            };
            return Err(Stopped::Damaged(damaged).into());
        }
        Ok(stamp)
    }

    fn note_ends(&mut self) {
        if let (Some(run), Some(left)) = (&mut self.run, self.decoder.take_left()) {
            run.left = Some(left);
            if let Left::Preempted(counts) | Left::Waiting(counts) = left {
                self.account.counted += counts.total();
            }
        }
        for slot in self.decoder.take_ended() {
            self.monitor.task_exit(slot);
        }
    }

    fn pause(&mut self, rings: u32, is_pending: bool) -> Result<(), Halt<T::Error>> {
        self.ring
            .await_ring(rings, if is_pending { SHORT_PAUSE } else { TIMEOUT })?;
        let since = *self.stuck_since.get_or_insert_with(Instant::now);
        if since.elapsed() > TIMEOUT || self.ring.rings() == rings {
            self.poll_tasks(since)?;
        }
        Ok(())
    }

    fn is_finished(&self) -> bool {
        self.launched as usize == self.commands.len()
            && self.monitor.living().next().is_none()
            && self.ring.full().next().is_none()
    }

    fn await_statuses(&mut self) -> Result<(), Halt<T::Error>> {
        let deadline = Instant::now() + LONGEST_END;
        while self.programs.is_any_awaited(deadline)? {
            self.check()?;
        }
        Ok(())
    }

    /// Makes every task end its run, and decodes everything that the tasks have written.
    fn wind_down(&mut self) -> Result<(), Halt<T::Error>> {
        self.ring.u32_at(header::IS_STOPPING).store(1, SeqCst);
        let deadline = Instant::now() + LONGEST_STOP;
        while Instant::now() < deadline {
            let rings = self.ring.rings();
            let is_any_open = self.oldest_open().is_some();
            match self.next() {
                Some(full) if self.take(&full)? => {}
                None if !is_any_open => break,
                _ => self.ring.await_ring(rings, SHORT_PAUSE)?,
            }
        }
        Ok(())
    }

    /// Decodes the remaining buffers after all tasks have ended.
    fn drain(&mut self) -> Result<(), Halt<T::Error>> {
        self.is_over = true;
        while let Some(full) = self.next() {
            if !self.take(&full)? {
                break;
            }
        }
        Ok(())
    }
}
