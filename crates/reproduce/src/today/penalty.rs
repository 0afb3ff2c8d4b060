//! Growth of the kernel's part of a switch with the miss penalty. Mogul and Borg 1990 (section 7)
//! discuss this growth across processors. Here the miss penalty of one processor is varied.

use switchcost_units::Bytes;

use super::servers::{ONE, REQUESTS, TOTALS_KIB, walks};
use crate::claims::{Found, Quantities, exact};
use crate::exhibit::Cell;
use crate::{Axis, Chart, Exhibit, Outcome, Records, Series, Site, Step, Style};

/// Miss penalties of both first-level caches, in cycles. The DECstation had 15.
const PENALTIES: [u32; 4] = [5, 15, 50, 150];
/// Ways of addressing the caches: virtual tags with process numbers, as in Table 4, and physical
/// tags, with which all processes share the kernel's lines.
const ADDRESSINGS: [&str; 2] = ["vivt", "vipt"];
/// Memory that both processes touch together, in KiB: two arrays of 16 KiB, with which the kernel's
/// lines stay in caches of 64 KiB, and two arrays of 64 KiB.
const PAIRS_KIB: [u64; 2] = [TOTALS_KIB[0], TOTALS_KIB[2]];

/// The part of the guest's references that is simulated.
#[derive(Clone, Copy, PartialEq, Eq)]
enum View {
    All,
    ProgramsAlone,
}

/// Number of hand-offs in each guest.
pub(super) const HAND_OFFS: u64 = REQUESTS * ONE;

/// Returns the names of all steps; true for a step that simulates the kernel's references, too.
#[cfg(test)]
pub(super) fn every_step() -> Vec<(String, bool)> {
    let both = |kib: u64| {
        [View::All, View::ProgramsAlone].map(|view| (step(kib, view), view == View::All))
    };
    PAIRS_KIB.into_iter().flat_map(both).collect()
}

fn step(kib: u64, view: View) -> String {
    let of = if view == View::All {
        "all"
    } else {
        "programs-alone"
    };
    format!("today-penalty-{of}-{kib}KiB")
}

/// Returns two steps for each size in [`PAIRS_KIB`]: the first simulates all references, the second
/// only the references of the programs. The steps of `servers` make the traces.
pub(super) fn steps(site: &Site<'_>) -> Vec<Step> {
    let pairs = site.effort.choose(&PAIRS_KIB[..], &PAIRS_KIB[..1]);
    let penalties = PENALTIES.map(|cycles| cycles.to_string()).join(",");
    let addressings = ADDRESSINGS.join(",");
    let vary =
        format!("--vary caches.addressing={addressings} --vary L1I+L1D.miss_cycles={penalties}");
    let one = |kib: u64, view: View| {
        let option = if view == View::All {
            ""
        } else {
            " --user-only"
        };
        let trace = walks(ONE, kib);
        let line = format!("simulate records/{trace}.sct --design mogul-1a {vary}{option}");
        Step::new(step(kib, view), &line)
    };
    pairs
        .iter()
        .flat_map(|kib| [View::All, View::ProgramsAlone].map(|view| one(*kib, view)))
        .collect()
}

/// Returns the cycles per hand-off that are due to the kernel: the kernel's instructions, the
/// kernel's misses, and the misses of programs that the kernel causes.
fn kernels_part(records: &Records, kib: u64, addressing: usize, penalty: usize) -> Outcome<f64> {
    let cycles = |view| {
        let place = addressing * PENALTIES.len() + penalty;
        let design = records.design(&step(kib, view), place, "the record lacks a penalty")?;
        Ok::<_, String>(design.hierarchies.shared.cycles as f64 / HAND_OFFS as f64)
    };
    Ok(cycles(View::All)? - cycles(View::ProgramsAlone)?)
}

/// Describes the array size and the way of addressing the caches.
fn name(kib: u64, addressing: usize) -> String {
    format!(
        "arrays of {}, {}",
        Bytes::kib(kib / ONE),
        ADDRESSINGS[addressing]
    )
}

/// Returns all combinations of array sizes in KiB (for both processes) and indices in
/// [`ADDRESSINGS`].
fn settings() -> impl Iterator<Item = (u64, usize)> {
    PAIRS_KIB
        .into_iter()
        .flat_map(|kib| (0..ADDRESSINGS.len()).map(move |addressing| (kib, addressing)))
}

pub(super) fn exhibit(records: &Records) -> Exhibit {
    let title = "The kernel's cycles in a hand-off, by the cycles of a miss";
    let columns = std::iter::once("cycles per miss".to_owned())
        .chain(settings().map(|(kib, kind)| name(kib, kind)));
    let mut exhibit = Exhibit::new("The kernel's part by miss penalty", title, columns);
    for (place, penalty) in PENALTIES.iter().enumerate() {
        let mut row = vec![Cell::number(f64::from(*penalty), 0)];
        row.extend(settings().map(|(kib, kind)| {
            Cell::new(&kernels_part(records, kib, kind, place), 0, |part| *part)
        }));
        exhibit.row(row);
    }
    let line = |(kib, kind): (u64, usize)| {
        let point = |(place, penalty): (usize, &u32)| {
            Some((
                f64::from(*penalty),
                kernels_part(records, kib, kind, place).ok()?,
            ))
        };
        Series::new(
            name(kib, kind),
            Style::Found,
            PENALTIES.iter().enumerate().filter_map(point),
        )
    };
    let lines = settings().map(line).collect();
    exhibit.chart = Chart::draw(
        "cycles per miss",
        Axis::Linear,
        "cycles of a hand-off",
        Axis::Linear,
        lines,
    );
    exhibit.steps = PAIRS_KIB
        .iter()
        .flat_map(|kib| [View::All, View::ProgramsAlone].map(|view| step(*kib, view)))
        .collect();
    exhibit.add_note("Two processes hand over a byte through pipes in a guest with a current kernel, and walk arrays in between. \
         From the guest's cycles we subtract those of a simulation of the programs alone, with the same order of \
         tasks. `reproduce today --system` runs it.");
    exhibit
}

fn follows(records: &Records) -> Outcome {
    let term = |(kib, kind): (u64, usize)| {
        let [least, most] =
            [0, PENALTIES.len() - 1].map(|place| kernels_part(records, kib, kind, place));
        Ok(exact(name(kib, kind), most? / least?))
    };
    Ok(Found::new(
        settings().map(term).collect::<Outcome<_>>()?,
        "150 cycles per miss, relative to 5",
    ))
}

pub(super) fn quantities() -> Quantities {
    vec![("kernel-follows-penalty", follows)]
}
