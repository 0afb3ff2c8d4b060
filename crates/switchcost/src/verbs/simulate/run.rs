//! A simulation in progress: the designs, the input, and the record.

use std::path::{Path, PathBuf};

use switchcost_cachesim::{Options, Simulator};
use switchcost_design::is_host;
use switchcost_design::result::{
    DesignPrices, DesignResult, GuestFacts, Interval, LIVE, LostLines, PartResult, Simulation,
    TraceFacts, TracePart,
};
use switchcost_facts::Root;
use switchcost_host::machine::manifest_at_once;
use switchcost_record::prices::{Prices, read_prices};
use switchcost_record::{HostManifest, LEFT_OUT};
use switchcost_reuse::KindsByInstruction;
use switchcost_simulation_record::{SIMULATION_FORM, SimulationWriter, Unwritten};
use switchcost_trace::{Chunk, Dependences, Guest, KernelSymbols, Purpose, TraceHeader};
use time::OffsetDateTime;

use super::ended::Ended;
use super::places::Names;
use super::user_only::remove_kernel;
use super::warm_up::differences;
use super::{designs, places};
use crate::cli::simulate::DesignArguments;
use crate::exit::Outcome;
use crate::kinds;
use crate::messages::say;
use crate::prices;
use crate::records::unrecorded;
use crate::redact;
use crate::runs::{self, Place};
use crate::verbs::trace::look::known_dependences;

pub(super) struct Run {
    simulator: Simulator,
    options: Options,
    writer: SimulationWriter,
    path: PathBuf,
    intervals: Vec<Interval>,
    started: OffsetDateTime,
    source: String,
    header: TraceHeader,
    is_redacted: bool,
    /// Name and quantum (in instructions) of the order of the tasks; `None` for the order of the
    /// trace itself.
    order: Option<(String, Option<u64>)>,
    /// The simulated part of the trace, and the results of its start without a warm-up; `None` for
    /// the whole trace.
    part: Option<(TracePart, Vec<PartResult>)>,
    is_user_only: bool,
    has_blocks: bool,
    /// Miss costs named by the user; `None` for the miss costs stored for this machine.
    prices: Option<Prices>,
    /// Whether a design may have miss costs.
    is_priced: bool,
    kinds: KindsByInstruction,
    /// Symbols of the kernel; `None` until they are read from the end of a trace.
    symbols: Option<KernelSymbols>,
}

/// Returns the number of CPUs that this process may use.
fn cpus() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

fn facts(
    Guest {
        kernel,
        command_line,
        slice_ns,
        instructions_per_second,
    }: Guest,
) -> GuestFacts {
    GuestFacts {
        kernel,
        command_line,
        slice_ns,
        instructions_per_second,
    }
}

/// Returns the name of the source for the record. The path of a trace may have to be redacted.
fn source(named: String, is_redacted: bool) -> String {
    if is_redacted && named != LIVE {
        LEFT_OUT.to_owned()
    } else {
        named
    }
}

/// Default number of intervals that are recorded after each switch.
const DEFAULT_INTERVALS: u32 = 100;

pub(super) fn options(arguments: &DesignArguments, interval: u64) -> Options {
    Options {
        interval_instructions: arguments
            .interval
            .map_or(interval, |flag| flag.instructions),
        intervals: arguments
            .interval
            .and_then(|flag| flag.count)
            .unwrap_or(DEFAULT_INTERVALS),
        kernel_touches: arguments.kernel_touches,
        private_by: arguments.private_by,
        places: arguments.places,
        most_in_full: arguments.in_full,
        threads: arguments.threads.map_or_else(cpus, usize::from),
    }
}

/// Returns the miss costs for designs; `None` if there are none. Miss costs named by the user apply
/// to all designs. Without them, the design `host` and its variants have the miss costs stored for
/// this machine.
fn prices_of(
    named: Option<Prices>,
    host: &HostManifest,
    designs: &[DesignResult],
) -> Option<DesignPrices> {
    let is_named = named.is_some();
    let are_of: Vec<bool> = designs
        .iter()
        .map(|result| is_named || is_host(&result.design.name))
        .collect();
    if !are_of.contains(&true) {
        return None;
    }
    let prices = named.or_else(|| prices::machine_prices(host).ok())?;
    Some(DesignPrices { prices, are_of })
}

/// Divides lost lines by the kinds of their instructions' requests, and adds up the lines of all
/// instructions.
fn divide(lost_lines: &mut Vec<LostLines>, kinds: &KindsByInstruction) {
    for lost in std::mem::take(lost_lines) {
        let divided = lost
            .instruction
            .and_then(|instruction| kinds.divide(instruction, lost.lines));
        let parts = divided.unwrap_or_else(|| vec![(lost.kind, lost.lines)]);
        for (kind, lines) in parts.into_iter().filter(|(_, lines)| *lines > 0) {
            let part = LostLines {
                kind,
                instruction: None,
                lines,
                ..lost.clone()
            };
            let is_same = |row: &&mut LostLines| {
                (&row.found_alone, &row.missed, row.kind)
                    == (&part.found_alone, &part.missed, part.kind)
            };
            match lost_lines.iter_mut().find(is_same) {
                Some(row) => row.lines += lines,
                None => lost_lines.push(part),
            }
        }
    }
}

impl Run {
    /// Begins a simulation. `place` is the path of the record, if it differs from the path in the
    /// arguments.
    pub(super) fn begin(
        arguments: &DesignArguments,
        interval: u64,
        source: &str,
        header: &TraceHeader,
        place: Option<Place>,
    ) -> Outcome<Run> {
        let options = options(arguments, interval);
        let designs = designs::selected(arguments)?;
        let is_priced =
            arguments.prices.is_some() || designs.iter().any(|design| is_host(&design.name));
        let simulator = Simulator::new(designs, options.clone())?;
        let alone = simulator.designs_that_cannot_be_swept();
        if alone > 0 {
            say!(
                "{alone} designs are simulated separately, which is slower: only plain LRU levels, such as the L2 of \
                 plain-lru, share one pass"
            );
        }
        let usual = || Place::choose(arguments.record.as_deref(), kinds::SIMULATION);
        let Place { path, readers } = place.map_or_else(usual, Ok)?;
        Ok(Run {
            simulator,
            options,
            writer: SimulationWriter::create(&path)?.set_readers(readers),
            path,
            intervals: Vec::new(),
            started: OffsetDateTime::now_utc(),
            source: source.to_owned(),
            header: redact::trace(header.clone(), arguments.redaction.redact),
            is_redacted: arguments.redaction.redact,
            order: None,
            part: None,
            is_user_only: arguments.user_only,
            has_blocks: false,
            prices: arguments.prices.as_deref().map(read_prices).transpose()?,
            is_priced,
            kinds: KindsByInstruction::default(),
            symbols: None,
        })
    }

    /// Sets the symbols of the simulated kernel.
    pub(super) fn name_symbols(&mut self, symbols: KernelSymbols) {
        self.symbols = Some(symbols);
    }

    /// Sets the name and the quantum of an order of tasks that differs from the order of the trace.
    pub(super) fn set_order(self, order: String, quantum_instructions: Option<u64>) -> Run {
        Run {
            order: Some((order, quantum_instructions)),
            ..self
        }
    }

    /// Returns the dependences of a stored trace's code; none if no design has miss costs.
    pub(super) fn dependences(&self, trace: &Path) -> Dependences {
        if self.is_priced {
            known_dependences(trace)
        } else {
            Dependences::default()
        }
    }

    /// Follows how the instructions of the next chunk request lines. To be called before the chunk
    /// is simulated.
    pub(super) fn follow(&mut self, chunk: &Chunk, dependences: &Dependences) {
        if self.is_priced {
            self.kinds.add(chunk, dependences);
        }
    }

    /// Simulates the next chunk, and replaces it by an empty chunk that can be reused.
    pub(super) fn chunk(&mut self, chunk: &mut Chunk) -> Outcome {
        self.leave_kernel_out(chunk);
        self.has_blocks |= !chunk.blocks.is_empty();
        self.simulator.feed(chunk, &mut self.intervals)?;
        self.keep_intervals()
    }

    /// Removes the kernel's blocks and references from a chunk, if only programs are simulated.
    pub(super) fn leave_kernel_out(&self, chunk: &mut Chunk) {
        if self.is_user_only {
            *chunk = remove_kernel(chunk);
        }
    }

    /// Simulates the next chunk of a part of the trace.
    pub(super) fn part(
        &mut self,
        chunk: &mut Chunk,
        purpose: Purpose,
        since_switch: Option<u64>,
    ) -> Outcome {
        let is_counted = matches!(purpose, Purpose::Count { .. });
        self.has_blocks |= is_counted && !chunk.blocks.is_empty();
        self.simulator
            .feed_part(chunk, purpose, since_switch, &mut self.intervals)?;
        self.keep_intervals()
    }

    /// Sets the part of the trace that was simulated. `without` has the results of the part's start
    /// without a warm-up.
    pub(super) fn set_part(self, part: TracePart, without: Option<Vec<PartResult>>) -> Run {
        Run {
            part: Some((part, without.unwrap_or_default())),
            ..self
        }
    }

    fn keep_intervals(&mut self) -> Outcome {
        self.writer.write(&self.intervals)?;
        self.intervals.clear();
        Ok(())
    }

    /// Stops early: chunks that no design has begun to simulate are skipped.
    pub(super) fn stop_early(&self) {
        self.simulator.stop_early();
    }

    /// Returns true if no counted instruction has been simulated.
    pub(super) fn is_empty(&self) -> bool {
        !self.has_blocks
    }

    /// Ends the simulation, and writes the record. `incomplete` is the reason if the trace was not
    /// simulated to its end.
    pub(super) fn finish(mut self, incomplete: Option<String>) -> Outcome<Ended> {
        let symbols = self
            .symbols
            .unwrap_or_else(|| places::symbols_of(Path::new(&self.source)));
        let mut names = Names::new(symbols);
        let mut outcome = self
            .simulator
            .finish(&mut self.intervals, &mut |object, offset| {
                names.name_data(object, offset)
            });
        names.name_code(&mut outcome.designs);
        for detail in outcome
            .designs
            .iter_mut()
            .filter_map(|result| result.detail.as_mut())
        {
            divide(&mut detail.lost_lines, &self.kinds);
        }
        self.writer.write(&self.intervals)?;
        let of_trace = serde_json::to_value(self.header.order).ok();
        let of_trace = of_trace
            .as_ref()
            .and_then(|order| order.as_str())
            .unwrap_or("unknown")
            .to_owned();
        let (order, quantum_instructions) = self
            .order
            .unwrap_or((of_trace, self.header.quantum_instructions));
        let trace = TraceFacts {
            source: source(self.source, self.is_redacted),
            order,
            quantum_instructions,
            commands: self.header.commands,
            instructions: outcome.instructions,
            loads: outcome.loads,
            stores: outcome.stores,
            voluntary_switches: outcome.voluntary_switches,
            involuntary_switches: outcome.involuntary_switches,
            incomplete,
            part: self.part.map(|(part, without)| TracePart {
                without_warm_up: differences(&outcome.parts, &without),
                ..part
            }),
            guest: self.header.guest.map(facts),
            notes: self.header.notes,
        };
        let host = manifest_at_once(&Root::system());
        let prices = prices_of(self.prices, &host, &outcome.designs);
        let head = Simulation {
            schema: SIMULATION_FORM.to_owned(),
            program_version: env!("CARGO_PKG_VERSION").to_owned(),
            started_at: runs::stamp(self.started),
            command: redact::own_command(self.is_redacted),
            host: Some(redact::host(host, self.is_redacted)),
            trace,
            interval_instructions: self.options.interval_instructions,
            intervals: self.options.intervals,
            private_by: self.options.private_by,
            processes: outcome.processes,
            causes: outcome.causes,
            designs: outcome.designs,
            prices,
        };
        match self.writer.finish_or_return(&head) {
            Ok(()) => {
                say!("record {}", self.path.display());
                Ok(Ended::Recorded(self.path))
            }
            Err(Unwritten { error, intervals }) => {
                match intervals.and_then(|intervals| unrecorded(&head, intervals)) {
                    Some(findings) => Ok(Ended::Unrecorded(Box::new((head, findings)), error)),
                    None => Err(error.into()),
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use switchcost_record::prices::Kind;

    #[test]
    fn lost_lines_of_all_instructions_are_added_up() {
        let lost = |kind, instruction, lines| LostLines {
            found_alone: "L1D".into(),
            missed: "L2".into(),
            kind,
            instruction,
            lines,
        };
        let mut found = vec![
            lost(Kind::Sequential, None, 4),
            lost(Kind::Gathered, Some(0x1000), 2),
            lost(Kind::Gathered, Some(0x1010), 3),
            lost(Kind::Dependent, Some(0x1010), 1),
        ];
        divide(&mut found, &KindsByInstruction::default());
        assert_eq!(
            found,
            [
                lost(Kind::Sequential, None, 4),
                lost(Kind::Gathered, None, 5),
                lost(Kind::Dependent, None, 1),
            ]
        );
    }
}
