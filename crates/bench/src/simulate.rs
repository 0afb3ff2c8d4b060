//! `switchcost simulate` from a file of four processes: one design, the four of Mogul and Borg 1990, a hundred; beside
//! cachegrind, which runs the same programs one after another and simulates one design.

use std::path::{Path, PathBuf};

use crate::input;
use crate::program::{Program, number};
use crate::row::Row;
use crate::run::{run, words};
use crate::spread::Spread;

const TEXT_BYTES: usize = 4_000_000;
const ROUNDS: usize = 5;

const ONE: [&str; 2] = ["--design", "mogul-1a"];
const FOUR: [&str; 2] = ["--design", "mogul-1a,mogul-1b,mogul-2a,mogul-2b"];
/// One of the hundred, and all of them: ten sizes by ten associativities of its second level.
const ONE_OF_HUNDRED: [&str; 2] = ["--design", "li2007-xeon"];
const HUNDRED: [&str; 6] = [
    "--design",
    "li2007-xeon",
    "--vary",
    "L2.size=64KiB,128KiB,256KiB,512KiB,1MiB,2MiB,4MiB,8MiB,16MiB,32MiB",
    "--vary",
    "L2.ways=1,2,4,8,16,32,64,128,256,512",
];

/// A trace of four programs, and how many references are in it.
struct Trace {
    path: PathBuf,
    references: f64,
    lines: [Vec<String>; 4],
}

/// Seconds of each round.
#[derive(Default)]
struct Seconds {
    one: Vec<f64>,
    four: Vec<f64>,
    one_of_hundred: Vec<f64>,
    hundred: Vec<f64>,
}

pub(crate) fn all(program: &Program) -> Vec<Row> {
    match rows(program) {
        Ok(rows) => rows,
        Err(why) => vec![Row::failed("simulation from a trace", "see the other rows", why, "simulate FILE".to_owned())],
    }
}

fn rows(program: &Program) -> Result<Vec<Row>, String> {
    let trace = capture(program)?;
    let mut seconds = Seconds::default();
    for _ in 0..ROUNDS {
        seconds.one.push(simulate(program, &trace.path, &ONE)?);
        seconds.four.push(simulate(program, &trace.path, &FOUR)?);
        seconds.one_of_hundred.push(simulate(program, &trace.path, &ONE_OF_HUNDRED)?);
        seconds.hundred.push(simulate(program, &trace.path, &HUNDRED)?);
    }
    let mut rows = vec![
        rate("one design (mogul-1a), shared, private and flushed", 500.0, &seconds.one, &trace, &ONE),
        rate("the four designs of Mogul and Borg 1990", 150.0, &seconds.four, &trace, &FOUR),
        hundred(&seconds),
    ];
    rows.push(cachegrind(&trace));
    Ok(rows)
}

/// Four programs that take turns: packing, sorting, hashing and searching the same text.
fn capture(program: &Program) -> Result<Trace, String> {
    let (text, path) = (program.path("four.txt"), program.path("four.sct"));
    input::write_text(&text, TEXT_BYTES).map_err(|error| error.to_string())?;
    let text = text.to_str().unwrap_or_default();
    let lines = [
        vec!["gzip", "-c", text],
        vec!["sort", "--parallel=1", text],
        vec!["sha256sum", text],
        vec!["grep", "-c", "ab.*yz", text],
    ];
    let lines = lines.map(|line| line.into_iter().map(str::to_owned).collect::<Vec<_>>());
    let mut command = program.command(&["trace", "-o", path.to_str().unwrap_or_default()]);
    for line in &lines[1..] {
        command.args(["--with", &line.join(" ")]);
    }
    command.arg("--").args(&lines[0]);
    run(command, None)?;
    let info = program.run(&["trace", "info", path.to_str().unwrap_or_default()])?.json;
    let at = |name: &str| number(&info, name).ok_or(format!("trace info names no {name}"));
    let references = at("instructions")? + at("loads")? + at("stores")?;
    Ok(Trace { path, references, lines })
}

fn simulate(program: &Program, trace: &Path, designs: &[&str]) -> Result<f64, String> {
    let record = program.path("record.parquet");
    // A record is never written over another.
    let _ = std::fs::remove_file(&record);
    let mut command = program.command(&["simulate", trace.to_str().unwrap_or_default()]);
    command.args(designs).arg("--record").arg(&record);
    Ok(run(command, None)?.wall.as_secs_f64())
}

fn rate(what: &str, least: f64, seconds: &[f64], trace: &Trace, designs: &[&str]) -> Row {
    let rates: Vec<f64> = seconds.iter().map(|seconds| trace.references / seconds / 1e6).collect();
    let (what, must_reach) = (format!("simulation of {what}, references a second"), format!(">= {least} M/s"));
    let command = format!("simulate FILE {}", designs.join(" "));
    match Spread::of(&rates) {
        None => Row::failed(&what, &must_reach, "no round".to_owned(), command),
        Some(spread) => Row {
            what,
            must_reach,
            measured: format!("{spread} M/s; {:.0} M references, {} rounds", trace.references / 1e6, rates.len()),
            is_met: Some(spread.median >= least),
            command,
        },
    }
}

fn hundred(seconds: &Seconds) -> Row {
    let (what, must_reach) = ("simulation of a hundred designs in one pass over one of them, in turn", "<= 8");
    let command = format!("simulate FILE {}", HUNDRED.join(" "));
    let ratios: Vec<f64> = seconds.hundred.iter().zip(&seconds.one_of_hundred).map(|(all, one)| all / one).collect();
    let (Some(ratio), Some(one)) = (Spread::of(&ratios), Spread::of(&seconds.one_of_hundred)) else {
        return Row::failed(what, must_reach, "no round".to_owned(), command);
    };
    Row {
        what: what.to_owned(),
        must_reach: must_reach.to_owned(),
        measured: format!("{ratio}; one {one} s; {} rounds", ratios.len()),
        is_met: Some(ratio.median <= 8.0),
        command,
    }
}

fn cachegrind(trace: &Trace) -> Row {
    let (what, must_reach) = ("cachegrind, one design, on the same programs one after another", "side by side");
    let flags = ["valgrind", "-q", "--tool=cachegrind", "--cache-sim=yes", "--cachegrind-out-file=/dev/null"];
    let seconds = |line: &Vec<String>| {
        let mut command = words(&flags);
        command.args(line);
        run(command, None).map(|cost| cost.wall.as_secs_f64())
    };
    let command = flags.join(" ");
    match trace.lines.iter().map(seconds).sum::<Result<f64, String>>() {
        Err(why) => Row::failed(what, must_reach, why, command),
        Ok(seconds) => Row {
            what: what.to_owned(),
            must_reach: must_reach.to_owned(),
            measured: format!(
                "{:.0} M/s with the running of the programs; {seconds:.1} s",
                trace.references / seconds / 1e6
            ),
            is_met: None,
            command,
        },
    }
}
