//! Selects language runtimes, and determines how each one is started.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::path::Path;

use switchcost_host::clock::monotonic;
use switchcost_host::own_environment::left_out;
use switchcost_measure::{Launch, RuntimeSelection};
use switchcost_record::{
    Between, Mechanism, RuntimeCase, RuntimeFacts, bind_semicolons, printable,
};
use switchcost_runtimes::{Handoff, Missing, Row, prepare, shipped};
use switchcost_units::{Bytes, Nanos};

use crate::cli::measure::MeasureArguments;
use crate::exit::{Failure, Outcome};
use crate::home;
use crate::messages::say;
use crate::signals::Interrupt;

/// Time after which a build is announced.
const SILENCE: Nanos = Nanos::seconds(3);

/// Name that selects every runtime.
const ALL: &str = "all";

/// Patterns of environment variables that affect every program.
const OF_ALL: [&str; 3] = ["LD_*", "MALLOC_*", "GLIBC_TUNABLES"];

/// Selected runtimes, each with its selected hand-offs.
#[derive(Debug, Default)]
pub(super) struct Chosen(Vec<Row>);

/// Facts about the selected runtimes, and how each one is started.
#[derive(Debug, Default)]
pub(super) struct Runtimes {
    pub(super) facts: Vec<RuntimeFacts>,
    /// How to start each runtime, by its name, or the reason why the runtime cannot be started.
    pub(super) launches: BTreeMap<String, Result<Launch, String>>,
}

impl Chosen {
    pub(super) fn new(arguments: &MeasureArguments) -> Outcome<Chosen> {
        if arguments.mechanism.contains(&Mechanism::Runtime) {
            return Err(Failure::usage(
                "--mechanism runtime does not say which runtime; name it with --runtime, such as --runtime go"
                    .to_owned(),
            ));
        }
        let mut rows: Vec<Row> = Vec::new();
        for word in &arguments.runtime {
            named(word)?.into_iter().for_each(|row| add(&mut rows, row));
        }
        if let Some(command) = &arguments.runtime_command {
            let words = shlex::split(command).filter(|words| !words.is_empty());
            let words = words.ok_or_else(|| {
                Failure::usage(format!(
                    "--runtime-command '{}' is not a command; give a program and its arguments",
                    printable(command)
                ))
            })?;
            add(&mut rows, Row::from_command(words));
        }
        Ok(Chosen(rows))
    }

    pub(super) fn selected(&self) -> Vec<RuntimeSelection> {
        self.0
            .iter()
            .flat_map(|row| row.handoffs.iter().map(|handoff| selection(row, handoff)))
            .collect()
    }

    /// Prints a notice on environment variables that are removed because they would change the
    /// result.
    fn name_left_out(&self) {
        let ours = self.0.iter().filter(|row| row.is_in_own_environment());
        let patterns: Vec<String> = ours
            .flat_map(|row| {
                row.left_out
                    .iter()
                    .cloned()
                    .chain(OF_ALL.map(str::to_owned))
            })
            .collect();
        let names = left_out(&patterns);
        if !names.is_empty() {
            say!(
                "not passed on to the runtimes: {}; a row of your own can set them (--runtime FILE.toml)",
                printable(&names.join(", "))
            );
        }
    }

    /// Finds and compiles each runtime, within twice the budget in total.
    pub(super) fn prepared(&self, budget: Nanos, interrupt: &Interrupt) -> Outcome<Runtimes> {
        let mut runtimes = Runtimes::default();
        if self.0.is_empty() {
            return Ok(runtimes);
        }
        let cache = home::cache().map_err(|why| {
            Failure::usage(format!(
                "no folder for compiled programs: {why}; name one with XDG_CACHE_HOME"
            ))
        })?;
        self.name_left_out();
        let limit = Nanos(budget.0.saturating_mul(2));
        let end = monotonic() + limit;
        for row in &self.0 {
            let began = monotonic();
            let is_told = Cell::new(false);
            let is_late = || monotonic() >= end;
            let should_stop = || {
                if monotonic().saturating_sub(began) > SILENCE && !is_told.replace(true) {
                    say!(
                        "building the program of {} (kept for later runs; the budget of {budget:#} begins after all \
                         builds)",
                        row.name
                    );
                }
                interrupt.is_raised() || is_late()
            };
            let launch = runtimes.add(row, &cache.join("runtimes"), &should_stop);
            let launch = launch.map_err(|missing| {
                if is_late() && !interrupt.is_raised() {
                    Missing(format!(
                        "its program was not built within {limit}, twice the budget; raise --budget"
                    ))
                } else {
                    missing
                }
            });
            runtimes.launches.insert(
                row.name.clone(),
                launch.map_err(|missing| missing.to_string()),
            );
        }
        Ok(runtimes)
    }
}

impl Runtimes {
    fn add(
        &mut self,
        row: &Row,
        cache: &Path,
        should_stop: &dyn Fn() -> bool,
    ) -> Result<Launch, Missing> {
        let prepared = prepare(row, cache, should_stop);
        let (version, program) = prepared.as_ref().map_or_else(
            |_| (String::new(), String::new()),
            |prepared| (printable(&prepared.version), printable(&prepared.program)),
        );
        self.facts.push(RuntimeFacts {
            name: row.name.clone(),
            version,
            program,
            handoffs: row.facts(),
        });
        let prepared = prepared?;
        if let Some(broken) = &prepared.passed_over {
            say!(
                "{}: {broken}, so {} is measured",
                row.name,
                prepared.program
            );
        }
        Ok(Launch {
            command: prepared.command,
            version: prepared.version,
            is_in_own_environment: row.is_in_own_environment(),
            environment: row.environment.clone().into_iter().collect(),
            warm_up_ns: Nanos::millis(row.warm_up_ms),
            most_memory: Bytes::mib(row.most_memory_mib),
        })
    }
}

/// Returns the runtimes that a word of the command line selects: `all`, a TOML file, or a runtime,
/// optionally with one of its hand-offs or another program.
fn named(word: &str) -> Outcome<Vec<Row>> {
    if word == ALL {
        return Ok(shipped().into_iter().map(usual_handoffs).collect());
    }
    if word.ends_with(".toml") {
        return Row::read(Path::new(word))
            .map(|row| vec![row])
            .map_err(|error| Failure::usage(error.to_string()));
    }
    let (word, program) = word
        .split_once('=')
        .map_or((word, None), |(word, program)| (word, Some(program)));
    let (name, handoff) = word
        .split_once('/')
        .map_or((word, None), |(name, handoff)| (name, Some(handoff)));
    let row = shipped()
        .into_iter()
        .find(|row| row.name == name)
        .ok_or_else(|| unknown("runtime", name, switchcost_runtimes::names()))?;
    let row = program.map_or(row.clone(), |program| row.set_program(program));
    let Some(wanted) = handoff else {
        return Ok(vec![row]);
    };
    let names = row
        .handoffs
        .iter()
        .map(|handoff| handoff.name.clone())
        .collect();
    let handoffs: Vec<Handoff> = row
        .handoffs
        .iter()
        .filter(|handoff| handoff.name == wanted)
        .cloned()
        .collect();
    if handoffs.is_empty() {
        return Err(unknown(&format!("hand-off of {name}"), wanted, names));
    }
    let mut row = row;
    row.handoffs = handoffs;
    Ok(vec![row])
}

/// Removes hand-offs that are measured only if the user names their runtime.
fn usual_handoffs(mut row: Row) -> Row {
    row.handoffs.retain(|handoff| !handoff.aside);
    row
}

fn unknown(what: &str, name: &str, known: Vec<String>) -> Failure {
    Failure::usage(format!(
        "no {what} '{}'; use one of {}",
        printable(name),
        bind_semicolons(known.join(", "))
    ))
}

/// Adds a runtime. If the runtime is already selected, its hand-offs are combined.
fn add(rows: &mut Vec<Row>, row: Row) {
    match rows.iter_mut().find(|known| known.name == row.name) {
        None => rows.push(row),
        Some(known) => {
            let new = row
                .handoffs
                .into_iter()
                .filter(|handoff| !known.handoffs.contains(handoff))
                .collect::<Vec<_>>();
            known.handoffs.extend(new);
        }
    }
}

fn selection(row: &Row, handoff: &Handoff) -> RuntimeSelection {
    let (runtime, handoff_name) = (row.name.clone(), handoff.name.clone());
    RuntimeSelection {
        case: RuntimeCase {
            runtime,
            handoff: handoff_name,
            class: handoff.class,
        },
        between: handoff.between,
        across_cpus: handoff.across_cpus || handoff.between == Between::Thread,
        walks_in_ladder: handoff.walks,
    }
}
