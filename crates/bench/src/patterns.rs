//! Whether the cost that `observe` reports holds in whatever order a program touches its memory.

use serde_json::Value;

use crate::observed::{CPU, observed};
use crate::order::Order;
use crate::ping_pong::{self, Work};
use crate::program::{Program, number};
use crate::row::Row;
use crate::spread::Spread;

/// Each arm and each observation is run so often, in turn.
const RUNS: usize = 5;

/// About so long takes each.
const SECONDS: f64 = 0.2;

/// This many of the cases must lie in the reported range.
const LEAST: usize = 17;

/// Orders and KiB.
const CASES: [(Order, usize); 18] = [
    (Order::Sequential, 0),
    (Order::Sequential, 64),
    (Order::Sequential, 512),
    (Order::Sequential, 1024),
    (Order::Sequential, 4096),
    (Order::Sequential, 16_384),
    (Order::Chase, 64),
    (Order::Chase, 512),
    (Order::Chase, 1024),
    (Order::Chase, 4096),
    (Order::Chase, 16_384),
    (Order::WordALine, 64),
    (Order::WordALine, 512),
    (Order::WordALine, 1024),
    (Order::WordALine, 16_384),
    (Order::LineAPage, 512),
    (Order::LineAPage, 1024),
    (Order::LineAPage, 16_384),
];

/// A case in nanoseconds of one switch.
struct Case {
    order: Order,
    kib: usize,
    cost: Spread,
    low: f64,
    high: f64,
}

impl Case {
    fn is_inside(&self) -> bool {
        (self.low..=self.high).contains(&self.cost.median)
    }

    /// `chase, 1024 KiB: 71.20 us a switch (70.10 to 72.30), reported 2.00 to 140.00`.
    fn text(&self) -> String {
        let us = |ns: f64| format!("{:.2}", ns / 1000.0);
        let Spread { low, median, high } = self.cost;
        format!(
            "{}{}, {} KiB: {} us a switch ({} to {}), reported {} to {}",
            if self.is_inside() { "" } else { "OUTSIDE: " },
            self.order.name(),
            self.kib,
            us(median),
            us(low),
            us(high),
            us(self.low),
            us(self.high)
        )
    }
}

pub(crate) fn all(program: &Program) -> Vec<Row> {
    let inside = "cost reported of pairs that touch 0 to 16 MiB in four orders between switches holds the CPU time that they take above \
                  the same work without switches";
    let must_reach = format!(">= {LEAST} of {}", CASES.len());
    let command = format!(
        "observe -- ping-pong, beside itself and beside the same work alone, {RUNS} times in turn; medians"
    );
    let cases: Result<Vec<Case>, String> = CASES
        .iter()
        .map(|&(order, kib)| case(program, order, kib))
        .collect();
    let cases = match cases {
        Ok(cases) => cases,
        Err(why) => return vec![Row::failed(inside, &must_reach, why, command)],
    };
    let held = cases.iter().filter(|case| case.is_inside()).count();
    let table: Vec<String> = cases.iter().map(Case::text).collect();
    vec![Row {
        what: inside.to_owned(),
        must_reach,
        measured: format!("{held} of {}\n{}", cases.len(), table.join("\n")),
        is_met: Some(held >= LEAST),
        command,
    }]
}

fn case(program: &Program, order: Order, kib: usize) -> Result<Case, String> {
    let bytes = kib << 10;
    let rounds = (SECONDS * 1e9 / (order.walk_ns(bytes) + 5_000.0) / 2.0).max(4.0) as usize;
    let work = Work {
        order,
        bytes,
        rounds,
        walks: 1,
    };
    let workload = |role| ping_pong::command(CPU, role, work).map_err(|error| error.to_string());
    let (mut costs, mut reported) = (Vec::new(), [Vec::new(), Vec::new(), Vec::new()]);
    for run in 0..RUNS {
        // Each is first in every other round.
        let roles = if run % 2 == 0 {
            ["alone", "pair"]
        } else {
            ["pair", "alone"]
        };
        let [first, second] = [
            ping_pong::used(workload(roles[0])?)?.0,
            ping_pong::used(workload(roles[1])?)?.0,
        ];
        let more = if run % 2 == 0 {
            second - first
        } else {
            first - second
        };
        // Of all its switches, of which those of its start are a few.
        let switches = (2 * rounds) as f64;
        costs.push(more / switches);
        let ends = ends(&observed(program, &workload("pair")?)?)
            .ok_or("no cost was reported".to_owned())?;
        reported
            .iter_mut()
            .zip(ends)
            .for_each(|(reported, end)| reported.push(end / switches));
    }
    let [low, _, high] =
        reported.map(|ends| Spread::of(&ends).map_or(f64::NAN, |spread| spread.median));
    Ok(Case {
        order,
        kib,
        cost: Spread::of(&costs).ok_or("nothing ran".to_owned())?,
        low,
        high,
    })
}

/// The lower end, what is likely (no number if not known) and the upper end, in nanoseconds.
pub(crate) fn ends(observed: &Value) -> Option<[f64; 3]> {
    let [low, likely, high] =
        ["low", "likely", "high"].map(|end| number(observed, &format!("all.cost_ns.{end}")));
    Some([low?, likely.unwrap_or(f64::NAN), high?])
}
