//! `switchcost ab`: measures two set-ups in interleaved runs, undoes the set-ups, and compares the
//! results.

mod flags;
mod session;

use std::path::PathBuf;

use switchcost_analysis::compare::{Arm, Ended, InTurns, Side, changed_facts};
use switchcost_facts::{Root, cpus_by_quiet};
use switchcost_host::machine::manifest;
use switchcost_measure::sides;
use switchcost_record::HostManifest;
use switchcost_record::Readers;
use switchcost_report::compare::render_in_turns;

use crate::cli::ab::AbArguments;
use crate::exit::{Exit, Failure, Outcome};
use crate::output::Output;
use crate::runs;
use crate::signals::Interrupt;
use crate::verbs::compare::{self, Verdicts};
use flags::Flags;
use session::{Folders, Session};

/// Default change to be detected, as a share of the cost.
const USUAL_CHANGE: f64 = 0.02;

/// Probability with which a change of the given size should be detected. 0.8 is usual in
/// experiments (Cohen, Statistical Power Analysis, 1988).
const POWER: f64 = 0.8;

pub(crate) fn run(arguments: &AbArguments) -> Outcome<Exit> {
    switchcost_host::own_proc::check().map_err(Failure::foreign_proc)?;
    let format = arguments.form.format_of_text()?;
    let output = Output::claim(arguments.form.output.as_deref())?;
    let verdicts = Verdicts::claim(&arguments.verdicts, &[])?;
    let before = manifest(&Root::system());
    let flags = Flags::new(
        &arguments.measure,
        cpus_by_quiet(&before).first().copied(),
        time_of(arguments),
    )?;
    let interrupt = Interrupt::watch()?;
    let readers = match arguments.record {
        Some(_) => Readers::AsUsual,
        None => Readers::Owner,
    };
    let folders = Folders::make(&folder(arguments)?, readers)?;
    let turns = turns(arguments, &flags, folders, &interrupt, &before)?;
    let text = render_in_turns(&turns, format, output.style(arguments.verbosity));
    output.write(&text)?;
    verdicts.write(&turns.comparison)?;
    Ok(exit(&turns))
}

fn time_of(arguments: &AbArguments) -> flags::Time {
    flags::Time {
        budget: arguments.budget,
        runs: arguments.runs,
    }
}

fn folder(arguments: &AbArguments) -> Outcome<PathBuf> {
    arguments
        .record
        .clone()
        .map_or_else(|| runs::new_name("ab"), Ok)
}

fn turns(
    arguments: &AbArguments,
    flags: &Flags,
    folders: Folders,
    interrupt: &Interrupt,
    before: &HostManifest,
) -> Outcome<InTurns> {
    let arms = [
        Arm {
            setup: arguments.base.clone(),
            wrapper: arguments.base_with.clone(),
            undo: arguments.base_undo.clone(),
        },
        Arm {
            setup: arguments.new.clone(),
            wrapper: arguments.new_with.clone(),
            undo: arguments.new_undo.clone(),
        },
    ];
    let seed = arguments.seed.unwrap_or_else(super::seed_of_now);
    let detect = arguments
        .detect
        .or(arguments.fail_above.filter(|share| *share > 0.0))
        .unwrap_or(USUAL_CHANGE);
    let folder = runs::short(&folders.all);
    let mut session = Session::new(arguments, &arms, flags, folders, detect, interrupt);
    let limits = sides::Limits {
        least_runs: arguments.runs,
        budget: arguments.budget,
    };
    let ended = sides::interleave(&mut session, limits, seed)?;
    let done = session.finish();
    let [base, new] = arms;
    Ok(InTurns {
        base,
        new,
        flags: flags.words().to_vec(),
        order: done.order.iter().map(named).collect(),
        seed,
        folder,
        ended: ending(ended),
        elapsed_ns: done.elapsed,
        budget_ns: arguments.budget,
        detect,
        power: POWER,
        detectable: done.comparison.detectable(POWER),
        left: changed_facts(before, &manifest(&Root::system())),
        complaints: done.complaints,
        comparison: done.comparison,
    })
}

fn named(side: &sides::Side) -> Side {
    match side {
        sides::Side::Base => Side::Base,
        sides::Side::New => Side::New,
    }
}

fn ending(ended: sides::Ended) -> Ended {
    match ended {
        sides::Ended::Enough => Ended::Power,
        sides::Ended::Budget => Ended::Budget,
        sides::Ended::Interrupted => Ended::Interrupted,
    }
}

fn exit(turns: &InTurns) -> Exit {
    let is_all_as_before = turns.left.is_empty() && turns.complaints.is_empty();
    match compare::exit(&turns.comparison) {
        Exit::Success if !is_all_as_before => Exit::Partial,
        exit => exit,
    }
}
