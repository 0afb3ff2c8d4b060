//! Messages in the pipe from the supervisor to its parent. The supervisor's side makes only system
//! calls.

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;

use rustix::io::Errno;

use super::pid_namespace::Step;
use super::program::Report;

pub(super) const BYTES: usize = 12;

pub(super) const LAUNCHED: u32 = 1;
pub(super) const REFUSED: u32 = 2;
pub(super) const ENDED: u32 = 3;
/// Kind of the first report, which says whether the supervisor could be set up. The report's
/// `program` is the step that was refused. Its value is the error number, or 0 if no step was
/// refused.
pub(super) const SETTLED: u32 = 4;

/// Sends one report to the parent.
pub(super) fn send(to: &OwnedFd, kind: u32, program: u32, value: i32) -> rustix::io::Result<()> {
    let mut bytes = [0; BYTES];
    bytes[..4].copy_from_slice(&kind.to_le_bytes());
    bytes[4..8].copy_from_slice(&program.to_le_bytes());
    bytes[8..].copy_from_slice(&value.to_le_bytes());
    rustix::io::write(to, &bytes)?;
    Ok(())
}

/// Reports that the kernel refused to start a program.
pub(super) fn send_refusal(to: &OwnedFd, program: u32, error: Errno) -> rustix::io::Result<()> {
    send(to, REFUSED, program, error.raw_os_error())
}

fn numbers(bytes: [u8; BYTES]) -> (u32, u32, i32) {
    let u32_at =
        |at: usize| u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
    (u32_at(0), u32_at(4), u32_at(8) as i32)
}

/// Checks the first report. Fails if a step of the supervisor's set-up was refused.
pub(super) fn settled(bytes: [u8; BYTES]) -> io::Result<()> {
    match numbers(bytes) {
        (SETTLED, _, 0) => Ok(()),
        (_, step, error) => Err(Step::decode(step).refused(Errno::from_raw_os_error(error))),
    }
}

pub(super) fn decode(bytes: [u8; BYTES]) -> Report {
    let (kind, program, value) = numbers(bytes);
    match kind {
        LAUNCHED => Report::Launched {
            program,
            pid: value,
        },
        REFUSED => Report::Refused {
            program,
            error: value,
        },
        _ => Report::Ended {
            program,
            status: ExitStatus::from_raw(value),
        },
    }
}
