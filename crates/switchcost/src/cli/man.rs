//! Arguments of `man`: the manual page, or its content for programs.

use clap::{Args, ValueEnum};

use super::HELP_TEMPLATE;

/// What the definition of the flags is written as.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum, strum::Display)]
#[strum(serialize_all = "kebab-case")]
pub(crate) enum ManFormat {
    /// A manual page, for man
    #[default]
    Roff,
    /// Every command with its options, for programs that call this one
    Json,
}

/// Prints the manual page of the program, or of one command.
#[derive(Clone, Debug, Args)]
#[command(help_template = HELP_TEMPLATE, after_help = "\
Examples:
  switchcost man > switchcost.1
  switchcost man measure | man -l -
  switchcost man --format json                           every command with its options")]
pub(crate) struct ManArguments {
    /// Command to describe, such as measure or trace-check [default: the whole program]
    #[arg(value_name = "COMMAND")]
    pub(crate) verb: Option<String>,

    /// Output format
    #[arg(long, value_name = "FORMAT", value_enum, default_value_t = ManFormat::Roff)]
    pub(crate) format: ManFormat,
}
