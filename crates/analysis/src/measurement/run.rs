//! Computes the findings from the whole record of a measurement.

use std::collections::BTreeSet;

use switchcost_record::{Cycles, End, EndReason, MeasureRecord, Refusal, Rounds};
use switchcost_units::Nanos;

use crate::measurement::at_once;
use crate::measurement::case::{Run, find};
use crate::measurement::cleanliness::pause;
use crate::measurement::curves::curves;
use crate::measurement::findings::{CoreFinding, Findings, Flag, FlagName, LoadLatency};
use crate::measurement::judged::{Judged, Remedies};
use crate::measurement::latency;
use crate::measurement::speed::Speed;

/// Largest accepted drift of the clock, as a share. The rates of crystals differ by 20 to 50 parts
/// per million and are stable. A larger drift means another clock, or an unstable one.
const DRIFT_LIMIT: f64 = 50e-6;

/// Returns the findings from a record. The result is deterministic, and does not depend on the
/// order of samples.
pub fn analyse(record: &MeasureRecord) -> Findings {
    let header = &record.header;
    let rate = header.clock.ticks_per_second;
    let latencies_ns = latency::sort_by_size(&record.latencies, rate);
    let speed = Speed::new(record);
    let run = Run {
        header,
        self_tests: &record.self_tests,
        latencies_ns: &latencies_ns,
        speed: speed.as_ref(),
        most_of_sharing: speed
            .as_ref()
            .map_or(1.0, |speed| speed.most_of_sharing(&header.core_clock)),
    };
    let mut samples = group_by_case(record, &record.samples, |sample| sample.case);
    let mut cycles = group_by_case(record, &record.cycles, |window: &Cycles| window.case);
    cycles
        .iter_mut()
        .for_each(|windows| windows.sort_by_key(|window| window.at_ns));
    let refusals = group_by_case(record, &record.refusals, |refusal: &Refusal| refusal.case);
    let found = header.plan.cases.iter().enumerate().map(|(index, case)| {
        let (samples, cycles) = (
            std::mem::take(&mut samples[index]),
            std::mem::take(&mut cycles[index]),
        );
        let judged = Judged {
            quota: header.host.cpu_quota.as_ref(),
            remedies: Remedies::new(case, &header.controls),
            ..Judged::new(case, rate, samples, cycles)
        };
        find(&run, index, &judged, &refusals[index])
    });
    let (results, quantities): (Vec<_>, Vec<_>) = found.unzip();
    let curves = curves(&results, &quantities, &header.host, header.seed);
    let shared_cache = at_once::shared_cache(&results, &header.host);
    let core = speed.map(|speed| CoreFinding {
        hertz: speed.hertz(),
        fastest_hertz: speed.fastest_hertz(),
    });
    let mut flags = flags(record);
    flags.extend(at_once::guest_flag(&shared_cache, &header.host));
    let latency = |(size_bytes, load_ns)| LoadLatency {
        size_bytes,
        load_ns,
    };
    let latencies_ns = latencies_ns.into_iter().map(latency).collect();
    Findings {
        plan: (&header.plan).into(),
        results,
        curves,
        shared_cache,
        latencies_ns,
        core,
        flags,
    }
}

/// Groups items by the index of their case in the plan. Items with an invalid index are left out.
pub(crate) fn group_by_case<'a, T>(
    record: &MeasureRecord,
    items: &'a [T],
    case: impl Fn(&T) -> u32,
) -> Vec<Vec<&'a T>> {
    let mut lists = vec![Vec::new(); record.header.plan.cases.len()];
    for item in items {
        if let Some(list) = lists.get_mut(case(item) as usize) {
            list.push(item);
        }
    }
    lists
}

fn flags(record: &MeasureRecord) -> Vec<Flag> {
    let mut flags = Vec::new();
    match record.end {
        None => flags.push(cut_off(record)),
        Some(end) => {
            flags.extend(early_end(end.reason));
            flags.extend(drift(record, &end));
        }
    }
    if record.has_cut_line {
        let detail =
            "the record ends inside a line, which is left out; the lines before it are whole";
        flags.push(Flag {
            name: FlagName::CutLine,
            detail: detail.to_owned(),
        });
    }
    flags.extend(unusual_rounds(&record.header.plan.rounds));
    flags.extend(paused(record));
    flags
}

/// Returns the flag that the run was paused; `None` if it was not. Windows with pauses are left
/// out.
fn paused(record: &MeasureRecord) -> Option<Flag> {
    let cases = &record.header.plan.cases;
    let pauses: Vec<Nanos> = record
        .cycles
        .iter()
        .filter_map(|window| Some(pause(cases.get(window.case as usize)?, &window.evidence)))
        .filter(|pause| pause.0 > 0)
        .collect();
    let sum = pauses.iter().fold(Nanos(0), |sum, pause| sum + *pause);
    let times = match pauses.len() {
        0 => return None,
        1 => "once".to_owned(),
        count => format!("{count} times"),
    };
    Some(Flag {
        name: FlagName::Paused,
        detail: format!(
            "the run was paused {times}, for {sum} (stopped by a signal, frozen with its control group, or suspended): the \
             samples around it are left out"
        ),
    })
}

/// Returns the flag that caches were flushed or tasks slept before each batch, which changes the
/// costs; `None` if neither.
fn unusual_rounds(rounds: &Rounds) -> Option<Flag> {
    let is_unusual = rounds.flush_bytes.is_some() || rounds.pause_ns.is_some();
    is_unusual.then(|| Flag {
        name: FlagName::UnusualRounds,
        detail: format!(
            "each batch has {rounds}: do not compare the costs with those of other runs"
        ),
    })
}

fn cut_off(record: &MeasureRecord) -> Flag {
    let of_samples = record.samples.iter().map(|sample| sample.case);
    let seen: BTreeSet<u32> = of_samples
        .chain(record.cycles.iter().map(|window| window.case))
        .collect();
    let (samples, cases) = (record.samples.len() + record.cycles.len(), seen.len());
    let planned = record.header.plan.cases.len();
    let detail = format!(
        "the run was cut off: the record has {samples} samples of {cases} of {planned} cases"
    );
    Flag {
        name: FlagName::CutOff,
        detail,
    }
}

fn early_end(reason: EndReason) -> Option<Flag> {
    let (name, detail) = match reason {
        EndReason::Complete => return None,
        EndReason::Interrupted => (
            FlagName::Interrupted,
            "the run was interrupted: cases have fewer repetitions than planned",
        ),
    };
    Some(Flag {
        name,
        detail: detail.to_owned(),
    })
}

fn drift(record: &MeasureRecord, end: &End) -> Option<Flag> {
    let (before, after) = (
        record.header.clock.ticks_per_second.0 as f64,
        end.ticks_per_second.0 as f64,
    );
    let drift = after / before - 1.0;
    let holds = drift.abs() <= DRIFT_LIMIT;
    (!holds).then(|| Flag {
        name: FlagName::ClockDrift,
        detail: format!(
            "the clock's rate over the whole run differs from its calibration by {:.0} parts in a million: every number \
             is off by as much, and more if the rate changed within a batch",
            drift * 1e6
        ),
    })
}

#[cfg(test)]
mod tests;
