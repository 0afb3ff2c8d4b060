//! The program that `make build` and `make measure` build beside the one that is shipped: what they capture and simulate, in turn.

use std::path::Path;

use crate::input;
use crate::program::Program;
use crate::row::Row;
use crate::run::{run, words};
use crate::spread::Spread;

const TEXT_BYTES: usize = 6_000_000;
const ROUNDS: usize = 5;
/// Of its elapsed time over that of the program that is shipped.
const MOST: f64 = 1.15;
/// Of its elapsed time over that of gzip alone.
const MOST_OF_NATIVE: f64 = 5.0;

/// Seconds.
struct Round {
    native: f64,
    captured: [f64; 2],
    simulated: [f64; 2],
}

pub(crate) fn all(shipped: &Program) -> Vec<Row> {
    let command =
        "switchcost trace -o FILE -- gzip -c TEXT; switchcost simulate --design host FILE"
            .to_owned();
    match shipped
        .of_profile("release")
        .and_then(|built| rows(&[built, shipped.clone()], &command))
    {
        Ok(rows) => rows,
        Err(why) => {
            vec![Row::failed(
                "the program of make build over the one that is shipped",
                "<= 1.15",
                why,
                command,
            )]
        }
    }
}

fn rows(both: &[Program; 2], command: &str) -> Result<Vec<Row>, String> {
    let (text, trace) = (both[0].path("text"), both[0].path("gzip.sct"));
    input::write_text(&text, TEXT_BYTES).map_err(|error| error.to_string())?;
    let gzip = ["gzip", "-c", text.to_str().unwrap_or_default()];
    run(words(&gzip), None)?;
    let rounds: Vec<Round> = (0..ROUNDS)
        .map(|_| round(both, &gzip, &trace))
        .collect::<Result<_, _>>()?;
    let row = |what: &str, most: f64, of: &dyn Fn(&Round) -> f64| {
        let ratio = Spread::of(&rounds.iter().map(of).collect::<Vec<_>>()).ok_or("no round");
        let found = ratio.map(|ratio| {
            (
                format!("{ratio}; {ROUNDS} rounds"),
                Some(ratio.median <= most),
            )
        });
        Row::of(
            format!("{what}, elapsed time, in turn"),
            format!("<= {most}"),
            command,
            found,
        )
    };
    Ok(vec![
        row(
            "capture of gzip by the program of make build over gzip alone",
            MOST_OF_NATIVE,
            &|round| round.captured[0] / round.native,
        ),
        row(
            "capture by the program of make build over the one that is shipped",
            MOST,
            &|round| round.captured[0] / round.captured[1],
        ),
        row(
            "simulation by the program of make build over the one that is shipped",
            MOST,
            &|round| round.simulated[0] / round.simulated[1],
        ),
    ])
}

fn round(both: &[Program; 2], gzip: &[&str], trace: &Path) -> Result<Round, String> {
    let native = run(words(gzip), None)?.wall.as_secs_f64();
    let (mut captured, mut simulated) = ([0.0; 2], [0.0; 2]);
    let path = trace.to_str().unwrap_or_default();
    for (program, seconds) in both.iter().zip(&mut captured) {
        // A trace is never written over another.
        let _ = std::fs::remove_file(trace);
        *seconds = run(
            program.command(&[&["trace", "-o", path, "--"][..], gzip].concat()),
            None,
        )?
        .wall
        .as_secs_f64();
    }
    for (program, seconds) in both.iter().zip(&mut simulated) {
        *seconds = run(
            program.command(&["simulate", "--design", "host", path]),
            None,
        )?
        .wall
        .as_secs_f64();
    }
    Ok(Round {
        native,
        captured,
        simulated,
    })
}
