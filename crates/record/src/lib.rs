//! Records of measurements: versioned, self-describing, crash-safe.
//!
//! The input is facts, plans and raw samples as they are taken; the output is an append-only file of JSON lines (see
//! `docs/formats/measure-record.md`), and the same values read back. The file has everything that a later stage needs, so that any report
//! can be made again elsewhere and years later. This crate has no statistics and no printing, and does not know how a sample is taken.
//!
//! The record of a measurement and the types that all records share are at the top. Each other file has a module: [`observation`],
//! [`injection`] and [`profile`].
#![doc = include_str!("../README.md")]

mod cycles;
mod earlier;
mod fact;
mod file;
mod fitness;
mod header;
mod host;
pub mod injection;
mod mechanism;
pub mod observation;
mod plan;
mod printable;
pub mod profile;
mod readers;
mod runtime;
mod sample;
mod sealed_log;
mod source;
mod switch_path;
pub mod trust;
mod vector_state;

pub use cycles::{Batch, Batches, CountedHandoffs, Cycles};
pub use earlier::{CostName, EarlierCase, EarlierRuns, Spread};
pub use fact::Fact;
pub use file::MeasureRecord;
pub use fitness::{Check, DOCTOR_SCHEMA, Fitness, Severity};
pub use header::{
    ClockFacts, Control, ControlOutcome, CoreClock, End, EndReason, Header, Latency, Line,
    MEASURE_FORM, Refusal, SelfTest, SelfTestOutcome, SharedCost, Walks,
};
pub use host::{
    Cache, CacheKind, CpuQuota, HostManifest, InterruptLoad, LEFT_OUT, Scheduler, Tlb, TlbKind,
};
pub use mechanism::{Band, Between, Family, Mechanism, SAME_CPU, Traits};
pub use plan::{Case, Placement, Plan, Policy, Relation, Rounds, SwitchPlan};
pub use printable::{
    as_argument, bind_semicolons, is_printable, plain, printable, split_hint, strip_error_numbers,
};
pub use readers::Readers;
pub use runtime::{Class, HandoffFacts, RuntimeCase, RuntimeFacts, RuntimeRun, WarmUp};
pub use sample::{Arm, Evidence, KernelSwitches, Sample};
pub use sealed_log::{
    BrokenChain, Chain, Form, LinePlace, LogLine, ReadRecordError, SealedLog, WriteRecordError,
};
pub use source::Source;
pub use switch_path::SwitchPath;
pub use vector_state::{VectorCase, VectorState};
