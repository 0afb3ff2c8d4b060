//! Controls of the calling thread or process. A control that is a guard restores the setting when
//! dropped. Nothing outside this process is changed, so a killed process leaves the machine as it
//! was.

use std::io;
use std::mem::MaybeUninit;

use rustix::mm::{MlockAllFlags, mlockall, munlockall};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use switchcost_record::Policy;
use switchcost_units::{CpuId, Nanos};

use switchcost_facts::Root;
use switchcost_facts::rights::{Capability, REAL_TIME_PRIORITY, Rights};

/// Guard that restores the calling thread's affinity when dropped.
#[derive(Debug)]
pub struct PinGuard {
    before: CpuSet,
}

/// Restricts the calling thread to `cpus` until the returned guard is dropped.
pub fn pin(cpus: &[CpuId]) -> io::Result<PinGuard> {
    let before = sched_getaffinity(None)?;
    sched_setaffinity(None, &cpu_set(cpus)?)?;
    Ok(PinGuard { before })
}

/// Moves the calling thread to a CPU permanently.
///
/// # Errors
///
/// If the thread may not run there.
pub fn place_self(cpu: CpuId) -> io::Result<()> {
    Ok(sched_setaffinity(None, &cpu_set(&[cpu])?)?)
}

/// Converts CPU numbers to the kernel's set type.
pub(crate) fn cpu_set(cpus: &[CpuId]) -> io::Result<CpuSet> {
    let mut set = CpuSet::new();
    for cpu in cpus {
        if cpu.0 as usize >= CpuSet::MAX_CPU {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        set.set(cpu.0 as usize);
    }
    Ok(set)
}

impl Drop for PinGuard {
    fn drop(&mut self) {
        // A CPU that has gone offline since cannot be restored.
        let _ = sched_setaffinity(None, &self.before);
    }
}

/// Guard that restores the calling thread's scheduling policy when dropped.
#[derive(Debug)]
pub struct PolicyGuard {
    policy: i32,
    parameters: libc::sched_param,
}

/// Distance of a real-time priority from the highest one, [`REAL_TIME_PRIORITY`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StepsBelowTop(pub i32);

/// Sets the calling thread's scheduling policy, and checks the result. `steps` gives the priority
/// for FIFO and RR; other policies have none.
///
/// # Errors
///
/// If the kernel refuses, or has not done what was requested.
pub fn set_policy(policy: Policy, steps: StepsBelowTop) -> io::Result<PolicyGuard> {
    let before = current_policy()?;
    let number = number(policy);
    let priority = if policy.is_real_time() {
        (REAL_TIME_PRIORITY - steps.0).max(1)
    } else {
        0
    };
    change_policy(
        number,
        &libc::sched_param {
            sched_priority: priority,
        },
    )?;
    let now = current_policy()?.policy & !libc::SCHED_RESET_ON_FORK;
    if now == number {
        Ok(before)
    } else {
        Err(io::Error::other(format!(
            "the kernel has policy {now} set instead"
        )))
    }
}

fn number(policy: Policy) -> i32 {
    match policy {
        Policy::Fifo => libc::SCHED_FIFO,
        Policy::Rr => libc::SCHED_RR,
        Policy::Other => libc::SCHED_OTHER,
        Policy::Batch => libc::SCHED_BATCH,
    }
}

fn current_policy() -> io::Result<PolicyGuard> {
    // SAFETY: asks about the calling thread.
    let policy = unsafe { libc::sched_getscheduler(0) };
    let mut parameters = MaybeUninit::<libc::sched_param>::zeroed();
    // SAFETY: the pointer is valid for writing one sched_param.
    let status = unsafe { libc::sched_getparam(0, parameters.as_mut_ptr()) };
    if policy < 0 || status != 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: zeroed is a valid sched_param, and the call above has filled it in.
    let parameters = unsafe { parameters.assume_init() };
    Ok(PolicyGuard { policy, parameters })
}

fn change_policy(policy: i32, parameters: &libc::sched_param) -> io::Result<()> {
    // SAFETY: the pointer is to a sched_param that outlives the call; 0 is the calling thread.
    let status = unsafe { libc::sched_setscheduler(0, policy, parameters) };
    if status == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}

impl Drop for PolicyGuard {
    fn drop(&mut self) {
        // A lower priority is always allowed.
        let _ = change_policy(self.policy, &self.parameters);
    }
}

/// Guard that keeps all memory of the process locked until dropped.
#[derive(Debug)]
pub struct MemoryLock(());

/// Locks all present and future memory of this process.
pub fn lock_memory() -> io::Result<MemoryLock> {
    mlockall(MlockAllFlags::CURRENT | MlockAllFlags::FUTURE)?;
    Ok(MemoryLock(()))
}

impl Drop for MemoryLock {
    fn drop(&mut self) {
        let _ = munlockall();
    }
}

/// Checks that all memory may be locked, whatever its size. Under a finite limit, a later mapping
/// could fail.
pub fn can_lock_everything() -> Result<(), String> {
    let limit = getrlimit(Resource::Memlock).current;
    let attempt = mlockall(MlockAllFlags::CURRENT);
    let _ = munlockall();
    match attempt {
        Ok(()) if limit.is_none() || Rights::read(&Root::system()).has(Capability::IpcLock) => {
            Ok(())
        }
        Ok(()) => Err(format!("a limit of {} on locked memory", format_kib(limit))),
        Err(error) => Err(format!("mlockall: {error} (limit {})", format_kib(limit))),
    }
}

/// Formats a limit given in bytes; `None` is no limit.
fn format_kib(limit: Option<u64>) -> String {
    limit.map_or_else(|| "none".to_owned(), |bytes| format!("{} KiB", bytes >> 10))
}

/// Limits how long any thread of this process may run under a real-time policy without blocking.
/// Beyond the limit the kernel kills the process. The limit is the last resort against an endless
/// loop.
pub fn limit_real_time(longest: Nanos) -> io::Result<()> {
    let micros = longest.0 / 1_000;
    let highest = getrlimit(Resource::Rttime).maximum;
    let micros = Some(highest.map_or(micros, |highest| micros.min(highest)));
    Ok(setrlimit(
        Resource::Rttime,
        Rlimit {
            current: micros,
            maximum: micros,
        },
    )?)
}

/// Returns the CPU on which the calling thread runs at this moment; `None` if the number is not
/// known.
pub fn current_cpu() -> Option<CpuId> {
    u32::try_from(rustix::thread::sched_getcpu())
        .ok()
        .map(CpuId)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pin_is_put_back() {
        let before = sched_getaffinity(None).expect("own affinity");
        let cpu = (0..CpuSet::MAX_CPU)
            .find(|cpu| before.is_set(*cpu))
            .expect("one CPU at least");
        {
            let _pin = pin(&[CpuId(cpu as u32)]).expect("an allowed CPU");
            assert_eq!(current_cpu(), Some(CpuId(cpu as u32)));
        }
        assert_eq!(sched_getaffinity(None).expect("own affinity"), before);
    }

    #[test]
    fn a_cpu_that_is_not_there_is_an_error() {
        assert!(pin(&[CpuId(1000)]).is_err());
        assert!(
            pin(&[CpuId(u32::MAX)]).is_err(),
            "more than the kernel's sets have"
        );
        assert!(pin(&[]).is_err());
    }

    fn policy() -> libc::c_int {
        current_policy().expect("own policy").policy
    }

    #[test]
    fn an_ordinary_policy_takes_the_place_of_the_one_that_was_inherited() {
        let _batch = set_policy(Policy::Batch, StepsBelowTop(1)).expect("no rights are needed");
        assert_eq!(policy(), libc::SCHED_BATCH);
        let _other = set_policy(Policy::Other, StepsBelowTop(1)).expect("no rights are needed");
        assert_eq!(policy(), libc::SCHED_OTHER);
    }

    #[test]
    fn a_policy_is_put_back() {
        let before = policy();
        match set_policy(Policy::Fifo, StepsBelowTop(1)) {
            Ok(guard) => {
                assert_eq!(policy(), libc::SCHED_FIFO);
                drop(guard);
            }
            Err(error) => eprintln!("skipped: no real-time rights ({error})"),
        }
        assert_eq!(policy(), before);
    }
}
