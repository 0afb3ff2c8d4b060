//! Arguments of `man`: the manual page, or its content for programs.

use clap::{Args, ValueEnum};

/// What the definition of the flags is written as.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum, strum::Display)]
#[strum(serialize_all = "kebab-case")]
pub(crate) enum ManFormat {
    /// A manual page, for man
    #[default]
    Roff,
    /// Every verb with its flags, for programs that call this one
    Json,
}

/// Prints the manual page of the program, or of one verb.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
Examples:
  switchcost man > switchcost.1
  switchcost man measure | man -l -
  switchcost man --format json                           every verb with its flags, for programs")]
pub(crate) struct ManArguments {
    /// The verb
    pub(crate) verb: Option<String>,

    /// How to write it
    #[arg(long, value_name = "FORMAT", value_enum, default_value_t = ManFormat::Roff)]
    pub(crate) format: ManFormat,
}
