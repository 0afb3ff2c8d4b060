//! Cache and kernel in the cost of a switch, machine by machine.

use switchcost_record::Mechanism;

use super::{CLIENT_SERVER, Kernel, MACHINES, Machine, SETS, TIMESHARING, direct_here, set_step};
use crate::claims::{Found, Quantities, Term, over};
use crate::exhibit::Cell;
use crate::interval::Interval;
use crate::text::{number, percent};
use crate::{Axis, Chart, Exhibit, Records, Series, Style, Table};

/// Section 6 of Mogul and Borg 1990: a pair of minimal packets on an Ethernet; on FDDI it is ten times as fast.
const PACKETS_US: [(&str, f64); 2] = [("Ethernet", 130.0), ("FDDI", 13.0)];
/// Machines behind the DECstation.
const SINCE: usize = 1;
/// Those on which registers are compared: of the time of the compiler that saves them here.
const RECENT: usize = 3;

type Outcome = Result<Found, String>;

/// What a switch costs in the caches, net, in microseconds, with the ends of its interval and of the design's cycle.
fn caches(records: &Records, set: usize, machine: &Machine) -> Result<Interval, String> {
    let (_, findings) = records.simulated(&set_step(set))?;
    let design = findings.designs.iter().find(|design| design.name == machine.design);
    let design = design.ok_or_else(|| format!("the record has no design {}", machine.design))?;
    let cost = &design.average_cost_cycles;
    let why = || cost.why.clone().unwrap_or_else(|| "no cost is available".to_owned());
    let (Some(value), Some(low), Some(high)) = (cost.estimate, cost.low, cost.high) else { return Err(why()) };
    let [short, long] = design.cycle_ns.ok_or("the design has no time of a cycle")?;
    Ok((value * (short * long).sqrt() / 1e3, low * short / 1e3, high * long / 1e3))
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

/// Caches over kernel.
fn cache_over_kernel(records: &Records, set: usize, machine: &Machine) -> Result<Term, String> {
    Ok(over(machine.name, caches(records, set, machine)?, kernel(records, machine)?))
}

/// The share of the caches in both together.
fn share(records: &Records, set: usize, machine: &Machine) -> Result<f64, String> {
    let (caches, kernel) = (caches(records, set, machine)?.0, kernel(records, machine)?.0);
    Ok(caches / (caches + kernel))
}

pub(super) fn exhibit(records: &Records) -> Exhibit {
    let mut exhibit = Exhibit::new("Then and now", "What caches and kernel take of a switch, from 1990 to today");
    exhibit.steps.push(super::DIRECT.to_owned());
    exhibit.steps.extend((0..SETS.len()).map(set_step));
    let mut columns = vec!["machine".to_owned(), "year".to_owned(), "kernel us".to_owned(), "kernel, from".to_owned()];
    for (_, set) in SETS {
        columns.extend([format!("caches us, {set}"), format!("share of caches %, {set}")]);
    }
    let mut table = Table::new(&columns.iter().map(String::as_str).collect::<Vec<_>>());
    for machine in &MACHINES {
        let of = |found: Result<f64, String>, decimals| {
            let why = found.clone().err().unwrap_or_default();
            Cell::or_missing(found.ok(), decimals, &why)
        };
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
            row.push(of(share(records, set, machine).map(|share| share * 100.0), 1));
        }
        table.row(row);
    }
    exhibit.table = table;
    exhibit.chart = chart(records);
    exhibit.notes.push(
        "Caches: what a switch loses to others, simulated with one trace of today's programs for all machines, without the kernel's \
         own references. Kernel: the direct cost, in which the caches are warm. 1990 also has an estimate of the least that a switch \
         may take there, 7.4 us (Anderson et al.). On a machine with large caches a short trace does not fill the last level, \
         and loses nothing there."
            .into(),
    );
    exhibit
}

fn chart(records: &Records) -> Option<Chart> {
    let series = SETS.iter().enumerate().map(|(set, (_, name))| {
        let point = |(place, machine): (usize, &Machine)| Some((place as f64, share(records, set, machine).ok()?));
        Series::new(*name, Style::Found, MACHINES.iter().enumerate().filter_map(point))
    });
    let series: Vec<Series> = series.filter(|one| !one.x.is_empty()).collect();
    if series.is_empty() {
        return None;
    }
    let mut chart = Chart::new("machine", Axis::Names, "share of a switch that is caches", Axis::Share, series);
    chart.x_names = MACHINES.iter().map(|machine| format!("{} ({})", machine.name, machine.year)).collect();
    Some(chart)
}

fn since(records: &Records, set: usize) -> Outcome {
    let terms = MACHINES[SINCE..].iter().map(|machine| cache_over_kernel(records, set, machine));
    Ok(Found::new(terms.collect::<Result<_, _>>()?, ""))
}

/// Caches over kernel since, over the same in 1990.
fn share_grows(records: &Records) -> Outcome {
    let then = cache_over_kernel(records, TIMESHARING, &MACHINES[0])?;
    let ratio = |machine: &Machine| {
        let now = cache_over_kernel(records, TIMESHARING, machine)?;
        Ok::<_, String>(over(machine.name, (now.value, now.low, now.high), (then.value, then.low, then.high)))
    };
    let terms = MACHINES[SINCE..].iter().map(ratio).collect::<Result<_, _>>()?;
    Ok(Found::new(terms, format!("caches over kernel in 1990: {}", number(then.value))))
}

/// A switch that saves and loads registers alone, over the caches.
fn registers(records: &Records) -> Outcome {
    let fiber = direct_here(records, Mechanism::Fiber)?;
    let us = (fiber.estimate / 1e3, fiber.low / 1e3, fiber.high / 1e3);
    let ratio = |machine: &Machine| Ok::<_, String>(over(machine.name, us, caches(records, TIMESHARING, machine)?));
    let terms = MACHINES[RECENT..].iter().map(ratio).collect::<Result<_, _>>()?;
    Ok(Found::new(terms, format!("{} ns a switch of fibers", number(fiber.estimate))))
}

fn packets(records: &Records) -> Outcome {
    let machine = &MACHINES[0];
    let ((caches, low, high), kernel) = (caches(records, TIMESHARING, machine)?, kernel(records, machine)?.0);
    let all = (caches + kernel, low + kernel, high + kernel);
    let term = |(name, us): (&str, f64)| over(name, all, (us, us, us));
    let note = format!("{} us, {} of them in the caches", number(all.0), percent(caches / all.0));
    Ok(Found::new(PACKETS_US.map(term).into(), note))
}

fn microseconds(records: &Records) -> Outcome {
    let direct = direct_here(records, Mechanism::Pipe)?;
    let [value, low, high] = [direct.estimate, direct.low, direct.high].map(|ns| 2.0 * ns / 1e3);
    Ok(Found::new(vec![Term::new("there and back, us", value, low, high)], ""))
}

pub(super) fn quantities() -> Quantities {
    vec![
        ("dominates-since", |r| since(r, TIMESHARING)),
        ("comparable-since", |r| since(r, CLIENT_SERVER)),
        ("share-grows", share_grows),
        ("registers-small", registers),
        ("dearer-than-packets", packets),
        ("microseconds", microseconds),
    ]
}
