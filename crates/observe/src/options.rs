use switchcost_units::Nanos;

/// Data to collect besides the number of switches.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    /// Whether wakers are recorded, which makes the cost per switch a third higher.
    pub wants_wakers: bool,
    /// Whether each switch and wake-up of the observed tasks is reported by
    /// [`crate::Backend::take_events`].
    pub wants_events: bool,
    /// Whether the time inside the scheduler is measured, if the kernel has tracepoints at the
    /// scheduler's entry and exit.
    pub wants_scheduler_time: bool,
    /// Whether only counts and causes are collected: no times off the CPU, no other tasks, no
    /// memory. No clock is read then.
    pub counts_only: bool,
    /// Number of switches per second whose user stack is sampled; `None` for no samples.
    pub stacks_per_second: Option<u32>,
    /// Times at which system calls of the observed tasks are traced.
    pub calls: CallTracing,
    /// Whether the source must not use BPF programs, even if the kernel accepts them.
    pub without_bpf: bool,
}

/// Times at which system calls of the observed tasks, and the code between the calls, are traced.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CallTracing {
    /// Calls are never traced.
    #[default]
    Never,
    /// Calls are traced for one second out of ten at most, as long as the cost is a small share of
    /// the observed tasks' CPU time.
    Sampled {
        /// Duration of the observation; `None` if it is not known.
        duration: Option<Nanos>,
    },
    /// Calls are traced once, for the time in field 0.
    Once(Nanos),
}
