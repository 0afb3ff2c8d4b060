//! Reads the scheduling attributes of the calling thread from the kernel.

use std::io;

/// Size of `struct sched_attr` in bytes (linux/sched/types.h): the 48 bytes of its first version,
/// and the two utilization clamps.
const SIZE: u32 = 56;

#[repr(C)]
#[derive(Default)]
struct SchedAttr {
    size: u32,
    policy: u32,
    flags: u64,
    nice: i32,
    priority: u32,
    runtime: u64,
    deadline: u64,
    period: u64,
    util_min: u32,
    util_max: u32,
}

/// Scheduling attributes of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Attributes {
    pub(crate) nice: i32,
    /// Length of the time slice in nanoseconds; `None` before Linux 6.12, which does not report it.
    pub(crate) slice_ns: Option<u64>,
    /// Least and largest utilization; `None` on kernels without clamps (CONFIG_UCLAMP_TASK).
    pub(crate) utilization_clamp: Option<[u32; 2]>,
}

/// Returns the attributes of the calling thread.
pub(crate) fn attributes() -> io::Result<Attributes> {
    let mut attributes = SchedAttr {
        size: SIZE,
        ..SchedAttr::default()
    };
    // SAFETY: the kernel writes no more than SIZE bytes, which is the size of the structure.
    let status = unsafe { libc::syscall(libc::SYS_sched_getattr, 0, &raw mut attributes, SIZE, 0) };
    if status != 0 {
        return Err(io::Error::last_os_error());
    }
    let SchedAttr {
        nice,
        runtime,
        util_min,
        util_max,
        ..
    } = attributes;
    Ok(Attributes {
        nice,
        slice_ns: Some(runtime).filter(|slice| *slice > 0),
        utilization_clamp: Some([util_min, util_max]).filter(|_| util_max > 0),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_structure_is_as_long_as_the_kernel_is_told() {
        assert_eq!(size_of::<SchedAttr>(), SIZE as usize);
    }

    #[test]
    fn a_thread_knows_its_nice_value() {
        let nice = |nice| {
            std::thread::spawn(move || {
                // SAFETY: takes numbers; 0 is the calling thread, which ends with it.
                let _ = unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, nice) };
                attributes().expect("of oneself").nice
            })
        };
        assert_eq!(nice(19).join().expect("no panic"), 19);
    }
}
