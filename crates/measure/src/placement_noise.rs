//! Randomises the placement in memory of each repetition.
//!
//! The kernel gives the pages, kernel stacks and pipes of a repetition to the next one. Without
//! this module, all repetitions of a run would have the same placement. The placement decides which
//! lines of a physically indexed cache conflict, which changes the cost of a switch by up to a
//! quarter if the data are as large as the second level. The effect would be the same within a run,
//! and different in the next. So a random number of pages, stacks and pipes is allocated before
//! each repetition, and held until its end.

use std::io;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use rand::Rng;
use switchcost_host::ipc::{Channel, Pipe};
use switchcost_host::memory::{MapType, Memory};
use switchcost_host::task::{Forked, fork};
use switchcost_units::Bytes;
use switchcost_workload::Pages;

/// Exclusive upper limit of the number of idle tasks: more than the kernel stacks that a CPU keeps
/// for reuse.
const MOST_TASKS: u32 = 8;
const MOST_PIPES: u32 = 16;
const MOST_PAGES: u64 = 1024;
const PAGE: u64 = 4096;
const WORDS_A_PAGE: usize = 512;

/// A random number of pages, pipes and idle tasks. These resources are held during a repetition, so
/// that its placement in memory differs from that of other repetitions.
pub(crate) struct PlacementNoise {
    _memory: Option<Memory>,
    _pipes: Vec<Pipe>,
    _tasks: Vec<Forked>,
}

impl PlacementNoise {
    /// Allocates a random number of pages, pipes and idle tasks. What the system refuses is left
    /// out; the placement is then less random.
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

/// Creates a pipe that occupies a page.
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
