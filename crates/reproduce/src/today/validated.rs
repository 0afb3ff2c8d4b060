//! Compares simulated with measured time: reloads of arrays are simulated in this machine's caches
//! and measured on this machine.
//!
//! The simulator adds up latencies, while a core overlaps and prefetches loads. So cycles are not
//! time, and lost lines are converted to time at measured prices.

use switchcost_analysis::CaseFinding;
use switchcost_record::{HostManifest, Mechanism};
use switchcost_units::Bytes;

use super::{results, sizes_of_levels};
use crate::exhibit::Cell;
use crate::interval::Interval;
use crate::{Exhibit, Outcome, Records, Site, Step};

/// A kind of access: its name, and its command-line options.
pub(super) struct Kind {
    pub(super) name: &'static str,
    flags: &'static str,
}

pub(super) const KINDS: [Kind; 4] = [
    Kind {
        name: "in-order",
        flags: "--stride 8B",
    },
    Kind {
        name: "strided",
        flags: "--stride 128B",
    },
    // Hardware prefetches no lines at distances of more than half a page.
    Kind {
        name: "gathered",
        flags: "--stride 2112B",
    },
    Kind {
        name: "chase",
        flags: "--stride 64B --pattern chase",
    },
];
const TURNS: u64 = 12;
/// Number of instructions per load in the machine code of `switchcost_workload::walk` that reads in
/// steps.
const LOOP: u64 = 4;
const PRICES: &str = "today-prices";

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

/// Returns the options of `simulate` for the design `host` with the prices of this run.
pub(super) fn priced() -> String {
    format!("--design host --prices records/{PRICES}.json")
}

pub(super) fn steps(site: &Site<'_>) -> Vec<Step> {
    let sizes = sizes(site.host);
    let (sizes, speed, budget) = site.effort.choose(
        (&sizes[..], " --precision 1% --budget 20s", "1min"),
        (&sizes[..2], " --quick", "20s"),
    );
    let prices = format!(
        "measure --budget {budget} --cpu {} --prices",
        site.quiet_cpu
    );
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
            "trace walks --size {size}B {} --access read --instructions {LOOP} --turns {TURNS}",
            kind.flags
        );
        let simulate = format!("simulate records/{walks}.sct {}", priced());
        [
            Step::new(walks, &line),
            Step::new(simulated_step(kind, size), &simulate),
        ]
    };
    let of_kind = |kind| {
        std::iter::once(measured(kind))
            .chain(sizes.iter().flat_map(move |size| simulated(kind, *size)))
    };
    let reloads = KINDS.iter().flat_map(of_kind);
    std::iter::once(Step::new(PRICES, &prices))
        .chain(reloads)
        .collect()
}

/// Returns the likely time in ns to reload the lines that are lost per switch, from low to high.
/// The interval has no upper end if lines without a price are left out.
pub(super) fn lost_ns(records: &Records, step: &str) -> Outcome<Interval> {
    let (_, findings) = records.simulated(step)?;
    let mut designs = findings.designs.iter();
    let lost = designs.find_map(|design| design.time_lost.as_ref());
    let lost = lost.ok_or("no lost lines were counted")?;
    let (Some(low), Some(likely), Some(high)) = (lost.low_ns, lost.likely_ns, lost.high_ns) else {
        return Err("no lost line has a price on this machine".to_owned());
    };
    let high = match lost.unpriced_share {
        Some(0.0) => high,
        _ => f64::INFINITY,
    };
    Ok(Interval::new(likely, low, high))
}

/// Times of a reload of an array, in ns.
struct Reload {
    kind: &'static str,
    size: u64,
    /// Simulated time of the lost lines.
    lost: Outcome<Interval>,
    measured: Outcome<Interval>,
}

impl Reload {
    fn new(records: &Records, kind: &'static Kind, finding: &CaseFinding) -> Reload {
        let size = finding.case.working_set.size_bytes.0;
        let measured = finding.indirect_reload_ns.as_ref().map(Interval::from);
        Reload {
            kind: kind.name,
            size,
            lost: lost_ns(records, &simulated_step(kind, size)),
            measured: measured
                .ok_or_else(|| "its reload could not be measured: see the record".to_owned()),
        }
    }

    /// Returns the likely time of an array that loses lines in simulation, all with a price.
    fn likely(&self) -> Outcome<f64> {
        let lost = self.lost.clone()?;
        if lost.estimate <= 0.0 {
            Err("no time is lost in simulation".to_owned())
        } else if lost.high.is_infinite() {
            Err("some lost lines have no price".to_owned())
        } else {
            Ok(lost.estimate)
        }
    }

    /// Returns the ratio of the likely to the measured time; an error if the array does not count.
    fn ratio(&self) -> Outcome<Interval> {
        let (likely, measured) = (self.likely()?, self.measured.clone()?);
        if measured.low <= 0.0 {
            return Err("the interval of the measured time includes 0".to_owned());
        }
        Ok(Interval::exact(likely) / measured)
    }
}

/// Returns the reloads for each kind of access and array size; an error if a step has no record.
fn reloads(records: &Records) -> Outcome<Vec<Reload>> {
    let mut all = Vec::new();
    for kind in &KINDS {
        let found = results(records, &measured_step(kind), Mechanism::Pipe)?;
        let is_array = |finding: &&CaseFinding| !finding.case.working_set.is_empty();
        let arrays = found.into_iter().filter(is_array);
        all.extend(arrays.map(|finding| Reload::new(records, kind, finding)));
    }
    Ok(all)
}

/// Returns the smallest and the largest ratio of the likely to the measured time, over the arrays
/// of this run. An array counts if the interval of its measured reload is above 0, and if it loses
/// lines in simulation, all with a price. An error if fewer than half of the arrays that lose lines
/// in simulation count, because the ratio would then be known for too few of them.
pub(super) fn likely_over_measured(records: &Records) -> Outcome<[f64; 2]> {
    let reloads = reloads(records)?;
    let losing = reloads.iter().filter(|reload| reload.likely().is_ok());
    let ratios = reloads.iter().filter_map(|reload| reload.ratio().ok());
    let ratios: Vec<f64> = ratios.map(|ratio| ratio.estimate).collect();
    if ratios.is_empty() || 2 * ratios.len() < losing.count() {
        return Err(
            "too few arrays have a measurable reload to compare simulated with measured time"
                .to_owned(),
        );
    }
    let extreme = |of: fn(f64, f64) -> f64| ratios.iter().copied().reduce(of).unwrap_or(f64::NAN);
    Ok([extreme(f64::min), extreme(f64::max)])
}

pub(super) fn exhibit(records: &Records) -> Exhibit {
    let title = "A reload of an array, simulated on this machine's caches and measured here";
    let mut exhibit = Exhibit::new(
        "The simulator beside time",
        title,
        [
            "access",
            "array",
            "likely us",
            "low us",
            "high us",
            "measured us",
            "from us",
            "to us",
            "likely over measured",
        ],
    );
    for one in reloads(records).unwrap_or_default() {
        let ratio = one.ratio();
        let us = |ns: f64| ns / 1e3;
        let mut row = vec![one.kind.into(), Bytes(one.size).into()];
        for time in [one.lost, one.measured].map(|ns| ns.map(|ns| ns.map(us))) {
            let ends: [fn(&Interval) -> f64; 3] = [|n| n.estimate, |n| n.low, |n| n.high];
            row.extend(ends.map(|end| Cell::rounded(&time, end)));
        }
        row.push(Cell::rounded(&ratio, |ratio| ratio.estimate));
        exhibit.row(row);
    }
    exhibit.add_step(PRICES);
    exhibit.steps.extend(KINDS.iter().map(measured_step));
    exhibit.add_note("The design `host` has the caches of this machine. Likely, low and high are lost lines at measured prices. A \
         ratio is missing if the measured interval includes 0, if nothing is lost in simulation, or if lost lines \
         have no price.");
    exhibit
}
