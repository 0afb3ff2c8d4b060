use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Fact;

/// Conditions that add work to a switch between tasks of this process, besides the kernel's build:
/// properties of the tasks, and hooks in the scheduler.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct SwitchPath {
    /// Nice value of this process, which has no effect under a real-time policy.
    pub nice: Fact<i32>,
    /// Time slice of this process under an ordinary policy in nanoseconds. Kernels before 6.12 do
    /// not report it.
    pub slice_ns: Fact<u64>,
    /// Least and largest utilization that the scheduler assumes for this process (uclamp), from 0
    /// to 1024.
    pub utilization_clamp: Fact<[u32; 2]>,
    /// Path of the control group that limits the CPU time of this process, as the process sees it.
    pub control_group: Fact<String>,
    /// Number of groups above the control group, including the root. The scheduler chooses among
    /// tasks or groups once at each level.
    pub control_group_depth: Fact<u32>,
    /// Whether each session has its own scheduling group (autogroup): `off`, or `on` with the nice
    /// value of this session.
    pub autogroup: Fact<String>,
    /// Number of system-call filters (seccomp) that each system call passes.
    pub seccomp_filters: Fact<u32>,
    /// State of the mitigations against speculation that depend on the two tasks of a switch, in
    /// the kernel's words.
    pub speculation: Fact<String>,
    /// Whether a debugger traces this process (ptrace).
    pub is_traced: Fact<bool>,
    /// Name of the loaded sched_ext scheduler, which consists of BPF programs, or `none`.
    pub sched_ext: Fact<String>,
    /// Active tracers, events and probes of ftrace.
    pub ftrace: Fact<Vec<String>>,
    /// Names of other processes that hold perf events or BPF attachments; untrusted text that must
    /// be escaped before it is shown.
    pub observers: Fact<Vec<String>>,
    /// Whether the kernel audits system calls: `off`, `on`, or `locked on`.
    pub audit: Fact<String>,
    /// Names of the security modules (LSM), in the order in which the kernel calls them.
    pub security_modules: Fact<Vec<String>>,
    /// Values of the scheduler's settings, and of others that add work to a switch, by file name
    /// under /proc/sys or /sys/kernel/debug.
    pub settings: BTreeMap<String, String>,
}

impl SwitchPath {
    /// Returns the conditions without the path of the control group, which may identify its owner.
    pub(crate) fn redacted(self) -> Self {
        SwitchPath {
            control_group: Fact::unknown("it was to be left out (--redact)"),
            ..self
        }
    }
}
