//! Whether the range that `observe` tells holds what switches are seen to cost.
//!
//! The truth is had by cause and effect, without a model: the same work is done with more and with fewer switches, as is set from
//! outside, and what a switch costs is the slope of the CPU time for each piece of work over the switches for each. The rules, written
//! down before the first run: the range holds a case if the median slope lies from its lower end to its upper end; what is likely hits it
//! within 30 % of that median; 9 of 10 cases must be held, and 7 of 10 of those whose likely cost is known hit. Where the machine was too busy to see the truth (the middle half
//! of the slopes is wider than their median) nothing is judged, and it is said.

mod pairs;
mod service;
mod services;
mod slope;
pub(crate) mod turns;

use crate::program::Program;
use crate::row::Row;
use crate::spread::Spread;

/// What is likely is near if it is off by no more.
const NEAR: f64 = 0.3;

/// What a switch was seen to cost in one case, and what was reported of it, in nanoseconds.
struct Case {
    name: String,
    seen: Spread,
    low: f64,
    /// No number if it is not known.
    likely: f64,
    high: f64,
    /// How the likely is known.
    source: String,
}

impl Case {
    fn is_seen(&self) -> bool {
        self.seen.high - self.seen.low <= self.seen.median
    }

    fn is_held(&self) -> bool {
        (self.low..=self.high).contains(&self.seen.median)
    }

    fn is_hit(&self) -> bool {
        (self.likely / self.seen.median - 1.0).abs() <= NEAR
    }

    /// `chase, 1024 KiB: 71.20 us a switch (70.10 to 72.30), reported 3.10 (2.00 to 140.00; pages)`.
    fn text(&self) -> String {
        let us = |ns: f64| format!("{:.2}", ns / 1000.0);
        let Spread { low, median, high } = self.seen;
        format!(
            "{}{}: {} us a switch ({} to {}), reported {} ({} to {}; {})",
            match () {
                () if !self.is_seen() => "not seen: ",
                () if !self.is_held() => "OUTSIDE: ",
                () if !self.is_hit() => "far: ",
                () => "",
            },
            self.name,
            us(median),
            us(low),
            us(high),
            us(self.likely),
            us(self.low),
            us(self.high),
            self.source
        )
    }
}

pub(crate) fn of_pairs(program: &Program) -> Vec<Row> {
    let command = "observe -- ping-pong, whose walks are done one and four a turn";
    rows(
        "pairs that touch 0 to 4 MiB in four orders",
        command,
        || pairs::all(measured(program)?),
    )
}

pub(crate) fn of_services(program: &Program) -> Vec<Row> {
    let command = "observe -p SERVER, beside a task that takes half of its CPU in turns of 100 us and of 2 ms";
    rows("redis, nginx and PostgreSQL under load", command, || {
        services::all(measured(program)?)
    })
}

/// Measured as users have it: once, before anything is observed.
fn measured(program: &Program) -> Result<&Program, String> {
    program.run(&["measure"]).map(|_| program)
}

fn rows(of: &str, command: &str, cases: impl FnOnce() -> Result<Vec<Case>, String>) -> Vec<Row> {
    let held = format!("cost reported of {of} holds what more switches cost them");
    let cases = match cases() {
        Ok(cases) => cases,
        Err(why) => return vec![Row::failed(&held, ">= 9 of 10", why, command.to_owned())],
    };
    let judged: Vec<&Case> = cases.iter().filter(|case| case.is_seen()).collect();
    let known: Vec<&Case> = judged
        .iter()
        .copied()
        .filter(|case| case.likely.is_finite())
        .collect();
    let row = |what: String,
               must: &str,
               all: &[&Case],
               is: fn(&Case) -> bool,
               least: usize,
               rest: &str| {
        let count = all.iter().filter(|case| is(case)).count();
        Row {
            what,
            must_reach: must.to_owned(),
            measured: format!("{count} of {}{rest}", all.len()),
            is_met: (!all.is_empty()).then_some(count * 10 >= least * all.len()),
            command: command.to_owned(),
        }
    };
    let table: Vec<String> = cases.iter().map(Case::text).collect();
    let table = format!("\n{}", table.join("\n"));
    vec![
        row(held, ">= 9 of 10", &judged, Case::is_held, 9, &table),
        row(
            "the same: what is reported as likely, where it is known, within 30 %".to_owned(),
            ">= 7 of 10",
            &known,
            Case::is_hit,
            7,
            "",
        ),
    ]
}
