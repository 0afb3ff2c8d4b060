//! Runs the experiment: plan, calibrate, interleave, take raw samples. Internal to switchcost.
//!
//! The input is a [`switchcost_record::Plan`]. The output is raw cycles of short batches, window by
//! window; each window is passed to a sink when it is complete. This crate has no statistics and no
//! printing: a function that the caller passes in decides when a case has enough repetitions.
//!
//! ```text
//!  plan ──> run ──(Order)──> a fresh process: repetition ──> Experiment (ring | user | preempt | at_once)
//!            ^                                   │
//!            └──────────(Message: cycles)────────┘
//! ```
//!
//! Each repetition runs in a new process, so pages, addresses and task structures are new each
//! time. The effect of their placement appears as variance between repetitions, not as a hidden
//! bias.

mod at_once;
mod controls;
mod experiment;
mod fresh_process;
mod latency;
mod peers;
mod placement_noise;
mod plan;
mod preempt;
pub mod prices;
mod protocol;
mod repetition;
mod ring;
mod round;
mod run;
mod runtime;
pub mod sides;
mod turns;
mod user;

pub use controls::{RequestedControls, wanted_controls};
pub use fresh_process::{ProcessExecutor, REPETITION_ARGUMENT};
pub use latency::measure_latencies;
pub use plan::{
    LatencyPlan, PlacementChoice, PlanError, Preset, RuntimeSelection, Selection, check_cpu,
    latency_plan, plan, sweep_sizes,
};
pub use protocol::{BatchRounds, Launch, Message, Order};
pub use repetition::serve;
pub use run::{Executor, Instruments, Progress, RepetitionOutcome, Stop, measure};
pub use turns::{TURNS_ARGUMENT, Turns, take_turns};
