//! Compares two ways of sharing a last-level cache: concurrent use, with a CPU for each process,
//! and time-sharing.

use std::path::Path;
use std::sync::Arc;

use switchcost_cachesim::SideBySide;
use switchcost_design::result::LastLevelCounts;
use switchcost_report::simulate::{AtOnce, render_at_once};
use switchcost_trace::Chunk;
use switchcost_trace::reorder::{Reordered, Schedule, Streams};

use super::{designs, orders, print_notes};
use crate::cli::simulate::SimulateArguments;
use crate::cli::trace::QUANTUM_INSTRUCTIONS;
use crate::exit::{Exit, Failure, Outcome};
use crate::output::Output;
use crate::progress::StreamProgress;
use crate::signals::Interrupt;

/// Simulates both ways of sharing. Alternating time slices of `instructions` instructions stand for
/// concurrent use.
pub(super) fn run(path: &Path, instructions: u64, arguments: &SimulateArguments) -> Outcome<Exit> {
    arguments.designs.form.format_of_text()?;
    let output = Output::claim(arguments.designs.form.output.as_deref())?;
    let interrupt = Interrupt::watch()?;
    let machines = || -> Outcome<Vec<SideBySide>> {
        let one = |design: switchcost_design::Design| {
            let name = design.name.clone();
            SideBySide::new(design, arguments.designs.private_by).map_err(|why| {
                Failure::usage(format!(
                    "--at-once needs a design with a shared last level, unlike {name}: {why}"
                ))
            })
        };
        designs::selected(&arguments.designs)?
            .into_iter()
            .map(one)
            .collect()
    };
    let (in_turn, at_once) = (machines()?, machines()?);
    let quantum = orders::wanted(arguments, path)?
        .first()
        .map(|order| order.quantum_instructions);
    let quantum = quantum
        .or(orders::open(path)?.header().quantum_instructions)
        .unwrap_or(QUANTUM_INSTRUCTIONS);
    print_notes(orders::open(path)?.header());
    let Some(streams) = orders::take_apart(path, &interrupt)? else {
        return Ok(Exit::Broken);
    };
    let Some(in_turn) = simulate(path, &streams, quantum, in_turn, &interrupt)? else {
        return Ok(Exit::Broken);
    };
    let Some(at_once) = simulate(path, &streams, instructions, at_once, &interrupt)? else {
        return Ok(Exit::Broken);
    };
    let pairs: Vec<AtOnce> = in_turn
        .into_iter()
        .zip(at_once)
        .map(|(in_turn, at_once)| AtOnce { in_turn, at_once })
        .collect();
    let (form, style) = (
        &arguments.designs.form,
        output.style(arguments.designs.verbosity),
    );
    let source = path.to_string_lossy();
    output.write(&render_at_once(
        &source,
        [quantum, instructions],
        &pairs,
        form.format(),
        style,
    ))?;
    Ok(Exit::Success)
}

/// Returns the accesses and misses of each design's last-level cache, with time slices of `quantum`
/// instructions; `None` if the run was stopped.
fn simulate(
    path: &Path,
    streams: &Arc<Streams>,
    quantum: u64,
    mut machines: Vec<SideBySide>,
    interrupt: &Interrupt,
) -> Outcome<Option<Vec<LastLevelCounts>>> {
    let file = orders::open(path)?;
    let mut progress = StreamProgress::over_trace(file.index().instructions);
    let mut turns = Reordered::new(file, Arc::clone(streams), Schedule::RoundRobin, quantum);
    let mut chunk = Chunk::default();
    while turns
        .next_into(&mut chunk)
        .map_err(Failure::read_trace(path))?
    {
        if interrupt.is_raised() {
            return Ok(None);
        }
        progress.show(&chunk);
        machines
            .iter_mut()
            .try_for_each(|machine| machine.feed(&chunk))?;
    }
    Ok(Some(machines.into_iter().map(SideBySide::finish).collect()))
}
