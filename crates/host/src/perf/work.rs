//! Counts the calls that another program's thread makes to one system call or function.

use std::ffi::CString;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use perf_event::events::{Software, Tracepoint};
use perf_event::{Builder, Counter};
use serde::{Deserialize, Serialize};

use crate::unavailable::Unavailable;

/// Folders in which the kernel may list its tracepoints: its own file system, or a part of debugfs.
const TRACEPOINTS: [&str; 2] = [
    "/sys/kernel/tracing/events",
    "/sys/kernel/debug/tracing/events",
];

/// The function or system call whose calls are counted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Called {
    /// The system call with the name in field 0.
    SystemCall(String),
    /// The function whose code begins at an offset of a file.
    Function {
        /// Path of the program or library.
        file: PathBuf,
        /// Offset in bytes from the start of the file.
        offset: u64,
    },
}

/// A counter of calls since its creation. Other observers do not affect the counter.
#[derive(Debug)]
pub struct CallCounter(Counter);

impl CallCounter {
    /// Counts the calls of one thread. Threads started by the counted thread are not counted.
    ///
    /// # Errors
    ///
    /// If the kernel refuses. The error contains a remedy.
    pub fn open(called: &Called, thread: u32) -> Result<CallCounter, Unavailable> {
        let thread = i32::try_from(thread).map_err(|error| Unavailable(error.to_string()))?;
        match called {
            Called::SystemCall(name) => {
                build(Builder::new(Tracepoint::with_id(tracepoint(name)?)), thread)
            }
            Called::Function { file, offset } => {
                // The kernel reads the path while it opens the event.
                let path = CString::new(file.as_os_str().as_bytes())
                    .map_err(|error| Unavailable(error.to_string()))?;
                let mut builder = Builder::new(Software::DUMMY);
                let attributes = builder.attrs_mut();
                (attributes.type_, attributes.config) = (probes()?, 0);
                (attributes.config1, attributes.config2) = (path.as_ptr() as u64, *offset);
                build(builder, thread)
            }
        }
    }

    /// Returns the number of calls so far.
    ///
    /// # Errors
    ///
    /// If the kernel does not report it.
    pub fn read(&mut self) -> io::Result<u64> {
        self.0.read()
    }
}

fn build(mut builder: Builder<'_>, thread: i32) -> Result<CallCounter, Unavailable> {
    // System calls are counted where the kernel enters them, so kernel mode must not be excluded.
    builder
        .observe_pid(thread)
        .any_cpu()
        .exclude_kernel(false)
        .enabled(true);
    builder
        .build()
        .map(CallCounter)
        .map_err(|error| refused(&error))
}

/// Returns the kernel's number for the PMU of function probes (uprobes).
fn probes() -> Result<u32, Unavailable> {
    let text =
        std::fs::read_to_string("/sys/bus/event_source/devices/uprobe/type").unwrap_or_default();
    let none = || {
        Unavailable(
            "this kernel has no probes of functions; use one with CONFIG_UPROBE_EVENTS=y"
                .to_owned(),
        )
    };
    text.trim().parse().map_err(|_| none())
}

fn tracepoint(name: &str) -> Result<u64, Unavailable> {
    let is_name = !name.is_empty()
        && name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    let unknown = || {
        Unavailable(format!(
            "'{}' is not a system call of the kernel's tracepoints; use one that ls /sys/kernel/tracing/events/syscalls has \
             after sys_enter_",
            switchcost_record::printable(name)
        ))
    };
    if !is_name {
        return Err(unknown());
    }
    let folder = TRACEPOINTS
        .iter()
        .find(|folder| std::fs::metadata(format!("{folder}/syscalls")).is_ok());
    let folder = folder.ok_or_else(|| {
        Unavailable(
            "the tracepoints of system calls in /sys/kernel/tracing cannot be read; run it as root (sudo mount -t tracefs \
             tracefs /sys/kernel/tracing mounts them) on a kernel with CONFIG_FTRACE_SYSCALLS=y, or count by a command"
                .to_owned(),
        )
    })?;
    let text = std::fs::read_to_string(format!("{folder}/syscalls/sys_enter_{name}/id"));
    text.ok()
        .and_then(|text| text.trim().parse().ok())
        .ok_or_else(unknown)
}

fn refused(error: &io::Error) -> Unavailable {
    match error.raw_os_error() {
        Some(libc::EACCES | libc::EPERM) => Unavailable(
            "counting calls in the kernel needs root or cap_perfmon; run it with sudo, or count by a command".to_owned(),
        ),
        Some(libc::ESRCH) => Unavailable("the thread has ended; choose one that keeps running".to_owned()),
        _ => Unavailable(format!("the kernel does not count calls here ({error}); count by a command")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_of_one_thread_are_counted() {
        let called = Called::SystemCall("getppid".to_owned());
        let mut counter = match CallCounter::open(&called, crate::task::current_tid() as u32) {
            Ok(counter) => counter,
            Err(why) => return println!("skipped: {why}"),
        };
        let before = counter.read().expect("a counter");
        assert!((0..7).all(|_| rustix::process::getppid().is_some()));
        std::thread::spawn(rustix::process::getppid)
            .join()
            .expect("it ends");
        assert_eq!(counter.read().expect("a counter") - before, 7);
    }

    #[test]
    fn what_is_no_system_call_is_reported() {
        for name in ["", "../../sched/sched_switch", "wrote\u{1b}"] {
            let why = tracepoint(name).expect_err("no system call").to_string();
            assert!(
                why.contains("is not a system call") && !why.contains('\u{1b}'),
                "{why}"
            );
        }
        let unknown = tracepoint("wrote").expect_err("no system call").to_string();
        assert!(
            unknown.starts_with("'wrote' is not a system call"),
            "{unknown}"
        );
    }
}
