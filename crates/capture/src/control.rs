//! The controller of a scheduled capture: observes the tasks, lets the scheduler decide, and
//! carries out its decisions.

use std::process::ExitStatus;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::time::{Duration, Instant};

use switchcost_host::supervisor::Report;
use switchcost_trace::Cause;

use crate::end_flags::EndFlags;
use crate::error::CaptureError;
use crate::pace::Pace;
use crate::programs::Programs;
use crate::protocol::{NO_SLOT, fault, head, header, state, tag};
use crate::ring::Ring;
use crate::scheduler::{Decision, Scheduler, Seen, Switch};
use crate::tasks::{TaskEvent, Tasks};
use crate::turns::Turns;

/// Reason for the end of the capture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// All tasks ended on their own.
    Finished,
    /// The requested number of switches was reached, and the tasks were ended.
    SwitchLimit,
    /// One command ended, and all other commands were ended together.
    CommandEnded,
    /// The caller's flag ended the capture and the tasks.
    Interrupted,
}

/// Results of a capture's loop.
#[derive(Debug)]
pub(crate) struct Outcome {
    pub(crate) ending: Ending,
    pub(crate) statuses: Vec<Option<ExitStatus>>,
    pub(crate) warnings: Vec<String>,
    /// Number of times that the kernel took the CPU from a task and gave it to no other traced
    /// task, in as-run captures.
    pub(crate) switches_elsewhere: u64,
}

/// Longest wait without a notification before flags and kernel are checked.
const TIMEOUT: Duration = Duration::from_millis(50);
/// Number of checks of a task between two states during which the controller only yields the CPU.
/// Later checks are separated by pauses.
const EAGER_LOOKS: u32 = 40;
const SHORT_PAUSE: Duration = Duration::from_micros(30);
const LONG_PAUSE: Duration = Duration::from_millis(1);
/// Number of checks of a task between two states after which reports, and the kernel's state of the
/// running task, are read once.
const LOOKS_AROUND: u32 = 512;
pub(crate) const LONGEST_START: Duration = Duration::from_secs(60);
pub(crate) const LONGEST_END: Duration = Duration::from_secs(20);
/// Longest time that a task may take to appear after the task that creates it has ended.
pub(crate) const LONGEST_BIRTH: Duration = Duration::from_secs(2);
/// Number of consecutive checks, [`TIMEOUT`] apart, after which a task counts as stopped alone. If
/// the whole capture is stopped and continued, the controller is stopped, too, and the order of
/// tasks does not change.
const LOOKS_AT_STOPPED: u32 = 20;
/// Longest wait until the running task gives up the CPU after a request. Until then, the task fills
/// at most a part of a buffer.
const LONGEST_PERIOD: Duration = Duration::from_secs(5);

pub(crate) struct Control<'a> {
    pub(crate) ring: &'a Ring,
    pub(crate) programs: Programs,
    pub(crate) end_flags: &'a EndFlags,
    pub(crate) stop: &'a AtomicBool,
    pub(crate) turns: Turns,
    pub(crate) stop_after_switches: Option<u64>,
    /// The commands as the user gave them, for messages.
    pub(crate) commands: Vec<String>,
    scheduler: Scheduler,
    tasks: Tasks,
    switches: u64,
    pace: Pace,
    warnings: Vec<String>,
    /// Number of consecutive checks in which the running task was found stopped.
    looks_at_stopped: u32,
    /// Process ID of a task that was stopped during its time slice and could not be made to leave
    /// the CPU; otherwise `None`.
    held_by: Option<u32>,
}

/// Fails with the fault that a task reported, if there is one.
pub(crate) fn check_fault(ring: &Ring) -> Result<(), CaptureError> {
    let detail = ring.u64_at(header::FAULT_DETAIL).load(SeqCst);
    Err(match ring.u32_at(header::FAULT).load(SeqCst) {
        0 => return Ok(()),
        fault::RSEQ => CaptureError::NoPreemption(std::io::Error::from_raw_os_error(detail as i32)),
        fault::CPU => CaptureError::OtherCpu {
            cpu: ring.u32_at(header::CPU).load(SeqCst),
            other: detail,
        },
        _ => CaptureError::TooManyTasks,
    })
}

/// Progress of a wait until the scheduler can decide.
#[derive(Default)]
struct Wait {
    /// Number of checks after which the scheduler could not decide.
    looks: u32,
    /// Time since which a task has been between two states; `None` if no task is.
    since: Option<Instant>,
}

/// Reason why the controller's loop ended before all tasks had ended.
enum Halt {
    Ending(Ending),
    Failed(CaptureError),
}

impl<E: Into<CaptureError>> From<E> for Halt {
    fn from(error: E) -> Halt {
        Halt::Failed(error.into())
    }
}

impl<'a> Control<'a> {
    pub(crate) fn new(
        ring: &'a Ring,
        programs: Programs,
        end_flags: &'a EndFlags,
        stop: &'a AtomicBool,
    ) -> Control<'a> {
        let tasks = Tasks::new(programs.task_files().clone());
        Control {
            ring,
            programs,
            end_flags,
            stop,
            turns: Turns::default(),
            stop_after_switches: None,
            commands: Vec::new(),
            scheduler: Scheduler::default(),
            tasks,
            switches: 0,
            pace: Pace::default(),
            warnings: Vec::new(),
            looks_at_stopped: 0,
            held_by: None,
        }
    }

    /// Runs all commands to their end. When this returns, no process is left, and the stream of
    /// records is complete.
    pub(crate) fn run(mut self) -> Result<Outcome, CaptureError> {
        let halt = self.drive();
        if matches!(halt, Err(Halt::Ending(Ending::Interrupted))) && !self.end_flags.is_aborted() {
            self.await_end_of_period();
        }
        let is_running = self.is_granted();
        self.ring.close();
        self.programs.dismiss();
        if !is_running {
            self.ring.submit_current();
        }
        self.end_flags.finish();
        self.ring.notify_submission();
        match halt {
            Ok(()) => Ok(self.outcome(Ending::Finished)),
            Err(Halt::Ending(ending)) => Ok(self.outcome(ending)),
            Err(Halt::Failed(error)) => Err(error),
        }
    }

    /// Makes the running task give up the CPU, and waits until then, so that what the task has
    /// written is not lost.
    fn await_end_of_period(&mut self) {
        let Some(slot) = self.scheduler.running() else {
            return;
        };
        self.ring.u32_at(header::IS_STOPPING).store(1, SeqCst);
        let deadline = Instant::now() + LONGEST_PERIOD;
        while self.ring.slot(slot).state() == state::GRANTED && Instant::now() < deadline {
            let rings = self.ring.rings();
            let _ = self.ring.await_ring(rings, LONG_PAUSE);
        }
    }

    fn outcome(mut self, ending: Ending) -> Outcome {
        self.warnings.extend(self.pace.remark(Instant::now()));
        Outcome {
            ending,
            statuses: self.programs.into_statuses(),
            warnings: self.warnings,
            switches_elsewhere: 0,
        }
    }

    fn drive(&mut self) -> Result<(), Halt> {
        for command in 0..self.commands.len() as u32 {
            self.launch(command)?;
        }
        let mut wait = Wait::default();
        loop {
            let rings = self.ring.rings();
            self.check()?;
            let decision = self.decide()?;
            self.keep_pace(&decision);
            match decision {
                Decision::Finished => {
                    self.announce()?;
                    return self.await_statuses();
                }
                Decision::Wait { is_idle } => {
                    wait.looks += 1;
                    self.pause(rings, is_idle, &mut wait)?;
                    continue;
                }
                Decision::GoOn(slot) => self.grant(slot, None)?,
                Decision::Renew(slot) => {
                    let length = self.turns.next_length();
                    self.grant(slot, Some(length))?;
                }
                Decision::Switch(switch) => self.switch(&switch)?,
            }
            wait = Wait::default();
        }
    }

    fn keep_pace(&mut self, decision: &Decision) {
        let now = Instant::now();
        match decision {
            Decision::Wait { is_idle: true } if self.scheduler.running().is_none() => {
                self.pace.note_idle(now)
            }
            Decision::Wait { .. } => {}
            Decision::Switch(switch) => {
                self.pace.someone_wakes(now);
                self.pace.switched(now, switch.is_voluntary);
            }
            Decision::GoOn(_) | Decision::Renew(_) | Decision::Finished => {
                self.pace.someone_wakes(now)
            }
        }
    }

    /// Starts a command, and waits until its process asks for a time slice.
    fn launch(&mut self, command: u32) -> Result<(), Halt> {
        self.programs.launch(command)?;
        let deadline = Instant::now() + LONGEST_START;
        let mut process = None;
        loop {
            let rings = self.ring.rings();
            self.check()?;
            while let Some(report) = self.programs.report(Duration::ZERO)? {
                match report {
                    Report::Launched { pid, .. } => process = Some(pid as u32),
                    Report::Refused { error, .. } => {
                        return Err(std::io::Error::from_raw_os_error(error).into());
                    }
                    Report::Ended { program, status } if program == command => {
                        let command = self.commands[command as usize].clone();
                        return Err(CaptureError::NotStarted { command, status }.into());
                    }
                    Report::Ended { .. } => {}
                }
            }
            self.tasks.discover(self.ring);
            if process.is_some_and(|pid| self.tasks.is_ready(self.ring, pid)) {
                return Ok(());
            }
            if Instant::now() > deadline {
                return Err(CaptureError::SlowStart {
                    command: self.commands[command as usize].clone(),
                }
                .into());
            }
            self.ring.await_ring(rings, LONG_PAUSE)?;
        }
    }

    /// Fails if the caller, the consumer, the end of a command or a task's fault ends the capture.
    fn check(&self) -> Result<(), Halt> {
        if self.stop.load(SeqCst) || self.end_flags.is_aborted() {
            return Err(Halt::Ending(Ending::Interrupted));
        }
        if self.programs.are_to_end() {
            return Err(Halt::Ending(Ending::CommandEnded));
        }
        Ok(check_fault(self.ring)?)
    }

    fn is_granted(&mut self) -> bool {
        let running = self.scheduler.running();
        let sightings = self.tasks.look(self.ring, running).unwrap_or(&[]);
        sightings
            .iter()
            .any(|sighting| sighting.seen == Seen::Running)
    }

    fn decide(&mut self) -> Result<Decision, Halt> {
        let running = self.scheduler.running();
        if running.is_some_and(|slot| self.ring.slot(slot).state() == state::GRANTED) {
            return Ok(Decision::Wait { is_idle: true });
        }
        // Creators are examined first, because a new task claims its slot before its creator has
        // finished.
        let is_any_making = self.tasks.is_any_making(self.ring);
        self.tasks.discover(self.ring);
        if is_any_making || self.tasks.is_any_claiming(self.ring) {
            return Ok(Decision::Wait { is_idle: false });
        }
        let sightings = self.tasks.look(self.ring, running)?;
        if sightings
            .iter()
            .any(|sighting| matches!(sighting.seen, Seen::OnItsWay | Seen::Running))
        {
            return Ok(Decision::Wait { is_idle: false });
        }
        Ok(self.scheduler.decide(sightings, false))
    }

    fn pause(&mut self, rings: u32, is_idle: bool, wait: &mut Wait) -> Result<(), Halt> {
        if is_idle {
            self.ring.await_ring(rings, TIMEOUT)?;
        } else if wait.looks <= EAGER_LOOKS {
            std::thread::yield_now();
        } else {
            self.ring.await_ring(
                rings,
                if wait.looks < 10 * EAGER_LOOKS {
                    SHORT_PAUSE
                } else {
                    LONG_PAUSE
                },
            )?;
        }
        if self.ring.rings() == rings && (is_idle || wait.looks.is_multiple_of(LOOKS_AROUND)) {
            self.poll_tasks()?;
        }
        if is_idle {
            wait.since = None;
        } else if wait.looks.is_multiple_of(LOOKS_AROUND)
            && wait.since.get_or_insert_with(Instant::now).elapsed() > LONGEST_BIRTH
        {
            self.tasks.give_up_births(self.ring)?;
        }
        Ok(())
    }

    fn read_reports(&mut self) -> Result<(), Halt> {
        while self.programs.report(Duration::ZERO)?.is_some() {}
        Ok(())
    }

    /// Handles tasks that were killed or stopped, which no task reports.
    fn poll_tasks(&mut self) -> Result<(), Halt> {
        self.read_reports()?;
        if let Some(slot) = self.scheduler.running()
            && self.ring.slot(slot).state() == state::GRANTED
            && let Some(pid) = self.tasks.gone_from(slot)?
        {
            self.ring.take_back()?;
            self.ring.slot(slot).set_ended();
            self.warnings.push(killed_in_its_turn(pid));
        }
        self.look_after_stopped()
    }

    /// Takes the CPU from the running task if a task that is not traced has stopped it.
    fn look_after_stopped(&mut self) -> Result<(), Halt> {
        let Some(slot) = self.scheduler.running() else {
            return Ok(());
        };
        let state = || self.ring.slot(slot).state();
        if state() != state::GRANTED {
            return Ok(());
        }
        let Some((task, process)) = self.tasks.stopped_in(slot)? else {
            self.looks_at_stopped = 0;
            return Ok(());
        };
        self.looks_at_stopped += 1;
        if self.looks_at_stopped < LOOKS_AT_STOPPED {
            return Ok(());
        }
        self.looks_at_stopped = 0;
        self.ring.u32_at(header::IS_STOPPING).store(1, SeqCst);
        let has_left = || state() != state::GRANTED;
        let outcome = task
            .and_then(|task| switchcost_host::stopped::run_until(task, LONGEST_PERIOD, has_left));
        self.ring.u32_at(header::IS_STOPPING).store(0, SeqCst);
        match outcome {
            Ok(true) => self.tasks.left_stopped(slot),
            Ok(false) => {}
            Err(error) if self.held_by != Some(process) => {
                self.held_by = Some(process);
                self.warnings.push(stopped_in_its_turn(process, &error));
            }
            Err(_) => {}
        }
        Ok(())
    }

    fn await_statuses(&mut self) -> Result<(), Halt> {
        let deadline = Instant::now() + LONGEST_END;
        while self.programs.is_any_awaited(deadline)? {
            self.check()?;
        }
        Ok(())
    }

    fn grant(&mut self, slot: u32, budget: Option<u64>) -> Result<(), Halt> {
        self.announce()?;
        self.give_turn(slot, budget)
    }

    /// Lets a task run: starts a time slice of `budget` instructions, or with `None` continues the
    /// last time slice.
    fn give_turn(&mut self, slot: u32, budget: Option<u64>) -> Result<(), Halt> {
        self.ring
            .u32_at(header::IS_ALONE)
            .store(self.tasks.is_one_alone().into(), SeqCst);
        Ok(self.ring.slot(slot).grant(budget)?)
    }

    fn switch(&mut self, switch: &Switch) -> Result<(), Halt> {
        // Without this, the reports would never be read while tasks notify the controller all the
        // time.
        self.read_reports()?;
        if switch.from.is_some() {
            if self
                .stop_after_switches
                .is_some_and(|limit| self.switches >= limit)
            {
                return Err(Halt::Ending(Ending::SwitchLimit));
            }
            self.switches += 1;
        }
        self.announce()?;
        let slots = u64::from(switch.from.unwrap_or(NO_SLOT)) << 32 | u64::from(switch.to);
        self.append(&[
            head(tag::SWITCH, 2, 0),
            slots,
            reason(switch.is_voluntary, switch.cause),
        ])?;
        let length = self.turns.next_length();
        self.give_turn(switch.to, Some(length))
    }

    /// Writes records of the births and ends of tasks into the buffers, before any task continues.
    fn announce(&mut self) -> Result<(), Halt> {
        for pid in self.tasks.lost_in_exec() {
            self.warnings.push(lost_in_exec(pid));
        }
        for event in self.tasks.events(self.ring) {
            match event {
                TaskEvent::Created {
                    slot,
                    parent,
                    process_slot,
                    pid,
                    tid,
                } => self.append(&[
                    head(tag::BORN, 2, slot.into()),
                    u64::from(parent) << 32 | u64::from(process_slot),
                    u64::from(pid) << 32 | u64::from(tid),
                ])?,
                TaskEvent::Exited { slot } => self.append(&[head(tag::EXIT, 0, slot.into())])?,
            }
        }
        Ok(())
    }

    /// Appends a record to the buffers. Waits for the consumer if no buffer is empty.
    fn append(&mut self, record: &[u64]) -> Result<(), Halt> {
        while !self.ring.append(record) {
            self.check()?;
            let freed = self.ring.u32_at(header::FREED);
            switchcost_host::shared_file::wait(freed, freed.load(SeqCst), LONG_PAUSE)?;
        }
        Ok(())
    }
}

/// Returns the message for a process that was killed during its time slice.
pub(crate) fn killed_in_its_turn(pid: u32) -> String {
    format!(
        "process {pid} was killed, or Valgrind could not continue it (see its message): its last instructions are not \
         in the trace"
    )
}

/// Returns the message for a process that is stopped during its time slice, so that no other task
/// can run. `error` says why the process could not be made to leave the CPU.
fn stopped_in_its_turn(pid: u32, error: &std::io::Error) -> String {
    format!(
        "process {pid} was stopped by an untraced process and could not be taken off the CPU ({error}): the others \
         waited until it was continued (kill -CONT)"
    )
}

/// Returns the message for a process that ended during an exec.
pub(crate) fn lost_in_exec(pid: u32) -> String {
    format!(
        "process {pid} ended while it started another program: Valgrind could not run that; see its message"
    )
}

fn reason(is_voluntary: bool, cause: Cause) -> u64 {
    let (code, syscall) = match cause {
        Cause::Syscall(number) => (0, number),
        Cause::PageFault => (1, 0),
        Cause::Quantum => (2, 0),
        Cause::WakeUp => (3, 0),
        Cause::Interrupt => (4, 0),
        Cause::Exit => (5, 0),
        Cause::Unknown => (6, 0),
    };
    u64::from(is_voluntary) | code << 8 | u64::from(syscall) << 16
}
