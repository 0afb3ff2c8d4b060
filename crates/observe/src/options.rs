use switchcost_units::Nanos;

/// What is counted besides switches.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    /// Which task woke which: it makes a switch dearer by a third more.
    pub wants_wakers: bool,
    /// Each switch and wake-up of the observed, one by one: see [`crate::Backend::take_events`].
    pub wants_events: bool,
    /// How long the scheduler takes at each switch, where the kernel has tracepoints at its entry and exit.
    pub wants_scheduler_time: bool,
    /// Counts and causes alone, without a clock: no times off the CPU, no neighbours, no memory.
    pub counts_only: bool,
    /// So many switches a second have the user's stack sampled.
    pub stacks_per_second: Option<u32>,
    /// When calls of the observed are traced.
    pub calls: CallTracing,
    /// Whether to do without programs in the kernel, even where it would take them.
    pub without_bpf: bool,
}

/// When system calls of the observed and the code between them are traced.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CallTracing {
    /// Never.
    #[default]
    Never,
    /// In slices of one second of each ten, as long as they cost little of an observation of this duration, if it is known.
    Sampled {
        /// From its begin to its end.
        duration: Option<Nanos>,
    },
    /// For this time, once.
    Once(Nanos),
}
