//! Compares simulated cycles with time: reloads of arrays are simulated in this machine's caches
//! and measured on this machine.
//!
//! The simulator adds up latencies, while a core overlaps and prefetches loads. The ratio of
//! simulated cycles to time depends on the kind of access.

use switchcost_analysis::CaseFinding;
use switchcost_record::{HostManifest, Mechanism};
use switchcost_units::Bytes;

use super::{results, sizes_of_levels};
use crate::claims::{Term, ratio};
use crate::exhibit::Cell;
use crate::interval::Interval;
use crate::{Effort, Exhibit, Records, Site, Step, Table};

/// A kind of access: its name, and its command-line options.
pub(super) struct Kind {
    pub(super) name: &'static str,
    flags: &'static str,
}

pub(super) const KINDS: [Kind; 3] = [
    Kind {
        name: "in-order",
        flags: "--stride 8B",
    },
    Kind {
        name: "strided",
        flags: "--stride 128B",
    },
    Kind {
        name: "chase",
        flags: "--stride 64B --pattern chase",
    },
];
const TURNS: u64 = 12;

/// Returns array sizes in bytes: all of the first-level cache, and a quarter, half and three
/// quarters of the second. Lost lines of such arrays are fetched from the next level.
pub(super) fn sizes(host: &HostManifest) -> [u64; 4] {
    let (first, second) = sizes_of_levels(host);
    [first, second / 4, second / 2, second / 4 * 3].map(|size| size / 4096 * 4096)
}

pub(super) fn measured_step(kind: &Kind) -> String {
    format!("today-reload-{}", kind.name)
}

pub(super) fn simulated_step(kind: &Kind, size: u64) -> String {
    format!("today-reload-simulated-{}-{}KiB", kind.name, size >> 10)
}

pub(super) fn steps(site: &Site<'_>) -> Vec<Step> {
    let sizes = sizes(site.host);
    let is_quick = site.effort == Effort::Quick;
    let (sizes, speed) = if is_quick {
        (&sizes[..2], " --quick")
    } else {
        (&sizes[..], " --precision 1% --budget 20s")
    };
    let list = sizes
        .iter()
        .map(u64::to_string)
        .collect::<Vec<_>>()
        .join(",");
    let measured = |kind: &Kind| {
        let line = format!(
            "measure --mechanism pipe --between process --size {list} {} --access read --no-counters --cpu {}{speed}",
            kind.flags, site.quiet_cpu
        );
        Step::new(measured_step(kind), &line)
    };
    let simulated = |kind: &Kind, size: u64| {
        let walks = format!("today-reload-walks-{}-{}KiB", kind.name, size >> 10);
        let line = format!(
            "trace walks --size {size}B {} --access read --turns {TURNS}",
            kind.flags
        );
        let simulate = format!("simulate records/{walks}.sct --design host");
        [
            Step::new(walks, &line),
            Step::new(simulated_step(kind, size), &simulate),
        ]
    };
    let of_kind = |kind| {
        std::iter::once(measured(kind))
            .chain(sizes.iter().flat_map(move |size| simulated(kind, *size)))
    };
    KINDS.iter().flat_map(of_kind).collect()
}

/// A reload of an array, simulated and measured in ns, and the ratio of both.
struct Reload {
    kind: &'static str,
    size: u64,
    simulated_ns: f64,
    measured_ns: Interval,
    ratio: Term,
}

fn reload(records: &Records, kind: &'static Kind, finding: &CaseFinding) -> Result<Reload, String> {
    let size = finding.case.working_set.size_bytes.0;
    let found = finding
        .indirect_reload_ns
        .as_ref()
        .ok_or("its reload could not be measured: see the record")?;
    let (_, simulated) = records.simulated(&simulated_step(kind, size))?;
    let cycles = simulated
        .designs
        .first()
        .and_then(|design| design.excess_cycles_per_switch);
    let core = records.measured(&measured_step(kind))?.1.core.as_ref();
    let hertz = core
        .and_then(|core| core.hertz)
        .ok_or("the clock of this machine's core is not known")?;
    let simulated_ns = cycles.ok_or("the simulation has no cost of a switch")? / hertz * 1e9;
    let measured_ns = Interval::from(found);
    let ratio = ratio(
        format!("{}, {}", kind.name, Bytes(size)),
        Interval::exact(simulated_ns),
        measured_ns,
    );
    Ok(Reload {
        kind: kind.name,
        size,
        simulated_ns,
        measured_ns,
        ratio,
    })
}

/// Returns the reloads for each kind of access and array size; an error if one of them was not
/// measured or not simulated.
fn reloads(records: &Records) -> Result<Vec<Reload>, String> {
    let of_kind = |kind: &'static Kind| -> Result<Vec<Reload>, String> {
        let found = results(records, &measured_step(kind), Mechanism::Pipe)?;
        let arrays = found
            .into_iter()
            .filter(|finding| !finding.case.working_set.is_empty());
        arrays
            .map(|finding| reload(records, kind, finding))
            .collect()
    };
    let all: Vec<Vec<Reload>> = KINDS.iter().map(of_kind).collect::<Result<_, _>>()?;
    let all: Vec<Reload> = all.into_iter().flatten().collect();
    if all.is_empty() {
        Err("no reload was measured".to_owned())
    } else {
        Ok(all)
    }
}

pub(super) fn exhibit(records: &Records) -> Exhibit {
    let title = "A reload of an array, simulated on this machine's caches and measured here";
    let mut exhibit = Exhibit::new("The simulator beside time", title);
    let columns = [
        "access",
        "array",
        "simulated us",
        "measured us",
        "low",
        "high",
        "simulated over measured",
        "low ",
        "high ",
    ];
    let mut table = Table::new(&columns);
    for one in reloads(records).unwrap_or_default() {
        let us = |ns: f64| Cell::number(ns / 1e3, 3);
        let ratio = |value: f64| Cell::or_missing(Some(value), 2, "nothing lost");
        table.row(vec![
            one.kind.into(),
            Bytes(one.size).to_string().into(),
            us(one.simulated_ns),
            us(one.measured_ns.estimate),
            us(one.measured_ns.low),
            us(one.measured_ns.high),
            ratio(one.ratio.value),
            ratio(one.ratio.low),
            ratio(one.ratio.high),
        ]);
    }
    exhibit.table = table;
    exhibit.steps.extend(KINDS.iter().map(measured_step));
    exhibit.notes.push(
        "The design `host` has the caches and latencies of this machine, without overlap of misses."
            .into(),
    );
    exhibit
}
