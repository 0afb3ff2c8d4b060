//! `measure --prices`: measures the cost of reloading a line with arrays.

use std::path::Path;

use switchcost_analysis::prices::across_arrays;
use switchcost_facts::Root;
use switchcost_host::clock::{Calibration, Clock, monotonic};
use switchcost_host::control::pin;
use switchcost_host::machine::manifest;
use switchcost_measure::check_cpu;
use switchcost_measure::prices::{Point, price_points};
use switchcost_record::HostManifest;
use switchcost_record::prices::{Kind, PRICES_SCHEMA, Price, Prices};
use switchcost_units::{Bytes, CpuId, Nanos, TickRate};
use time::OffsetDateTime;

use super::selection::placement;
use crate::claims::Claims;
use crate::cli::measure::MeasureArguments;
use crate::exit::{Exit, Failure, Outcome};
use crate::home;
use crate::messages::say;
use crate::output::Output;
use crate::prices;
use crate::runs;
use crate::signals::Interrupt;

/// Sizes of the measured arrays in KiB: three quarters of a power of two, because an array that
/// fills a cache keeps evicting its own lines.
const OWN_KIB: [u64; 9] = [12, 24, 48, 96, 192, 384, 768, 1536, 3072];
const AWAY_KIB: [u64; 8] = [64, 256, 512, 1024, 2048, 4096, 8192, 16384];
/// For each grid, in the order of measurement: (n, m) stands for every n-th size of [`OWN_KIB`]
/// with every m-th of [`AWAY_KIB`] from the largest, without the pairs of earlier grids. Costs of
/// other pairs are interpolated. The first grid skips fewer footprints than arrays, because costs
/// rise steeply if a footprint outgrows a cache.
const STEPS: [(usize, usize); 3] = [(4, 2), (2, 2), (1, 1)];
/// Number of arrays at different addresses, enough for a 90 % interval.
const ARRAYS: usize = 8;
const BUDGET: Nanos = Nanos::seconds(60);

pub(super) fn run(arguments: &MeasureArguments, path: &Path) -> Outcome<Exit> {
    let output = Output::claim(Some(path))?;
    let interrupt = Interrupt::watch()?;
    let began = monotonic();
    let host = manifest(&Root::system());
    let budget = arguments.budget.unwrap_or(BUDGET);
    let mut claims = Claims::default();
    let cpu = cpu(arguments, &host, &mut claims)?;
    let seed = arguments.seed.unwrap_or_else(crate::verbs::seed_of_now);
    let started_at = runs::stamp(OffsetDateTime::now_utc());
    let Some(lines) = lines(&host, cpu, began + budget, seed, &interrupt)? else {
        return Ok(Exit::Broken);
    };
    let prices = Prices {
        schema: PRICES_SCHEMA.to_owned(),
        program_version: env!("CARGO_PKG_VERSION").to_owned(),
        started_at,
        cpu_model: host.cpu_model.known().cloned(),
        caches: host.caches,
        line_bytes: Bytes(64),
        lines,
    };
    let text = serde_json::to_string(&prices).expect("plain data") + "\n";
    output.write(&text)?;
    say!("{} prices in {}", prices.lines.len(), path.display());
    keep(&text);
    Ok(Exit::Success)
}

/// Returns the CPU named by the user, or the quietest CPU that no other measurement uses.
fn cpu(arguments: &MeasureArguments, host: &HostManifest, claims: &mut Claims) -> Outcome<CpuId> {
    let placement = placement(arguments, host, claims)?;
    let [cpu] = placement.cpus()[..] else {
        return Err(Failure::usage(
            "--prices takes one CPU, but --cpu names two; leave one out",
        ));
    };
    check_cpu(cpu, host)?;
    claims.named(&placement);
    claims.report();
    Ok(cpu)
}

/// Measures the cost of reloading lines; `None` if the run was stopped.
fn lines(
    host: &HostManifest,
    cpu: CpuId,
    latest: Nanos,
    seed: u64,
    interrupt: &Interrupt,
) -> Outcome<Option<Vec<Price>>> {
    let _pin = pin(&[cpu]).ok();
    let clock = clock(cpu, host.is_tsc_invariant);
    let grids = grids();
    let (all, first) = (grids.iter().map(Vec::len).sum::<usize>(), grids[0].clone());
    let rounds = price_points(grids, ARRAYS, latest, clock, seed, &|| {
        interrupt.is_raised()
    });
    let rounds = rounds.map_err(|error| {
        Failure::usage(format!(
            "cannot allocate an array ({error}); free 50 MiB of memory"
        ))
    })?;
    if interrupt.is_raised() {
        return Ok(None);
    }
    let priced: Vec<Price> = rounds
        .iter()
        .filter_map(|(point, rounds)| price(*point, rounds))
        .collect();
    let has_price = |point: &Point| {
        let (kind, own, away) = *point;
        priced
            .iter()
            .any(|price| (price.kind, price.own_bytes, price.away_bytes) == (kind, own, away))
    };
    // A kind of access without a cost on this processor was not tried.
    let is_tried = |point: &&Point| rounds.keys().any(|(kind, ..)| *kind == point.0);
    if rounds.is_empty() || !first.iter().filter(is_tried).all(has_price) {
        return Err(Failure::usage(format!(
            "only {} of {all} prices were measured in time, and {} are needed; raise --budget, or try it on an idle machine",
            priced.len(),
            first.len()
        )));
    }
    if monotonic() >= latest {
        say!(
            "{} of {all} pairs of sizes have a price, others are interpolated: the budget was spent",
            priced.len()
        );
    }
    Ok(Some(priced))
}

/// Returns all points to measure, in a list for each grid. The coarsest grid is the first, so that
/// the whole range is covered if the budget ends early.
fn grids() -> Vec<Vec<Point>> {
    let mut grids = vec![Vec::new(); STEPS.len()];
    for kind in Kind::priced() {
        for (row, own) in OWN_KIB.into_iter().enumerate() {
            for (column, away) in AWAY_KIB.into_iter().rev().enumerate() {
                let is_in =
                    |(rows, columns): &(usize, usize)| row % rows == 0 && column % columns == 0;
                let first = STEPS.iter().position(is_in).expect("the last has all");
                grids[first].push((kind, Bytes::kib(own), Bytes::kib(away)));
            }
        }
    }
    grids
}

fn clock(cpu: CpuId, is_tsc_invariant: bool) -> (Clock, TickRate) {
    let (clock, _) = Clock::choose_for(&[cpu], is_tsc_invariant);
    (clock, Calibration::begun(clock).1)
}

fn price((kind, own, away): Point, rounds: &[Vec<f64>]) -> Option<Price> {
    let found = across_arrays(rounds).ok()?;
    Some(Price {
        kind,
        own_bytes: own,
        away_bytes: away,
        ns: found.estimate,
        low_ns: found.low,
        high_ns: found.high,
        n: found.n,
    })
}

/// Stores a copy of the miss costs for other subcommands. A failure to store does not affect the
/// result.
fn keep(text: &str) {
    let Ok(state) = home::state() else { return };
    let _ = home::keep(&state.join(prices::FILE), text.as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_grid_has_a_footprint_for_each_level_of_a_cache() {
        let grids = grids();
        let kinds = Kind::priced().count();
        assert_eq!(
            grids.iter().map(Vec::len).collect::<Vec<_>>(),
            [12 * kinds, 8 * kinds, 52 * kinds]
        );
        let sizes = |(_, own, away): &Point| (own.0 >> 10, away.0 >> 10);
        let first: Vec<_> = grids[0].iter().take(12).map(sizes).collect();
        let expected = [12, 192, 3072]
            .into_iter()
            .flat_map(|own| [16384, 4096, 1024, 256].map(|away| (own, away)));
        assert_eq!(first, expected.collect::<Vec<_>>());
    }
}
