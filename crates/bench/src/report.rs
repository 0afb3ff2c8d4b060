//! What is made of records: pages, and comparisons.

use std::path::{Path, PathBuf};

use crate::page;
use crate::program::Program;
use crate::row::Row;
use crate::run::{Cost, run};
use crate::spread::Spread;

const ROUNDS: usize = 5;

pub(crate) fn all(program: &Program) -> Vec<Row> {
    let full = measured(program, "full.jsonl", &["--full"]);
    let quick = measured(program, "quick.jsonl", &["--quick"]);
    vec![
        paged(
            program,
            "report of a --full record as a page",
            2.0,
            100,
            "report FULL.jsonl -o FILE",
            full.clone(),
        ),
        paged(
            program,
            "report of a simulated record of 10 million rows as a page",
            10.0,
            1024,
            "report SIMULATED.parquet -o FILE",
            simulated(program),
        ),
        page::opened(program, full.clone()),
        comparison(program, full, quick),
    ]
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap_or_default()
}

fn measured(program: &Program, name: &str, arguments: &[&str]) -> Result<PathBuf, String> {
    let record = program.path(name);
    program.run(&[&["measure", "--record", text(&record)], arguments].concat())?;
    Ok(record)
}

/// Two processes that walk 64 KiB in turn, in intervals of 100 instructions: 164 rows a segment.
fn simulated(program: &Program) -> Result<PathBuf, String> {
    let (trace, record) = (program.path("walks.sct"), program.path("rows.parquet"));
    let walks = [
        "trace",
        "walks",
        "--size",
        "64KiB",
        "--access",
        "read",
        "--turns",
        "31000",
        "-o",
        text(&trace),
    ];
    run(program.command(&walks), None)?;
    let simulate = [
        "simulate",
        text(&trace),
        "--design",
        "mogul-1a",
        "--interval",
        "100",
        "--intervals",
        "1000",
    ];
    run(
        program.command(&[&simulate[..], &["--record", text(&record)]].concat()),
        None,
    )?;
    Ok(record)
}

fn seconds(costs: &[Cost]) -> Option<Spread> {
    Spread::of(
        &costs
            .iter()
            .map(|cost| cost.wall.as_secs_f64())
            .collect::<Vec<_>>(),
    )
}

fn paged(
    program: &Program,
    what: &str,
    most_s: f64,
    most_mib: u64,
    command: &str,
    record: Result<PathBuf, String>,
) -> Row {
    let page = program.path("page.html");
    let rounds = record.and_then(|record| {
        let once = |_| {
            run(
                program.command(&["report", text(&record), "-o", text(&page)]),
                None,
            )
        };
        (0..ROUNDS).map(once).collect::<Result<Vec<Cost>, String>>()
    });
    let found = rounds.and_then(|rounds| {
        let elapsed = seconds(&rounds).ok_or("no round")?;
        let mib = rounds.iter().map(|cost| cost.peak_bytes).max().unwrap_or(0) >> 20;
        let is_met = elapsed.median < most_s && mib <= most_mib;
        Ok((
            format!("{elapsed} s, {mib} MiB at the peak; {ROUNDS} rounds"),
            Some(is_met),
        ))
    });
    Row::of(
        what,
        format!("< {most_s} s, {most_mib} MiB"),
        command,
        found,
    )
}

fn comparison(
    program: &Program,
    full: Result<PathBuf, String>,
    quick: Result<PathBuf, String>,
) -> Row {
    let rounds = full
        .and_then(|full| Ok((full, quick?)))
        .and_then(|(full, quick)| {
            let once = |_| {
                run(
                    program.command(&["compare", text(&full), text(&quick)]),
                    None,
                )
            };
            (0..ROUNDS).map(once).collect::<Result<Vec<Cost>, String>>()
        });
    let found = rounds.and_then(|rounds| {
        let elapsed = seconds(&rounds).ok_or("no round")?;
        Ok((
            format!("{elapsed} s; {ROUNDS} rounds"),
            Some(elapsed.median < 1.0),
        ))
    });
    Row::of(
        "comparison of a --full record with a --quick one",
        "< 1 s",
        "compare FULL QUICK",
        found,
    )
}
