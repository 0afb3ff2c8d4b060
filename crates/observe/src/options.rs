use switchcost_units::Nanos;

/// Events to be counted besides switches.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    /// Whether wakers are counted, which makes a switch a third more expensive.
    pub wants_wakers: bool,
    /// Whether each switch and wake-up of the observed is reported: see [`crate::Backend::take_events`].
    pub wants_events: bool,
    /// Whether the time of the scheduler at each switch is measured, if the kernel has tracepoints at its entry and exit.
    pub wants_scheduler_time: bool,
    /// Whether only counts and causes are wanted, without a clock: no times off the CPU, no other tasks, no memory.
    pub counts_only: bool,
    /// Switches per second whose user stack is sampled; `None` for no samples.
    pub stacks_per_second: Option<u32>,
    /// Tracing of calls of the observed tasks.
    pub calls: CallTracing,
    /// Whether BPF programs are avoided, even if the kernel would accept them.
    pub without_bpf: bool,
}

/// Times at which system calls of the observed tasks, and the code between them, are traced.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CallTracing {
    /// Never.
    #[default]
    Never,
    /// In one-second slices every ten seconds, as long as this costs little of an observation of the given duration.
    Sampled {
        /// Duration of the observation, if it is known.
        duration: Option<Nanos>,
    },
    /// Once, for this time.
    Once(Nanos),
}
