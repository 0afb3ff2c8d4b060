//! Reads the records of both sides, and compares them by their kind.

mod earlier;

use std::collections::HashMap;
use std::fs::File;

use switchcost_analysis::compare::{
    Analysed, Comparison, Copied, Request, Simulated, compare, compare_injections,
    compare_observations, compare_simulations, copied,
};
use switchcost_analysis::{Findings, simulation};
use switchcost_design::result::Simulation;
use switchcost_record::injection::Injection;
use switchcost_record::observation::Observation;
use switchcost_record::{MeasureRecord, Source};

use crate::exit::{Failure, Outcome};
use crate::kinds::{Kind, kind, refuse_trace};
use crate::records;

/// Compares the records of both sides, which must all be of one kind.
pub(super) fn compared(
    base: &[Source],
    new: &[Source],
    request: Request<'_>,
) -> Outcome<Comparison> {
    // The kind of a missing file is unknown.
    base.iter()
        .chain(new)
        .try_for_each(|source| open(source).map(drop))?;
    base.iter().chain(new).try_for_each(refuse_trace)?;
    let mut kinds: Vec<(Kind, &Source)> = base
        .iter()
        .chain(new)
        .map(|source| (kind(source), source))
        .collect();
    kinds.sort_by_key(|(kind, _)| *kind);
    if let (Some((first_kind, first)), Some((second_kind, second))) = (kinds.first(), kinds.last())
        && first_kind != second_kind
    {
        let [first, second] = [first, second].map(|source| source.path().display());
        return Err(Failure::usage(format!(
            "{first} is a record of {first_kind}, and {second} of {second_kind}; compare records of one kind"
        )));
    }
    if let Some((kind, first)) = kinds.first()
        && *kind != Kind::Measurement
        && !request.across.is_empty()
    {
        return Err(Failure::usage(format!(
            "{} is a record of {kind}, which has no conditions to compare across; leave out --across",
            first.path().display()
        )));
    }
    match kinds.first() {
        Some((Kind::Simulation, _)) => simulations_compared(base, new, request),
        Some((Kind::Observation, _)) => observations_compared(base, new, request),
        Some((Kind::Injection, _)) => injections_compared(base, new, request),
        Some((Kind::Measurement, _)) | None => measurements_compared(base, new, request),
    }
}

fn open(file: &Source) -> Outcome<File> {
    file.open().map_err(Failure::open(file.path()))
}

/// Reads the records of both sides; an error if two of them are copies of one run.
fn read_sides<T>(
    base: &[Source],
    new: &[Source],
    read: impl Fn(&Source) -> Outcome<T>,
    run: impl Fn(&T) -> (String, u64),
) -> Outcome<[Vec<T>; 2]> {
    let all = |records: &[Source]| records.iter().map(&read).collect::<Result<Vec<_>, _>>();
    let sides = [all(base)?, all(new)?];
    let [of_base, of_new] = sides
        .each_ref()
        .map(|side| side.iter().map(&run).collect::<Vec<_>>());
    refuse_same_runs((base, &of_base), (new, &of_new))?;
    Ok(sides)
}

fn measurements_compared(
    base: &[Source],
    new: &[Source],
    request: Request<'_>,
) -> Outcome<Comparison> {
    let run = |(record, _): &(MeasureRecord, Findings)| {
        (record.header.started_at.clone(), record.header.seed)
    };
    let sides = read_sides(base, new, read, run)?;
    let repeats = base.len() > 1 || new.len() > 1;
    let earlier = if repeats || request.run_spread.is_some() {
        Vec::new()
    } else {
        earlier::records([&sides[0][0].0, &sides[1][0].0])
    };
    Ok(compare(
        &analysed(&sides[0]),
        &analysed(&sides[1]),
        &analysed(&earlier),
        request,
    ))
}

pub(super) fn read(source: &Source) -> Outcome<(MeasureRecord, Findings)> {
    let record = MeasureRecord::read(source)?;
    let findings = switchcost_analysis::analyse(&record);
    Ok((record, findings))
}

fn analysed(records: &[(MeasureRecord, Findings)]) -> Vec<Analysed<'_>> {
    records
        .iter()
        .map(|(record, findings)| (record, findings))
        .collect()
}

/// Records of a side, and for each record the start time and the seed, which identify its run.
type Runs<'a> = (&'a [Source], &'a [(String, u64)]);

/// Returns an error if two records are copies of one run. A copy would count as another run with
/// the same result, which would make the spread and the interval too small.
fn refuse_same_runs(base: Runs<'_>, new: Runs<'_>) -> Outcome {
    let mut known: HashMap<&(String, u64), (&str, &Source)> = HashMap::new();
    for (side, (records, runs)) in [("base", base), ("new", new)] {
        for (record, run) in records.iter().zip(runs) {
            let Some((first_side, first)) = known.insert(run, (side, record)) else {
                continue;
            };
            let place = if first_side == side {
                within(side)
            } else {
                ON_BOTH_SIDES.to_owned()
            };
            return Err(same_run(place, first, record));
        }
    }
    Ok(())
}

fn observations_compared(
    base: &[Source],
    new: &[Source],
    request: Request<'_>,
) -> Outcome<Comparison> {
    let run = |record: &Observation| (record.started_at.clone(), record.window_ns.0);
    let [base, new] = read_sides(base, new, |source| Ok(Observation::read(source)?), run)?;
    Ok(compare_observations(
        &base.iter().collect::<Vec<_>>(),
        &new.iter().collect::<Vec<_>>(),
        request,
    ))
}

fn injections_compared(
    base: &[Source],
    new: &[Source],
    request: Request<'_>,
) -> Outcome<Comparison> {
    let run = |record: &Injection| (record.header.started_at.clone(), record.header.seed);
    let [base, new] = read_sides(base, new, |source| Ok(Injection::read(source)?), run)?;
    Ok(compare_injections(
        &base.iter().collect::<Vec<_>>(),
        &new.iter().collect::<Vec<_>>(),
        request,
    ))
}

fn simulations_compared(
    base: &[Source],
    new: &[Source],
    request: Request<'_>,
) -> Outcome<Comparison> {
    let analysis = simulation::Options {
        confidence: request.confidence,
        ..simulation::Options::default()
    };
    let all = |records: &[Source]| {
        records
            .iter()
            .map(|source| records::simulation(source, analysis))
            .collect::<Outcome<Vec<_>>>()
    };
    let sides = (all(base)?, all(new)?);
    fn heads(records: &[(Simulation, simulation::Findings)]) -> Vec<&Simulation> {
        records.iter().map(|(head, _)| head).collect()
    }
    match copied(&heads(&sides.0), &heads(&sides.1)) {
        Some(Copied::InBase(a, b)) => return Err(same_run(within("base"), &base[a], &base[b])),
        Some(Copied::InNew(a, b)) => return Err(same_run(within("new"), &new[a], &new[b])),
        Some(Copied::OnBothSides(a, b)) => {
            return Err(same_run(ON_BOTH_SIDES.to_owned(), &base[a], &new[b]));
        }
        None => (),
    }
    fn side(records: &[(Simulation, simulation::Findings)]) -> Vec<Simulated<'_>> {
        records
            .iter()
            .map(|(head, findings)| (head, findings))
            .collect()
    }
    Ok(compare_simulations(
        &side(&sides.0),
        &side(&sides.1),
        request,
    ))
}

const ON_BOTH_SIDES: &str = "on both sides";

fn within(side: &str) -> String {
    format!("twice in the {side} records")
}

fn same_run(place: String, first: &Source, second: &Source) -> Failure {
    let remedy = match place.as_str() {
        ON_BOTH_SIDES => "name two different runs",
        _ => "leave one out",
    };
    Failure::usage(format!(
        "the same run is given {place}, as {} and {}; {remedy}",
        first.path().display(),
        second.path().display()
    ))
}
