//! Runs programs in a guest and keeps what it did, its kernel included.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

use capture::{CaptureError, Command, GuestError, GuestSummary, Kernel, Package, Parts, System};
use trace::{Recorder, TraceHeader, TraceOrder};

use super::capture::{commands, failed, new_file, not_begun, of_capture, words};
use crate::cli::system::SystemArguments;
use crate::cli::trace::TraceArguments;
use crate::exit::{Exit, Failure};
use crate::messages::say;
use crate::runs;
use crate::signals::Interrupt;

pub(super) fn run(arguments: &TraceArguments) -> Result<Exit, Failure> {
    let commands = commands(&arguments.capture)?;
    let system = system(&arguments.system).map_err(CaptureError::from)?;
    let path = arguments.output.clone().map_or_else(|| runs::new_file("trace.sct"), Ok)?;
    let interrupt = Interrupt::watch()?;
    let recorder = Recorder::create(new_file(&path)?, &header(&commands)).map_err(|source| not_begun(&path, source))?;
    let captured = capture(&commands, &system, &interrupt, &path, recorder);
    // Half a trace of a guest that failed is of no use, and holds the name.
    let (summary, bytes) = captured.inspect_err(|_| drop(fs::remove_file(&path)))?;
    tell(&commands, &summary, bytes, &path);
    Ok(exit(&summary, &interrupt))
}

fn capture(
    commands: &[Command],
    system: &System,
    interrupt: &Interrupt,
    path: &Path,
    mut recorder: Recorder<fs::File>,
) -> Result<(GuestSummary, u64), Failure> {
    let summary = capture::record_system(commands, system, interrupt.flag(), &mut recorder)
        .map_err(|failure| of_capture(failure, |source| failed(path, source)))?;
    let (_, written) = recorder.finish().map_err(|source| failed(path, source))?;
    if written.instructions == 0 {
        // It was interrupted while the guest booted.
        let _ = fs::remove_file(path);
    }
    Ok((summary, written.bytes))
}

fn tell(commands: &[Command], summary: &GuestSummary, bytes: u64, path: &Path) {
    for output in &summary.outputs {
        // A reader that has gone wants no more.
        let _ = std::io::stdout().write_all(output);
    }
    for warning in &summary.warnings {
        say!("{warning}");
    }
    for (command, status) in commands.iter().zip(&summary.statuses).filter(|(_, status)| !status.success()) {
        say!("'{}' ended with {status}", words(command).join(" "));
    }
    if summary.is_interrupted && summary.instructions == 0 {
        say!("interrupted before the programs began; nothing was captured");
        return;
    }
    if summary.is_interrupted {
        say!("interrupted; what was captured until then is kept");
    }
    say!(
        "{} instructions and {} switches of a guest in {} ({:.3} B an instruction)",
        summary.instructions,
        summary.switches,
        path.display(),
        bytes as f64 / summary.instructions.max(1) as f64
    );
}

fn exit(summary: &GuestSummary, interrupt: &Interrupt) -> Exit {
    let has_reservations = !summary.warnings.is_empty() || summary.statuses.iter().any(|status| !status.success());
    let usual = if has_reservations { Exit::Reservations } else { Exit::Success };
    interrupt.exit().unwrap_or(usual)
}

/// No quantum: the guest's own scheduler has it.
fn header(commands: &[Command]) -> TraceHeader {
    TraceHeader {
        commands: commands.iter().map(words).collect(),
        ..TraceHeader::new("qemu", TraceOrder::AsRun, std::env::consts::ARCH)
    }
}

fn system(arguments: &SystemArguments) -> Result<System, GuestError> {
    let parts = Parts::find()?;
    let kernel = kernel(arguments, &parts)?;
    Ok(System {
        parts,
        kernel,
        append: arguments.append.clone(),
        memory: arguments.memory,
        slice: arguments.slice.map(|slice| Duration::from_nanos(slice.0)),
        halvings: arguments.mips.0,
        seconds: arguments.seconds,
        files: arguments.files.clone(),
    })
}

/// A file that is there is an image; any other word names a package.
fn kernel(arguments: &SystemArguments, parts: &Parts) -> Result<Kernel, GuestError> {
    let Some(named) = &arguments.kernel else {
        return capture::find_kernel(&[parts.folder.join("kernel/boot")]);
    };
    let image = PathBuf::from(named);
    if image.is_file() {
        return Ok(Kernel { image });
    }
    capture::fetch(&Package { name: named.to_string_lossy().into_owned() }, &kernels_folder())
}

/// Kernels that were downloaded, for the next time.
fn kernels_folder() -> PathBuf {
    let of_variable = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let cache = of_variable("XDG_CACHE_HOME").or_else(|| Some(of_variable("HOME")?.join(".cache")));
    cache.unwrap_or_else(std::env::temp_dir).join("switchcost/kernels")
}
