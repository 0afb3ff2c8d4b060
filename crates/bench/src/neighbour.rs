//! Somebody who computes on another CPU of this machine in bursts, and stops in between: what most measurements have beside them.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

use switchcost_host::control::pin;
use switchcost_units::CpuId;

/// A burst, and a pause, in milliseconds: as long as those of a compilation or of a server.
const SHORTEST: u64 = 5;
const LONGEST: u64 = 305;

/// A neighbour at work until it is dropped.
pub(crate) struct Neighbour {
    is_over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Neighbour {
    /// It runs wherever the measurement, which has real-time priority, leaves room.
    pub(crate) fn start() -> Neighbour {
        Neighbour::begin(|| ())
    }

    /// On this CPU alone, whatever else runs.
    pub(crate) fn start_on(cpu: CpuId) -> Neighbour {
        Neighbour::begin(move || pin(&[cpu]))
    }

    fn begin<T>(prepare: impl FnOnce() -> T + Send + 'static) -> Neighbour {
        let is_over = Arc::new(AtomicBool::new(false));
        let own = Arc::clone(&is_over);
        let work = move || {
            let _held = prepare();
            disturb(&own);
        };
        Neighbour {
            is_over,
            thread: Some(std::thread::spawn(work)),
        }
    }
}

impl Drop for Neighbour {
    fn drop(&mut self) {
        self.is_over.store(true, Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn disturb(is_over: &AtomicBool) {
    // The same in each run.
    let mut dice = ChaCha8Rng::seed_from_u64(7);
    let mut length = || Duration::from_millis(dice.random_range(SHORTEST..LONGEST));
    while !is_over.load(Relaxed) {
        let (burst, start) = (length(), Instant::now());
        let mut value = 1.0_f64;
        while start.elapsed() < burst && !is_over.load(Relaxed) {
            for step in 0..100_000 {
                value = std::hint::black_box(value * 1.000_000_1 + f64::from(step));
            }
        }
        std::thread::sleep(length());
    }
}
