//! `switchcost measure`: plans a run, measures, records and reports.

mod prices;
mod record_run;
mod runtimes;
mod selection;

use std::path::PathBuf;

use switchcost_facts::{Root, relation};
use switchcost_host::machine::manifest;
use switchcost_host::noise::NetworkNoise;
use switchcost_measure::{Preset, wanted_controls};
use switchcost_record::{Control, ControlOutcome, Policy};
use switchcost_units::{CpuId, Nanos};
use time::OffsetDateTime;

use super::report::{Loaded, show_loaded};
use crate::claims::Claims;
use crate::cli::Redaction;
use crate::cli::measure::MeasureArguments;
use crate::earlier::Folder;
use crate::exit::{Exit, Failure, Outcome};
use crate::kinds;
use crate::messages::say;
use crate::output::Output;
use crate::runs::{Place, calibrations, core_sharing};
use crate::signals::Interrupt;
use record_run::RunToRecord;
use runtimes::Chosen;

pub(crate) fn run(arguments: &MeasureArguments) -> Outcome<Exit> {
    switchcost_host::own_proc::check().map_err(Failure::foreign_proc)?;
    if let Some(path) = &arguments.prices {
        return prices::run(arguments, path);
    }
    let output = Output::claim(arguments.form.output.as_deref())?;
    let interrupt = Interrupt::watch()?;
    let path = record(arguments, selection::preset(arguments), &interrupt)?;
    // The report on one screen already names the record.
    if arguments.verbosity.details || arguments.form.is_elsewhere() {
        say!("record: {}", path.display());
    }
    let loaded = Loaded::read(&path)?;
    if let Some((record, sharing)) = loaded
        .core_sharing()
        .filter(|_| !arguments.redaction.redact)
    {
        core_sharing::keep(record, sharing);
    }
    if let Some((record, findings)) = loaded.measurement() {
        calibrations::keep(record, findings, &path);
    }
    show_loaded(&loaded, &path, &arguments.form, arguments.verbosity, output)
}

/// Measures the costs that `observe` needs, as precisely as `measure --quick`. Returns the path of
/// the record.
pub(super) fn measure_for_observe(redaction: Redaction, interrupt: &Interrupt) -> Outcome<PathBuf> {
    record(
        &MeasureArguments {
            redaction,
            ..MeasureArguments::usual()
        },
        Preset::Observe,
        interrupt,
    )
}

/// Plans and measures a run, records all samples, and returns the path of the record.
fn record(arguments: &MeasureArguments, preset: Preset, interrupt: &Interrupt) -> Outcome<PathBuf> {
    let history = arguments.history.as_deref().map(Folder::open).transpose()?;
    let root = Root::system();
    let host = manifest(&root);
    let mut claims = Claims::default();
    let placement = selection::placement(arguments, &host, &mut claims)?;
    claims.named(&placement);
    let seed = arguments.seed.unwrap_or_else(super::seed_of_now);
    let mut controls = wanted_controls(&selection::requested_controls(arguments, &placement));
    controls.extend(claims.refused());
    let runtimes = Chosen::new(arguments)?;
    let policy = granted_policy(arguments, &controls);
    let selection =
        selection::selection(arguments, preset, placement, policy, runtimes.selected())?;
    let plan = switchcost_measure::plan(&selection, &host, &|a, b| relation(&root, a, b))?;
    let now = OffsetDateTime::now_utc();
    let place = Place::choose(arguments.record.as_deref(), kinds::MEASURE)?;
    let noise = arguments
        .noise
        .map(|cpu| make_noise(cpu, seed))
        .transpose()?;
    controls.extend(noise.as_ref().map(|(_, control)| control.clone()));
    let redaction = arguments.redaction;
    let counts_in_software = arguments.counters;
    let runtimes = runtimes.prepared(plan.budget_ns, interrupt)?;
    let longest = longest(preset).filter(|_| arguments.budget.is_none());
    let run = RunToRecord {
        longest,
        host,
        controls,
        plan,
        runtimes,
        history,
        seed,
        now,
        counts_in_software,
        redaction,
    };
    run.measure(&place, interrupt, || claims.report())?;
    drop((noise, claims));
    Ok(place.path)
}

/// Returns the longest time of a run on a busy CPU; `None` without a limit. A run may exceed its
/// budget until each case has an interval, but not this limit, so that a new user sees first
/// results soon.
fn longest(preset: Preset) -> Option<Nanos> {
    match preset {
        Preset::Quick => Some(Nanos::seconds(36)),
        Preset::Default => Some(Nanos::seconds(60)),
        _ => None,
    }
}

/// Returns the scheduling policy for the run. A real-time policy is used only if it was neither
/// turned off nor refused.
fn granted_policy(arguments: &MeasureArguments, controls: &[Control]) -> Policy {
    let is_applied = controls.iter().any(|control| {
        control.name == "real-time-priority" && control.outcome == ControlOutcome::Applied
    });
    if arguments.has_runtimes() {
        return Policy::Other;
    }
    if is_applied || !arguments.policy.is_real_time() {
        arguments.policy
    } else {
        Policy::Other
    }
}

/// Starts network noise on a CPU. Returns the noise with its entry in the record's list of
/// controls.
fn make_noise(cpu: CpuId, seed: u64) -> Outcome<(NetworkNoise, Control)> {
    let noise = NetworkNoise::start(cpu, seed).map_err(|error| {
        Failure::usage(format!(
            "cannot make noise on CPU {cpu} ({error}); name an allowed CPU"
        ))
    })?;
    let wanted = format!("bursts of messages over loopback on CPU {cpu}, pauses up to 200 ms");
    Ok((
        noise,
        Control {
            name: "network-noise".to_owned(),
            wanted,
            outcome: ControlOutcome::Applied,
        },
    ))
}
