//! Records of measurements, observations and injections: versioned, self-describing files that
//! survive a crash.
//!
//! The writer appends facts, plans and raw samples as they arise to a file of JSON lines (see
//! `docs/formats/measure-record.md`). The reader returns the same values. A file contains
//! everything that later stages need, so that reports can be made years later and on other
//! machines. This crate computes no statistics, prints nothing and takes no samples.
//!
//! The record of a measurement, and the types that all records share, are at the top level. Each
//! other kind of file has a module: [`observation`], [`injection`] and [`prices`].
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
pub mod prices;
mod printable;
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
