//! `switchcost simulate` from a file of four processes: designs of today and of 1990, four at once, a hundred; beside
//! cachegrind, which runs the same programs one after another and simulates one design.

use std::path::{Path, PathBuf};

use crate::hundred::{self, Varied};
use crate::input;
use crate::program::{Program, number};
use crate::row::Row;
use crate::run::{run, words};
use crate::spread::Spread;

/// For the rates: some 1,800 million references, so that what a run takes to start and to end does not count.
const LONG_TEXT_BYTES: usize = 6_000_000;
/// For the ratios.
const SHORT_TEXT_BYTES: usize = 1_500_000;
const ROUNDS: usize = 5;

/// Designs, what they are, and how many million references a second they must reach.
const RATES: [(&str, &str, f64); 6] = [
    ("host", "the machine it runs on", 150.0),
    ("zen4-epyc-9004", "a server of 2022", 150.0),
    ("xeon-sapphire-rapids", "a server of 2023", 150.0),
    ("plain-lru", "two plain levels", 250.0),
    ("mogul-1a", "a workstation of 1990", 350.0),
    (
        "mogul-1a,mogul-1b,mogul-2a,mogul-2b",
        "the four designs of Mogul and Borg 1990",
        120.0,
    ),
];

/// Two designs of today that take about as long, for CPUs.
const TWO_DESIGNS: &str = "zen4-epyc-9004,xeon-sapphire-rapids";
const LEAST_OF_TWO_CPUS: f64 = 1.8;
/// On one CPU; on two, one design after the other beside the thread that reads the trace; on two, both at the same time.
const ON_CPUS: [(Option<&str>, &str); 3] = [(Some("0"), "1"), (None, "1"), (None, "2")];
/// Shared, private, flushed.
const VIEWS: f64 = 3.0;

/// A trace of four programs, and how many references are in it.
struct Trace {
    path: PathBuf,
    references: f64,
    lines: [Vec<String>; 4],
}

/// Many designs, one of them, and the seconds that each took in each round.
struct Many {
    what: &'static str,
    /// How many times as long as one they may take.
    most: f64,
    one: String,
    all: String,
    seconds: [Vec<f64>; 2],
}

pub(crate) fn all(program: &Program) -> Vec<Row> {
    match rows(program) {
        Ok(rows) => rows,
        Err(why) => vec![Row::failed(
            "simulation from a trace",
            "see the other rows",
            why,
            "simulate FILE".to_owned(),
        )],
    }
}

fn rows(program: &Program) -> Result<Vec<Row>, String> {
    let (long, short) = (
        capture(program, "long", LONG_TEXT_BYTES)?,
        capture(program, "short", SHORT_TEXT_BYTES)?,
    );
    let mut many = [
        many(
            program,
            "a hundred sizes of first-level caches",
            8.0,
            Varied::First,
        )?,
        many(
            program,
            "a hundred sizes of a second-level cache",
            8.0,
            Varied::Second,
        )?,
        many(
            program,
            "twenty sizes of a second-level cache before a third",
            5.0,
            Varied::Between,
        )?,
    ];
    let mut seconds: [Vec<f64>; RATES.len()] = Default::default();
    let mut on_cpus: [Vec<f64>; ON_CPUS.len()] = Default::default();
    for _ in 0..ROUNDS {
        for (seconds, (designs, ..)) in seconds.iter_mut().zip(RATES) {
            seconds.push(simulate(program, &long.path, designs, None, "2")?);
        }
        for (seconds, (cpu, threads)) in on_cpus.iter_mut().zip(ON_CPUS) {
            seconds.push(simulate(program, &short.path, TWO_DESIGNS, cpu, threads)?);
        }
        for many in &mut many {
            many.seconds[0].push(simulate(program, &short.path, &many.one, None, "2")?);
            many.seconds[1].push(simulate(program, &short.path, &many.all, None, "2")?);
        }
    }
    let mut rows: Vec<Row> = Vec::new();
    for (seconds, (designs, what, least)) in seconds.iter().zip(RATES) {
        rows.push(rate(
            what,
            least,
            seconds,
            &long,
            designs,
            structures(program, designs)?,
        ));
    }
    rows.push(two_cpus(&on_cpus));
    rows.extend(many.iter().map(ratio));
    rows.push(cachegrind(&long));
    Ok(rows)
}

fn many(program: &Program, what: &'static str, most: f64, varied: Varied) -> Result<Many, String> {
    let paths =
        hundred::write(&program.path("hundred"), varied).map_err(|error| error.to_string())?;
    let names: Vec<String> = paths
        .iter()
        .map(|path| path.display().to_string())
        .collect();
    let one = names.get(names.len() / 2 + 3).cloned().unwrap_or_default();
    Ok(Many {
        what,
        most,
        one,
        all: names.join(","),
        seconds: Default::default(),
    })
}

/// Four programs that take turns: packing, sorting, hashing and searching the same text.
fn capture(program: &Program, name: &str, text_bytes: usize) -> Result<Trace, String> {
    let (text, path) = (
        program.path(&format!("{name}.txt")),
        program.path(&format!("{name}.sct")),
    );
    input::write_text(&text, text_bytes).map_err(|error| error.to_string())?;
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
    let info = program
        .run(&["trace", "info", path.to_str().unwrap_or_default()])?
        .json;
    let at = |name: &str| number(&info, name).ok_or(format!("trace info names no {name}"));
    let references = at("instructions")? + at("loads")? + at("stores")?;
    Ok(Trace {
        path,
        references,
        lines,
    })
}

/// How many caches and TLBs the designs have: each has a line of its own, which begins with spaces.
fn structures(program: &Program, designs: &str) -> Result<usize, String> {
    let mut command = program.command(&["simulate", "--explain", "--design", designs]);
    let output = command.output().map_err(|error| error.to_string())?;
    Ok(String::from_utf8_lossy(&output.stdout)
        .lines()
        .filter(|line| line.starts_with(' '))
        .count())
}

fn simulate(
    program: &Program,
    trace: &Path,
    designs: &str,
    cpu: Option<&str>,
    threads: &str,
) -> Result<f64, String> {
    let record = program.path("record.parquet");
    // A record is never written over another.
    let _ = std::fs::remove_file(&record);
    let mut command = program.command_on(cpu, &["simulate", trace.to_str().unwrap_or_default()]);
    command
        .args(["--design", designs, "--threads", threads, "--record"])
        .arg(&record);
    Ok(run(command, None)?.wall.as_secs_f64())
}

fn rate(
    what: &str,
    least: f64,
    seconds: &[f64],
    trace: &Trace,
    designs: &str,
    structures: usize,
) -> Row {
    let rates: Vec<f64> = seconds
        .iter()
        .map(|seconds| trace.references / seconds / 1e6)
        .collect();
    let (what, must_reach) = (
        format!("simulation of {what}, references a second"),
        format!(">= {least} M/s"),
    );
    let command = format!("simulate FILE --design {designs}");
    let found = Spread::of(&rates).ok_or("no round").map(|spread| {
        let measured = format!(
            "{spread} M/s; {:.0} M structure-views a second; {:.0} M references, {} rounds",
            spread.median * VIEWS * structures as f64,
            trace.references / 1e6,
            rates.len()
        );
        (measured, Some(spread.median >= least))
    });
    Row::of(what, must_reach, command, found)
}

/// The same two designs on one CPU and on two.
fn two_cpus(seconds: &[Vec<f64>; ON_CPUS.len()]) -> Row {
    let what = "simulation of two designs of today, on one CPU over on two, in turn";
    let command = format!(
        "taskset -c 0 simulate FILE --design {TWO_DESIGNS} --threads 1 | simulate ... --threads 2"
    );
    let [one, beside, two] = seconds;
    let over_two = |seconds: &[f64]| -> Vec<f64> {
        seconds
            .iter()
            .zip(two)
            .map(|(one, two)| one / two)
            .collect()
    };
    let both = Spread::of(&over_two(one))
        .zip(Spread::of(&over_two(beside)))
        .ok_or("no round");
    let found = both.map(|(ratio, beside)| {
        let rest = format!(
            "{beside} where one thread simulates and another reads the trace; {} rounds",
            one.len()
        );
        (
            format!("{ratio}; {rest}"),
            Some(ratio.median >= LEAST_OF_TWO_CPUS),
        )
    });
    Row::of(what, format!(">= {LEAST_OF_TWO_CPUS}"), command, found)
}

fn ratio(many: &Many) -> Row {
    let what = format!("simulation of {} over one of them, in turn", many.what);
    let command = "simulate FILE --design ONE.toml | simulate FILE --design ONE.toml,...";
    let [one, all] = &many.seconds;
    let ratios: Vec<f64> = all.iter().zip(one).map(|(all, one)| all / one).collect();
    let spreads = Spread::of(&ratios)
        .zip(Spread::of(one))
        .zip(Spread::of(all))
        .ok_or("no round");
    let found = spreads.map(|((ratio, one), all)| {
        (
            format!("{ratio}; one {one} s, all {all} s; {} rounds", ratios.len()),
            Some(ratio.median <= many.most),
        )
    });
    Row::of(what, format!("<= {}", many.most), command, found)
}

fn cachegrind(trace: &Trace) -> Row {
    let what = "cachegrind, one design, on the same programs one after another";
    let flags = [
        "valgrind",
        "-q",
        "--tool=cachegrind",
        "--cache-sim=yes",
        "--cachegrind-out-file=/dev/null",
    ];
    let seconds = |line: &Vec<String>| {
        let mut command = words(&flags);
        command.args(line);
        run(command, None).map(|cost| cost.wall.as_secs_f64())
    };
    let found = trace
        .lines
        .iter()
        .map(seconds)
        .sum::<Result<f64, String>>()
        .map(|seconds| {
            let rate = trace.references / seconds / 1e6;
            (
                format!("{rate:.0} M/s with the running of the programs; {seconds:.1} s"),
                None,
            )
        });
    Row::of(what, "side by side", flags.join(" "), found)
}
