//! Arguments of `schema`: JSON Schema of the output for programs.

use clap::{Args, ValueEnum};

use super::HELP_TEMPLATE;

/// A JSON output, by the name in its field `schema`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, strum::Display, strum::EnumIter)]
#[strum(serialize_all = "kebab-case")]
pub(crate) enum Printed {
    /// Output of measure, and of report for its record
    Measure,
    /// Output of observe, and of report for its record
    Observe,
    /// Each line of observe --every
    ObserveInterval,
    /// The record that observe writes
    #[value(name = "record.observation")]
    #[strum(serialize = "record.observation")]
    Observation,
    /// Output of compare
    Compare,
    /// Output of ab
    Ab,
    /// Output of compare --history
    History,
    /// Output of inject, and of report for its record
    Inject,
    /// Output of measure --prices
    Prices,
    /// Output of doctor
    Doctor,
    /// Output of trace info
    TraceInfo,
    /// Output of trace check
    TraceCheck,
    /// Output of simulate, and of report for its record
    Simulate,
    /// Output of simulate with several traces
    SimulateTrials,
    /// Output of simulate with several orders
    SimulateOrders,
    /// Output of simulate --at-once
    SimulateAtOnce,
    /// Output of reproduce
    Reproduce,
    /// Output of reproduce --claims
    Claims,
    /// Output of man --format json
    Flags,
}

/// Prints the JSON Schema (draft 2020-12) of JSON outputs and files: every field, its type, and what it means.
#[derive(Clone, Debug, Args)]
#[command(help_template = HELP_TEMPLATE, after_help = "\
Examples:
  switchcost schema measure > measure.schema.json
  switchcost schema                                      all of them, in one object")]
pub(crate) struct SchemaArguments {
    /// Output to describe [default: all of them, in one object by name and version]
    #[arg(value_enum, value_name = "NAME")]
    pub(crate) printed: Option<Printed>,
}
