//! Collects facts about the machine from files and from the kernel.

use switchcost_facts::{Answers, Root};
use switchcost_record::{Fact, HostManifest};

use crate::audit::audit;
use crate::scheduling;

/// Returns facts about the machine in its present state. Takes 50 ms, in which interrupts are
/// observed.
pub fn manifest(root: &Root) -> HostManifest {
    switchcost_facts::manifest(root, answers(root))
}

/// Returns facts about the machine in its present state, except the interrupts of each CPU and what
/// affects the cost of a switch.
pub fn manifest_at_once(root: &Root) -> HostManifest {
    switchcost_facts::manifest_at_once(root, slice_extension(root))
}

/// Asks the running kernel for the scheduling attributes of this process, and whether the kernel
/// audits system calls and can extend time slices. All are unknown if `root` is not the running
/// system.
fn answers(root: &Root) -> Answers {
    if !root.is_system() {
        return Answers::none(NOT_RUNNING);
    }
    let others = Answers {
        slice_extension: slice_extension(root),
        audit: audit(),
        ..Answers::none("")
    };
    match scheduling::attributes() {
        Ok(found) => Answers {
            nice: Fact::Known(found.nice),
            slice_ns: known_or(found.slice_ns, "kernels from 6.12 on say it"),
            utilization_clamp: known_or(
                found.utilization_clamp,
                "not in this kernel (CONFIG_UCLAMP_TASK)",
            ),
            ..others
        },
        Err(error) => {
            let Answers {
                nice,
                slice_ns,
                utilization_clamp,
                ..
            } = Answers::none(&format!("sched_getattr: {error}"));
            Answers {
                nice,
                slice_ns,
                utilization_clamp,
                ..others
            }
        }
    }
}

fn known_or<T>(value: Option<T>, why: &str) -> Fact<T> {
    value.map_or_else(|| Fact::unknown(why), Fact::Known)
}

const NOT_RUNNING: &str = "not the running kernel";

/// Returns whether threads may ask for a longer time slice in critical sections (rseq). Asks the
/// running kernel.
fn slice_extension(root: &Root) -> Fact<bool> {
    if !root.is_system() {
        return Fact::unknown(NOT_RUNNING);
    }
    let error = match ask_for_no_extension() {
        Ok(()) => return Fact::Known(true),
        Err(error) => error,
    };
    match error.raw_os_error() {
        // This thread has no rseq area, but the kernel knows the request.
        Some(libc::ENXIO) => Fact::Known(true),
        // The kernel does not know the request, or was booted without the feature.
        Some(libc::EINVAL | ENOTSUPP) => Fact::Known(false),
        _ => Fact::unknown(error.to_string()),
    }
}

/// Error number for "operation is not supported" inside the kernel, which no header has.
const ENOTSUPP: i32 = 524;

/// Turns off longer time slices for this thread, which are off anyway. The error shows whether the
/// kernel supports them.
fn ask_for_no_extension() -> std::io::Result<()> {
    // PR_RSEQ_SLICE_EXTENSION and PR_RSEQ_SLICE_EXTENSION_SET of linux/prctl.h.
    const RSEQ_SLICE_EXTENSION: i32 = 79;
    const SET: libc::c_ulong = 2;
    const NONE: libc::c_ulong = 0;
    // SAFETY: takes and returns only numbers.
    let answer = unsafe { libc::prctl(RSEQ_SLICE_EXTENSION, SET, NONE, NONE, NONE) };
    if answer < 0 {
        Err(std::io::Error::last_os_error())
    } else {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_running_kernel_says_whether_it_extends_slices() {
        let asked = slice_extension(&Root::system());
        assert!(asked.known().is_some(), "{asked:?}");
        assert!(slice_extension(&Root::new("/nowhere")).known().is_none());
    }
}
