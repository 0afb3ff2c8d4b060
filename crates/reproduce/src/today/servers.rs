//! Compares a request through many servers with a request through one, which tells whether a
//! modular system costs as little on later machines as in 1990.

use switchcost_units::Bytes;

use super::{MACHINES, Machine};
use crate::claims::{Found, Quantities, Term};
use crate::exhibit::Cell;
use crate::interval::mean_interval;
use crate::{Exhibit, Outcome, Records, Site, Step};

/// Memory that a request touches in all processes together, in KiB.
pub(super) const TOTALS_KIB: [u64; 3] = [32, 64, 128];
/// Number of processes of a request through one server: a client and the server.
pub(super) const ONE: u64 = 2;
pub(super) const MANY: u64 = 8;
pub(super) const REQUESTS: u64 = 200;

pub(super) fn step(tasks: u64, kib: u64) -> String {
    format!("today-servers-{tasks}-{kib}KiB")
}

/// Returns the name of the step that traces a guest with `tasks` processes and `kib` KiB in total.
pub(super) fn walks(tasks: u64, kib: u64) -> String {
    format!("today-servers-walks-{tasks}-{kib}KiB")
}

/// Returns the steps that trace and simulate the same work in a guest, with two processes and with
/// eight.
pub(super) fn steps(site: &Site<'_>) -> Vec<Step> {
    let totals = site.effort.choose(&TOTALS_KIB[..], &TOTALS_KIB[..1]);
    let designs = MACHINES.map(|machine| machine.design).join(",");
    let both = |tasks: u64, kib: u64| {
        let walks = walks(tasks, kib);
        let size = kib / tasks;
        let line = format!(
            "trace walks --system --mechanism pipe --tasks {tasks} --size {size}KiB --turns {REQUESTS}"
        );
        let simulate = format!("simulate records/{walks}.sct --design {designs}");
        [
            Step::new(walks, &line),
            Step::new(step(tasks, kib), &simulate),
        ]
    };
    totals
        .iter()
        .flat_map(|kib| [ONE, MANY].map(|tasks| both(tasks, *kib)))
        .flatten()
        .collect()
}

/// Returns the simulated cycles per request on a machine, with `tasks` processes that touch `kib`
/// KiB in total.
fn cycles(records: &Records, machine: &Machine, tasks: u64, kib: u64) -> Outcome<f64> {
    let (_, findings) = records.simulated(&step(tasks, kib))?;
    let design = findings
        .designs
        .iter()
        .find(|design| design.name == machine.design);
    let design = design.ok_or_else(|| format!("the record has no design {}", machine.design))?;
    Ok(design.hierarchies.shared.cycles as f64 / REQUESTS as f64)
}

/// Returns the ratio of the cycles of a request through many servers to the cycles of a request
/// through one server.
fn dearer(records: &Records, machine: &Machine, kib: u64) -> Outcome<f64> {
    Ok(cycles(records, machine, MANY, kib)? / cycles(records, machine, ONE, kib)?)
}

pub(super) fn exhibit(records: &Records) -> Exhibit {
    let mut exhibit = Exhibit::new(
        "A path through servers",
        "A request through eight processes, and through two",
        [
            "machine",
            "a request touches",
            "cycles through two",
            "through eight",
            "ratio",
        ],
    );
    for machine in &MACHINES {
        for kib in TOTALS_KIB {
            let of = |found: Outcome<f64>, decimals| Cell::new(&found, decimals, |number| *number);
            exhibit.row(vec![
                machine.name.into(),
                Bytes::kib(kib).into(),
                of(cycles(records, machine, ONE, kib), 0),
                of(cycles(records, machine, MANY, kib), 0),
                of(dearer(records, machine, kib), 2),
            ]);
        }
    }
    exhibit.steps = TOTALS_KIB
        .iter()
        .flat_map(|kib| [ONE, MANY].map(|tasks| step(tasks, *kib)))
        .collect();
    exhibit.add_note("Each process walks its part of the request's data and hands it on over a pipe, in a guest with a current \
         kernel, whose references are simulated, too. `reproduce today --system` runs it.");
    exhibit
}

/// Returns the ratio of the cost of many servers on each later machine to that in 1990: the
/// geometric mean over the sizes of touched memory, with Student's interval.
fn relative(records: &Records) -> Outcome {
    let then = &MACHINES[0];
    let term = |machine: &Machine| {
        let of =
            |kib: &u64| Ok((dearer(records, machine, *kib)? / dearer(records, then, *kib)?).ln());
        let logarithms = TOTALS_KIB.iter().map(of).collect::<Outcome<Vec<f64>>>()?;
        let mean = mean_interval(&logarithms).ok_or("one size has no interval")?;
        Ok(Term::new(machine.name, mean.map(f64::exp)))
    };
    Ok(Found::new(
        MACHINES[1..].iter().map(term).collect::<Outcome<_>>()?,
        "",
    ))
}

pub(super) fn quantities() -> Quantities {
    vec![("modular-relatively-dearer", relative)]
}
