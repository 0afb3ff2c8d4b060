//! Checks of `observe`: its overhead, and its cost of cold caches for programs that time this cost
//! themselves.

pub(crate) mod waits;

use std::process::Stdio;

use serde_json::Value;

use crate::progress::Progress;
use crate::row::Row;
use crate::shell::{Shell, interval, need, number};
use crate::tables;

/// CPU of the observed program and of most partners. Other partners run on [`OTHER_CPU`], which
/// leaves this CPU idle.
const CPU: &str = "1";
const OTHER_CPU: &str = "0";

/// Sizes of observed programs in KiB, each with the approximate pause of its partner in
/// microseconds.
const PROGRAMS: [(usize, u64); 3] = [(64, 100), (256, 200), (1024, 1_500)];

/// Sizes of partners in KiB, each with its CPU.
const PARTNERS: [(usize, &str); 4] = [(0, CPU), (256, CPU), (2048, CPU), (0, OTHER_CPU)];

const ROUNDS: usize = 3;

/// Largest relative error of an estimate that counts as near the true cost.
const NEAR: f64 = 0.2;

/// Number of estimates that must be near the true cost.
const MUST_BE_NEAR: usize = 34;
const MUST_HOLD: usize = 32;

const OBSERVE: &str = "switchcost observe --no-calibration --calls 3.2s -d 4.3s --record $out/record.json --format json";

pub(crate) fn measure(shell: &Shell) -> Vec<Row> {
    let mut rows = tables::watchers().measure(shell);
    rows.push(judge(&measure_waits(shell)));
    rows
}

/// Cost of a wait in ns: as the observed program times it, and as `observe` estimates it.
struct Wait {
    truth: f64,
    estimate: f64,
    /// Half the width of the interval by `observe`, in ns.
    half: f64,
    /// Likely value by `observe` of the cost of everything that follows a wait, in ns; `None` if
    /// `observe` gives no likely value.
    likely: Option<f64>,
    range: Option<(f64, f64)>,
}

impl Wait {
    fn new(truth: f64, json: &Value) -> Result<Wait, String> {
        let position = |at| need(json, &format!("matched.0.all_waits.positions_ns.{at}"));
        let [low, _, high] = interval(json, "matched.0.all_waits.ns", "estimate")?;
        let end = |name| number(json, &format!("matched.0.wait_ns.{name}"));
        Ok(Wait {
            truth,
            estimate: waits::POSITIONS
                .map(position)
                .sum::<Result<f64, String>>()?,
            half: (high - low) / 2.0,
            likely: end("likely"),
            range: end("low").zip(end("high")),
        })
    }

    fn is_near(&self) -> bool {
        (self.estimate / self.truth - 1.0).abs() <= NEAR
    }

    fn is_held(&self) -> bool {
        (self.estimate - self.truth).abs() <= self.half
    }

    /// Formats a result, such as `9.81 us, observe 10.02 +- 0.40 (1.02 times), with all that
    /// follows 0.20 to 12.30`.
    fn text(&self) -> String {
        let us = |ns: f64| format!("{:.2}", ns / 1000.0);
        let answer = match (self.range, self.likely) {
            (None, _) => "unknown".to_owned(),
            (Some((low, high)), None) => format!("{} to {}", us(low), us(high)),
            (Some((low, high)), Some(likely)) => {
                format!("{} ({} to {})", us(likely), us(low), us(high))
            }
        };
        format!(
            "{} us, observe {} +- {} ({:.2} times), with all that follows {answer}",
            us(self.truth),
            us(self.estimate),
            us(self.half),
            self.estimate / self.truth
        )
    }
}

type Named = (String, Result<Wait, String>);

fn measure_waits(shell: &Shell) -> Vec<Named> {
    let mut progress = Progress::new("programs", ROUNDS * PROGRAMS.len() * PARTNERS.len());
    let mut all = Vec::new();
    for _ in 0..ROUNDS {
        for (kib, pause_us) in PROGRAMS {
            for (partner_kib, cpu) in PARTNERS {
                let name = match cpu {
                    CPU => format!("{kib} KiB beside {partner_kib} KiB"),
                    _ => format!("{kib} KiB, idle"),
                };
                let words = format!("{kib} {cpu} {partner_kib} {pause_us}");
                all.push((name, measure_wait(shell, &words)));
                progress.advance();
            }
        }
    }
    all
}

fn measure_wait(shell: &Shell, words: &str) -> Result<Wait, String> {
    let line = format!(
        "exec taskset -c {CPU} switchcost-bench {} {words}",
        waits::ARGUMENT
    );
    let text = |error: std::io::Error| error.to_string();
    let mut program = shell.command(&line);
    let program = program.stdout(Stdio::piped()).spawn().map_err(text)?;
    let json = shell.json(&format!("{OBSERVE} -p {}", program.id()));
    let printed = program.wait_with_output().map_err(text)?.stdout;
    let truth = String::from_utf8_lossy(&printed).trim().parse();
    Wait::new(truth.map_err(|_| "the program printed no number")?, &json?)
}

fn judge(all: &[Named]) -> Row {
    let count = |is: fn(&Wait) -> bool| {
        let found = all.iter().filter_map(|(_, wait)| wait.as_ref().ok());
        found.filter(|wait| is(wait)).count()
    };
    let (near, held) = (count(Wait::is_near), count(Wait::is_held));
    let numbers = count(|wait| wait.likely.is_some());
    let ranges = count(|wait| wait.range.is_some()) - numbers;
    let mut measured = format!(
        "{near} and {held} of {}; a number was given in {numbers}, a range in {ranges}",
        all.len()
    );
    for (name, wait) in all {
        let text = wait.as_ref().map_or_else(String::clone, Wait::text);
        measured += &format!("\n{name}: {text}");
    }
    Row::new(
        "cold caches after a wait, of programs that time themselves: estimates within 20 % of the truth, and intervals that hold it",
        format!(">= {MUST_BE_NEAR} and {MUST_HOLD}"),
        format!("{OBSERVE} -p PROGRAM"),
        Ok((measured, Some(near >= MUST_BE_NEAR && held >= MUST_HOLD))),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_judged_by_the_intervals_that_it_times() {
        let json = serde_json::json!({"matched": [{
            "all_waits": {
                "ns": {"estimate": 2_000.0, "low": 1_880.0, "high": 2_120.0},
                "positions_ns": [700.0, 90.0, 500.0, 300.0, 100.0, 100.0, 100.0, 50.0],
            },
            "wait_ns": {"low": 100.0, "likely": null, "high": 2_200.0},
        }]});
        let wait = |truth| ("64 KiB, idle".to_owned(), Wait::new(truth, &json));
        let row = judge(&[wait(1_000.0), wait(1_250.0), wait(1_400.0)]);
        assert_eq!(
            row.measured,
            "2 and 1 of 3; a number was given in 0, a range in 3\n\
             64 KiB, idle: 1.00 us, observe 1.10 +- 0.12 (1.10 times), with all that follows 0.10 to 2.20\n\
             64 KiB, idle: 1.25 us, observe 1.10 +- 0.12 (0.88 times), with all that follows 0.10 to 2.20\n\
             64 KiB, idle: 1.40 us, observe 1.10 +- 0.12 (0.79 times), with all that follows 0.10 to 2.20"
        );
        assert_eq!(row.is_met, Some(false));
        assert!(Wait::new(1.0, &Value::Null).is_err());
    }
}
