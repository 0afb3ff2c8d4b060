//! Checks that /proc belongs to this process's PID namespace. The /proc of another namespace shows
//! other processes under the same numbers.

use std::fs;
use std::io;

/// Checks that /proc shows this PID namespace, or is not mounted at all.
///
/// # Errors
///
/// If the process IDs of this process mean other processes in /proc.
pub fn check() -> io::Result<()> {
    let own = fs::read_link("/proc/self")
        .ok()
        .and_then(|name| name.to_str()?.parse().ok());
    judge(own, std::process::id())
}

fn judge(shown: Option<u32>, own: u32) -> io::Result<()> {
    match shown {
        Some(shown) if shown != own => Err(io::Error::other(format!(
            "/proc belongs to another PID namespace: this process {own} has the number {shown} there; mount its own (mount -t \
             proc proc /proc), with unshare --pid use --mount-proc"
        ))),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_proc_with_other_numbers_is_refused_and_none_is_not() {
        assert!(check().is_ok());
        assert!(judge(None, 7).is_ok() && judge(Some(7), 7).is_ok());
        assert_eq!(
            judge(Some(70), 7).expect_err("another").to_string(),
            "/proc belongs to another PID namespace: this process 7 has the number 70 there; mount its own (mount -t proc proc \
             /proc), with unshare --pid use --mount-proc"
        );
    }
}
