//! What a profile says of a program that is observed, by its instructions in a nanosecond.

use switchcost_record::observation::{Cost, CountedTurns, KnownLines, KnownPoint};
use switchcost_record::profile::{Prices, Profile};
use switchcost_units::{Bytes, Nanos};

use super::reload;

/// Usual number of a program's own instructions per nanosecond of its CPU time: two a cycle for half of the time at 1 GHz, or one for a
/// third of the time at 3 GHz.
const USUAL: f64 = 1.0;
/// Most instructions per nanosecond: ten a cycle at 4.8 GHz, as many as the widest cores begin.
const FASTEST: f64 = 48.0;

/// Instructions that a program executes per nanosecond of CPU time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct InstructionRate {
    usual: f64,
    most: f64,
}

impl InstructionRate {
    /// The counted rate, or the usual rate of any program if nothing was counted.
    pub fn new(counted: &CountedTurns) -> InstructionRate {
        match counted.instructions_per_ns() {
            Some(usual) if usual > 0.0 => InstructionRate {
                usual,
                most: (counted.most_instructions_per_us + 1) as f64 / 1e3,
            },
            _ => InstructionRate {
                usual: USUAL,
                most: FASTEST,
            },
        }
    }
}

/// Likely costs of a switch by what others touched and by how long the program then runs, with the kernel's switch path.
pub fn points(profile: &Profile, prices: &Prices, rate: InstructionRate) -> Vec<KnownPoint> {
    let mut footprints: Vec<Bytes> = prices.lines.iter().map(|price| price.away_bytes).collect();
    footprints.sort_unstable();
    footprints.dedup();
    // Every other doubling: between them it goes straight.
    let times = || profile.times_instructions.iter().rev().step_by(2).rev();
    let points = footprints
        .into_iter()
        .flat_map(|away| times().map(move |time| (away, *time)));
    points
        .map(|(away_bytes, instructions)| {
            let [low_ns, ns, high_ns] = reload(profile, prices, away_bytes, instructions as f64)
                .with_switch_path()
                .map(|ns| ns.max(0.0));
            let ran_ns = Nanos((instructions as f64 / rate.usual) as u64);
            KnownPoint {
                away_bytes,
                away_ns: None,
                ran_ns,
                cost: Cost {
                    ns,
                    low_ns,
                    high_ns,
                },
            }
        })
        .collect()
}

/// 90th percentile over switch points of lines used within each time, in the time slice with the most instructions for its length.
pub fn most_lines(profile: &Profile, rate: InstructionRate) -> Vec<KnownLines> {
    let times = profile.times_instructions.iter().zip(&profile.lines);
    times
        .map(|(instructions, lines)| KnownLines {
            ran_ns: Nanos((*instructions as f64 / rate.most) as u64),
            lines: lines.p90.max(lines.mean),
        })
        .collect()
}
