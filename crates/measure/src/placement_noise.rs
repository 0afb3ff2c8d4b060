//! What gives each repetition other places in memory than the last one had.
//!
//! What a repetition gives back, pages, kernel stacks, pipes, is the first that the kernel gives to the next one. All repetitions of a
//! run would then have the same places, and what depends on them (which lines of a physically indexed cache get in each other's way:
//! up to a quarter of a switch's cost with data as large as the second level) would be the same within a run and another in
//! the next. So some of each are taken first, as many as chance says, and held until the repetition is over.

use std::io;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use rand::Rng;
use switchcost_host::ipc::{Channel, Pipe};
use switchcost_host::memory::{MapType, Memory};
use switchcost_host::task::{Forked, fork};
use switchcost_units::Bytes;
use switchcost_workload::Pages;

/// Idle tasks at most: more than the kernel stacks that a CPU keeps for the next ones.
const MOST_TASKS: u32 = 8;
const MOST_PIPES: u32 = 16;
const MOST_PAGES: u64 = 1024;
const PAGE: u64 = 4096;
const WORDS_A_PAGE: usize = 512;

/// Held for the time of a repetition.
pub(crate) struct PlacementNoise {
    _memory: Option<Memory>,
    _pipes: Vec<Pipe>,
    _tasks: Vec<Forked>,
}

impl PlacementNoise {
    /// Draws the noise. What the system refuses is left out, and the repetition is as good as without it.
    pub(crate) fn draw(random: &mut impl Rng) -> PlacementNoise {
        let tasks = (0..random.random_range(0..MOST_TASKS))
            .filter_map(|_| fork(wait_for_ever).ok())
            .collect();
        let pipes = (0..random.random_range(0..MOST_PIPES))
            .filter_map(|_| filled().ok())
            .collect();
        let memory = Memory::map(
            Bytes(random.random_range(1..MOST_PAGES) * PAGE),
            MapType::Private,
            Pages::Base,
        )
        .ok();
        memory
            .iter()
            .flat_map(|memory| memory.iter().step_by(WORDS_A_PAGE))
            .for_each(|word| word.store(1, Relaxed));
        PlacementNoise {
            _memory: memory,
            _pipes: pipes,
            _tasks: tasks,
        }
    }
}

/// A pipe with a page of its own.
fn filled() -> io::Result<Pipe> {
    let pipe = Pipe::new()?;
    pipe.send()?;
    Ok(pipe)
}

fn wait_for_ever() -> io::Result<()> {
    loop {
        std::thread::sleep(Duration::from_secs(3600));
    }
}
