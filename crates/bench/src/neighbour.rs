//! Runs a command next to another task, which computes in bursts with pauses in between. The
//! command line is `--neighbour CPU COMMAND`, where CPU is a number or `any`.

use std::io;
use std::process::Command;
use std::thread::sleep;
use std::time::{Duration, Instant};

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use switchcost_host::control::pin;
use switchcost_units::CpuId;

pub(crate) const ARGUMENT: &str = "--neighbour";

/// Shortest burst and shortest pause in milliseconds, as of a compilation or a server.
const SHORTEST: u64 = 5;
const LONGEST: u64 = 305;

/// Runs the command to its end. The other task ends with this process.
pub(crate) fn play(words: &[String]) -> io::Result<()> {
    let [cpu, program, words @ ..] = words else {
        return Err(io::ErrorKind::InvalidInput.into());
    };
    let cpu = cpu.parse().ok().map(CpuId);
    std::thread::spawn(move || {
        // Without a CPU of its own, the other task runs wherever the measurement, which has
        // real-time priority, leaves time.
        let _pinned = cpu.map(|cpu| pin(&[cpu]));
        disturb()
    });
    let status = Command::new(program).args(words).status()?;
    std::process::exit(status.code().unwrap_or(1))
}

fn disturb() {
    // The seed is the same in each run.
    let mut dice = ChaCha8Rng::seed_from_u64(7);
    let mut length = || Duration::from_millis(dice.random_range(SHORTEST..LONGEST));
    loop {
        let (burst, start) = (length(), Instant::now());
        let mut value = 1.0_f64;
        while start.elapsed() < burst {
            for step in 0..100_000 {
                value = std::hint::black_box(value * 1.000_000_1 + f64::from(step));
            }
        }
        sleep(length());
    }
}
