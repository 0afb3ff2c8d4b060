//! Pairs of processes that walk arrays of known sizes in known orders, and switch after one walk or four.

use super::{Case, slope};
use crate::observed::{CPU, observed};
use crate::order::Order;
use crate::patterns::ends;
use crate::ping_pong::{self, Work};
use crate::program::{Program, number};
use crate::spread::Spread;

/// Each is run so often, in turn.
const ROUNDS: usize = 16;

/// ... and observed behind so many of them.
const OBSERVED: usize = 4;

/// About so long takes each.
const SECONDS: f64 = 0.05;

/// Walks in each turn.
const WALKS: [usize; 2] = [1, 4];

const KIB: [usize; 4] = [32, 256, 1024, 4096];

pub(super) fn all(program: &Program) -> Result<Vec<Case>, String> {
    let sizes = KIB
        .iter()
        .flat_map(|&kib| Order::ALL.map(|order| (order, kib)));
    std::iter::once((Order::Sequential, 0))
        .chain(sizes)
        .map(|(order, kib)| case(program, order, kib))
        .collect()
}

fn case(program: &Program, order: Order, kib: usize) -> Result<Case, String> {
    let bytes = kib << 10;
    let walks = (SECONDS * 1e9 / (order.walk_ns(bytes) + 5_000.0) / 2.0).max(8.0) as usize;
    let work = |each: usize| Work {
        order,
        bytes,
        rounds: walks / each,
        walks: each,
    };
    let pair =
        |each| ping_pong::command(CPU, "pair", work(each)).map_err(|error| error.to_string());
    let (mut seen, mut reported) = (Vec::new(), [Vec::new(), Vec::new(), Vec::new()]);
    let mut source = String::new();
    for round in 0..ROUNDS {
        seen.extend(slope::slope(&points(round, walks, pair)?));
        if round % (ROUNDS / OBSERVED) > 0 {
            continue;
        }
        let found = observed(program, &pair(1)?)?;
        let switches = number(&found, "all.switches").ok_or("nothing was counted")?;
        let ends = ends(&found).ok_or("no cost was reported")?;
        reported
            .iter_mut()
            .zip(ends)
            .for_each(|(reported, end)| reported.push(end / switches));
        source = found["all"]["likely_by"].as_str().unwrap_or("-").to_owned();
    }
    let [low, likely, high] =
        reported.map(|ends| Spread::of(&ends).map_or(f64::NAN, |spread| spread.median));
    let seen = Spread::middle_half(&seen).ok_or("switches did not change")?;
    Ok(Case {
        name: format!("{}, {kib} KiB", order.name()),
        seen,
        low,
        likely,
        high,
        source,
    })
}

/// Switches and CPU time for each walk, at each number of walks a turn; each is first in every other round.
fn points(
    round: usize,
    walks: usize,
    pair: impl Fn(usize) -> Result<std::process::Command, String>,
) -> Result<Vec<(f64, f64)>, String> {
    let each = (0..WALKS.len()).map(|at| WALKS[(at + round) % WALKS.len()]);
    let point = |each: usize| {
        let (cpu_ns, switches) = ping_pong::used(pair(each)?)?;
        let all = (2 * (walks / each) * each) as f64;
        Ok((switches / all, cpu_ns / all))
    };
    each.map(point).collect()
}
