use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Fact;

/// What acts on a switch between tasks of this program beside the kernel that is in `kernel`: what they carry with them, and what is hooked
/// into the scheduler.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct SwitchPath {
    /// Its nice value, which counts under an ordinary policy.
    pub nice: Fact<i32>,
    /// Its time slice under such a policy, as kernels from 6.12 on say it.
    pub slice_ns: Fact<u64>,
    /// Least and highest utilization that the scheduler is to assume of it, of 1024.
    pub utilization_clamp: Fact<[u32; 2]>,
    /// Its control group, as far as it sees it: the one that binds CPU time.
    pub control_group: Fact<String>,
    /// Groups above that, the root's included: the scheduler chooses at each of them.
    pub control_group_depth: Fact<u32>,
    /// Whether sessions have scheduling groups of their own: `off`, or `on` with the nice value of this one.
    pub autogroup: Fact<String>,
    /// Filters of system calls (seccomp) that each call passes.
    pub seccomp_filters: Fact<u32>,
    /// Speculation that a switch has to guard, in the kernel's words.
    pub speculation: Fact<String>,
    /// Whether a debugger traces it (ptrace).
    pub is_traced: Fact<bool>,
    /// The scheduler of BPF programs (sched_ext) that is loaded, or `none`.
    pub sched_ext: Fact<String>,
    /// What ftrace does: its tracer, events and probes.
    pub ftrace: Fact<Vec<String>>,
    /// Other processes with perf events or attached BPF programs, by their names; hostile text until escaped.
    pub observers: Fact<Vec<String>>,
    /// Whether system calls are audited: `off`, `on`, or `locked on`.
    pub audit: Fact<String>,
    /// Security modules, in the order in which they are asked.
    pub security_modules: Fact<Vec<String>>,
    /// Settings of the scheduler, and others that add work to it, by their files below /proc/sys and /sys/kernel/debug.
    pub settings: BTreeMap<String, String>,
}

impl SwitchPath {
    /// The same without the name of the control group, which says whose it is.
    pub(crate) fn redacted(self) -> Self {
        SwitchPath {
            control_group: Fact::unknown("it was to be left out (--redact)"),
            ..self
        }
    }
}
