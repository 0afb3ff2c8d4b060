//! Simulates a trace in orders that differ from the recorded one: with each schedule and each
//! quantum, one after the other.

use std::path::Path;
use std::sync::Arc;

use switchcost_analysis::simulation::over_orders;
use switchcost_design::Design;
use switchcost_record::Source;
use switchcost_report::simulate::render_orders;
use switchcost_report::{Format, Style};
use switchcost_trace::reorder::{Reordered, Schedule, Streams, StreamsReader};
use switchcost_trace::{Preemptions, TraceFile};
use switchcost_units::Nanos;

use super::ended::{Ended, Several};
use super::{DEFAULT_INTERVAL, Run, designs, feed, print_notes};
use crate::cli::simulate::{DesignArguments, FEWEST_INSTRUCTIONS, Quantum, SimulateArguments};
use crate::cli::trace::{QUANTUM_INSTRUCTIONS, TURN_SEED};
use crate::exit::{Exit, Failure, Outcome};
use crate::kinds;
use crate::output::Output;
use crate::progress::StreamProgress;
use crate::runs::Place;
use crate::signals::Interrupt;
use crate::verbs::trace::look;

/// An order of time slices: the choice of the next task, and the quantum in instructions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Order {
    schedule: Schedule,
    pub(super) quantum_instructions: u64,
    /// Number of instructions in which a disk reads a page; `None` if page faults do not wait for a
    /// disk.
    page_faults: Option<u64>,
    /// Mean number of instructions between random preemptions; `None` without preemptions.
    preempt_every: Option<u64>,
}

impl Order {
    /// Returns the quantum in instructions; `None` if the order has no quantum that ends time
    /// slices.
    fn quantum(self) -> Option<u64> {
        (self.schedule != Schedule::LongestQuantum).then_some(self.quantum_instructions)
    }

    /// Returns the name of the order for the record.
    fn name(self) -> String {
        let preempted = self
            .preempt_every
            .map(|every| format!(", {}", Preemptions::words(every)));
        let faults = self
            .page_faults
            .map(|instructions| format!(", page faults of {instructions} instructions"));
        format!(
            "{}{}{}",
            self.schedule,
            preempted.unwrap_or_default(),
            faults.unwrap_or_default()
        )
    }
}

/// Returns the quantum of programs that are simulated as they run, in instructions; an error for a
/// time, for several quanta, or if a flag for stored traces is given.
pub(super) fn live_quantum(arguments: &SimulateArguments) -> Outcome<u64> {
    if let Some(flag) = arguments.flag_of_stored_trace() {
        return Err(Failure::usage(format!(
            "{flag} needs a stored trace, and simulate live stores none; write one with switchcost trace, or leave {flag} out"
        )));
    }
    match arguments.quantum[..] {
        [] => Ok(QUANTUM_INSTRUCTIONS),
        [Quantum::Instructions(instructions)] => Ok(instructions),
        [Quantum::Time(time)] => Err(Failure::usage(format!(
            "a quantum of {time} cannot be combined with live; write it in instructions, such as 400000"
        ))),
        ref several => Err(Failure::usage(format!(
            "{} quanta cannot be combined with live, which takes one; to try several, record a trace with switchcost trace",
            several.len()
        ))),
    }
}

/// Returns the requested orders; empty for the order of the trace itself.
pub(super) fn wanted(arguments: &SimulateArguments, path: &Path) -> Outcome<Vec<Order>> {
    let (mut schedules, quanta) = (arguments.schedule.clone(), &arguments.quantum);
    let page_faults = arguments
        .page_faults
        .map(|time| convert_quantum(time, arguments))
        .transpose()?;
    let preempt_every = arguments.preempt_every;
    let is_given = page_faults.is_some() || preempt_every.is_some();
    if schedules.is_empty() && quanta.is_empty() && !is_given {
        return Ok(Vec::new());
    }
    if schedules.is_empty() {
        schedules.push(Schedule::RoundRobin);
    }
    let mut lengths = quanta
        .iter()
        .map(|quantum| convert_quantum(*quantum, arguments))
        .collect::<Result<Vec<_>, _>>()?;
    if lengths.is_empty() {
        lengths.push(
            look::open(path)?
                .header()
                .quantum_instructions
                .unwrap_or(QUANTUM_INSTRUCTIONS),
        );
    }
    let mut orders: Vec<Order> = Vec::new();
    for schedule in schedules {
        for &quantum_instructions in &lengths {
            let order = Order {
                schedule,
                quantum_instructions,
                page_faults,
                preempt_every,
            };
            let is_there =
                |other: &Order| (other.schedule, other.quantum()) == (schedule, order.quantum());
            if !orders.iter().any(is_there) {
                orders.push(order);
            }
        }
    }
    Ok(orders)
}

fn convert_quantum(quantum: Quantum, arguments: &SimulateArguments) -> Outcome<u64> {
    match quantum {
        Quantum::Instructions(instructions) => Ok(instructions),
        Quantum::Time(time) => {
            let cycle_ns = one_cycle_ns(&designs::selected(&arguments.designs)?, time)?;
            let instructions = (time.0 as f64 / cycle_ns).round() as u64;
            if instructions < FEWEST_INSTRUCTIONS {
                return Err(Failure::usage(format!(
                    "{time:#} is only {instructions} instructions at one per cycle; choose at least {FEWEST_INSTRUCTIONS}"
                )));
            }
            Ok(instructions)
        }
    }
}

/// Returns the cycle time that all designs have in common, in ns. A range of cycle times is
/// replaced by its geometric mean.
fn one_cycle_ns(designs: &[Design], time: Nanos) -> Outcome<f64> {
    let refused = |found: &str| {
        Failure::usage(format!(
            "{time:#} cannot be converted to instructions: {found}; give a number of instructions, or \
             one design"
        ))
    };
    let cycle = |design: &Design| design.cycle_ns.map(|[short, long]| (short * long).sqrt());
    let first = designs.first().and_then(cycle);
    if let Some(other) = designs.iter().find(|design| cycle(design) != first) {
        let names = format!(
            "{} and {} with different cycles",
            designs[0].name, other.name
        );
        return Err(refused(&names));
    }
    first.ok_or_else(|| refused("no time of a cycle in the designs"))
}

/// Simulates each order, and compares the orders if there are several.
pub(super) fn run(path: &Path, orders: &[Order], arguments: &DesignArguments) -> Outcome<Exit> {
    if arguments.record.is_some() && orders.len() > 1 {
        return Err(record_of_several(orders.len()));
    }
    arguments.form.format_of_text()?;
    let output = Output::claim(arguments.form.output.as_deref())?;
    let interrupt = Interrupt::watch()?;
    print_notes(open(path)?.header());
    let Some(streams) = take_apart(path, &interrupt)? else {
        return Ok(Exit::Broken);
    };
    let mut ended = Vec::new();
    for (number, order) in orders.iter().enumerate() {
        let record = if orders.len() == 1 {
            None
        } else {
            Some(new_record(number + 1)?)
        };
        let Some(one) = simulate(path, *order, &streams, arguments, record, &interrupt)? else {
            return interrupt.exit().ok_or_else(|| Failure::empty(path));
        };
        let is_recorded = one.is_recorded();
        ended.push(one);
        if interrupt.is_raised() || !is_recorded {
            break;
        }
    }
    if ended.len() == 1
        && let Some(one) = ended.pop()
    {
        return one.show(arguments, output);
    }
    let several = Several::load(ended)?;
    let text = text(&several, arguments, output.style(arguments.verbosity));
    output.write(&text)?;
    several.check()?;
    Ok(Exit::Success)
}

/// Splits the trace into the streams of its tasks; `None` if the run was stopped.
pub(super) fn take_apart(path: &Path, interrupt: &Interrupt) -> Outcome<Option<Arc<Streams>>> {
    let failed = Failure::read_trace(path);
    let mut reader = StreamsReader::new(open(path)?);
    while reader.next_chunk().map_err(failed)? {
        if interrupt.is_raised() {
            return Ok(None);
        }
    }
    Ok(Some(Arc::new(reader.finish())))
}

pub(super) fn open(path: &Path) -> Outcome<TraceFile<'static>> {
    let file = Source::named(path).open().map_err(Failure::open(path))?;
    TraceFile::open(file).map_err(Failure::read_trace(path))
}

/// Returns the error for a record that the user named, although there are several simulations.
pub(super) fn record_of_several(simulations: usize) -> Failure {
    Failure::usage(format!(
        "--record names one file, but there are {simulations} simulations; leave it out, and each is saved in the \
         default folder"
    ))
}

/// Returns the path of a new record. `number` distinguishes records written within a second.
pub(super) fn new_record(number: usize) -> Outcome<Place> {
    Place::choose(None, &format!("{number:02}-{}", kinds::SIMULATION))
}

fn simulate(
    path: &Path,
    order: Order,
    streams: &Arc<Streams>,
    arguments: &DesignArguments,
    record: Option<Place>,
    interrupt: &Interrupt,
) -> Outcome<Option<Ended>> {
    let file = open(path)?;
    let mut progress = StreamProgress::over_trace(file.index().instructions);
    let mut run = Run::begin(
        arguments,
        DEFAULT_INTERVAL,
        &path.to_string_lossy(),
        file.header(),
        record,
    )?
    .set_order(order.name(), order.quantum());
    let turns = Reordered::new(
        file,
        Arc::clone(streams),
        order.schedule,
        order.quantum_instructions,
    );
    let turns = match order.preempt_every {
        Some(every) => turns.preempt(Preemptions::new(every, TURN_SEED)),
        None => turns,
    };
    let mut turns = match order.page_faults {
        Some(instructions) => turns.wait_for_page_faults(instructions),
        None => turns,
    };
    let incomplete = feed(&mut run, path, interrupt, |chunk| {
        let is_more = turns.next_into(chunk)?;
        progress.show(chunk);
        Ok(is_more)
    })?;
    if run.is_empty() {
        Ok(None)
    } else {
        run.finish(incomplete).map(Some)
    }
}

/// Returns the report on several orders. A table is followed by the command that draws the curves.
fn text(several: &Several, arguments: &DesignArguments, style: Style) -> String {
    let loaded = &several.contents;
    let orders = over_orders(
        &loaded
            .iter()
            .map(|(head, findings)| (head, findings))
            .collect::<Vec<_>>(),
    );
    let source = loaded
        .first()
        .map_or("", |(head, _)| head.trace.source.as_str());
    let text = render_orders(source, &orders, arguments.form.format(), style);
    if arguments.form.format() == Format::Table {
        text + &several.curves()
    } else {
        text
    }
}
