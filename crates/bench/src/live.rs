//! The whole pipeline: programs captured on one core, simulated on the other; and how much memory it takes.

use crate::program::{Program, number};
use crate::row::Row;
use crate::run::run;

const FOUR: &str = "mogul-1a,mogul-1b,mogul-2a,mogul-2b";

pub(crate) fn all(program: &Program) -> Vec<Row> {
    vec![
        timesharing(program),
        memory(program),
        memory_by_length(program),
    ]
}

fn timesharing(program: &Program) -> Row {
    let what = "trial of timesharing, 5000 switches under four designs, as it runs";
    let record = program.path("live.parquet");
    let arguments = [
        "workload",
        "timesharing",
        "--design",
        FOUR,
        "--record",
        record.to_str().unwrap_or_default(),
    ];
    let found = program.run(&arguments).map(|ran| {
        let at = |name: &str| number(&ran.json, &format!("designs.0.{name}")).unwrap_or(f64::NAN);
        let seconds = ran.elapsed.as_secs_f64();
        let switches = at("switches.voluntary") + at("switches.involuntary");
        let measured = format!(
            "{seconds:.0} s; {switches} switches, {:.0} M instructions",
            at("instructions") / 1e6
        );
        (measured, Some(seconds <= 180.0 && switches >= 4_990.0))
    });
    Row::of(
        what,
        "<= 180 s",
        format!("workload timesharing --design {FOUR}"),
        found,
    )
}

/// Peak memory of a short and a long live run of many short processes.
fn memory(program: &Program) -> Row {
    let what = "memory of a simulation as programs run, 120 short processes over 30, mogul-1a";
    let command =
        "simulate live --design mogul-1a -- sh -c 'for i in ...; do true; done'".to_owned();
    let peak = |processes: u32| -> Result<f64, String> {
        let record = program.path(&format!("memory-{processes}.parquet"));
        let script = format!("i=0; while [ $i -lt {processes} ]; do /bin/true; i=$((i+1)); done");
        let mut live = program.command(&["simulate", "live", "--design", "mogul-1a", "--record"]);
        live.arg(&record).args(["--", "sh", "-c", &script]);
        Ok(run(live, None)?.peak_bytes as f64 / (1 << 20) as f64)
    };
    bounded(what, command, peak(30), peak(120))
}

/// The peak of a long run in MiB over that of a short one.
fn bounded(
    what: &str,
    command: String,
    short: Result<f64, String>,
    long: Result<f64, String>,
) -> Row {
    let found = short
        .and_then(|short| Ok((short, long?)))
        .map(|(short, long)| {
            let measured = format!(
                "{:.2}; {long:.0} MiB over {short:.0} MiB at the peak",
                long / short
            );
            (measured, Some(long <= 1.25 * short))
        });
    Row::of(what, "bounded", command, found)
}

/// Peak memory of the same simulation of a trace, and of one sixteen times as long.
fn memory_by_length(program: &Program) -> Row {
    let what = "memory of a simulation from a file, sixteen times the trace over one, mogul-1a";
    let command =
        "trace walks --size 64KiB --turns N -o FILE; simulate FILE --design mogul-1a".to_owned();
    let peak = |turns: &str| -> Result<f64, String> {
        let (trace, record) = (
            program.path(&format!("{turns}.sct")),
            program.path(&format!("{turns}.parquet")),
        );
        let mut walks =
            program.command(&["trace", "walks", "--size", "64KiB", "--turns", turns, "-o"]);
        walks.arg(&trace);
        run(walks, None)?;
        let mut simulate = program.command(&["simulate", "--design", "mogul-1a", "--record"]);
        simulate.arg(&record).arg(&trace);
        Ok(run(simulate, None)?.peak_bytes as f64 / (1 << 20) as f64)
    };
    bounded(what, command, peak("100"), peak("1600"))
}
