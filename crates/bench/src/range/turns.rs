//! Somebody who takes the CPU for a while, again and again, and touches memory meanwhile. Started as this program with [`ARGUMENT`] first.

use std::io;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use switchcost_host::control::{StepsBelowTop, limit_real_time, set_policy};
use switchcost_record::Policy;
use switchcost_units::Nanos;

use crate::observed::CPU;

/// First of the words that ask for it: then the period and what of it is taken, in microseconds, the bytes, and milliseconds.
pub(crate) const ARGUMENT: &str = "--turns";

/// No other task may want the CPU for longer than so.
const LONGEST: Nanos = Nanos(50_000_000);

/// Bytes between two looks at the clock.
const SOME: usize = 16 << 10;

/// How it takes half of a CPU.
#[derive(Clone, Copy, Debug)]
pub(super) struct Turns {
    /// From one turn to the next, in microseconds.
    pub(super) period_us: u64,
    pub(super) bytes: usize,
}

impl Turns {
    /// On the CPU of the observed for so long. It ends by itself.
    pub(super) fn start(self, length: Duration) -> Result<Child, String> {
        let own = std::env::current_exe().map_err(|error| error.to_string())?;
        let words = [
            self.period_us,
            self.period_us / 2,
            self.bytes as u64,
            length.as_millis() as u64,
        ];
        let mut command = Command::new("taskset");
        command
            .args(["-c", CPU])
            .arg(own)
            .arg(ARGUMENT)
            .args(words.map(|word| word.to_string()));
        command
            .stdin(Stdio::null())
            .spawn()
            .map_err(|error| error.to_string())
    }
}

pub(crate) fn play(words: &[String]) -> io::Result<()> {
    let numbers: Option<Vec<u64>> = words.iter().map(|word| word.parse().ok()).collect();
    let Some([period, taken, bytes, length]) = numbers.as_deref() else {
        return Err(io::ErrorKind::InvalidInput.into());
    };
    let mut memory = vec![1u8; *bytes as usize];
    limit_real_time(LONGEST)?;
    let _policy = set_policy(Policy::Fifo, StepsBelowTop(50))?;
    let (period, taken) = (
        Duration::from_micros(*period),
        Duration::from_micros(*taken),
    );
    let (end, mut next) = (
        Instant::now() + Duration::from_millis(*length),
        Instant::now(),
    );
    let mut at = 0;
    while next < end {
        let began = Instant::now();
        while began.elapsed() < taken {
            at = touch(&mut memory, at);
        }
        next = (next + period).max(Instant::now());
        sleep(next.saturating_duration_since(Instant::now()));
    }
    Ok(())
}

/// Writes to some lines from here on, and tells where the next ones are.
fn touch(memory: &mut [u8], at: usize) -> usize {
    let end = (at + SOME).min(memory.len());
    std::hint::black_box(&mut memory[at..end])
        .iter_mut()
        .step_by(64)
        .for_each(|byte| *byte = byte.wrapping_add(1));
    if end < memory.len() { end } else { 0 }
}
