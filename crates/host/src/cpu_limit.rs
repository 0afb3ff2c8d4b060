//! Announces the limit on CPU time (`ulimit -t`) before it is reached. If the soft limit equals the
//! hard one, as shells set it, the kernel kills without a warning.

use std::io;
use std::mem::MaybeUninit;
use std::ptr;
use std::time::Duration;

use libc::c_int;
use rustix::process::{Resource, Rlimit, getrlimit};

use crate::signal_action::SignalAction;
use crate::task::is_ignored;
use crate::usage::own_cpu_time;

/// Message that is printed shortly before the limit on CPU time.
pub const REACHED: &str = "the limit on CPU time is reached (ulimit -t); raise it: prlimit --cpu=unlimited --pid $$ \
    (permanently: cpu in /etc/security/limits.d)";

const LINE: &str = "error: the limit on CPU time is reached (ulimit -t)\nhint: raise it: prlimit --cpu=unlimited --pid $$ \
    (permanently: cpu in /etc/security/limits.d)\n";

/// Time between the announcement and the limit, in which results can be stored.
const BEFORE: Duration = Duration::from_secs(1);

/// Makes SIGXCPU arrive before the kernel kills the process. The signal ends the program with a
/// message, until [`is_watched`] is called.
///
/// # Errors
///
/// If the kernel refuses a timer.
pub fn announce_in_time() -> io::Result<()> {
    if is_ignored(libc::SIGXCPU) {
        return Ok(());
    }
    // SAFETY: the handler makes two calls that are safe in one, and does not return.
    unsafe { SignalAction::handler(end, 0).set(libc::SIGXCPU) }?;
    alarm_at(getrlimit(Resource::Cpu))
        .map_or(Ok(()), |at| raise_after(at.saturating_sub(own_cpu_time())))
}

/// Records that another handler takes care of SIGXCPU from now on.
///
/// # Errors
///
/// If the kernel refuses.
pub fn is_watched() -> io::Result<()> {
    // SAFETY: the action is the default.
    unsafe { SignalAction::default().set(libc::SIGXCPU) }?;
    Ok(())
}

extern "C" fn end(number: c_int) {
    // SAFETY: the text exists, and standard error may be closed.
    unsafe { libc::write(libc::STDERR_FILENO, LINE.as_ptr().cast(), LINE.len()) };
    // SAFETY: ends the process at once.
    unsafe { libc::_exit(128 + number) }
}

/// Returns the CPU time at which SIGXCPU is raised; `None` if the kernel raises it in time, or
/// there is no limit.
fn alarm_at(limit: Rlimit) -> Option<Duration> {
    let hard = limit.maximum?;
    let is_reported = limit.current.is_some_and(|soft| soft < hard);
    let all = Duration::from_secs(hard.max(1));
    (!is_reported).then(|| all.saturating_sub(BEFORE.min(all / 2)))
}

/// Starts a timer that raises SIGXCPU after the process has used `time` of CPU time. Programs that
/// the process starts have their own limits.
fn raise_after(time: Duration) -> io::Result<()> {
    // SAFETY: the structure consists of numbers and a union of numbers.
    let mut event: libc::sigevent = unsafe { MaybeUninit::zeroed().assume_init() };
    event.sigev_notify = libc::SIGEV_SIGNAL;
    event.sigev_signo = libc::SIGXCPU;
    let mut timer: libc::timer_t = ptr::null_mut();
    // SAFETY: both pointers are valid for the call.
    check(unsafe {
        libc::timer_create(
            libc::CLOCK_PROCESS_CPUTIME_ID,
            &raw mut event,
            &raw mut timer,
        )
    })?;
    let never = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // A time of 0 would stop the timer.
    let value = libc::timespec {
        tv_sec: time.as_secs() as libc::time_t,
        tv_nsec: i64::from(time.subsec_nanos().max(1)),
    };
    let once = libc::itimerspec {
        it_interval: never,
        it_value: value,
    };
    // SAFETY: the timer belongs to this process, and the new value is valid for the call, which
    // returns no old value.
    check(unsafe { libc::timer_settime(timer, 0, &raw const once, ptr::null_mut()) })
}

fn check(code: c_int) -> io::Result<()> {
    if code == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_reported_before_the_kernel_kills() {
        let at = |soft, hard| {
            alarm_at(Rlimit {
                current: soft,
                maximum: hard,
            })
        };
        assert_eq!(at(Some(60), Some(60)), Some(Duration::from_secs(59)));
        assert_eq!(at(Some(1), Some(1)), Some(Duration::from_millis(500)));
        assert_eq!(
            at(None, Some(0)),
            Some(Duration::from_millis(500)),
            "the kernel takes 0 for 1"
        );
        assert_eq!(
            at(Some(10), Some(60)),
            None,
            "the kernel announces it after 10 s"
        );
        assert_eq!(at(None, None), None);
    }

    #[test]
    fn both_ways_say_the_same() {
        let (wrong, hint) = REACHED.split_once("; ").expect("a hint");
        assert_eq!(LINE, format!("error: {wrong}\nhint: {hint}\n"));
    }
}
