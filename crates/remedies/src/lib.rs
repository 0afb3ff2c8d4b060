//! Advice for errors of the operating system: what is needed, and what to do. Internal to
//! switchcost.
//!
//! The input is an error and what was tried. The output is a clause on what to do, which follows
//! the error in a message. The error's number decides: only this crate distinguishes a full disk, a
//! faulty disk and a limit on open files. Limits on memory are read from the kernel's files. This
//! crate prints nothing.

mod memory;

pub use memory::limits as memory_limits;

use std::io::{self, ErrorKind};

/// Returns advice for a file that could not be created or written. `place` names an alternative,
/// such as "another place with --record".
pub fn write_remedy(error: &io::Error, place: &str) -> String {
    if let Some(remedy) = limit_remedy(error) {
        return remedy;
    }
    match error.kind() {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => {
            format!("free some space, or choose {place}")
        }
        ErrorKind::FileTooLarge => format!(
            "raise the limit on the length of files (ulimit -f unlimited), or choose {place}, on another file system"
        ),
        ErrorKind::IsADirectory => "name a file in that folder".to_owned(),
        ErrorKind::InvalidFilename => "choose a shorter name".to_owned(),
        _ => match number(error) {
            Some(libc::EIO) => format!(
                "read what the disk reported (sudo dmesg), and choose {place}, on another disk"
            ),
            Some(libc::ELOOP) => {
                format!("remove the link, which leads to itself, or choose {place}")
            }
            _ => format!("choose {place}, in a folder that exists and may be written"),
        },
    }
}

/// Returns advice for a file that could not be opened or read. `file` describes a suitable file,
/// such as "a file written by switchcost measure".
pub fn read_remedy(error: &io::Error, file: &str) -> String {
    if let Some(remedy) = limit_remedy(error) {
        return remedy;
    }
    match (error.kind(), number(error)) {
        (ErrorKind::PermissionDenied, _) => {
            format!("name {file} that you may read, or ask its owner for the right to (chmod a+r)")
        }
        (_, Some(libc::EIO)) => {
            format!("read what the disk reported (sudo dmesg), and get another copy of {file}")
        }
        _ => format!("name {file}"),
    }
}

/// Returns advice if the channels of `mechanism` could not be created for a ring of tasks.
pub fn channel_remedy(error: &io::Error, mechanism: &str) -> String {
    let without = format!("leave {mechanism} out of --mechanism");
    match (error.kind(), number(error)) {
        (_, Some(libc::EMFILE)) => {
            "use fewer --tasks, or raise the limit: ulimit -n for files, -q for message queues (permanently: /etc/security/limits.d)"
                .to_owned()
        }
        (_, Some(libc::ENOSPC)) => {
            "use fewer --tasks, or raise the limit on message queues: sudo sysctl fs.mqueue.queues_max=1024 (permanently: \
             /etc/sysctl.d)"
                .to_owned()
        }
        (
            ErrorKind::AddrNotAvailable
            | ErrorKind::NetworkUnreachable
            | ErrorKind::NetworkDown
            | ErrorKind::HostUnreachable,
            _,
        ) => format!("bring the loopback device up (sudo ip link set lo up), or {without}"),
        _ => match limit_remedy(error) {
            Some(remedy) => remedy,
            None => format!("use a kernel and rights that allow them, or {without}"),
        },
    }
}

/// Returns advice for a process or thread that could not be started. `otherwise` is the advice for
/// all other errors.
pub fn start_remedy(error: &io::Error, otherwise: &str) -> String {
    match number(error) {
        // A thread without room for its stack is refused with the same error.
        Some(libc::EAGAIN) => {
            let memory = memory::limits().map_or(String::new(), |limits| format!(", or {limits}"));
            format!(
                "raise the limit on this user's processes and threads: ulimit -u unlimited (permanently: nproc in \
                 /etc/security/limits.d, in a container pids.max of its cgroup){memory}"
            )
        }
        Some(libc::EFBIG) => {
            "raise the limit on the length of files, which also applies to shared memory: ulimit -f unlimited (permanently: \
             fsize in /etc/security/limits.d)"
                .to_owned()
        }
        _ => limit_remedy(error).unwrap_or_else(|| otherwise.to_owned()),
    }
}

/// Returns the number of an error (`errno`), even if a library such as tempfile has wrapped the
/// error in its own text; `None` if there is none.
fn number(error: &io::Error) -> Option<i32> {
    let in_text = || {
        error
            .to_string()
            .split_once("(os error ")?
            .1
            .split(')')
            .next()?
            .parse()
            .ok()
    };
    error.raw_os_error().or_else(in_text)
}

/// Returns advice for too many open files or a lack of memory; `None` for all other errors.
pub fn limit_remedy(error: &io::Error) -> Option<String> {
    let remedy = match (error.kind(), number(error)) {
        (_, Some(libc::EMFILE)) => {
            "raise the limit on this process's open files: ulimit -n 4096 (permanently: nofile in /etc/security/limits.d)"
        }
        (_, Some(libc::ENFILE)) => {
            "close other programs, or raise the limit on this machine's open files: sudo sysctl fs.file-max=1000000 \
             (permanently: /etc/sysctl.d)"
        }
        (ErrorKind::OutOfMemory, _) => return Some(memory_remedy()),
        _ => return None,
    };
    Some(remedy.to_owned())
}

/// Returns advice for a lack of memory, which names the limit in force if there is one.
pub fn memory_remedy() -> String {
    memory::limits().unwrap_or_else(|| "close other programs to free memory".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(number: i32) -> io::Error {
        io::Error::from_raw_os_error(number)
    }

    #[test]
    fn what_helps_to_write_is_chosen_by_the_error() {
        let folder = "choose another place with -o, in a folder that exists and may be written";
        for (number, remedy) in [
            (
                libc::ENOSPC,
                "free some space, or choose another place with -o",
            ),
            (
                libc::EDQUOT,
                "free some space, or choose another place with -o",
            ),
            (
                libc::EFBIG,
                "raise the limit on the length of files (ulimit -f unlimited), or choose another place with -o, on another \
                 file system",
            ),
            (
                libc::EIO,
                "read what the disk reported (sudo dmesg), and choose another place with -o, on another disk",
            ),
            (
                libc::EMFILE,
                "raise the limit on this process's open files: ulimit -n 4096 (permanently: nofile in /etc/security/limits.d)",
            ),
            (
                libc::ENFILE,
                "close other programs, or raise the limit on this machine's open files: sudo sysctl fs.file-max=1000000 \
                 (permanently: /etc/sysctl.d)",
            ),
            (libc::ENOMEM, "close other programs to free memory"),
            (
                libc::ELOOP,
                "remove the link, which leads to itself, or choose another place with -o",
            ),
            (libc::EISDIR, "name a file in that folder"),
            (libc::ENAMETOOLONG, "choose a shorter name"),
            (libc::ENOENT, folder),
            (libc::ENOTDIR, folder),
            (libc::EACCES, folder),
            (libc::EROFS, folder),
        ] {
            assert_eq!(
                write_remedy(&error(number), "another place with -o"),
                remedy,
                "{}",
                error(number)
            );
        }
    }

    #[test]
    fn what_helps_to_read_is_chosen_by_the_error() {
        for (number, remedy) in [
            (libc::ENOENT, "name a trace"),
            (libc::EISDIR, "name a trace"),
            (
                libc::EACCES,
                "name a trace that you may read, or ask its owner for the right to (chmod a+r)",
            ),
            (
                libc::EIO,
                "read what the disk reported (sudo dmesg), and get another copy of a trace",
            ),
            (
                libc::EMFILE,
                "raise the limit on this process's open files: ulimit -n 4096 (permanently: nofile in /etc/security/limits.d)",
            ),
        ] {
            assert_eq!(
                read_remedy(&error(number), "a trace"),
                remedy,
                "{}",
                error(number)
            );
        }
    }

    #[test]
    fn the_number_is_found_in_an_error_that_was_wrapped() {
        let wrapped = io::Error::new(
            error(libc::EMFILE).kind(),
            format!("{} at path \"a\"", error(libc::EMFILE)),
        );
        assert_eq!(
            write_remedy(&wrapped, "another"),
            write_remedy(&error(libc::EMFILE), "another")
        );
        let other = write_remedy(&io::Error::other("odd (os error x)"), "another");
        assert_eq!(
            other,
            "choose another, in a folder that exists and may be written"
        );
    }

    #[test]
    fn what_helps_to_start_is_chosen_by_the_error() {
        let limit = "raise the limit on this user's processes and threads: ulimit -u unlimited (permanently: nproc in \
                     /etc/security/limits.d, in a container pids.max of its cgroup)";
        for (number, remedy) in [
            (libc::EAGAIN, limit),
            (libc::ENOMEM, "close other programs to free memory"),
            (libc::EPERM, "use fewer"),
        ] {
            assert_eq!(
                start_remedy(&error(number), "use fewer"),
                remedy,
                "{}",
                error(number)
            );
        }
    }

    #[test]
    fn what_helps_to_make_channels_is_chosen_by_the_error() {
        for (number, remedy) in [
            (
                libc::EMFILE,
                "use fewer --tasks, or raise the limit: ulimit -n for files, -q for message queues (permanently: \
                 /etc/security/limits.d)",
            ),
            (
                libc::ENOSPC,
                "use fewer --tasks, or raise the limit on message queues: sudo sysctl fs.mqueue.queues_max=1024 (permanently: \
                 /etc/sysctl.d)",
            ),
            (
                libc::EADDRNOTAVAIL,
                "bring the loopback device up (sudo ip link set lo up), or leave tcp out of --mechanism",
            ),
            (
                libc::ENETUNREACH,
                "bring the loopback device up (sudo ip link set lo up), or leave tcp out of --mechanism",
            ),
            (libc::ENOMEM, "close other programs to free memory"),
            (
                libc::ENOSYS,
                "use a kernel and rights that allow them, or leave tcp out of --mechanism",
            ),
        ] {
            assert_eq!(
                channel_remedy(&error(number), "tcp"),
                remedy,
                "{}",
                error(number)
            );
        }
    }
}
