//! Exit codes, and everything that can go wrong, in words.

use std::io;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{ExitCode, ExitStatus};

use switchcost_cachesim::SimulationError;
use switchcost_capture::CaptureError;
use switchcost_design::{DesignError, HostDesignError, VaryError};
use switchcost_inject::Fault;
use switchcost_inject::service::ServiceFault;
use switchcost_measure::PlanError;
use switchcost_observe::ObserveError;
use switchcost_record::{ReadRecordError, WriteRecordError};
use switchcost_remedies::{for_reading, for_writing};
use switchcost_simulation_record::{ReadSimulationError, WriteSimulationError};
use switchcost_units::CpuId;

use crate::home::NoHome;
use crate::kinds::Kind;

/// How the program ends. The numbers are part of the interface (see the man page).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// 0: all went well; for `doctor`: fit.
    Success,
    /// 1: something broke.
    Broken,
    /// 2: the command line asks for what does not exist here, or for a new file in place of one that does.
    Usage,
    /// 3: done, with reservations: a result that could not be measured; for `doctor`: usable with caveats.
    Partial,
    /// 4: `doctor`: unfit.
    Unfit,
    /// 5: a record cannot be read.
    Record,
    /// 6: `compare`, `ab`: a cost has grown by more than was allowed.
    Grown,
    /// 128 + the signal that ended it.
    Signal(u8),
    /// That of the command that was observed or traced, and failed: as a shell has it.
    Command(u8),
}

impl Exit {
    /// How a command ended that has failed; none of one that has not.
    pub(crate) fn of_command(status: ExitStatus) -> Option<Exit> {
        let signalled = || status.signal().map(|number| 128 + number);
        let code = status.code().or_else(signalled).unwrap_or(1);
        // A code of a command is its lowest byte.
        (!status.success()).then(|| Exit::Command(u8::try_from(code).unwrap_or(1)))
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> ExitCode {
        ExitCode::from(match exit {
            Exit::Success => 0,
            Exit::Broken => 1,
            Exit::Usage => 2,
            Exit::Partial => 3,
            Exit::Unfit => 4,
            Exit::Record => 5,
            Exit::Grown => 6,
            Exit::Signal(number) => 128 + number,
            Exit::Command(code) => code,
        })
    }
}

/// Why the program ends without a result.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    #[error("failed to plan the measurement: {0}")]
    Plan(#[from] PlanError),
    #[error("failed to plan the measurement: {0}")]
    Selection(String),
    #[error("failed to write the record: {0}")]
    Write(#[from] WriteRecordError),
    #[error("failed to read the record: {0}")]
    Read(#[from] ReadRecordError),
    #[error(
        "failed to find a record: found none in {0}, need one; make one with switchcost measure, or name the file"
    )]
    NoRecord(PathBuf),
    #[error("failed to find a record: {0}, need one; name the file")]
    NowhereToLook(NoHome),
    #[error(
        "failed to find records: found no file in {0} that ends in .jsonl or .parquet and no .json of observe, need one or more \
             records of measure, simulate or observe"
    )]
    NoRecords(PathBuf),
    #[error(
        "failed to compare: found the same run {place}, as {first} and {second}, need different runs, since a copy shows \
             neither a difference nor the spread between runs; leave one of them out"
    )]
    SameRun {
        place: String,
        first: PathBuf,
        second: PathBuf,
    },
    #[error(
        "failed to compare: found {} of {} and {} of {}, need records of one kind; name those",
        .first.display(), .first_kind, .second.display(), .second_kind
    )]
    MixedKinds {
        first: PathBuf,
        first_kind: Kind,
        second: PathBuf,
        second_kind: Kind,
    },
    #[error(
        "failed to write the result to {path}: {source}, {}",
        for_writing(.source, "another place")
    )]
    Output { path: PathBuf, source: io::Error },
    #[error(
        "failed to make a page: need a result of measure, runtimes, observe, inject, simulate or compare; choose another --format"
    )]
    NoPage,
    #[error(
        "failed to write the trace {0}: found a file of that name, need a name that is free, since a trace is never \
             overwritten; choose another with -o"
    )]
    Taken(PathBuf),
    #[error(
        "failed to write the result to {0}: found one of the records under that name, need another, since a record is \
             never overwritten; choose another with -o"
    )]
    OverRecord(PathBuf),
    #[error(
        "failed to start: found {path} as the place of both {first} and {second}, need a file for each, since one would replace the \
             other; name another with {second}"
    )]
    SameOutput {
        first: &'static str,
        second: &'static str,
        path: PathBuf,
    },
    #[error(
        "failed to print the result: found {0} records, need one for --format json or csv, --folded and --pprof; name \
             one, or leave them out"
    )]
    OneRecord(usize),
    #[error(
        "failed to draw the figures: found no Chromium in PATH ({names}), need one to make PNG and SVG; install it (sudo \
             apt-get install chromium). The tables are in {folder}"
    )]
    NoBrowser { names: String, folder: PathBuf },
    #[error(
        "failed to draw the figures: found {found}, need {needed}; try it again, or open the page of -o in a browser"
    )]
    Pictures { found: String, needed: String },
    #[error("failed to make the site in {path}: {source}, {}", for_writing(.source, "another with -o"))]
    Site { path: PathBuf, source: io::Error },
    #[error("failed to read another result, {path}: {why}")]
    OtherResult { path: PathBuf, why: String },
    #[error("failed to print the result: {0}, {remedy}", remedy = for_writing(.0, "another place for it"))]
    Print(io::Error),
    #[error("failed to find a place for the record: {0}; choose one with --record")]
    NoPlace(String),
    #[error(
        "failed to watch for signals: {0}, need the right to handle them; is there a filter of system calls (seccomp)?"
    )]
    Signals(io::Error),
    #[error("failed to look at processes: {0}")]
    ForeignProc(io::Error),
    #[error("failed to open {path}: {source}, {}", for_reading(.source, "a file that can be read"))]
    Open { path: PathBuf, source: io::Error },
    #[error("failed to open the folder {path}: {source}, {}", for_reading(.source, "a folder of records that can be read"))]
    OpenFolder { path: PathBuf, source: io::Error },
    #[error("failed to read the trace {path}: {source}")]
    ReadTrace {
        path: PathBuf,
        source: switchcost_trace::ReadTraceError,
    },
    #[error("failed to write the trace {path}: {source}")]
    WriteTrace {
        path: PathBuf,
        source: switchcost_trace::WriteTraceError,
    },
    #[error("failed to make a trace of walks: {0}")]
    Walks(#[from] switchcost_workload::UnfitWorkingSet),
    #[error("failed to make a trace of walks: {0}")]
    Turns(String),
    #[error("failed to import {path}: {source}")]
    Import {
        path: PathBuf,
        source: switchcost_trace::ImportError,
    },
    #[error(
        "failed to use {0}: found no instruction in it, need at least one; is it the right file?"
    )]
    Empty(PathBuf),
    #[error("failed to capture: {0}")]
    Capture(#[from] switchcost_capture::CaptureError),
    #[error("failed to capture: {0}")]
    Tool(#[from] switchcost_capture::ToolError),
    #[error(
        "failed to capture: found --cpu {0}, need one of the CPUs allowed to this process ({1}); name one of them"
    )]
    NotAllowed(CpuId, String),
    #[error(
        "failed to capture: found no CPU allowed to this process in /proc/self/status, need to read that file; mount /proc, \
         and let the process open more files (ulimit -n)"
    )]
    NoCpu,
    #[error("{0}")]
    Observe(#[from] switchcost_observe::ObserveError),
    #[error("failed to trace switches one by one: {0}")]
    NoEvents(String),
    #[error("failed to write stacks of tasks and causes: {0}")]
    NoStacks(String),
    #[error(
        "--live needs a terminal, and {0}; for a line of JSON each second use --every 1s, for one report leave out --live"
    )]
    NoTerminal(String),
    #[error(
        "--every prints lines of JSON, not --format {0}; leave out --format, or write --format jsonl"
    )]
    LinesFormat(switchcost_report::Format),
    #[error(
        "failed to listen on {address}: {why}, need an address of this machine and a port that is free; choose another with --listen"
    )]
    Listen {
        address: std::net::SocketAddr,
        why: String,
    },
    #[error("failed to inject: {0}")]
    Inject(#[from] switchcost_inject::Fault),
    #[error("failed to inject: {0}")]
    Service(#[from] switchcost_inject::service::ServiceFault),
    #[error("failed to inject: found {found}, need {needed}; {fix}")]
    CannotInject {
        found: String,
        needed: String,
        fix: String,
    },
    #[error(
        "failed to print the manual: found no verb '{0}', need one that switchcost --help lists"
    )]
    NoVerb(String),
    #[error(
        "failed to capture: found no command, need one after --, such as switchcost trace -- ls"
    )]
    NoCommand,
    #[error(
        "failed to simulate: found no trace, need a file written by switchcost trace, or live and a command after --"
    )]
    NoTrace,
    #[error(
        "failed to simulate: found a command or a flag for capturing beside a trace, need one or the other; write \
         live in place of the trace to capture and simulate at once"
    )]
    NotLive,
    #[error(
        "failed to simulate: found --schedule or --at-once with live, need a trace to play again; write one with switchcost trace, or leave it \
             out"
    )]
    LiveSchedule,
    #[error(
        "failed to simulate a part: found a part (--range, --sample or --warm-up) with live, need a trace, which is read by its index; \
             write one with switchcost trace"
    )]
    LivePart,
    #[error(
        "failed to simulate: found --warm-up without a part, need --range or --sample with it; leave it out for all of the trace"
    )]
    WarmUpOfNothing,
    #[error(
        "failed to simulate a part of {path}: found {from}..{end}, need a part of its {instructions} instructions, the first of which is 0; \
             choose one that ends there or before",
        end = .to.map(|to| to.to_string()).unwrap_or_default()
    )]
    NoPart {
        path: PathBuf,
        from: u64,
        to: Option<u64>,
        instructions: u64,
    },
    #[error(
        "failed to take a sample of {path}: found {found} instructions, need {needed} for enough parts that are long enough; simulate all of \
             it, or choose a larger share"
    )]
    SmallSample {
        path: PathBuf,
        found: u64,
        needed: u64,
    },
    #[error(
        "failed to simulate: found --record with --sample, which keeps no record; use -o FILE.json for its numbers"
    )]
    RecordOfSample,
    #[error(
        "failed to share the last level of {0}: {1}; choose a design such as mogul-2a, or plain-lru"
    )]
    LastLevel(String, switchcost_cachesim::NoLastLevel),
    #[error(
        "failed to simulate: found {0} with live, need one number of instructions; write a trace to try several"
    )]
    LiveQuantum(String),
    #[error(
        "failed to convert a quantum of {0}: found {1}, need designs with one cycle to know its instructions; name a number of \
             instructions, or one design"
    )]
    QuantumTime(switchcost_units::Nanos, String),
    #[error(
        "failed to choose a place for the records: found --record with {0} simulations, need one; leave it out: they are kept in the \
             usual folder"
    )]
    RecordOfSeveral(usize),
    #[error(
        "failed to simulate {0} traces: found another order or a shared last level, need traces alone; \
             simulate them one by one"
    )]
    SeveralTraces(usize),
    #[error(
        "failed to find the design '{0}': found no shipped one and no file of that name, need one of {1}, host, or a TOML file"
    )]
    NoDesign(String, String),
    #[error("failed to read the design: {0}")]
    Design(Box<DesignError>),
    #[error(
        "failed to read the design: {path}: found no UTF-8 at byte {at}, need a TOML file, which is UTF-8 from the first byte to \
             the last; save it as UTF-8 (from Latin-1: iconv -f latin1 -t utf-8), or name another file"
    )]
    DesignEncoding { path: PathBuf, at: usize },
    #[error("failed to vary the design: {0}")]
    Vary(Box<VaryError>),
    #[error("failed to choose designs: found two named '{0}', need names that differ; rename one")]
    SameDesign(String),
    #[error("failed to make the design of this machine: {0}")]
    HostDesign(HostDesignError),
    #[error("failed to simulate: {0}")]
    Simulate(#[from] SimulationError),
    #[error("failed to write the record: {0}")]
    WriteSimulation(#[from] WriteSimulationError),
    #[error("failed to read the record: {0}")]
    ReadSimulation(#[from] ReadSimulationError),
    #[error("failed to set up the programs: {0}")]
    Programs(#[from] switchcost_programs::PrepareError),
    #[error("failed to set up the programs: found no temporary folder ({0}), {remedy}", remedy = for_writing(.0, "another place with TMPDIR"))]
    Folder(io::Error),
    #[error("failed to run this program again: {0}, {remedy}", remedy = for_reading(.0, "/proc and this program's own file in it"))]
    OwnFile(io::Error),
    #[error(
        "failed to capture: found '{0}' after --with, need a command as typed in a shell, with quotes closed"
    )]
    With(String),
    #[error(
        "failed to compare: found {found} folders of records or records in {folder}, need two or more states, each with a folder or a record of \
             its own; measure another into {folder}/NAME"
    )]
    FewStates { folder: PathBuf, found: usize },
    #[error(
        "failed to compare: found {kind} in {path}, need records of measure for --history; take it out of the folder"
    )]
    NotOfHistory { path: PathBuf, kind: Kind },
    #[error(
        "failed to report {0}: found a record of another kind, need one of measure for --history; leave out --history"
    )]
    HistoryOfOther(String),
    #[error(
        "failed to plan the runs: found behind -- what is no flag of measure, need its flags:\n{0}"
    )]
    FlagsOfMeasure(String),
    #[error(
        "failed to plan the runs: found --{0} behind --, need flags that say what to measure and how: ab keeps and prints what runs find"
    )]
    NotForRuns(&'static str),
    #[error(
        "failed to measure {side}: found {found}, need a set-up and a run that end well; what it printed is in {log}: {quoted}"
    )]
    SideFailed {
        side: &'static str,
        found: String,
        quoted: String,
        log: PathBuf,
    },
    #[error("failed to export: {0}")]
    UnfitPiece(#[from] switchcost_trace::UnfitPiece),
    #[error(
        "failed to export: found --pieces with --to lackey, need it with --to din only: lackey's lines have sizes"
    )]
    Pieces,
    #[error(
        "failed to import: found --cpu with --from {0}, need it with --from drmemtrace only: {0} names no CPUs"
    )]
    NoCpus(String),
    #[error(
        "failed to import {0}: found when which thread ran where, need the threads themselves: the *.trace files beside it, or the \
         folder that holds them, which say it, too"
    )]
    Schedule(PathBuf),
    #[error(
        "failed to import {path}: found a folder without *.trace files, need those that drmemtrace writes after its post-processing\
         {}", if *.is_raw { ": drrun -t drmemtrace -indir FOLDER -tool basic_counts makes them of its raw files" } else { "" }
    )]
    NoThreads { path: PathBuf, is_raw: bool },
    #[error(
        "failed to import {path}: found a file that cannot be unpacked ({source}), need a zip file that is whole"
    )]
    Unzip {
        path: PathBuf,
        source: std::io::Error,
    },
    #[error(
        "failed to export: found no block of process {process} in {path}, need one of those that switchcost trace info lists"
    )]
    NoProcess {
        path: PathBuf,
        process: switchcost_trace::ProcessId,
    },
}

impl Failure {
    /// A process runs somewhere: if no CPU is allowed to it, what says which could not be read.
    pub(crate) fn no_cpu_allowed() -> Failure {
        let found = "found no CPU allowed to this process in /proc/self/status, need one";
        Failure::Selection(format!(
            "{found}; mount /proc if it is not there (sudo mount -t proc proc /proc)"
        ))
    }

    /// What is neither the usage's fault nor a record's is the machine's.
    pub(crate) fn exit(&self) -> Exit {
        if self.is_of_usage() {
            Exit::Usage
        } else if self.is_of_a_record() {
            Exit::Record
        } else {
            Exit::Broken
        }
    }

    fn is_of_usage(&self) -> bool {
        matches!(
            self,
            Failure::Plan(_)
                | Failure::Selection(_)
                | Failure::Walks(_)
                | Failure::Turns(_)
                | Failure::NoCommand
                | Failure::NotAllowed(..)
                | Failure::NoCpu
                | Failure::NoVerb(_)
                | Failure::FlagsOfMeasure(_)
                | Failure::FewStates { .. }
                | Failure::NotForRuns(_)
                | Failure::OverRecord(_)
                | Failure::SameOutput { .. }
                | Failure::Taken(_)
                | Failure::Write(WriteRecordError::Exists(_))
                | Failure::WriteSimulation(WriteSimulationError::Exists(_))
                | Failure::OneRecord(_)
                | Failure::HistoryOfOther(_)
                | Failure::SameRun { .. }
                | Failure::MixedKinds { .. }
                | Failure::With(_)
                | Failure::UnfitPiece(_)
                | Failure::Pieces
                | Failure::NoCpus(_)
                | Failure::NoProcess { .. }
                | Failure::NoTrace
                | Failure::NotLive
                | Failure::NoStacks(_)
                | Failure::Observe(
                    ObserveError::Subject(_)
                        | ObserveError::NoCommand
                        | ObserveError::Start { .. }
                        | ObserveError::Requests { .. },
                )
                | Failure::LiveSchedule
                | Failure::LivePart
                | Failure::WarmUpOfNothing
                | Failure::NoPart { .. }
                | Failure::SmallSample { .. }
                | Failure::RecordOfSample
                | Failure::LastLevel(..)
                | Failure::LiveQuantum(_)
                | Failure::QuantumTime(..)
                | Failure::RecordOfSeveral(_)
                | Failure::SeveralTraces(_)
                | Failure::Listen { .. }
                | Failure::NoTerminal(_)
                | Failure::LinesFormat(_)
                | Failure::NoDesign(..)
                | Failure::Design(_)
                | Failure::DesignEncoding { .. }
                | Failure::Vary(_)
                | Failure::SameDesign(_)
                | Failure::HostDesign(_)
                | Failure::Capture(CaptureError::Unfit { .. } | CaptureError::NoCommand)
                | Failure::Inject(Fault::NoCommand | Fault::NotRun { .. } | Fault::GainsRights(_))
                | Failure::Service(ServiceFault::NoProcess(_))
        )
    }

    fn is_of_a_record(&self) -> bool {
        matches!(
            self,
            Failure::Read(_)
                | Failure::NoRecord(_)
                | Failure::NowhereToLook(_)
                | Failure::NoRecords(_)
                | Failure::Open { .. }
                | Failure::OpenFolder { .. }
                | Failure::ReadTrace { .. }
                | Failure::Import { .. }
                | Failure::Schedule(_)
                | Failure::NoThreads { .. }
                | Failure::Unzip { .. }
                | Failure::ReadSimulation(_)
                | Failure::Empty(_)
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_that_would_replace_another_is_a_mistake_of_usage() {
        let path = || PathBuf::from("there");
        for failure in [
            Failure::Write(WriteRecordError::Exists(path())),
            Failure::WriteSimulation(WriteSimulationError::Exists(path())),
        ] {
            assert_eq!(failure.exit(), Exit::Usage, "{failure}");
        }
    }

    #[test]
    fn a_command_that_fails_ends_us_as_it_would_have_ended_for_a_shell() {
        // As wait(2) has it: the code in the second byte, or else the signal.
        for (status, exit) in [
            (0, None),
            (1 << 8, Some(Exit::Command(1))),
            (255 << 8, Some(Exit::Command(255))),
            (9, Some(Exit::Command(137))),
            (11 | 0x80, Some(Exit::Command(139))),
        ] {
            assert_eq!(
                Exit::of_command(ExitStatus::from_raw(status)),
                exit,
                "{status:#x}"
            );
        }
    }
}
