//! Reasons why the kernel cannot count an event.

use std::io;

/// Highest level of perf_event_paranoid at which a user may count everything that runs on a CPU.
pub(crate) const WHOLE_CPU: i32 = 0;

/// Why an event cannot be counted, with a remedy if there is one.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Unavailable(pub String);

/// Explains why `events` events cannot be counted together. `level` is the highest level of
/// perf_event_paranoid at which the kernel allows this.
pub(crate) fn unavailable(error: &io::Error, events: usize, level: i32) -> Unavailable {
    Unavailable(match error.raw_os_error() {
        Some(libc::EINVAL) if events > 1 => {
            "this CPU has fewer counters than events requested together".to_owned()
        }
        Some(libc::ENOENT | libc::EOPNOTSUPP | libc::ENODEV | libc::EINVAL) => {
            "no such counter on this CPU, as in most virtual machines".to_owned()
        }
        Some(libc::EACCES | libc::EPERM) => needs_level(level),
        Some(libc::EMFILE | libc::ENFILE) => {
            "no file descriptor is left; raise the limit with ulimit -n".to_owned()
        }
        _ => format!("perf_event_open: {error}"),
    })
}

/// Returns advice for a kernel that refuses an operation. `needed` is the highest level of
/// perf_event_paranoid at which the kernel allows it.
pub(crate) fn needs_level(needed: i32) -> String {
    refused(
        &std::fs::read_to_string("/proc/sys/kernel/perf_event_paranoid").unwrap_or_default(),
        needed,
    )
}

fn refused(level: &str, needed: i32) -> String {
    let level = level.trim();
    if level.parse::<i32>().is_ok_and(|level| level <= needed) {
        return format!(
            "perf_event_open is refused, though kernel.perf_event_paranoid is {level}; run outside the container, or start it \
             with --cap-add=PERFMON and a seccomp profile that allows perf_event_open"
        );
    }
    let allowed = needed.min(1);
    format!(
        "kernel.perf_event_paranoid is {level}, and must be {needed} or less; sudo sysctl -w \
         kernel.perf_event_paranoid={allowed} (permanently: echo kernel.perf_event_paranoid={allowed} | \
         sudo tee /etc/sysctl.d/99-switchcost.conf)"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_paranoid_kernel_is_named_with_the_setting_that_helps() {
        assert_eq!(
            refused("4\n", 2),
            "kernel.perf_event_paranoid is 4, and must be 2 or less; sudo sysctl -w kernel.perf_event_paranoid=1 (permanently: \
             echo kernel.perf_event_paranoid=1 | sudo tee /etc/sysctl.d/99-switchcost.conf)"
        );
    }

    #[test]
    fn a_refusal_that_is_not_the_settings_says_so() {
        assert_eq!(
            refused("2\n", 2),
            "perf_event_open is refused, though kernel.perf_event_paranoid is 2; run outside the container, or start it with \
             --cap-add=PERFMON and a seccomp profile that allows perf_event_open"
        );
    }

    #[test]
    fn every_other_refusal_is_put_into_words() {
        for (number, text) in [
            (
                libc::ENOENT,
                "no such counter on this CPU, as in most virtual machines",
            ),
            (
                libc::EOPNOTSUPP,
                "no such counter on this CPU, as in most virtual machines",
            ),
            (
                libc::EINVAL,
                "no such counter on this CPU, as in most virtual machines",
            ),
            (
                libc::EMFILE,
                "no file descriptor is left; raise the limit with ulimit -n",
            ),
            (libc::ESRCH, "perf_event_open: No such process (os error 3)"),
        ] {
            assert_eq!(
                unavailable(&io::Error::from_raw_os_error(number), 1, 2).to_string(),
                text
            );
        }
        let too_many = unavailable(&io::Error::from_raw_os_error(libc::EINVAL), 2, 2);
        assert_eq!(
            too_many.to_string(),
            "this CPU has fewer counters than events requested together"
        );
    }
}
