//! Arguments of `schema`: JSON Schema of the output for programs.

use clap::{Args, ValueEnum};

/// What is printed as JSON, by the names that its field `schema` has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, strum::Display, strum::EnumIter)]
#[strum(serialize_all = "kebab-case")]
pub(crate) enum Printed {
    /// By measure, and by report of its record
    Measure,
    /// By observe, and by report of its record
    Observe,
    /// A line of observe --every
    ObserveInterval,
    /// The record that observe writes
    #[value(name = "record.observation")]
    #[strum(serialize = "record.observation")]
    Observation,
    /// By compare
    Compare,
    /// By ab
    Ab,
    /// By compare --history
    History,
    /// By inject, and by report of its record
    Inject,
    /// By trace --profile and trace profile
    Profile,
    /// By measure --prices
    Prices,
    /// By doctor
    Doctor,
    /// By trace info
    TraceInfo,
    /// By trace check
    TraceCheck,
    /// By simulate, and by report of its record
    Simulate,
    /// By simulate of several traces
    SimulateTrials,
    /// By simulate with several orders
    SimulateOrders,
    /// By simulate --at-once
    SimulateAtOnce,
    /// By simulate --sample
    SimulateSample,
    /// By reproduce
    Reproduce,
    /// By reproduce --claims
    Claims,
    /// By man
    Flags,
}

/// Prints the JSON Schema (draft 2020-12) of JSON outputs and files: every field, its type, and what it means.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
Examples:
  switchcost schema measure > measure.schema.json
  switchcost schema                                      all of them: one object, by their names and
                                                         versions")]
pub(crate) struct SchemaArguments {
    /// Of what [default: all of them, one object by their names and versions]
    #[arg(value_enum)]
    pub(crate) printed: Option<Printed>,
}
