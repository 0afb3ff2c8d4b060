//! A task that takes the CPU for a while, again and again, and touches memory meanwhile. Started as this program with [`ARGUMENT`] first.

use std::io;
use std::thread::sleep;
use std::time::{Duration, Instant};

use switchcost_host::control::{StepsBelowTop, limit_real_time, set_policy};
use switchcost_record::Policy;
use switchcost_units::Nanos;

use super::order::Order;

/// First of the words that ask for it: then the period and what of it is taken, in microseconds, the KiB, and milliseconds.
pub(crate) const ARGUMENT: &str = "--turns";

/// No other task may want the CPU for longer than so.
const LONGEST: Nanos = Nanos(50_000_000);

/// Words between two looks at the clock.
const BETWEEN_LOOKS: usize = 2 << 10;

pub(crate) fn play(words: &[String]) -> io::Result<()> {
    let numbers: Option<Vec<u64>> = words.iter().map(|word| word.parse().ok()).collect();
    let Some([period_us, taken_us, kib, length_ms]) = numbers.as_deref() else {
        return Err(io::ErrorKind::InvalidInput.into());
    };
    let mut memory = Order::WordALine.array(*kib as usize * 1024);
    limit_real_time(LONGEST)?;
    let _policy = set_policy(Policy::Fifo, StepsBelowTop(50))?;
    let [period, taken] = [*period_us, *taken_us].map(Duration::from_micros);
    let mut next = Instant::now();
    let end = next + Duration::from_millis(*length_ms);
    let parts = memory.len().div_ceil(BETWEEN_LOOKS);
    let mut part = 0;
    while next < end {
        let began = Instant::now();
        while began.elapsed() < taken {
            if let Some(words) = memory.chunks_mut(BETWEEN_LOOKS).nth(part) {
                Order::WordALine.walk(words);
            }
            part = (part + 1) % parts.max(1);
        }
        next = (next + period).max(Instant::now());
        sleep(next.saturating_duration_since(Instant::now()));
    }
    Ok(())
}
