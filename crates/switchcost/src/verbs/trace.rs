//! `switchcost trace`: captures programs, and shows, checks and converts traces.

pub(crate) mod capture;
mod export;
mod foreign;
mod import;
pub(crate) mod look;
pub(crate) mod system;
mod walks;

use crate::cli::trace::{TraceAction, TraceArguments};
use crate::exit::{Exit, Outcome};

pub(crate) fn run(arguments: &TraceArguments) -> Outcome<Exit> {
    match &arguments.action {
        None if arguments.system.system => system::run(arguments),
        None => capture::run(arguments),
        Some(TraceAction::Info(file)) => look::info(file),
        Some(TraceAction::Check(file)) => look::check(file),
        Some(TraceAction::Head(head)) => look::head(head),
        Some(TraceAction::Walks(arguments)) => walks::run(arguments),
        Some(TraceAction::Import(import)) => import::import(import),
        Some(TraceAction::Export(export)) => export::export(export),
    }
}
