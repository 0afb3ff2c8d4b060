//! Cache and kernel in the cost of a switch, machine by machine.

use switchcost_analysis::simulation::Cost;
use switchcost_record::Mechanism;

use super::{CLIENT_SERVER, Kernel, MACHINES, Machine, SETS, TIMESHARING, direct_here, set_step};
use crate::claims::{Found, Quantities, Term, exact, over};
use crate::exhibit::Cell;
use crate::interval::{Interval, of_batches};
use crate::text::{number, percent};
use crate::{Axis, Chart, Exhibit, Records, Series, Style, Table};

/// Section 6 of Mogul and Borg 1990: a pair of minimal packets on an Ethernet; on FDDI it is ten times as fast.
const PACKETS_US: [(&str, f64); 2] = [("Ethernet", 130.0), ("FDDI", 13.0)];
/// Machines behind the DECstation.
const SINCE: usize = 1;
/// The first machine here that executes out of order and prefetches is of 2003.
const OVERLAPPING_SINCE: u16 = 1995;
/// Those on which registers are compared: of the time of the compiler that saves them here.
const RECENT: usize = 3;

type Outcome = Result<Found, String>;

/// What a switch costs in the caches, net, in microseconds, with the ends of its interval and of the design's cycle.
fn caches(records: &Records, set: usize, machine: &Machine) -> Result<Interval, String> {
    let (_, findings) = records.simulated(&set_step(set))?;
    let design = findings
        .designs
        .iter()
        .find(|design| design.name == machine.design);
    let design = design.ok_or_else(|| format!("the record has no design {}", machine.design))?;
    let cost = &design.average_cost_cycles;
    let why = || {
        cost.why
            .clone()
            .unwrap_or_else(|| "no cost is available".to_owned())
    };
    let (Some(value), Some(low), Some(high)) = (cost.estimate, cost.low, cost.high) else {
        return Err(why());
    };
    let [short, long] = design.cycle_ns.ok_or("the design has no time of a cycle")?;
    Ok((
        value * (short * long).sqrt() / 1e3,
        low * short / 1e3,
        high * long / 1e3,
    ))
}

/// What the kernel takes for a switch, in microseconds.
fn kernel(records: &Records, machine: &Machine) -> Result<Interval, String> {
    match machine.kernel {
        Kernel::Published(us, _) => Ok((us, us, us)),
        Kernel::Here => {
            let cost = direct_here(records, Mechanism::Pipe)?;
            Ok((cost.estimate / 1e3, cost.low / 1e3, cost.high / 1e3))
        }
    }
}

/// What it takes, on a core that overlaps and prefetches: simulated cycles are longer than time by what was found here.
fn in_time(records: &Records, set: usize, machine: &Machine) -> Result<Interval, String> {
    let simulated = caches(records, set, machine)?;
    if machine.year < OVERLAPPING_SINCE {
        return Ok(simulated);
    }
    let time = over("", simulated, super::validated::too_long(records)?);
    Ok((time.value, time.low, time.high))
}

/// Caches over kernel, in time.
fn cache_over_kernel(records: &Records, set: usize, machine: &Machine) -> Result<Term, String> {
    Ok(over(
        machine.name,
        in_time(records, set, machine)?,
        kernel(records, machine)?,
    ))
}

/// The share of the caches in both together.
fn share(records: &Records, set: usize, machine: &Machine) -> Result<f64, String> {
    let (caches, kernel) = (
        in_time(records, set, machine)?.0,
        kernel(records, machine)?.0,
    );
    Ok(caches / (caches + kernel))
}

pub(super) fn exhibit(records: &Records) -> Exhibit {
    let mut exhibit = Exhibit::new(
        "Then and now",
        "What caches and kernel take of a switch, from 1990 to today",
    );
    exhibit.steps.push(super::DIRECT.to_owned());
    exhibit.steps.extend((0..SETS.len()).map(set_step));
    let mut columns = vec![
        "machine".to_owned(),
        "year".to_owned(),
        "kernel us".to_owned(),
        "kernel, from".to_owned(),
    ];
    for (_, set) in SETS {
        columns.extend(
            [
                "simulated us",
                "caches us",
                "low",
                "high",
                "share of caches %",
            ]
            .map(|name| format!("{set}: {name}")),
        );
    }
    let mut table = Table::new(&columns.iter().map(String::as_str).collect::<Vec<_>>());
    for machine in &MACHINES {
        let of =
            |found: Result<f64, String>, decimals| Cell::of(&found, decimals, |number| *number);
        let from = match machine.kernel {
            Kernel::Published(_, place) => place,
            Kernel::Here => "this machine, which is not that model",
        };
        let mut row = vec![
            machine.name.into(),
            Cell::number(f64::from(machine.year), 0),
            of(kernel(records, machine).map(|us| us.0), 2),
            from.into(),
        ];
        for set in 0..SETS.len() {
            row.push(of(caches(records, set, machine).map(|us| us.0), 2));
            let time = in_time(records, set, machine);
            let ends: [fn(Interval) -> f64; 3] = [|us| us.0, |us| us.1, |us| us.2];
            row.extend(ends.map(|end| of(time.clone().map(end), 2)));
            row.push(of(
                share(records, set, machine).map(|share| share * 100.0),
                1,
            ));
        }
        table.row(row);
    }
    exhibit.table = table;
    exhibit.chart = chart(records);
    exhibit.notes.push(
        "Simulated: what a switch loses to others, with one trace of today's programs for all machines, without the kernel's own \
         references, in cycles as if nothing overlapped. Caches: the same in time, by the ratios of the simulator to this machine, from the \
         smallest to the largest, where the core overlaps. Kernel: the direct cost, in which the caches are warm. 1990 also has an estimate \
         of the least that a switch may take there, 7.4 us (Anderson et al.). On a machine with large caches a short trace does not fill \
         the last level, and loses nothing there."
            .into(),
    );
    exhibit
}

fn chart(records: &Records) -> Option<Chart> {
    let series = SETS.iter().enumerate().map(|(set, (_, name))| {
        let point = |(place, machine): (usize, &Machine)| {
            Some((place as f64, share(records, set, machine).ok()?))
        };
        Series::new(
            *name,
            Style::Found,
            MACHINES.iter().enumerate().filter_map(point),
        )
    });
    let series: Vec<Series> = series.filter(|one| !one.x.is_empty()).collect();
    if series.is_empty() {
        return None;
    }
    let mut chart = Chart::new(
        "machine",
        Axis::Names,
        "share of a switch that is caches",
        Axis::Share,
        series,
    );
    chart.x_names = MACHINES
        .iter()
        .map(|machine| format!("{} ({})", machine.name, machine.year))
        .collect();
    Some(chart)
}

fn since(records: &Records, set: usize) -> Outcome {
    let terms = MACHINES[SINCE..]
        .iter()
        .map(|machine| cache_over_kernel(records, set, machine));
    Ok(Found::new(terms.collect::<Result<_, _>>()?, ""))
}

/// The overhead ratio on a machine: of all cycles of Timesharing, those that switches cost.
fn overhead<'a>(records: &'a Records, machine: &Machine) -> Result<&'a Cost, String> {
    let (_, findings) = records.simulated(&set_step(TIMESHARING))?;
    let design = findings
        .designs
        .iter()
        .find(|design| design.name == machine.design);
    Ok(&design
        .ok_or_else(|| format!("the record has no design {}", machine.design))?
        .overhead_share)
}

/// One over the other, both of the same references: batch by batch.
fn paired(name: &str, above: &Cost, below: &Cost) -> Result<Term, String> {
    let value = above
        .estimate
        .zip(below.estimate)
        .map(|(above, below)| above / below);
    let batches: Vec<f64> = above
        .without_one
        .iter()
        .zip(&below.without_one)
        .map(|(a, b)| (a / b).ln())
        .collect();
    let value = value
        .filter(|ratio| *ratio > 0.0)
        .ok_or("an overhead is not above 0")?;
    let (_, low, high) =
        of_batches(value.ln(), &batches).ok_or("the trace is too short for an interval")?;
    Ok(Term::new(name, value, low.exp(), high.exp()))
}

/// The overhead ratio since, over the same in 1990: how many times as large a share of all cycles switches cost.
fn share_grows(records: &Records) -> Outcome {
    let then = overhead(records, &MACHINES[0])?;
    let ratio = |machine: &Machine| paired(machine.name, overhead(records, machine)?, then);
    let terms = MACHINES[SINCE..]
        .iter()
        .map(ratio)
        .collect::<Result<_, _>>()?;
    let note = format!(
        "in 1990: {}",
        then.estimate
            .map_or_else(|| "not known".to_owned(), percent)
    );
    Ok(Found::new(terms, note))
}

/// A switch that saves and loads registers alone, over the caches.
fn registers(records: &Records) -> Outcome {
    let fiber = direct_here(records, Mechanism::Fiber)?;
    let us = (fiber.estimate / 1e3, fiber.low / 1e3, fiber.high / 1e3);
    Ok(Found::new(
        over_timesharing(records, us)?,
        format!("{} ns a switch of fibers", number(fiber.estimate)),
    ))
}

/// So many microseconds over the time that Timesharing loses in the caches, on the newest machines.
pub(super) fn over_timesharing(records: &Records, us: Interval) -> Result<Vec<Term>, String> {
    let ratio = |machine: &Machine| {
        Ok(over(
            machine.name,
            us,
            in_time(records, TIMESHARING, machine)?,
        ))
    };
    MACHINES[RECENT..].iter().map(ratio).collect()
}

/// Of the lines that a process leaves in the last level, the share that is lost when it comes back.
fn lost(records: &Records, set: usize, machine: &Machine) -> Result<f64, String> {
    let (_, findings) = records.simulated(&set_step(set))?;
    let design = findings
        .designs
        .iter()
        .find(|design| design.name == machine.design);
    let design = design.ok_or_else(|| format!("the record has no design {}", machine.design))?;
    // Behind the levels of caches come the TLBs.
    let last = design
        .losses
        .iter()
        .rfind(|loss| loss.level.starts_with('L') && loss.resident > 0.0);
    last.map(|loss| loss.lost / loss.resident)
        .ok_or_else(|| format!("nothing is known of lines lost on {}", machine.name))
}

/// The same on each machine since over that on the DECstation.
fn fewer_lost(records: &Records, set: usize) -> Outcome {
    let then = lost(records, set, &MACHINES[0])?;
    let term = |machine: &Machine| Ok(exact(machine.name, lost(records, set, machine)? / then));
    let terms = MACHINES[SINCE..]
        .iter()
        .map(term)
        .collect::<Result<_, String>>()?;
    Ok(Found::new(terms, format!("in 1990: {}", percent(then))))
}

fn packets(records: &Records) -> Outcome {
    let machine = &MACHINES[0];
    let ((caches, low, high), kernel) = (
        caches(records, TIMESHARING, machine)?,
        kernel(records, machine)?.0,
    );
    let all = (caches + kernel, low + kernel, high + kernel);
    let term = |(name, us): (&str, f64)| over(name, all, (us, us, us));
    let note = format!(
        "{} us, {} of them in the caches",
        number(all.0),
        percent(caches / all.0)
    );
    Ok(Found::new(PACKETS_US.map(term).into(), note))
}

fn microseconds(records: &Records) -> Outcome {
    let direct = direct_here(records, Mechanism::Pipe)?;
    let [value, low, high] = [direct.estimate, direct.low, direct.high].map(|ns| 2.0 * ns / 1e3);
    Ok(Found::new(
        vec![Term::new("there and back, us", value, low, high)],
        "",
    ))
}

pub(super) fn quantities() -> Quantities {
    vec![
        ("dominates-since", |r| since(r, TIMESHARING)),
        ("comparable-since", |r| since(r, CLIENT_SERVER)),
        ("share-grows", share_grows),
        ("registers-small", registers),
        ("dearer-than-packets", packets),
        ("microseconds", microseconds),
        ("fewer-lines-lost", |r| fewer_lost(r, TIMESHARING)),
        ("fewer-lines-lost-by-the-pair", |r| {
            fewer_lost(r, CLIENT_SERVER)
        }),
    ]
}
