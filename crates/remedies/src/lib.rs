//! Internal to switchcost: what is needed, and what to do, if the operating system refuses something.
//!
//! What comes in: the system's error, and what was tried. What goes out: "need ...; do ...", to stand in a message after what was found.
//! The number of the error decides: a full disk, one with faults and a limit on open files are distinguished here and nowhere else. Which
//! limit on memory is in force is read from the kernel's files. No printing.

mod memory;

pub use memory::limits as memory_limits;

use std::io::{self, ErrorKind};

/// Advice for a file that could not be created or written. `place` is an alternative, such as "another place with --record".
pub fn write_remedy(error: &io::Error, place: &str) -> String {
    if let Some(remedy) = limit_remedy(error) {
        return remedy;
    }
    match error.kind() {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => {
            format!("need room for the rest; free some space or choose {place}")
        }
        ErrorKind::FileTooLarge => format!(
            "need files that may be longer; raise the limit (ulimit -f unlimited), or choose {place}, on another file system"
        ),
        ErrorKind::IsADirectory => "need the name of a file; name one in that folder".to_owned(),
        ErrorKind::InvalidFilename => "need a shorter name; choose one".to_owned(),
        _ => match number(error) {
            Some(libc::EIO) => format!(
                "need a disk that takes what is written; look at what it reported (sudo dmesg), and choose {place}, on another disk"
            ),
            Some(libc::ELOOP) => {
                format!(
                    "need a link that leads to a file, not to itself; remove the link, or choose {place}"
                )
            }
            _ => format!("need a folder that exists and may be written; choose {place}"),
        },
    }
}

/// Advice for a file that could not be opened or read. `file` says what is needed in general, such as "a file written by switchcost
/// measure".
pub fn read_remedy(error: &io::Error, file: &str) -> String {
    if let Some(remedy) = limit_remedy(error) {
        return remedy;
    }
    match (error.kind(), number(error)) {
        (ErrorKind::PermissionDenied, _) => {
            format!("need {file} and the right to read it; ask its owner for it (chmod a+r)")
        }
        (_, Some(libc::EIO)) => format!(
            "need {file} on a disk that can be read; look at what it reported (sudo dmesg), and take a copy from elsewhere"
        ),
        _ => format!("need {file}"),
    }
}

/// Advice for channels of a ring of tasks over `mechanism` that could not be made.
pub fn channel_remedy(error: &io::Error, mechanism: &str) -> String {
    let without = format!("leave {mechanism} out of --mechanism");
    match (error.kind(), number(error)) {
        (_, Some(libc::EMFILE)) => {
            "need one to each; use fewer --tasks, or raise the limit: ulimit -n for files, -q for message \
                                    queues, and to make it last /etc/security/limits.d"
                .to_owned()
        }
        (_, Some(libc::ENOSPC)) => {
            "need one to each; use fewer --tasks, or raise the limit on message queues: sudo sysctl \
                                    fs.mqueue.queues_max=1024, and to make it last /etc/sysctl.d"
                .to_owned()
        }
        (
            ErrorKind::AddrNotAvailable
            | ErrorKind::NetworkUnreachable
            | ErrorKind::NetworkDown
            | ErrorKind::HostUnreachable,
            _,
        ) => format!("need the loopback device up; sudo ip link set lo up, or {without}"),
        _ => match limit_remedy(error) {
            Some(remedy) => remedy,
            None => format!("need a kernel and rights that allow them; {without}"),
        },
    }
}

/// Advice for a process or thread, or a part of it, that could not be started. `otherwise` says what is needed in general.
pub fn start_remedy(error: &io::Error, otherwise: &str) -> String {
    match number(error) {
        // A thread whose stack finds no room is refused in the same way.
        Some(libc::EAGAIN) => {
            let memory = memory::limits().map_or(String::new(), |limits| format!("; or {limits}"));
            format!(
                "need one more process or thread than this user may have; raise the limit: ulimit -u unlimited, and to make it \
                 last nproc in /etc/security/limits.d (in a container, pids.max of its cgroup){memory}"
            )
        }
        Some(libc::EFBIG) => {
            "need memory that processes share, which counts as a file, to be longer than files may be; raise the limit: ulimit -f \
                              unlimited, and to make it last fsize in /etc/security/limits.d"
                .to_owned()
        }
        _ => limit_remedy(error).unwrap_or_else(|| otherwise.to_owned()),
    }
}

/// The error's number, also if a library has wrapped it in a text of its own, as tempfile does.
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

/// Advice for a limit of the system that was reached, whatever the purpose; `None` if the error is no limit.
pub fn limit_remedy(error: &io::Error) -> Option<String> {
    let remedy = match (error.kind(), number(error)) {
        (_, Some(libc::EMFILE)) => {
            "need one more open file than this process may have; raise the limit: ulimit -n 4096, and to make it last nofile in \
             /etc/security/limits.d"
        }
        (_, Some(libc::ENFILE)) => {
            "need one more open file than this machine may have; close other programs, or raise the limit: sudo sysctl \
             fs.file-max=1000000, and to make it last /etc/sysctl.d"
        }
        (ErrorKind::OutOfMemory, _) => return Some(memory_remedy()),
        _ => return None,
    };
    Some(remedy.to_owned())
}

/// Advice for a lack of memory, with the limit in force.
pub fn memory_remedy() -> String {
    memory::limits().unwrap_or_else(|| "need more free memory; close other programs".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(number: i32) -> io::Error {
        io::Error::from_raw_os_error(number)
    }

    #[test]
    fn what_helps_to_write_is_chosen_by_the_error() {
        let folder = "need a folder that exists and may be written; choose another place with -o";
        for (number, remedy) in [
            (
                libc::ENOSPC,
                "need room for the rest; free some space or choose another place with -o",
            ),
            (
                libc::EDQUOT,
                "need room for the rest; free some space or choose another place with -o",
            ),
            (
                libc::EFBIG,
                "need files that may be longer; raise the limit (ulimit -f unlimited), or choose another place with -o, on \
                 another file system",
            ),
            (
                libc::EIO,
                "need a disk that takes what is written; look at what it reported (sudo dmesg), and choose another place with \
                 -o, on another disk",
            ),
            (
                libc::EMFILE,
                "need one more open file than this process may have; raise the limit: ulimit -n 4096, and to make it last \
                 nofile in /etc/security/limits.d",
            ),
            (
                libc::ENFILE,
                "need one more open file than this machine may have; close other programs, or raise the limit: sudo sysctl \
                 fs.file-max=1000000, and to make it last /etc/sysctl.d",
            ),
            (libc::ENOMEM, "need more free memory; close other programs"),
            (
                libc::ELOOP,
                "need a link that leads to a file, not to itself; remove the link, or choose another place with -o",
            ),
            (
                libc::EISDIR,
                "need the name of a file; name one in that folder",
            ),
            (libc::ENAMETOOLONG, "need a shorter name; choose one"),
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
            (libc::ENOENT, "need a trace"),
            (libc::EISDIR, "need a trace"),
            (
                libc::EACCES,
                "need a trace and the right to read it; ask its owner for it (chmod a+r)",
            ),
            (
                libc::EIO,
                "need a trace on a disk that can be read; look at what it reported (sudo dmesg), and take a copy from elsewhere",
            ),
            (
                libc::EMFILE,
                "need one more open file than this process may have; raise the limit: ulimit -n 4096, and to make it last \
                 nofile in /etc/security/limits.d",
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
            "need a folder that exists and may be written; choose another"
        );
    }

    #[test]
    fn what_helps_to_start_is_chosen_by_the_error() {
        let limit = "need one more process or thread than this user may have; raise the limit: ulimit -u unlimited, and to make \
                     it last nproc in /etc/security/limits.d (in a container, pids.max of its cgroup)";
        for (number, remedy) in [
            (libc::EAGAIN, limit),
            (libc::ENOMEM, "need more free memory; close other programs"),
            (libc::EPERM, "need all of them; use fewer"),
        ] {
            assert_eq!(
                start_remedy(&error(number), "need all of them; use fewer"),
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
                "need one to each; use fewer --tasks, or raise the limit: ulimit -n for files, -q for message queues, and to \
                 make it last /etc/security/limits.d",
            ),
            (
                libc::ENOSPC,
                "need one to each; use fewer --tasks, or raise the limit on message queues: sudo sysctl \
                 fs.mqueue.queues_max=1024, and to make it last /etc/sysctl.d",
            ),
            (
                libc::EADDRNOTAVAIL,
                "need the loopback device up; sudo ip link set lo up, or leave tcp out of --mechanism",
            ),
            (
                libc::ENETUNREACH,
                "need the loopback device up; sudo ip link set lo up, or leave tcp out of --mechanism",
            ),
            (libc::ENOMEM, "need more free memory; close other programs"),
            (
                libc::ENOSYS,
                "need a kernel and rights that allow them; leave tcp out of --mechanism",
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
