//! Pairs of processes that walk arrays of known sizes in known orders and hand each other a byte: beside the same work without switches,
//! and with more and fewer switches for the same work.

use super::order::Order;
use super::ping_pong::{Work, used};
use super::{Case, Reported, observe, slope};
use crate::progress::Progress;
use crate::shell::Shell;
use crate::spread::Spread;

/// Orders, and KiB between switches.
const BESIDE_ALONE: [(Order, &[usize]); 4] = [
    (
        Order::Sequential,
        &[0, 16, 64, 128, 256, 512, 1024, 2048, 3072, 4096, 16_384],
    ),
    (Order::Chase, &[64, 512, 1024, 4096, 16_384]),
    (Order::WordALine, &[64, 512, 1024, 16_384]),
    (Order::LineAPage, &[512, 1024, 16_384]),
];

const KIB: [usize; 4] = [32, 256, 1024, 4096];

/// Walks in each turn.
const WALKS: [usize; 2] = [1, 4];

/// How many walks take about so many seconds: a hand-off takes some microseconds.
fn count_walks(order: Order, bytes: usize, seconds: f64, least: f64) -> usize {
    let walk_ns = order.walk_ns(bytes) + 5_000.0;
    (seconds * 1e9 / walk_ns / 2.0).max(least) as usize
}

/// Each case, by what a pair takes beyond the same work alone.
pub(super) fn excess_cases(shell: &Shell) -> Result<Vec<Case>, String> {
    const RUNS: usize = 5;
    let case = |(order, kib): (Order, usize)| {
        let rounds = count_walks(order, kib << 10, 0.2, 4.0);
        let work = Work {
            order,
            bytes: kib << 10,
            rounds,
            walks: 1,
        };
        let (mut seen, mut observed) = (Vec::new(), Vec::new());
        for run in 0..RUNS {
            // Each is first in every other round.
            let mut roles = ["alone", "pair"];
            roles.rotate_left(run % 2);
            let mut cpu_ns = [0.0; 2];
            for role in roles {
                cpu_ns[usize::from(role == "pair")] = used(shell, &work.command(role))?.cpu_ns;
            }
            // Of all its switches, of which those of its start are a few.
            seen.push((cpu_ns[1] - cpu_ns[0]) / (2 * rounds) as f64);
            observed.push(observe(shell, &work.command("pair"))?);
        }
        Ok(Case {
            name: format!("{}, {kib} KiB", order.name()),
            seen: Spread::middle_half(&seen).ok_or("nothing ran")?,
            reported: Reported::new(&observed)?,
        })
    };
    let cases = BESIDE_ALONE
        .iter()
        .flat_map(|(order, sizes)| sizes.iter().map(|kib| (*order, *kib)));
    measure_each(cases.collect(), case)
}

/// Each case, by what the CPU time grows by with the switches.
pub(super) fn more_switches(shell: &Shell) -> Result<Vec<Case>, String> {
    const ROUNDS: usize = 16;
    // ... and observed after so many of them.
    const OBSERVED: usize = 4;
    let case = |(order, kib): (Order, usize)| {
        let walks = count_walks(order, kib << 10, 0.05, 8.0);
        let pair = |each: usize| {
            let work = Work {
                order,
                bytes: kib << 10,
                rounds: walks / each,
                walks: each,
            };
            work.command("pair")
        };
        let (mut seen, mut observed) = (Vec::new(), Vec::new());
        for round in 0..ROUNDS {
            let mut points = Vec::new();
            // Each is first in every other round.
            for index in 0..WALKS.len() {
                let each = WALKS[(index + round) % WALKS.len()];
                let used = used(shell, &pair(each))?;
                let all = (2 * (walks / each) * each) as f64;
                points.push((used.switches / all, used.cpu_ns / all));
            }
            seen.extend(slope(&points));
            if round % (ROUNDS / OBSERVED) == 0 {
                observed.push(observe(shell, &pair(1))?);
            }
        }
        Ok(Case {
            name: format!("{}, {kib} KiB", order.name()),
            seen: Spread::middle_half(&seen).ok_or("switches did not change")?,
            reported: Reported::new(&observed)?,
        })
    };
    let sizes = KIB
        .into_iter()
        .flat_map(|kib| Order::ALL.map(|order| (order, kib)));
    let cases = std::iter::once((Order::Sequential, 0)).chain(sizes);
    measure_each(cases.collect(), case)
}

/// Each case is told as it ends.
fn measure_each(
    cases: Vec<(Order, usize)>,
    measure: impl Fn((Order, usize)) -> Result<Case, String>,
) -> Result<Vec<Case>, String> {
    let mut progress = Progress::new("cases", cases.len());
    let measure = |case| {
        let case = measure(case)?;
        progress.advance_with(&case.text());
        Ok(case)
    };
    cases.into_iter().map(measure).collect()
}
