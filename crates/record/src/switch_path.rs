use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Fact;

/// Conditions that affect a switch between tasks of this program, besides the kernel's build:
/// properties of the tasks, and hooks in the scheduler.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct SwitchPath {
    /// Nice value of this process, which counts under an ordinary policy.
    pub nice: Fact<i32>,
    /// Time slice of this process under an ordinary policy, as kernels from 6.12 on report it.
    pub slice_ns: Fact<u64>,
    /// Least and largest utilization that the scheduler assumes for this process, in units of
    /// 1/1024.
    pub utilization_clamp: Fact<[u32; 2]>,
    /// Control group that limits the CPU time of this process, as far as the process sees it.
    pub control_group: Fact<String>,
    /// Number of groups above the control group, including the root. At each of them the scheduler
    /// makes a choice.
    pub control_group_depth: Fact<u32>,
    /// Whether sessions have their own scheduling groups: `off`, or `on` with the nice value of this session.
    pub autogroup: Fact<String>,
    /// Number of filters of system calls (seccomp) that each call passes.
    pub seccomp_filters: Fact<u32>,
    /// Guards against speculation that run at each switch, in the kernel's words.
    pub speculation: Fact<String>,
    /// Whether a debugger traces this process (ptrace).
    pub is_traced: Fact<bool>,
    /// Name of the loaded sched_ext scheduler, which consists of BPF programs, or `none`.
    pub sched_ext: Fact<String>,
    /// Activity of ftrace: its tracer, events and probes.
    pub ftrace: Fact<Vec<String>>,
    /// Other processes with perf events or attached BPF programs, by their names; hostile text until escaped.
    pub observers: Fact<Vec<String>>,
    /// Whether system calls are audited: `off`, `on`, or `locked on`.
    pub audit: Fact<String>,
    /// Security modules, in the order in which the kernel calls them.
    pub security_modules: Fact<Vec<String>>,
    /// Settings of the scheduler, and others that add work to a switch, by the names of their files under /proc/sys and /sys/kernel/debug.
    pub settings: BTreeMap<String, String>,
}

impl SwitchPath {
    /// Returns the conditions without the name of the control group, which may identify its owner.
    pub(crate) fn redacted(self) -> Self {
        SwitchPath {
            control_group: Fact::unknown("it was to be left out (--redact)"),
            ..self
        }
    }
}
