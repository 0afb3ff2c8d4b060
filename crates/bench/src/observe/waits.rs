//! A program that times the cost of its own waits. The program reads a byte, and then traverses its
//! memory. A partner sends one or two bytes at a time, so that some reads wait and others do not.

use std::hint::black_box;
use std::io::{self, Read, Write};
use std::ops::{Range, RangeInclusive};
use std::os::unix::process::parent_id;
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use switchcost_host::usage::own_switches;

use crate::lines::{cycle, follow, touch, zeros};

/// First argument that makes this program the one that waits. Its size in KiB follows, then the
/// partner's CPU, size in KiB and pause in microseconds.
pub(crate) const ARGUMENT: &str = "--waits";

/// First argument that makes this program the partner. Its size in KiB and its pause in
/// microseconds follow.
pub(crate) const PARTNER: &str = "--partner";

/// Time since the start in which the program times itself. `observe` starts to trace system calls
/// earlier, and stops later.
const TIMED: Range<Duration> = Duration::from_millis(1_500)..Duration::from_millis(4_200);
const END: Duration = Duration::from_secs(5);

const WALKS: usize = 4;
const WALK_BYTES: usize = 8 << 10;

/// Positions of the timed intervals after the read. Position 0 follows the read, and position 1 the
/// system call that counts switches.
pub(super) const POSITIONS: RangeInclusive<usize> = 2..=2 + WALKS;

/// Reciprocal of the share of values that are left out, as in `observe`. The largest values are
/// left out, because the host had the CPU in these intervals.
const CUT: usize = 100;

/// Times of the intervals in each round, in ns, for rounds with a wait or for rounds without.
type Arm = Vec<[f64; 1 + WALKS]>;

/// Prints the cost of a wait over all timed intervals, in ns.
pub(crate) fn play(words: &[String]) -> io::Result<()> {
    let [kib, cpu, partner @ ..] = words else {
        return Err(io::ErrorKind::InvalidInput.into());
    };
    let bytes = parse(kib)? << 10;
    let mut partner = Command::new("taskset")
        .args(["-c", cpu])
        .arg(std::env::current_exe()?)
        .arg(PARTNER)
        .args(partner)
        .stdout(Stdio::piped())
        .spawn()?;
    let bytes_sent = partner.stdout.take().ok_or(io::ErrorKind::BrokenPipe)?;
    let arms = time_rounds(bytes, bytes_sent);
    partner.kill()?;
    partner.wait()?;
    println!("{}", excess_ns(&arms?));
    Ok(())
}

fn parse(word: &str) -> io::Result<usize> {
    word.parse().map_err(io::Error::other)
}

fn time_rounds(bytes: usize, mut from: impl Read) -> io::Result<[Arm; 2]> {
    let cycle = cycle(bytes);
    let (mut at, steps) = (0, bytes as u64 / 64);
    let mut walks: [Vec<u64>; WALKS] = std::array::from_fn(|_| zeros(WALK_BYTES));
    let mut arms = [Arm::new(), Arm::new()];
    let start = Instant::now();
    let mut before = own_switches();
    while start.elapsed() < END {
        from.read_exact(&mut [0])?;
        let begun = own_switches();
        let is_timed = TIMED.contains(&start.elapsed());
        let mut round = [0.0; 1 + WALKS];
        round[0] = time_ns(|| at = black_box(follow(&cycle, at, steps)));
        for (walk, ns) in walks.iter_mut().zip(&mut round[1..]) {
            *ns = time_ns(|| touch(walk));
        }
        let done = own_switches();
        if is_timed && done == begun {
            let has_waited = begun.since(before).voluntary > 0;
            arms[usize::from(has_waited)].push(round);
        }
        before = done;
    }
    Ok(arms)
}

/// Returns the time of `work` in ns. A system call that never waits precedes the work.
fn time_ns(work: impl FnOnce()) -> f64 {
    black_box(parent_id());
    let start = Instant::now();
    work();
    start.elapsed().as_nanos() as f64
}

/// Returns the additional time of all intervals together after waits, in ns.
fn excess_ns([others, waits]: &[Arm; 2]) -> f64 {
    let excess = |interval| mean(waits, interval) - mean(others, interval);
    (0..=WALKS).map(excess).sum()
}

fn mean(arm: &Arm, interval: usize) -> f64 {
    let mut values: Vec<f64> = arm.iter().map(|round| round[interval]).collect();
    values.sort_by(f64::total_cmp);
    values.truncate(values.len() - values.len() / CUT);
    values.iter().sum::<f64>() / values.len() as f64
}

/// Acts as the partner: repeatedly touches its memory, and sends one or two bytes.
pub(crate) fn send(words: &[String]) -> io::Result<()> {
    let [kib, pause_us] = words else {
        return Err(io::ErrorKind::InvalidInput.into());
    };
    let mut memory = zeros(parse(kib)? << 10);
    let pause_us = parse(pause_us)? as u64;
    let mut dice = ChaCha8Rng::seed_from_u64(7);
    let mut output = io::stdout().lock();
    loop {
        let pause_us = dice.random_range(pause_us * 7 / 10..pause_us * 13 / 10);
        sleep(Duration::from_micros(pause_us));
        touch(&mut memory);
        output.write_all(&b"ab"[dice.random_range(0..2)..])?;
        output.flush()?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_costs_what_its_intervals_are_longer_without_the_largest() {
        let mut waits = vec![[30.0; 1 + WALKS]; 199];
        waits.push([1e6; 1 + WALKS]);
        assert_eq!(excess_ns(&[vec![[10.0; 1 + WALKS]; 2], waits]), 100.0);
    }

    #[test]
    fn it_needs_its_words() {
        let words = |words: &[&str]| -> Vec<String> {
            words.iter().map(|word| (*word).to_owned()).collect()
        };
        assert!(play(&words(&["64"])).is_err() && play(&words(&["x", "0"])).is_err());
        assert!(send(&words(&["64"])).is_err() && send(&words(&["x", "1"])).is_err());
    }
}
