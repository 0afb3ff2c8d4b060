//! Captures a whole guest under QEMU: its programs and its kernel, on one virtual CPU.
//!
//! The input is commands, and a kernel to run them on. The guest gets the kernel, an archive of the
//! files that the commands need from this machine (`archive`, `needs`), and a first process,
//! `capture/qemu/init.c`, which starts the commands. The output is the same as that of
//! [`crate::record`]: a plugin in QEMU writes into the same kind of shared memory as the Valgrind
//! tool, and the same decoder reads it.
//!
//! QEMU counts instructions for time (`-icount`), so the same guest behaves the same each time.

mod archive;
mod files;
mod guest;
mod kernel;
mod libraries;
mod needs;
mod parts;
mod programs;
mod python;
mod qemu;
mod report;
mod starts;

use std::fs::File;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::time::{Duration, Instant};

use switchcost_trace::{Chunk, KernelSymbols, Recorder, WriteTraceError};
use switchcost_units::Bytes;

use crate::command::Command;
use crate::consume::{Read, consume_beside};
use crate::control::Ending;
use crate::decode::{Chunks, Decoder, Refused, Take};
use crate::end_flags::EndFlags;
use crate::error::{CaptureError, Failure};
use crate::guest_error::GuestError;
use crate::protocol::{self, header};
use crate::ring::Ring;
use crate::run::hand_on;
pub use kernel::{Kernel, Package, fetch, find_kernel};
pub use parts::Parts;
use qemu::Machine;
use report::Report;

/// Description of a guest and of the programs that are captured in the guest.
#[derive(Clone, Debug)]
pub struct System {
    /// Files of this program for guests: the QEMU plugins and the first process.
    pub parts: Parts,
    /// Image of the kernel to boot.
    pub kernel: Kernel,
    /// Words to be added to the kernel's command line.
    pub append: Option<String>,
    /// Memory of the guest; `None` for 384 MiB plus three times the size of its archive of files.
    pub memory: Option<Bytes>,
    /// Length of a time slice of the guest's scheduler; `None` for the kernel's default.
    pub slice: Option<Duration>,
    /// Number of times that the guest's rate of 10^9 instructions per second is halved (QEMU's
    /// `-icount shift`).
    pub icount_shift: u32,
    /// Time after which the guest's programs are ended, in seconds of the guest's time.
    pub seconds: u64,
    /// Number of switches after which the capture ends; `None` for no limit.
    pub stop_after_switches: Option<u64>,
    /// Whether each program stops itself (SIGSTOP) when it is ready and again when it is done, so
    /// that only the part between is captured.
    pub is_between_stops: bool,
    /// Further files and programs of this machine that the commands need.
    pub files: Vec<PathBuf>,
    /// Folders of this machine that get another path in the guest.
    pub folders: Vec<PlacedFolder>,
    /// Whether the trace records the physical addresses of used pages.
    pub has_pages: bool,
}

/// A folder of this machine that gets another path in the guest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlacedFolder {
    /// Path of the folder on this machine.
    pub here: PathBuf,
    /// Path of the folder in the guest.
    pub there: PathBuf,
}

impl System {
    /// Returns the guest's kernel command line. If two words contradict each other, the last one
    /// counts.
    pub fn command_line(&self) -> String {
        self.append
            .iter()
            .fold(qemu::COMMAND_LINE.to_owned(), |line, more| {
                format!("{line} {more}")
            })
    }

    /// Returns the number of instructions per second of the guest's time.
    pub fn instructions_per_second(&self) -> u64 {
        1_000_000_000 >> self.icount_shift
    }
}

/// Totals of a guest's capture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GuestSummary {
    /// Why the capture ended.
    pub ending: Ending,
    /// Number of switches away from a task; a switch from the idle task is not one.
    pub switches: u64,
    /// Number of instructions in the trace.
    pub instructions: u64,
    /// Time of the guest during the recording, in nanoseconds: QEMU's count of instructions, plus
    /// the time for which all tasks slept; 0 if the capture ended before the guest did.
    pub guest_ns: u64,
    /// Exit status of each command, as from `wait`; empty if commands were ended with the capture,
    /// in which case `outputs` is empty, too.
    pub statuses: Vec<std::process::ExitStatus>,
    /// Output of each command to standard output and standard error.
    pub outputs: Vec<Vec<u8>>,
    /// Symbols of the kernel; empty if the guest could not list them.
    pub symbols: KernelSymbols,
    /// Warnings for the reader of the trace.
    pub warnings: Vec<String>,
}

const TIMEOUT: Duration = Duration::from_millis(50);
/// Longest time for booting. Booting usually takes two or three seconds of CPU time.
const LONGEST_BOOT: Duration = Duration::from_secs(180);
/// Longest time without progress, after which the guest counts as hung. QEMU skips the time for
/// which all tasks sleep.
const LONGEST_PAUSE: Duration = Duration::from_secs(120);

/// Runs the commands together in a guest until all have ended. Passes all executed code, the
/// kernel's included, to `sink` on the calling thread, as [`crate::run()`] does. When this returns,
/// QEMU is gone.
///
/// # Errors
///
/// If the guest cannot be made or fails, the system refuses an operation, or the sink fails.
pub fn run_system<E: std::error::Error + 'static>(
    commands: &[Command],
    system: &System,
    stop: &AtomicBool,
    mut sink: impl FnMut(&mut Chunk) -> Result<(), E>,
) -> Result<GuestSummary, Failure<E>> {
    hand_on(
        |chunk, _| sink(chunk),
        |chunks| capture_chunks(commands, system, stop, chunks),
    )
}

fn capture_chunks(
    commands: &[Command],
    system: &System,
    stop: &AtomicBool,
    chunks: &mut Chunks<'_>,
) -> Result<GuestSummary, Failure<Refused>> {
    capture(commands, system, stop, chunks)
}

/// Runs the commands in a guest as [`run_system`] does, and writes the trace directly.
///
/// # Errors
///
/// As [`run_system`].
pub fn record_system(
    commands: &[Command],
    system: &System,
    stop: &AtomicBool,
    recorder: &mut Recorder<File>,
) -> Result<GuestSummary, Failure<WriteTraceError>> {
    capture(commands, system, stop, recorder)
}

fn capture<T: Take<Error: std::error::Error + 'static>>(
    commands: &[Command],
    system: &System,
    stop: &AtomicBool,
    take: &mut T,
) -> Result<GuestSummary, Failure<T::Error>> {
    let ring = Ring::create(protocol::SYSTEM)?;
    let has_all = AtomicBool::new(false);
    let decoder = Decoder::new(Vec::new(), take)
        .expect_system()
        .up_to(system.stop_after_switches);
    let mut reader = Telling {
        decoder,
        has_all: &has_all,
    };
    let end_flags = EndFlags::default();
    let guest = guest::Guest::new(commands, system)?;
    let machine = Machine::start(&guest, system, &ring).map_err(CaptureError::from)?;
    let Kept {
        report,
        symbols,
        preemption,
    } = consume_beside(&ring, &end_flags, &mut reader, || {
        keep(machine, &ring, &end_flags, [stop, &has_all])
    })?
    .map_err(CaptureError::from)?;
    let mut decoder = reader.decoder;
    decoder.flush().map_err(Failure::Sink)?;
    let ended = GuestSummary {
        ending: Ending::Finished,
        switches: decoder.switches(),
        instructions: decoder.instructions(),
        guest_ns: 0,
        statuses: Vec::new(),
        outputs: Vec::new(),
        symbols,
        warnings: preemption
            .and_then(|offered| explain_missing_preemption(&system.command_line(), &offered))
            .into_iter()
            .chain(guest.remarks)
            .collect(),
    };
    Ok(match report {
        _ if decoder.has_all() => GuestSummary {
            ending: Ending::SwitchLimit,
            ..ended
        },
        None => GuestSummary {
            ending: Ending::Interrupted,
            ..ended
        },
        Some(report) => {
            // The kernel counts switches from the idle task, too. The first switch mark only names
            // the task that runs when the recording begins.
            let seen = decoder.count_all_switches().saturating_sub(1);
            let warnings = [ended.warnings, report.warnings(seen, system.seconds)].concat();
            let Report {
                statuses,
                outputs,
                nanoseconds,
                ..
            } = report;
            GuestSummary {
                guest_ns: nanoseconds,
                statuses,
                outputs,
                warnings,
                ..ended
            }
        }
    })
}

/// Returns a message if the command line asks for a preemption model (`preempt=`) that is not among
/// the `offered` ones. The kernel gives no warning itself.
fn explain_missing_preemption(command_line: &str, offered: &str) -> Option<String> {
    let wanted = command_line
        .split_whitespace()
        .rev()
        .find_map(|word| word.strip_prefix("preempt="))?;
    let what = match offered {
        "" => "it cannot choose any".to_owned(),
        _ if offered.contains(&format!("({wanted})")) => return None,
        _ => format!("it offers {offered}, and was started with the one in brackets"),
    };
    Some(format!(
        "the guest's kernel has no preempt={wanted}: {what}"
    ))
}

/// Receiver that stops the guest when it wants no more blocks.
struct Telling<'a, 'b, T> {
    decoder: Decoder<'a, T>,
    has_all: &'b AtomicBool,
}

impl<T: Take<Error: std::error::Error + 'static>> Read for Telling<'_, '_, T> {
    type Error = T::Error;

    fn buffer(&mut self, order: u64, words: &[AtomicU64]) -> Result<(), Failure<T::Error>> {
        self.decoder.buffer(order, words)?;
        self.has_all.store(self.decoder.has_all(), SeqCst);
        Ok(())
    }

    fn use_time(&mut self) -> bool {
        self.decoder.use_time()
    }
}

/// Results of a guest that has ended.
struct Kept {
    /// Report of the guest; `None` if it did not end by itself.
    report: Option<Report>,
    symbols: KernelSymbols,
    preemption: Option<String>,
}

/// Waits until the guest ends, or ends it when a flag is set. When this returns, QEMU has ended,
/// and the stream of records is complete.
fn keep(
    mut machine: Machine,
    ring: &Ring,
    end_flags: &EndFlags,
    stop: [&AtomicBool; 2],
) -> Result<Kept, GuestError> {
    let outcome = watch(&mut machine, ring, end_flags, stop);
    ring.u32_at(header::IS_CLOSING).store(1, SeqCst);
    machine.dismiss();
    end_flags.finish();
    ring.notify_submission();
    let report = if outcome? {
        Some(machine.report()?)
    } else {
        None
    };
    Ok(Kept {
        report,
        symbols: machine.symbols(),
        preemption: machine.preemption(),
    })
}

/// Waits until the guest ends or a flag is set. Returns whether the guest ended by itself.
fn watch(
    machine: &mut Machine,
    ring: &Ring,
    end_flags: &EndFlags,
    stop: [&AtomicBool; 2],
) -> Result<bool, GuestError> {
    let mut is_ready = false;
    let mut progress = 0;
    let mut since = Instant::now();
    loop {
        if machine.has_ended(TIMEOUT)? {
            return Ok(true);
        }
        if stop.iter().any(|flag| flag.load(SeqCst)) || end_flags.is_aborted() {
            return Ok(false);
        }
        is_ready = is_ready || machine.is_ready();
        let now = ring.u64_at(header::NEXT_ORDER).load(SeqCst) + machine.written();
        if now != progress && is_ready {
            (progress, since) = (now, Instant::now());
        }
        if since.elapsed()
            > if is_ready {
                LONGEST_PAUSE
            } else {
                LONGEST_BOOT
            }
        {
            return Err(machine.hung(is_ready));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn preemption_that_is_not_offered_is_reported() {
        assert_eq!(
            explain_missing_preemption("quiet preempt=full", "none voluntary (full)"),
            None
        );
        assert_eq!(
            explain_missing_preemption("quiet", "none (voluntary) full"),
            None
        );
        assert_eq!(
            explain_missing_preemption("preempt=lazy preempt=none", "(none) voluntary full"),
            None,
            "the last counts"
        );
        assert_eq!(
            explain_missing_preemption("preempt=none preempt=lazy", "(none) voluntary full")
                .as_deref(),
            Some(
                "the guest's kernel has no preempt=lazy: it offers (none) voluntary full, and was started with the one in brackets"
            )
        );
        assert_eq!(
            explain_missing_preemption("preempt=full", "").as_deref(),
            Some("the guest's kernel has no preempt=full: it cannot choose any")
        );
    }
}
