//! Runs programs under the capture tool, and writes their trace.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;

use switchcost_capture::{Command, Ending, Input, Options, Order, Output, Summary, Tool};
use switchcost_facts::Root;
use switchcost_host::control::{PinGuard, pin};
use switchcost_record::Readers;
use switchcost_report::as_argument;
use switchcost_report::trace::describe_written;
use switchcost_trace::{
    Chunk, Dependences, KernelSymbols, Preemptions, Recorder, TraceHeader, TraceOrder, TraceWriter,
    WriteTraceError, Written,
};
use switchcost_units::CpuId;

use crate::cli::trace::{
    CaptureArguments, OrderFlag, ProcessesFlag, QUANTUM_INSTRUCTIONS, TURN_SEED, TraceArguments,
};
use crate::exit::{Exit, Failure, Outcome};
use crate::kinds;
use crate::messages::say;
use crate::progress::StreamProgress;
use crate::redact;
use crate::runs::Place;
use crate::signals::Interrupt;

/// A trace that is being written. The file has its final name from the start, so that a crash loses
/// no complete chunk.
pub(crate) struct NewTrace {
    path: PathBuf,
    writer: TraceWriter<File>,
}

impl NewTrace {
    pub(crate) fn create(path: &Path, header: &TraceHeader) -> Outcome<NewTrace> {
        let writer = TraceWriter::create(new_file(path, Readers::AsUsual)?, header);
        Ok(NewTrace {
            path: path.to_owned(),
            writer: writer.map_err(|source| creation_failure(path, source))?,
        })
    }

    pub(crate) fn write(&mut self, chunk: &Chunk) -> Outcome {
        self.writer
            .write(chunk)
            .map_err(|source| failed(&self.path, source))
    }

    /// Replaces the header of an imported trace.
    pub(super) fn replace_header(&mut self, header: &TraceHeader) -> Outcome {
        self.writer
            .replace_header(header)
            .map_err(|source| failed(&self.path, source))
    }

    /// Sets the kernel's symbols, which are written at the end of the trace.
    pub(crate) fn name_symbols(&mut self, symbols: KernelSymbols) {
        self.writer.name_symbols(symbols);
    }

    /// Sets the dependences of the traced code, which are written at the end of the trace.
    pub(super) fn set_dependences(&mut self, dependences: Dependences) {
        self.writer.set_dependences(dependences);
    }

    /// Finishes the trace. Removes the file if the trace has no instructions.
    pub(crate) fn finish(self) -> Outcome<Written> {
        let (_, written) = self
            .writer
            .finish()
            .map_err(|source| failed(&self.path, source))?;
        if written.instructions == 0 {
            let _ = fs::remove_file(&self.path);
        }
        Ok(written)
    }
}

/// Creates the file of a trace, without a buffer. Records are long, and data that the writer
/// reports as written should have reached the kernel.
pub(super) fn new_file(path: &Path, readers: Readers) -> Outcome<File> {
    if path == Path::new("-") {
        return Err(Failure::usage(
            "a trace cannot be written to standard output; name a file",
        ));
    }
    readers
        .create_new(path, File::options().read(true).write(true))
        .map_err(|source| match source.kind() {
            ErrorKind::AlreadyExists => Failure::taken(path),
            _ => Failure::output(path)(source),
        })
}

/// Returns the failure to create a trace, and removes a file without a complete header, which would
/// occupy the name.
pub(super) fn creation_failure(path: &Path, source: WriteTraceError) -> Failure {
    let _ = fs::remove_file(path);
    failed(path, source)
}

pub(super) fn failed(path: &Path, source: WriteTraceError) -> Failure {
    Failure::broken(format!(
        "cannot write the trace {}: {source}",
        path.display()
    ))
}

pub(super) fn run(arguments: &TraceArguments) -> Outcome<Exit> {
    let session =
        Session::prepare(&arguments.capture, arguments.quantum, arguments.seed)?.share_output();
    let is_redacted = arguments.redaction.redact;
    let Place { path, readers } = Place::choose(arguments.output.as_deref(), kinds::TRACE)?;
    let interrupt = Interrupt::watch()?;
    let mut recorder = session
        .recorder(new_file(&path, readers)?, is_redacted)
        .map_err(|source| creation_failure(&path, source))?;
    let outcome = session.record(&interrupt, &path, &mut recorder);
    // The captured data are complete and are kept, whatever ended the capture.
    let finished = recorder.finish().map_err(|source| failed(&path, source));
    if let (Err(_), Ok((_, written))) = (&outcome, &finished) {
        match written.instructions {
            // Only the failure is reported.
            0 => drop(fs::remove_file(&path)),
            kept => say!(
                "the trace up to the failure is kept: {kept} instructions in {}",
                path.display()
            ),
        }
    }
    let ended = outcome?;
    ended.report(is_redacted);
    let (_, written) = finished?;
    let (instructions, switches) = (written.instructions, ended.summary.switches);
    say!(
        "{}",
        describe_written(
            &path,
            instructions,
            Some(written.references),
            Some(switches),
            Some(written.bytes)
        )
    );
    say!("{}", next_step(&path, switches));
    Ok(ended.exit())
}

/// Returns a sentence on the command that uses a new trace, or on how to trace switches if the
/// trace has none.
fn next_step(path: &Path, switches: u64) -> String {
    match switches {
        0 => "without a switch, simulate has no cost to report; trace two programs: --with COMMAND"
            .to_owned(),
        _ => format!(
            "next: switchcost simulate {}",
            as_argument(path.display().to_string())
        ),
    }
}

/// Result of a capture: its commands, its summary and the kernel's symbols.
pub(crate) struct Ended {
    pub(super) commands: Vec<Command>,
    pub(super) summary: Summary,
    /// Symbols of the captured kernel; empty if its instructions were not captured.
    pub(crate) symbols: KernelSymbols,
}

/// Programs that are captured while they run.
pub(crate) trait Live {
    /// Returns the header for a trace of the programs.
    fn header(&self) -> TraceHeader;

    /// Runs the programs to the end of the capture, and passes each chunk to `sink` with the known
    /// dependences of its loads.
    fn run(
        self,
        interrupt: &Interrupt,
        sink: impl FnMut(&mut Chunk, &Dependences) -> Outcome,
    ) -> Outcome<Ended>;
}

impl Ended {
    /// Prints notes on the run. To be called after the captured data are written.
    pub(crate) fn report(&self, is_redacted: bool) {
        let summary = &self.summary;
        for warning in &summary.warnings {
            say!("{warning}");
        }
        if let Some(reason) = &summary.no_pid_namespace {
            say!("{}", seen_numbers(reason));
        }
        if summary.switches_elsewhere > 0 {
            say!(
                "the trace omits {} switches to other tasks or to the tracer",
                summary.switches_elsewhere
            );
        }
        for (command, status) in self.commands.iter().zip(&summary.statuses) {
            if let Some(status) = status.filter(|status| !status.success()) {
                let name = redact::shown(words(command), is_redacted).join(" ");
                say!(
                    "'{name}' ended with {}",
                    switchcost_facts::limits::ending(status)
                );
            }
        }
        if summary.ending == Ending::CommandEnded {
            let is_over = |(_, status): &(&Command, &Option<ExitStatus>)| status.is_some();
            let ended = self.commands.iter().zip(&summary.statuses).find(is_over);
            let name = ended
                .map(|(command, _)| redact::shown(words(command), is_redacted).join(" "))
                .unwrap_or_default();
            say!(
                "'{name}' ended after {} switches, fewer than requested; the trace until then is kept",
                summary.switches
            );
        }
        if summary.ending == Ending::Interrupted {
            say!("interrupted before the commands ended");
        }
    }

    /// Returns the exit code for the shell: the exit code of the first command that failed, or
    /// [`Exit::Partial`] if there are warnings. A command that ended the capture early gives
    /// [`Exit::Broken`].
    pub(crate) fn exit(&self) -> Exit {
        if self.summary.ending == Ending::CommandEnded {
            return Exit::Broken;
        }
        let failed = self
            .summary
            .statuses
            .iter()
            .flatten()
            .find_map(|status| Exit::command_failure(*status));
        let own = if self.summary.warnings.is_empty() {
            Exit::Success
        } else {
            Exit::Partial
        };
        failed.unwrap_or(own)
    }
}

/// Returns the order of time slices, from the flags that determine it.
pub(crate) fn order(order: OrderFlag, quantum: u64, turn_seed: u64) -> Outcome<Order> {
    match order {
        OrderFlag::Scheduled => Ok(Order::Scheduled {
            quantum_instructions: quantum,
        }),
        OrderFlag::AsRun if (quantum, turn_seed) == (QUANTUM_INSTRUCTIONS, TURN_SEED) => {
            Ok(Order::AsRun)
        }
        OrderFlag::AsRun => Err(Failure::usage(
            "--quantum and --seed apply only with --order scheduled; leave them out",
        )),
    }
}

/// A capture that is ready to start: its commands and options.
pub(crate) struct Session {
    commands: Vec<Command>,
    options: Options,
    /// Notes for the header of the trace.
    notes: Vec<String>,
}

impl Session {
    /// Prepares a capture. A single command reads switchcost's stdin. Several commands have no
    /// stdin, because they would compete for it.
    pub(crate) fn prepare(
        arguments: &CaptureArguments,
        quantum_instructions: u64,
        turn_seed: u64,
    ) -> Outcome<Session> {
        let commands = commands(arguments)?;
        let input = if commands.len() == 1 {
            Input::Ours
        } else {
            Input::Nothing
        };
        let order = order(arguments.order, quantum_instructions, turn_seed)?;
        let mut session = Session::new(commands, order, arguments.cpu, arguments.switches)?;
        session.options.turn_seed = Some(turn_seed);
        session.options.in_pid_namespace = arguments.processes == ProcessesFlag::Own;
        session.options.input = input;
        Ok(session)
    }

    pub(crate) fn new(
        commands: Vec<Command>,
        order: Order,
        cpu: Option<CpuId>,
        switches: Option<u64>,
    ) -> Outcome<Session> {
        let cpu = Some(cpu.map_or_else(last_cpu, allowed)?);
        let options = Options {
            order,
            cpu,
            stop_after_switches: switches,
            ..Options::new(Tool::find()?)
        };
        let notes = Vec::new();
        Ok(Session {
            commands,
            options,
            notes,
        })
    }

    fn is_as_run(&self) -> bool {
        matches!(self.options.order, Order::AsRun)
    }

    /// Lets the programs write to switchcost's stdout, which is not used otherwise.
    pub(super) fn share_output(mut self) -> Session {
        self.options.output = Output::Ours;
        self
    }

    /// Discards the output of the programs of a workload, which run endlessly. The capture ends
    /// when any of them ends.
    pub(crate) fn discard_output(mut self) -> Session {
        self.options.output = Output::Nowhere;
        self.options.end_with_any = true;
        self
    }

    /// Ends time slices also at random, after `every` instructions on average.
    pub(crate) fn preempted(mut self, every: u64, seed: u64) -> Session {
        self.options.preemptions = Some(Preemptions::new(every, seed));
        self.notes
            .push(format!("turns are {}", Preemptions::words(every)));
        self
    }

    /// Begins a trace file, and starts the thread that writes the file. The thread inherits this
    /// thread's CPUs. In the kernel's own order of tasks, the thread must not use the traced CPU.
    /// In a scheduled order on two CPUs, the thread uses the traced CPU, so that both CPUs are
    /// equally busy.
    fn recorder(&self, into: File, is_redacted: bool) -> Result<Recorder<File>, WriteTraceError> {
        let _guard = match (
            self.is_as_run(),
            self.options.cpu.map(|cpu| (cpu, remaining_cpus(cpu))),
        ) {
            (true, Some((_, others))) => stay_on(&others),
            (false, Some((cpu, others))) if others.len() == 1 => pin(&[cpu]).ok(),
            _ => None,
        };
        Recorder::create(into, &redact::trace(self.header(), is_redacted))
    }

    /// Captures the programs directly into a trace file.
    fn record(
        self,
        interrupt: &Interrupt,
        path: &Path,
        recorder: &mut Recorder<File>,
    ) -> Outcome<Ended> {
        self.watch(|commands, options| {
            switchcost_capture::record(commands, options, interrupt.flag(), recorder)
                .map_err(|failure| capture_failure(failure, |source| failed(path, source)))
        })
    }

    /// Runs a capture. This thread and the threads of the capture avoid the traced CPU if there is
    /// another one.
    fn watch(
        self,
        capture: impl FnOnce(&[Command], Options) -> Outcome<Summary>,
    ) -> Outcome<Ended> {
        let _guard = self
            .options
            .cpu
            .and_then(|cpu| stay_on(&remaining_cpus(cpu)));
        let summary = capture(&self.commands, self.options)?;
        Ok(Ended {
            commands: self.commands,
            summary,
            symbols: KernelSymbols::default(),
        })
    }
}

impl Live for Session {
    fn header(&self) -> TraceHeader {
        let (order, quantum) = match self.options.order {
            Order::Scheduled {
                quantum_instructions,
            } => (TraceOrder::Scheduled, Some(quantum_instructions)),
            Order::AsRun => (TraceOrder::AsRun, None),
        };
        TraceHeader {
            quantum_instructions: quantum,
            commands: self.commands.iter().map(words).collect(),
            notes: self.notes.clone(),
            ..TraceHeader::new("valgrind", order, std::env::consts::ARCH)
        }
    }

    fn run(
        self,
        interrupt: &Interrupt,
        mut sink: impl FnMut(&mut Chunk, &Dependences) -> Outcome,
    ) -> Outcome<Ended> {
        let is_silent = matches!(self.options.output, Output::Nowhere);
        let mut captured = StreamProgress::new(is_silent, self.options.stop_after_switches);
        // The progress bar ends together with `sink`, before anything about the capture is printed.
        let sink = move |chunk: &mut Chunk, dependences: &Dependences| {
            captured.show(chunk);
            sink(chunk, dependences)
        };
        self.watch(|commands, options| {
            switchcost_capture::run(commands, options, interrupt.flag(), sink)
                .map_err(|failure| capture_failure(failure, |sink| sink))
        })
    }
}

/// Returns the words of a command as text.
pub(super) fn words(command: &Command) -> Vec<String> {
    command
        .words
        .iter()
        .map(|word| word.to_string_lossy().into_owned())
        .collect()
}

/// Returns a note on traced programs that see the machine's real process numbers.
fn seen_numbers(reason: &str) -> String {
    format!(
        "the traced programs have no PID namespace of their own ({reason}), so two traces may differ in a few \
         addresses; trace as root outside of a container, or allow user namespaces"
    )
}

pub(super) fn capture_failure<E: std::error::Error>(
    failure: switchcost_capture::Failure<E>,
    of_sink: impl FnOnce(E) -> Failure,
) -> Failure {
    match failure {
        switchcost_capture::Failure::Capture(error) => error.into(),
        switchcost_capture::Failure::Sink(error) => of_sink(error),
    }
}

pub(super) fn commands(arguments: &CaptureArguments) -> Outcome<Vec<Command>> {
    if arguments.command.is_empty() {
        return Err(Failure::usage(
            "no command is given; put it after --, such as switchcost trace -- ls",
        ));
    }
    let mut commands = vec![Command::new(arguments.command.clone())];
    for text in &arguments.with {
        let words = shlex::split(text).filter(|words| !words.is_empty());
        let words = words.ok_or_else(|| {
            Failure::usage(format!(
                "--with is empty or has an unbalanced quote: {text}; close the quote"
            ))
        })?;
        commands.push(Command::new(words.into_iter().map(OsString::from)));
    }
    Ok(commands)
}

/// Returns the allowed CPU with the highest number, because interrupts tend to go to the first
/// CPUs.
fn last_cpu() -> Outcome<CpuId> {
    let allowed = switchcost_facts::allowed_cpus(&Root::system());
    allowed.last().copied().ok_or_else(Failure::missing_cpu)
}

/// Returns the CPU named by the user; an error if this process may not use the CPU.
fn allowed(cpu: CpuId) -> Outcome<CpuId> {
    let allowed = switchcost_facts::allowed_cpus(&Root::system());
    if allowed.contains(&cpu) {
        return Ok(cpu);
    }
    let names: Vec<String> = allowed.iter().map(ToString::to_string).collect();
    Err(Failure::usage(format!(
        "CPU {cpu} does not exist or is not allowed for this process (allowed: {}); choose one of these with --cpu",
        names.join(", ")
    )))
}

/// Returns the allowed CPUs except `cpu`.
fn remaining_cpus(cpu: CpuId) -> Vec<CpuId> {
    switchcost_facts::allowed_cpus(&Root::system())
        .into_iter()
        .filter(|&other| other != cpu)
        .collect()
}

/// Restricts this thread, and threads that it starts, to some CPUs while the guard lives; `None` if
/// there are no such CPUs or the restriction fails. Without the restriction the capture is slower,
/// but equally correct.
fn stay_on(cpus: &[CpuId]) -> Option<PinGuard> {
    if cpus.is_empty() {
        None
    } else {
        pin(cpus).ok()
    }
}
