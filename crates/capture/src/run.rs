//! Runs one capture, from the start of the first command to the last chunk.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::process::ExitStatus;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};

use switchcost_host::supervisor::{PID_IN_NAMESPACE, Setting, Supervisor};
use switchcost_trace::{Chunk, Dependences, Preemptions, Recorder, WriteTraceError};
use switchcost_units::CpuId;

use crate::as_run::AsRun;
use crate::command::Command;
use crate::consume::{Read, Written, consume_beside};
use crate::control::{Control, Ending, Outcome};
use crate::decode::{Chunks, Decoder, Refused, Take};
use crate::end_flags::EndFlags;
use crate::error::{CaptureError, Failure};
use crate::leftovers;
use crate::programs::Programs;
use crate::protocol::{self, header};
use crate::remarks::remarks;
use crate::ring::Ring;
use crate::start;
use crate::tool::Tool;
use crate::turns::Turns;

/// Order in which tasks are scheduled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Tasks run round robin; the same inputs give the same trace.
    Scheduled {
        /// Number of instructions in a time slice.
        quantum_instructions: u64,
    },
    /// Tasks run in the order in which the kernel schedules them on one CPU.
    AsRun,
}

/// Default length of a time slice, the quantum of Mogul and Borg (1990), in instructions.
const QUANTUM_INSTRUCTIONS: u64 = 400_000;

impl Default for Order {
    fn default() -> Order {
        Order::Scheduled {
            quantum_instructions: QUANTUM_INSTRUCTIONS,
        }
    }
}

/// Standard input of the programs.
#[derive(Clone, Copy, Debug, Default)]
pub enum Input {
    /// The standard input of this program.
    Ours,
    /// The standard input is empty.
    #[default]
    Nothing,
}

/// Standard output and error of the programs.
#[derive(Clone, Copy, Debug, Default)]
pub enum Output {
    /// The standard output and standard error of this program.
    Ours,
    /// Both streams go to the standard error of this program, because its standard output is for
    /// results.
    #[default]
    Errors,
    /// Output is discarded.
    Nowhere,
}

/// Options of a capture.
#[derive(Debug)]
pub struct Options {
    /// Order in which tasks are scheduled.
    pub order: Order,
    /// Seed of the lengths of time slices in scheduled captures. With a seed, lengths differ from
    /// the quantum by up to a sixteenth; with `None` they do not.
    pub turn_seed: Option<u64>,
    /// Random moments that also end time slices, in scheduled captures.
    pub preemptions: Option<Preemptions>,
    /// The only CPU on which traced tasks run. `None` for any CPU in scheduled captures, and for
    /// the last allowed CPU in as-run captures. The caller should avoid this CPU if there is
    /// another one.
    pub cpu: Option<CpuId>,
    /// Whether programs run in a PID namespace with its own /proc, if the kernel allows, so that
    /// process IDs are the same each time.
    pub in_pid_namespace: bool,
    /// Number of switches after which all tasks are ended; `None` for no limit.
    pub stop_after_switches: Option<u64>,
    /// Whether all tasks are ended as soon as one command has ended.
    pub end_with_any: bool,
    /// Standard input of the programs.
    pub input: Input,
    /// Standard output and error of the programs.
    pub output: Output,
    /// Capture tool for Valgrind.
    pub tool: Tool,
}

impl Options {
    /// Returns options for a scheduled capture until all tasks end, with the default quantum, on
    /// any CPU, in a PID namespace.
    pub fn new(tool: Tool) -> Options {
        Options {
            order: Order::default(),
            turn_seed: None,
            preemptions: None,
            cpu: None,
            in_pid_namespace: true,
            stop_after_switches: None,
            end_with_any: false,
            input: Input::default(),
            output: Output::default(),
            tool,
        }
    }
}

/// Totals of a capture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Summary {
    /// Why the capture ended.
    pub ending: Ending,
    /// Number of switches in the chunks.
    pub switches: u64,
    /// Number of instructions in the chunks.
    pub instructions: u64,
    /// Exit status of each command; `None` for a command that was ended with the capture.
    pub statuses: Vec<Option<ExitStatus>>,
    /// Warnings for the reader of the trace.
    pub warnings: Vec<String>,
    /// Why the programs have no PID namespace; `None` if they have one, or none was requested.
    pub no_pid_namespace: Option<String>,
    /// Number of times that the kernel took the CPU from a task and gave it to no other traced
    /// task, in as-run captures. The CPU went to another program, or it changed more than once
    /// between two checks.
    pub switches_elsewhere: u64,
}

/// Runs the commands together on one virtual CPU until all tasks have ended, and passes each chunk
/// to `sink` on the calling thread, with the dependences of its blocks. The sink may take the
/// chunk's memory; what it leaves is discarded. When this returns, no process of the commands is
/// left.
///
/// In [`Order::Scheduled`] one task runs at a time. The running task keeps the CPU through its
/// system calls until it blocks in one, yields, uses up its quantum, or ends. Then the
/// longest-waiting task runs. After each system call that may wake a task, all others are either
/// asleep in the kernel or queued before any task continues; tasks queued between two such moments
/// are in order of birth. A task that wakes by itself (a timer, the network) is queued when it is
/// noticed: only then does the order depend on time.
///
/// In [`Order::AsRun`] the kernel schedules the tasks, all on one CPU: the last allowed one if none
/// is named. No two captures are the same.
///
/// # Errors
///
/// If a command cannot be traced, the system refuses an operation, or the sink fails. All tasks are
/// ended then, too.
pub fn run<E: std::error::Error + 'static>(
    commands: &[Command],
    options: Options,
    stop: &AtomicBool,
    sink: impl FnMut(&mut Chunk, &Dependences) -> Result<(), E>,
) -> Result<Summary, Failure<E>> {
    hand_on(sink, |chunks| {
        capture_chunks(commands, options, stop, chunks)
    })
}

/// Runs `capture` and passes its chunks to `sink`. The types of the sink and of its error are
/// hidden from `capture`, so that the decoder is compiled only once.
pub(crate) fn hand_on<S, E: std::error::Error + 'static>(
    mut sink: impl FnMut(&mut Chunk, &Dependences) -> Result<(), E>,
    capture: impl FnOnce(&mut Chunks<'_>) -> Result<S, Failure<Refused>>,
) -> Result<S, Failure<E>> {
    let mut refusal = None;
    let mut keep_refusal = |chunk: &mut Chunk, dependences: &Dependences| {
        sink(chunk, dependences).map_err(|error| {
            refusal = Some(error);
            Refused
        })
    };
    let outcome = capture(&mut Chunks::new(&mut keep_refusal));
    outcome.map_err(|failure| match failure {
        Failure::Capture(error) => Failure::Capture(error),
        Failure::Sink(Refused) => Failure::Sink(refusal.expect("who refuses says why")),
    })
}

fn capture_chunks(
    commands: &[Command],
    options: Options,
    stop: &AtomicBool,
    chunks: &mut Chunks<'_>,
) -> Result<Summary, Failure<Refused>> {
    capture(commands, options, stop, chunks)
}

/// Runs the commands as [`run`] does, and writes the trace directly, which is about twice as fast
/// as through chunks.
///
/// # Errors
///
/// As [`run`].
pub fn record(
    commands: &[Command],
    options: Options,
    stop: &AtomicBool,
    recorder: &mut Recorder<File>,
) -> Result<Summary, Failure<WriteTraceError>> {
    capture(commands, options, stop, recorder)
}

fn capture<T: Take<Error: std::error::Error + 'static>>(
    commands: &[Command],
    options: Options,
    stop: &AtomicBool,
    take: &mut T,
) -> Result<Summary, Failure<T::Error>> {
    check(commands)?;
    let (decoder, outcome, no_pid_namespace) = match options.order {
        Order::Scheduled {
            quantum_instructions,
        } => {
            let mut decoder = Decoder::new(commands.iter().map(Command::name).collect(), take);
            let done = schedule(commands, quantum_instructions, options, stop, &mut decoder);
            if !matches!(done, Err(Failure::Sink(_))) {
                // The events captured so far are passed on, whatever ended the capture.
                decoder.flush().map_err(Failure::Sink)?;
            }
            let (outcome, no_pid_namespace) = done?;
            (decoder, outcome, no_pid_namespace)
        }
        Order::AsRun => {
            let mut decoder = Decoder::new(Vec::new(), take).ordered_as_run();
            let (outcome, no_pid_namespace) =
                capture_as_run(commands, options, stop, &mut decoder)?;
            (decoder, outcome, no_pid_namespace)
        }
    };
    Ok(Summary {
        ending: outcome.ending,
        switches: decoder.switches(),
        instructions: decoder.instructions(),
        statuses: outcome.statuses,
        warnings: outcome.warnings,
        no_pid_namespace,
        switches_elsewhere: outcome.switches_elsewhere,
    })
}

/// Runs the commands and discards the output of the tool unread. Returns the number of 64-bit words
/// written, by which tests compare encodings.
///
/// # Errors
///
/// As [`run`].
pub fn run_unread(
    commands: &[Command],
    options: Options,
    stop: &AtomicBool,
) -> Result<u64, CaptureError> {
    check(commands)?;
    let mut written = Written(0);
    match schedule(commands, QUANTUM_INSTRUCTIONS, options, stop, &mut written) {
        Ok(_) => Ok(written.0),
        Err(Failure::Capture(error)) => Err(error),
        Err(Failure::Sink(never)) => match never {},
    }
}

fn check(commands: &[Command]) -> Result<(), CaptureError> {
    if commands.is_empty() {
        return Err(CaptureError::NoCommand);
    }
    commands.iter().try_for_each(Command::check)
}

/// Runs the controller and, on the calling thread, the reader of the buffers. Also returns why
/// programs have no PID namespace although one was requested.
fn schedule<R: Read>(
    commands: &[Command],
    quantum_instructions: u64,
    options: Options,
    stop: &AtomicBool,
    reader: &mut R,
) -> Result<(Outcome, Option<String>), Failure<R::Error>> {
    let ring = Ring::create(protocol::SCHEDULED)?;
    let (stop_after_switches, turn_seed) = (options.stop_after_switches, options.turn_seed);
    let preemptions = options.preemptions.clone();
    let (programs, no_pid_namespace) = programs(commands, options, &ring)?;
    let end_flags = EndFlags::default();
    let mut control = Control::new(&ring, programs, &end_flags, stop);
    control.turns = Turns::new(quantum_instructions, turn_seed).preempted(preemptions);
    control.stop_after_switches = stop_after_switches;
    control.commands = commands.iter().map(Command::shown).collect();
    let mut outcome = consume_beside(&ring, &end_flags, reader, || control.run())??;
    outcome.warnings.extend(remarks(&ring));
    Ok((outcome, no_pid_namespace))
}

fn capture_as_run<T: Take<Error: std::error::Error + 'static>>(
    commands: &[Command],
    mut options: Options,
    stop: &AtomicBool,
    decoder: &mut Decoder<'_, T>,
) -> Result<(Outcome, Option<String>), Failure<T::Error>> {
    let cpu = options.cpu.or_else(last_cpu).ok_or(CaptureError::NoCpu)?;
    options.cpu = Some(cpu);
    let ring = Ring::create(protocol::AS_RUN)?;
    ring.u32_at(header::CPU).store(cpu.0, SeqCst);
    let stop_after_switches = options.stop_after_switches;
    let (programs, no_pid_namespace) = programs(commands, options, &ring)?;
    let shown = commands.iter().map(Command::shown).collect();
    let mut outcome =
        AsRun::new(&ring, programs, stop, stop_after_switches, shown, decoder).run()?;
    outcome.warnings.extend(remarks(&ring));
    Ok((outcome, no_pid_namespace))
}

/// Returns the allowed CPU with the highest number. Interrupts usually go to CPUs with low numbers.
fn last_cpu() -> Option<CpuId> {
    switchcost_facts::allowed_cpus(&switchcost_facts::Root::system())
        .last()
        .copied()
}

/// Returns the commands, ready to be started. Also returns why the commands have no PID namespace
/// although one was requested.
fn programs(
    commands: &[Command],
    options: Options,
    ring: &Ring,
) -> io::Result<(Programs, Option<String>)> {
    leftovers::sweep(&std::env::temp_dir());
    let null = || {
        OpenOptions::new()
            .read(true)
            .write(true)
            .open("/dev/null")
            .map(OwnedFd::from)
    };
    let ours = |file: BorrowedFd<'_>| file.try_clone_to_owned();
    let input = match options.input {
        Input::Ours => ours(io::stdin().as_fd()),
        Input::Nothing => null(),
    };
    let (output, errors) = match options.output {
        Output::Ours => (ours(io::stdout().as_fd()), ours(io::stderr().as_fd())),
        Output::Errors => (ours(io::stderr().as_fd()), ours(io::stderr().as_fd())),
        Output::Nowhere => (null(), null()),
    };
    let mut setting = Setting {
        in_pid_namespace: options.in_pid_namespace,
        shared: Some(ring.shared()),
        cpu: options.cpu,
        has_fixed_addresses: true,
        has_callers_files: true,
        ..Setting::new(input?, output?, errors?)
    };
    let mut supervisor = supervisor(commands, &options.tool, ring, &setting);
    let mut no_pid_namespace = None;
    if let Some(refusal) = supervisor
        .as_ref()
        .err()
        .filter(|_| setting.in_pid_namespace)
    {
        no_pid_namespace = Some(refusal.to_string());
        setting.in_pid_namespace = false;
        supervisor = self::supervisor(commands, &options.tool, ring, &setting);
    }
    if setting.in_pid_namespace {
        ring.hide_controller();
    }
    Ok((
        Programs::new(supervisor?, commands.len(), options.end_with_any),
        no_pid_namespace,
    ))
}

fn supervisor(
    commands: &[Command],
    tool: &Tool,
    ring: &Ring,
    setting: &Setting<'_>,
) -> io::Result<Supervisor> {
    let ring = if setting.in_pid_namespace {
        ring.shared().path_at(PID_IN_NAMESPACE)
    } else {
        ring.shared().path()
    };
    let program = |command| start::program(command, tool, &ring);
    Supervisor::start(
        &commands
            .iter()
            .map(program)
            .collect::<io::Result<Vec<_>>>()?,
        setting,
    )
}
