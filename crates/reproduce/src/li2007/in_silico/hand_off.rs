//! Simulates the hand-off itself, which the simulated Figures 1 and 2 leave out. Two processes in a
//! guest hand a byte over pipes, and all instructions of the processes and of the kernel are
//! simulated in the caches of the paper's machine and of this one.
//!
//! As in the paper, the result is the additional time over a process that hands the byte to itself.

use switchcost_analysis::simulation::{Cost, DesignFinding};
use switchcost_analysis::{CaseFinding, Estimate};
use switchcost_design::result::LostCycles;
use switchcost_record::{Between, Mechanism};
use switchcost_units::Bytes;

use super::super::steps::hand_off::{
    HAND_OFFS, MACHINES, MEASURED, Machine, SETTINGS, SIZES_KIB, USUAL, step,
};
use crate::arm::{ARMS, Arm};
use crate::claims::{Term, exact, ranged};
use crate::exhibit::Cell;
use crate::interval::Interval;
use crate::{Exhibit, Outcome, Records};

/// Direct cost of a switch in Li et al. (section 3.1), in microseconds.
const DIRECT_US: f64 = 3.8;

/// Returns the findings of a design. `setting` selects a design of the Xeon, and is 0 for this
/// machine.
fn design(
    records: &Records,
    machine: Machine,
    arm: Arm,
    kib: u64,
    setting: usize,
) -> Outcome<&DesignFinding> {
    records.design(
        &step(machine, arm, kib),
        setting,
        "the record lacks a design",
    )
}

/// Returns the time of a cycle in ns: for this machine by the measured core clock, otherwise by the
/// design.
fn cycle_ns(records: &Records, machine: Machine, design: &DesignFinding) -> Outcome<f64> {
    match machine {
        Machine::Xeon => design
            .cycle_ns
            .map(|[short, _]| short)
            .ok_or_else(|| "the design has no clock".to_owned()),
        Machine::Host => {
            let core = records.measured(MEASURED)?.1.core.as_ref();
            let hertz = core
                .and_then(|core| core.hertz)
                .ok_or("the clock of this machine's core is not known")?;
            Ok(1e9 / hertz)
        }
    }
}

/// Converts the cycles of all hand-offs to the time of one hand-off, in microseconds.
fn us(records: &Records, machine: Machine, design: &DesignFinding, cycles: u64) -> Outcome<f64> {
    Ok(cycles as f64 / HAND_OFFS as f64 * cycle_ns(records, machine, design)? / 1e3)
}

/// Returns a number for the usual design of a machine, with its range over all free settings as
/// interval.
fn over_settings(
    name: &str,
    machine: Machine,
    of: impl Fn(usize) -> Outcome<f64>,
) -> Outcome<Term> {
    match machine {
        Machine::Host => Ok(ranged(name, of(0)?, std::iter::empty())),
        Machine::Xeon => Ok(ranged(
            name,
            of(USUAL)?,
            (0..SETTINGS).filter_map(|setting| of(setting).ok()),
        )),
    }
}

/// Returns the additional time of a hand-off to another process with its traversal, over a hand-off
/// to itself, in microseconds. Without arrays this is the direct cost.
fn more(records: &Records, machine: Machine, kib: u64, setting: usize) -> Outcome<f64> {
    let of = |arm| {
        let design = design(records, machine, arm, kib, setting)?;
        us(records, machine, design, design.hierarchies.shared.cycles)
    };
    Ok(of(Arm::Two)? - of(Arm::Alone)?)
}

/// Returns the time that a hand-off loses to evicted lines selected by `of`, in microseconds. For
/// arrays, the time without arrays is subtracted, as in the indirect cost of `measure`.
fn lost(
    records: &Records,
    machine: Machine,
    kib: u64,
    of: fn(&LostCycles) -> u64,
) -> Outcome<Term> {
    over_settings("us", machine, |setting| {
        let at = |kib| {
            let design = design(records, machine, Arm::Two, kib, setting)?;
            let lost = design
                .lost_to
                .ok_or("the record does not say what evicted the lines lost")?;
            us(records, machine, design, of(&lost))
        };
        if kib == 0 {
            at(0)
        } else {
            Ok(at(kib)? - at(0)?)
        }
    })
}

/// Returns the number of kernel instructions per hand-off to another process.
fn instructions(records: &Records) -> Outcome<&Cost> {
    let design = design(records, Machine::Xeon, Arm::Two, 0, USUAL)?;
    let kernel = design.kernel.as_ref().ok_or("the trace has no kernel")?;
    Ok(&kernel.instructions_per_switch)
}

/// Returns the number of kernel instructions per hand-off, if the sender receives the byte itself.
fn instructions_to_itself(records: &Records) -> Outcome<f64> {
    let design = design(records, Machine::Xeon, Arm::Alone, 0, USUAL)?;
    if design.calls.is_empty() {
        return Err("the trace has no system calls".to_owned());
    }
    Ok(design
        .calls
        .iter()
        .map(|call| call.calls as f64 * call.instructions)
        .sum::<f64>()
        / HAND_OFFS as f64)
}

/// Returns the result of `measure` on this machine for one mechanism and array size.
fn measured(records: &Records, mechanism: Mechanism, kib: u64) -> Outcome<&CaseFinding> {
    let (_, findings) = records.measured(MEASURED)?;
    let is_wanted = |finding: &&CaseFinding| {
        let case = &finding.case;
        case.mechanism == mechanism
            && case.between != Between::Thread
            && case.working_set.size_bytes == Bytes::kib(kib)
    };
    findings
        .results
        .iter()
        .find(is_wanted)
        .ok_or_else(|| "the record lacks the case".to_owned())
}

fn estimated(records: &Records, mechanism: Mechanism, kib: u64, of: Part) -> Outcome<Interval> {
    let part = of(measured(records, mechanism, kib)?);
    let part = part.ok_or("it could not be measured: see the record")?;
    Ok(Interval::from(part).map(|ns| ns / 1e3))
}

type Part = fn(&CaseFinding) -> Option<&Estimate>;

/// A row for a part of a hand-off, with its value on each machine; `None` if the part is not
/// determined for a machine.
#[derive(Default)]
struct Row {
    kib: u64,
    name: &'static str,
    published: Option<f64>,
    xeon: Option<Outcome<Term>>,
    host: Option<Outcome<Term>>,
    measured: Option<Outcome<Interval>>,
    decimals: usize,
}

impl Row {
    /// Creates a row in microseconds without values.
    fn new(kib: u64, name: &'static str) -> Row {
        Row {
            kib,
            name,
            decimals: 3,
            ..Row::default()
        }
    }

    fn cells(self) -> Vec<Cell> {
        let number = |found: Option<Outcome<f64>>| match found {
            None => Cell::from(""),
            Some(Ok(number)) => Cell::or_missing(Some(number), self.decimals, "none"),
            Some(Err(why)) => Cell::Missing { why },
        };
        let of_xeon = |of: fn(Term) -> f64| number(self.xeon.clone().map(|found| found.map(of)));
        let of_measured =
            |of: fn(Interval) -> f64| number(self.measured.clone().map(|found| found.map(of)));
        vec![
            Bytes::kib(self.kib).into(),
            self.name.into(),
            self.published
                .map_or_else(|| "".into(), |us| Cell::number(us, 1)),
            of_xeon(|term| term.value),
            of_xeon(|term| term.low),
            of_xeon(|term| term.high),
            number(self.host.clone().map(|found| found.map(|term| term.value))),
            of_measured(|part| part.estimate),
            of_measured(|part| part.low),
            of_measured(|part| part.high),
        ]
    }
}

const COLUMNS: [&str; 10] = [
    "arrays",
    "part",
    "published",
    "Xeon",
    "low",
    "high",
    "here, simulated",
    "here, measured",
    "low ",
    "high ",
];

pub(super) fn exhibit(records: &Records) -> Exhibit {
    let title = "What handing a byte to another process takes more than to oneself, part by part";
    let mut exhibit = Exhibit::new("The hand-off with the kernel", title, COLUMNS);
    let rows = executed(records)
        .into_iter()
        .chain(sizes(records).flat_map(|kib| parts(records, kib)));
    rows.for_each(|row| exhibit.row(row.cells()));
    exhibit.steps = list_steps();
    exhibit.add_step(MEASURED);
    exhibit.add_note("Simulated: the tasks of `measure` in a guest with a current kernel, not the paper's Linux 2.6.17, on the \
         caches of the paper's Xeon and of this machine; one cycle per instruction, and misses in sequence. The Xeon's \
         range covers its unpublished parameters (latency, bus); that of instructions covers batches of switches. \
         Measured: this machine with its own kernel. Between fibers: registers only, without the kernel. `reproduce \
         li2007 --system` runs it.");
    exhibit
}

fn counted(cost: &Cost) -> Outcome<Term> {
    let (Some(value), Some((low, high))) = (cost.estimate, cost.interval) else {
        return Err(cost.why.clone().unwrap_or_else(|| "no interval".to_owned()));
    };
    Ok(Term::new("", Interval::new(value, low, high)))
}

/// Returns the rows for the numbers of kernel instructions.
fn executed(records: &Records) -> [Row; 2] {
    let to_itself = instructions_to_itself(records).map(|number| exact("", number));
    [
        Row {
            xeon: Some(instructions(records).and_then(counted)),
            decimals: 0,
            ..Row::new(0, "kernel instructions")
        },
        Row {
            xeon: Some(to_itself),
            decimals: 0,
            ..Row::new(0, "the same to oneself")
        },
    ]
}

/// Returns the rows for one array size: the additional time of the hand-off and its traversal, and
/// the time lost by the owner of evicted lines and by the evictor.
fn parts(records: &Records, kib: u64) -> Vec<Row> {
    let measured = |mechanism, of: Part| Some(estimated(records, mechanism, kib, of));
    let on = |machine| {
        Some(over_settings("us", machine, |setting| {
            more(records, machine, kib, setting)
        }))
    };
    let row = |name| Row {
        xeon: on(Machine::Xeon),
        host: on(Machine::Host),
        ..Row::new(kib, name)
    };
    let lost = |name, of: fn(&LostCycles) -> u64| {
        let on = |machine| Some(lost(records, machine, kib, of));
        Row {
            xeon: on(Machine::Xeon),
            host: on(Machine::Host),
            ..Row::new(kib, name)
        }
    };
    let [in_kernel, in_own] = match kib {
        0 => ["us lost in kernel lines", "us lost in own lines"],
        _ => ["us more in kernel lines", "us more in own lines"],
    };
    let lost_in_kernel = lost(in_kernel, |all| all.kernel.total());
    let lost_in_own = lost(in_own, |all| all.programs.total());
    let to_whom = [
        lost("... to the other process", |all| all.programs.processes),
        lost("... to the kernel", |all| all.programs.kernel),
    ];
    let mut rows = if kib == 0 {
        let direct: Part = |finding| finding.direct_ns.as_ref();
        vec![
            Row {
                published: Some(DIRECT_US),
                measured: measured(Mechanism::Pipe, direct),
                ..row("us, direct")
            },
            Row {
                measured: measured(Mechanism::Fiber, direct),
                ..Row::new(0, "us between fibers")
            },
            lost_in_kernel,
            lost_in_own,
        ]
    } else {
        let measured = |of| measured(Mechanism::Pipe, of);
        vec![
            Row {
                measured: measured(|finding| finding.total_ns.as_ref()),
                ..row("us, total")
            },
            Row {
                measured: measured(|finding| finding.indirect_kernel_ns.as_ref()),
                ..lost_in_kernel
            },
            Row {
                measured: measured(|finding| finding.indirect_reload_ns.as_ref()),
                ..lost_in_own
            },
        ]
    };
    rows.extend(to_whom);
    rows
}

fn steps_of(kib: u64) -> impl Iterator<Item = String> {
    ARMS.into_iter()
        .flat_map(move |arm| MACHINES.map(|machine| step(machine, arm, kib)))
}

fn list_steps() -> Vec<String> {
    SIZES_KIB.into_iter().flat_map(steps_of).collect()
}

/// Returns the simulated array sizes in KiB, after a size of 0. With 0 a switch has only its direct
/// cost.
fn sizes(records: &Records) -> impl Iterator<Item = u64> {
    let is_known = |kib: u64| steps_of(kib).any(|step| records.simulated(&step).is_ok());
    SIZES_KIB
        .into_iter()
        .filter(move |kib| *kib == 0 || is_known(*kib))
}
