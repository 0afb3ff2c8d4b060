//! `switchcost trace --system`: how fast a whole guest is captured once it has booted, and how soon two programs are.

use std::time::Duration;

use crate::input;
use crate::program::{Program, number};
use crate::row::Row;
use crate::run::run;
use crate::spread::Spread;

const TEXT_BYTES: usize = 10_000_000;
const ROUNDS: usize = 3;
const LEAST_RATE: f64 = 300e6;
const MOST_BYTES: f64 = 0.25;
const LONGEST: Duration = Duration::from_secs(60);

/// One capture.
struct Captured {
    elapsed: Duration,
    instructions: f64,
    bytes: f64,
}

pub(crate) fn all(program: &Program) -> Vec<Row> {
    let command =
        "switchcost trace --system -o FILE -- gzip -c TEXT, TEXT being 10 MB of made-up words, and -- true".to_owned();
    match rows(program, &command) {
        Ok(rows) => rows,
        Err(why) => {
            vec![Row::failed("capture of a whole system", ">= 300 million instructions a second", why, command)]
        }
    }
}

fn rows(program: &Program, command: &str) -> Result<Vec<Row>, String> {
    let text = program.path("system-text");
    input::write_text(&text, TEXT_BYTES).map_err(|error| error.to_string())?;
    let text = text.display().to_string();
    let mut rates = Vec::new();
    let mut size = 0.0;
    for _ in 0..ROUNDS {
        let nothing = capture(program, &["true"])?;
        let gzip = capture(program, &["gzip", "-c", &text])?;
        let seconds = gzip.elapsed.as_secs_f64() - nothing.elapsed.as_secs_f64();
        rates.push((gzip.instructions - nothing.instructions) / seconds);
        size = gzip.bytes / gzip.instructions;
    }
    let short = capture(program, &["wc", &text])?;
    let rate = Spread::of(&rates.iter().map(|rate| rate / 1e6).collect::<Vec<_>>()).ok_or("no round")?;
    Ok(vec![
        Row {
            what: "capture of a whole system, millions of instructions a second, without booting".to_owned(),
            must_reach: ">= 300".to_owned(),
            measured: format!("{rate}; {ROUNDS} rounds"),
            is_met: Some(rate.median >= LEAST_RATE / 1e6),
            command: command.to_owned(),
        },
        Row {
            what: "size of the trace of a whole system".to_owned(),
            must_reach: "<= 0.25 B an instruction".to_owned(),
            measured: format!("{size:.3} B an instruction"),
            is_met: Some(size <= MOST_BYTES),
            command: command.to_owned(),
        },
        Row {
            what: "from nothing to the trace of a short program in a guest".to_owned(),
            must_reach: "<= 60 s".to_owned(),
            measured: format!("{:.1} s", short.elapsed.as_secs_f64()),
            is_met: Some(short.elapsed <= LONGEST),
            command: "switchcost trace --system -o FILE -- wc TEXT".to_owned(),
        },
    ])
}

fn capture(program: &Program, words: &[&str]) -> Result<Captured, String> {
    let trace = program.path("system.sct");
    // A trace is never written over another.
    let _ = std::fs::remove_file(&trace);
    let trace = trace.display().to_string();
    let cost = run(program.command(&[&["trace", "--system", "-o", &trace, "--"], words].concat()), None)?;
    let info = program.run(&["trace", "info", &trace])?.json;
    let at = |name: &str| number(&info, name).ok_or(format!("trace info names no {name}"));
    Ok(Captured { elapsed: cost.wall, instructions: at("instructions")?, bytes: at("bytes")? })
}
