//! Finds files that the caller of this program has opened for child programs.

use std::fs;
use std::io;
use std::os::fd::RawFd;

/// Returns the descriptors from 3 on that a program executed by this process inherits, such as
/// those of `<(COMMAND)` in a shell. Files that this process has opened itself are closed at exec.
pub(super) fn inherited() -> io::Result<Vec<RawFd>> {
    let mut inherited = Vec::new();
    for entry in fs::read_dir("/proc/self/fdinfo")? {
        let entry = entry?;
        let number = entry
            .file_name()
            .to_str()
            .and_then(|name| name.parse::<RawFd>().ok());
        // A file that has been closed in the meantime has no entry.
        if let (Some(fd @ 3..), Ok(facts)) = (number, fs::read_to_string(entry.path()))
            && !is_closed_by_exec(&facts)
        {
            inherited.push(fd);
        }
    }
    Ok(inherited)
}

/// Whether a file is closed at exec. `facts` is the text of /proc/self/fdinfo/FD, in which `flags:`
/// are octal, as for open(2).
fn is_closed_by_exec(facts: &str) -> bool {
    let flags = facts.lines().find_map(|line| line.strip_prefix("flags:"));
    let flags = flags.and_then(|flags| i32::from_str_radix(flags.trim(), 8).ok());
    flags.is_none_or(|flags| flags & libc::O_CLOEXEC != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_whether_a_file_is_closed_by_exec() {
        assert!(is_closed_by_exec("pos:\t0\nflags:\t02100000\nmnt_id:\t9\n"));
        assert!(!is_closed_by_exec("pos:\t0\nflags:\t0100002\nmnt_id:\t9\n"));
        assert!(is_closed_by_exec(""), "it is gone");
    }
}
