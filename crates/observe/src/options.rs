use switchcost_units::Nanos;

/// Data to collect besides the number of switches.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    /// Whether wakers are counted, which makes a switch a third more expensive.
    pub wants_wakers: bool,
    /// Whether each switch and wake-up of the observed tasks is reported: see
    /// [`crate::Backend::take_events`].
    pub wants_events: bool,
    /// Whether the scheduler's time at each switch is measured, if the kernel has tracepoints at
    /// the scheduler's entry and exit.
    pub wants_scheduler_time: bool,
    /// Whether only counts and causes are wanted, without a clock: no times off the CPU, no other tasks, no memory.
    pub counts_only: bool,
    /// Number of switches per second whose user stack is sampled; `None` for no samples.
    pub stacks_per_second: Option<u32>,
    /// Times at which calls of the observed tasks are traced.
    pub calls: CallTracing,
    /// Whether BPF programs are avoided, even if the kernel would accept them.
    pub without_bpf: bool,
}

/// Times at which system calls of the observed tasks, and the code between the calls, are traced.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CallTracing {
    /// Calls are never traced.
    #[default]
    Never,
    /// Calls are traced in one-second slices every ten seconds, as long as this costs little of an
    /// observation of the given duration.
    Sampled {
        /// Duration of the observation, if it is known.
        duration: Option<Nanos>,
    },
    /// Calls are traced once, for this time.
    Once(Nanos),
}
