//! `switchcost trace` of gzip, beside gzip alone, and beside Valgrind's own tools on the same text, in turn.

use std::path::Path;
use std::process::Command;

use crate::input;
use crate::program::{Program, number};
use crate::row::Row;
use crate::run::{Cost, run, words};
use crate::spread::Spread;

const TEXT_BYTES: usize = 20_000_000;
/// Lackey is too slow for more.
const SHORT_TEXT_BYTES: usize = 1_000_000;
const ROUNDS: usize = 5;

/// One round of everything that is repeated.
struct Round {
    native: Cost,
    none: Cost,
    ours: Cost,
    alone: Result<Cost, String>,
}

pub(crate) fn all(program: &Program) -> Vec<Row> {
    let command =
        "switchcost trace -o FILE -- gzip -c TEXT, TEXT being 20 MB of made-up words".to_owned();
    match rows(program, &command) {
        Ok(rows) => rows,
        Err(why) => vec![Row::failed(
            "capture of gzip",
            "<= 4 x native, <= 1.4 x valgrind --tool=none",
            why,
            command,
        )],
    }
}

fn rows(program: &Program, command: &str) -> Result<Vec<Row>, String> {
    let (text, trace) = (program.path("text"), program.path("gzip.sct"));
    input::write_text(&text, TEXT_BYTES).map_err(|error| error.to_string())?;
    let gzip = ["gzip", "-c", text.to_str().unwrap_or_default()];
    // Everything is in the page cache before the first round counts.
    run(words(&gzip), None)?;
    let rounds: Vec<Round> = (0..ROUNDS)
        .map(|_| round(program, &gzip, &trace))
        .collect::<Result<_, _>>()?;
    let info = program
        .run(&["trace", "info", trace.to_str().unwrap_or_default()])?
        .json;
    let at = |name: &str| number(&info, name).ok_or(format!("trace info names no {name}"));
    let (bytes, instructions) = (at("bytes")?, at("instructions")?);
    let short = program.path("short");
    input::write_text(&short, SHORT_TEXT_BYTES).map_err(|error| error.to_string())?;
    let others = other_tools(&["gzip", "-c", short.to_str().unwrap_or_default()])?;
    let mut rows = vec![
        against(command, "gzip alone", 4.0, &rounds, |round| round.native),
        against(command, "valgrind --tool=none", 1.4, &rounds, |round| {
            round.none
        }),
        size(command, bytes / instructions),
        tool_alone(&rounds),
    ];
    rows.extend(others);
    Ok(rows)
}

fn round(program: &Program, gzip: &[&str], trace: &Path) -> Result<Round, String> {
    let native = run(words(gzip), None)?;
    let none = run(valgrind(&["--tool=none"], gzip), None)?;
    // A trace is never written over another.
    let _ = std::fs::remove_file(trace);
    let ours = ["trace", "-o", trace.to_str().unwrap_or_default(), "--"];
    let ours = run(program.command(&[&ours[..], gzip].concat()), None)?;
    let alone = program.tool_alone().and_then(|example| {
        let mut command = Command::new(example);
        command.args(gzip);
        run(command, None)
    });
    Ok(Round {
        native,
        none,
        ours,
        alone,
    })
}

/// What remains if the tool's output is not read: the least that a capture with this tool can take.
fn tool_alone(rounds: &[Round]) -> Row {
    let what = "gzip under the tool alone, nothing read or written, over gzip alone and over valgrind --tool=none";
    let spread = |of: &dyn Fn(&Round, &Cost) -> f64| -> Result<Spread, String> {
        let each = rounds
            .iter()
            .map(|round| round.alone.clone().map(|alone| of(round, &alone)));
        Spread::of(&each.collect::<Result<Vec<_>, _>>()?).ok_or("no round".to_owned())
    };
    let measured = || -> Result<String, String> {
        let native =
            spread(&|round, alone| alone.wall.as_secs_f64() / round.native.wall.as_secs_f64())?;
        let none =
            spread(&|round, alone| alone.wall.as_secs_f64() / round.none.wall.as_secs_f64())?;
        let seconds = spread(&|_, alone| alone.wall.as_secs_f64())?;
        let cpu = spread(&|_, alone| alone.cpu.as_secs_f64())?;
        Ok(format!(
            "{native}; {none}; {seconds} s ({cpu} s of CPU); {} rounds",
            rounds.len()
        ))
    };
    Row::of(
        what,
        "side by side",
        "examples/unread gzip -c TEXT",
        measured().map(|measured| (measured, None)),
    )
}

fn valgrind(flags: &[&str], command: &[&str]) -> Command {
    let mut valgrind = words(&["valgrind", "-q"]);
    valgrind.args(flags).args(command);
    valgrind
}

fn against(
    command: &str,
    what: &str,
    most: f64,
    rounds: &[Round],
    other: impl Fn(&Round) -> Cost,
) -> Row {
    let seconds =
        |of: &dyn Fn(&Round) -> f64| Spread::of(&rounds.iter().map(of).collect::<Vec<_>>());
    let ratio = seconds(&|round| round.ours.wall.as_secs_f64() / other(round).wall.as_secs_f64());
    let ours = seconds(&|round| round.ours.wall.as_secs_f64());
    let cpu = seconds(&|round| round.ours.cpu.as_secs_f64());
    let theirs = seconds(&|round| other(round).wall.as_secs_f64());
    let (what, must_reach) = (
        format!("capture of gzip over {what}, elapsed time, in turn"),
        format!("<= {most}"),
    );
    let found = ratio
        .zip(ours)
        .zip(cpu.zip(theirs))
        .map(|((ratio, ours), (cpu, theirs))| {
            let measured = format!(
                "{ratio}; ours {ours} s ({cpu} s of CPU), theirs {theirs} s; {} rounds",
                rounds.len()
            );
            (measured, Some(ratio.median <= most))
        });
    Row::of(what, must_reach, command, found.ok_or("no round"))
}

fn size(command: &str, bytes_per_instruction: f64) -> Row {
    Row {
        what: "size of the trace of gzip".to_owned(),
        must_reach: "<= 0.25 B an instruction".to_owned(),
        measured: format!("{bytes_per_instruction:.3} B an instruction"),
        is_met: Some(bytes_per_instruction <= 0.25),
        command: command.to_owned(),
    }
}

/// Once each, on a shorter text: Valgrind's tools that see every address.
fn other_tools(gzip: &[&str]) -> Result<Vec<Row>, String> {
    let native = run(words(gzip), None)?.wall.as_secs_f64();
    let tools: [(&str, &[&str]); 2] = [
        (
            "cachegrind, which simulates one design",
            &[
                "--tool=cachegrind",
                "--cache-sim=yes",
                "--cachegrind-out-file=/dev/null",
            ],
        ),
        (
            "lackey, which prints every address, into /dev/null",
            &["--tool=lackey", "--trace-mem=yes", "--log-file=/dev/null"],
        ),
    ];
    let row = |(name, flags): &(&str, &[&str])| {
        let what = format!("gzip of 1 MB under {name}, over gzip alone");
        let command = format!("valgrind {} gzip -c TEXT", flags.join(" "));
        let found = run(valgrind(flags, gzip), None).map(|cost| {
            (
                format!(
                    "{:.0}; {:.1} s",
                    cost.wall.as_secs_f64() / native,
                    cost.wall.as_secs_f64()
                ),
                None,
            )
        });
        Row::of(what, "side by side", command, found)
    };
    Ok(tools.iter().map(row).collect())
}
