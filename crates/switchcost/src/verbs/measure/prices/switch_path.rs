//! Measures the additional time of the kernel's cold switch path after other tasks of several
//! footprints. These tasks preempt a loop that uses no data.

use std::path::Path;

use clap::Parser;
use switchcost_host::clock::monotonic;
use switchcost_host::temporary::TemporaryFolder;
use switchcost_record::injection::Injection;
use switchcost_record::prices::SwitchPath;
use switchcost_units::{Bytes, CpuId, Nanos};

use crate::cli::inject::InjectArguments;
use crate::cli::{Cli, Verb};
use crate::exit::Failure;
use crate::messages::say;
use crate::signals::Interrupt;
use crate::verbs::inject::recorded;

/// Number of multiplications in the loop: about 40 ms, twice the time that `inject` needs.
const STEPS: &str = "48000000";

/// Periods, each with its measured footprints. A short period is better, because the result grows
/// with the number of preemptions and the noise does not. Touching a larger footprint takes a whole
/// short period.
const GROUPS: [(&str, [Bytes; 2]); 2] = [
    ("100us", [Bytes::kib(256), Bytes::mib(1)]),
    ("250us", [Bytes::mib(4), Bytes::mib(16)]),
];

/// Measures each footprint for which there is time until `latest`, and prints a notice on the
/// others.
pub(super) fn measured(
    cpu: CpuId,
    latest: Nanos,
    interrupt: &Interrupt,
) -> Result<Vec<SwitchPath>, Failure> {
    let mut found = Vec::new();
    for (group, (period, away)) in GROUPS.iter().enumerate() {
        let left = latest.saturating_sub(monotonic());
        let budget = Nanos(left.0 / (GROUPS.len() - group) as u64);
        match measure_behind(away, period, cpu, budget, interrupt) {
            Err(failure) if failure.is_of_time() => {
                say!(
                    "the kernel's switch path has no price after {} and {}: --budget is too short",
                    away[0],
                    away[1]
                );
            }
            measured => found.extend(measured?),
        }
    }
    Ok(found)
}

fn measure_behind(
    away: &[Bytes],
    period: &str,
    cpu: CpuId,
    budget: Nanos,
    interrupt: &Interrupt,
) -> Result<Vec<SwitchPath>, Failure> {
    let folder = TemporaryFolder::create_in(&std::env::temp_dir()).map_err(Failure::folder)?;
    let arguments = loop_without_data(
        (away, period),
        cpu,
        budget,
        &folder.path().join("loop.jsonl"),
    )?;
    let Some(record) = recorded(&arguments, interrupt)? else {
        return Ok(Vec::new());
    };
    let findings = switchcost_analysis::injection::analyse(&Injection::read(&record)?);
    Ok(findings
        .footprints
        .iter()
        .filter_map(|found| {
            let reload = found.reload()?;
            let (ns, low_ns, high_ns) = (reload.estimate, reload.low, reload.high);
            Some(SwitchPath {
                away_bytes: found.footprint_bytes,
                ns,
                low_ns,
                high_ns,
            })
        })
        .collect())
}

fn loop_without_data(
    (away, period): (&[Bytes], &str),
    cpu: CpuId,
    budget: Nanos,
    record: &Path,
) -> Result<InjectArguments, Failure> {
    let sizes: Vec<String> = away.iter().map(|size| format!("{}B", size.0)).collect();
    let record = record.display().to_string();
    let (sizes, cpu, budget) = (
        sizes.join(","),
        cpu.to_string(),
        format!("{}ms", budget.0 / 1_000_000),
    );
    let words = [
        "switchcost",
        "inject",
        "--period",
        period,
        "--footprint",
        &sizes,
        "--cpu",
        &cpu,
        "--budget",
        &budget,
        "--record",
        &record,
    ];
    let command = [
        "--",
        "/proc/self/exe",
        switchcost_measure::prices::SPIN_ARGUMENT,
        STEPS,
    ];
    match Cli::try_parse_from(words.iter().chain(&command)).map(|cli| cli.verb) {
        Ok(Verb::Inject(arguments)) => Ok(*arguments),
        other => unreachable!("the verb is inject: {other:?}"),
    }
}
