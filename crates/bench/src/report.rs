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
        paged(program, "report of a --full record as a page", 2.0, 100, "report FULL.jsonl -o FILE", full.clone()),
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
    let walks = ["trace", "walks", "--size", "64KiB", "--access", "read", "--turns", "31000", "-o", text(&trace)];
    run(program.command(&walks), None)?;
    let simulate = ["simulate", text(&trace), "--design", "mogul-1a", "--interval", "100", "--intervals", "1000"];
    run(program.command(&[&simulate[..], &["--record", text(&record)]].concat()), None)?;
    Ok(record)
}

fn seconds(costs: &[Cost]) -> Option<Spread> {
    Spread::of(&costs.iter().map(|cost| cost.wall.as_secs_f64()).collect::<Vec<_>>())
}

fn paged(
    program: &Program,
    what: &str,
    most_s: f64,
    most_mib: u64,
    command: &str,
    record: Result<PathBuf, String>,
) -> Row {
    let must_reach = format!("< {most_s} s, {most_mib} MiB");
    let page = program.path("page.html");
    let rounds = record.and_then(|record| {
        let once = |_| run(program.command(&["report", text(&record), "-o", text(&page)]), None);
        (0..ROUNDS).map(once).collect::<Result<Vec<Cost>, String>>()
    });
    match rounds.map(|rounds| (seconds(&rounds), rounds)) {
        Ok((Some(elapsed), rounds)) => {
            let mib = rounds.iter().map(|cost| cost.peak_bytes).max().unwrap_or(0) >> 20;
            Row {
                what: what.to_owned(),
                must_reach,
                measured: format!("{elapsed} s, {mib} MiB at the peak; {ROUNDS} rounds"),
                is_met: Some(elapsed.median < most_s && mib <= most_mib),
                command: command.to_owned(),
            }
        }
        Ok((None, _)) => Row::failed(what, &must_reach, "no round".to_owned(), command.to_owned()),
        Err(why) => Row::failed(what, &must_reach, why, command.to_owned()),
    }
}

fn comparison(program: &Program, full: Result<PathBuf, String>, quick: Result<PathBuf, String>) -> Row {
    let (what, must_reach, command) =
        ("comparison of a --full record with a --quick one", "< 1 s", "compare FULL QUICK");
    let rounds = full.and_then(|full| Ok((full, quick?))).and_then(|(full, quick)| {
        let once = |_| run(program.command(&["compare", text(&full), text(&quick)]), None);
        (0..ROUNDS).map(once).collect::<Result<Vec<Cost>, String>>()
    });
    match rounds.map(|rounds| seconds(&rounds)) {
        Ok(Some(elapsed)) => Row {
            what: what.to_owned(),
            must_reach: must_reach.to_owned(),
            measured: format!("{elapsed} s; {ROUNDS} rounds"),
            is_met: Some(elapsed.median < 1.0),
            command: command.to_owned(),
        },
        Ok(None) => Row::failed(what, must_reach, "no round".to_owned(), command.to_owned()),
        Err(why) => Row::failed(what, must_reach, why, command.to_owned()),
    }
}
