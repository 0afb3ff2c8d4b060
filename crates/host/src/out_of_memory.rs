//! Ends the program with a message if an allocation fails. The message names the limits that apply
//! and a remedy.

use std::alloc::{GlobalAlloc, Layout, System};
use std::fmt::{self, Write};

use rustix::fs::{Mode, OFlags};
use rustix::process::{Resource, getrlimit};
use rustix::termios::LocalModes;

use crate::cleanup_steps::AS_BEFORE;

/// The system's allocator, with a message if no memory is left.
#[derive(Clone, Copy, Debug, Default)]
pub struct ReportingAllocator;

// SAFETY: passes everything on to the system's allocator, and does not return if that has failed.
unsafe impl GlobalAlloc for ReportingAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller guarantees the same conditions.
        given(unsafe { System.alloc(layout) }, layout.size())
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller guarantees the same conditions.
        given(unsafe { System.alloc_zeroed(layout) }, layout.size())
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: the caller guarantees the same conditions.
        given(unsafe { System.realloc(memory, layout, size) }, size)
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: the caller guarantees the same conditions.
        unsafe { System.dealloc(memory, layout) }
    }
}

fn given(memory: *mut u8, bytes: usize) -> *mut u8 {
    if memory.is_null() { end(bytes) } else { memory }
}

#[cold]
fn end(bytes: usize) -> ! {
    let mut line = Line::default();
    let limits = [Resource::As, Resource::Data].map(|limit| getrlimit(limit).current);
    let _ = describe(&mut line, bytes, limits, is_commitment_strict());
    // A message in the alternate screen would not be seen.
    let modes = rustix::termios::tcgetattr(rustix::stdio::stderr());
    if modes.is_ok_and(|modes| !modes.local_modes.contains(LocalModes::ICANON)) {
        let _ = rustix::io::write(rustix::stdio::stderr(), AS_BEFORE);
    }
    // SAFETY: the bytes exist, and standard error may be closed.
    unsafe { libc::write(libc::STDERR_FILENO, line.bytes.as_ptr().cast(), line.length) };
    // SAFETY: ends the process immediately, because exit handlers may need memory.
    unsafe { libc::_exit(1) }
}

/// Whether the kernel promises no more memory than the machine has (vm.overcommit_memory is 2).
/// Allocates no memory.
fn is_commitment_strict() -> bool {
    let mut mode = [0; 1];
    let file = rustix::fs::open(
        c"/proc/sys/vm/overcommit_memory",
        OFlags::RDONLY | OFlags::CLOEXEC,
        Mode::empty(),
    );
    file.is_ok_and(|file| rustix::io::read(file, &mut mode).is_ok()) && mode == *b"2"
}

/// Describes a failed allocation of `bytes`. `limits` are the limits of the address space and of
/// the data segment.
fn describe(
    into: &mut impl Write,
    bytes: usize,
    limits: [Option<u64>; 2],
    is_strict: bool,
) -> fmt::Result {
    write!(into, "error: out of memory: cannot allocate {bytes} bytes")?;
    let what = [("the address space", "-v"), ("memory for data", "-d")];
    let limited = what
        .into_iter()
        .zip(limits)
        .filter_map(|(what, limit)| Some((what, limit?)));
    for ((what, flag), limit) in limited.clone() {
        write!(
            into,
            ", with {what} limited to {} KiB (ulimit {flag})",
            limit >> 10
        )?;
    }
    if limited.count() > 0 {
        return writeln!(
            into,
            "\nhint: raise the limit: prlimit --as=unlimited --data=unlimited --pid $$ (permanently: as and data in \
             /etc/security/limits.d)"
        );
    }
    if is_strict {
        return writeln!(
            into,
            " that the kernel may promise (vm.overcommit_memory is 2)\nhint: close other programs, or let it promise more: \
             sudo sysctl vm.overcommit_memory=0 (permanently: /etc/sysctl.d)"
        );
    }
    writeln!(
        into,
        "\nhint: close other programs, or choose fewer or smaller cases or designs"
    )
}

/// A text buffer of fixed size.
struct Line {
    bytes: [u8; 512],
    length: usize,
}

impl Default for Line {
    fn default() -> Line {
        Line {
            bytes: [0; 512],
            length: 0,
        }
    }
}

impl Write for Line {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let room = self
            .bytes
            .get_mut(self.length..self.length + text.len())
            .ok_or(fmt::Error)?;
        room.copy_from_slice(text.as_bytes());
        self.length += text.len();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limit_is_named_where_there_is_one() {
        let said = |limits, is_strict| {
            let mut line = Line::default();
            describe(&mut line, 67_108_928, limits, is_strict).expect("it fits");
            String::from_utf8(line.bytes[..line.length].to_vec()).expect("a text")
        };
        assert_eq!(
            said([Some(307_200_000), None], false),
            "error: out of memory: cannot allocate 67108928 bytes, with the address space limited to 300000 KiB (ulimit \
             -v)\nhint: raise the limit: prlimit --as=unlimited --data=unlimited --pid $$ (permanently: as and data \
             in /etc/security/limits.d)\n"
        );
        assert!(
            said([Some(u64::MAX - 1), Some(u64::MAX - 1)], true).ends_with("limits.d)\n"),
            "the longest"
        );
        assert!(said([None, None], false).contains("close other programs, or choose"));
        assert!(said([None, None], true).contains("(vm.overcommit_memory is 2)\nhint: close"));
    }
}
