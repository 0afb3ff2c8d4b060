//! Runs passes on several threads.

use std::collections::{BTreeSet, VecDeque};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use switchcost_design::result::Interval;
use switchcost_trace::Chunk;

use super::parts::Fed;
use super::pass::{Pass, PassResult};

/// Maximum number of chunks between the fastest and the slowest pass. The time per chunk varies
/// between passes; with a smaller limit one CPU would wait for another.
const MOST_CHUNKS_APART: usize = 4;
/// Maximum number of threads. If there are more passes, several share a thread.
const MOST_WORKERS: usize = 64;

/// Threads of all passes. Each pass processes the chunks in order. Only a limited number of passes
/// runs at the same time.
#[derive(Debug)]
pub(super) struct Workers {
    turns: Arc<Turns>,
    workers: Vec<Worker>,
    /// Chunks that some pass has not taken yet, the oldest first.
    under_way: VecDeque<Arc<Chunk>>,
    /// Memory of chunks that all passes have taken.
    spare: Vec<Chunk>,
}

#[derive(Debug)]
struct Worker {
    chunks: Sender<(Arc<Chunk>, Fed)>,
    /// Channel from the thread: the intervals of segments that ended in each chunk.
    intervals: Receiver<Vec<Interval>>,
    thread: JoinHandle<Vec<PassResult>>,
}

impl Workers {
    /// Starts the threads, of which at most `most_at_once` run at the same time.
    ///
    /// # Errors
    ///
    /// If a thread cannot be started.
    pub(super) fn start(passes: Vec<Pass>, most_at_once: usize) -> std::io::Result<Workers> {
        let turns = Arc::new(Turns::new(most_at_once));
        let a_worker = passes.len().div_ceil(MOST_WORKERS).max(1);
        let mut workers = Vec::new();
        let mut passes = passes.into_iter();
        loop {
            let own: Vec<Pass> = passes.by_ref().take(a_worker).collect();
            if own.is_empty() {
                break;
            }
            workers.push(Worker::start(workers.len(), own, Arc::clone(&turns))?);
        }
        Ok(Workers {
            turns,
            workers,
            under_way: VecDeque::new(),
            spare: Vec::new(),
        })
    }

    /// Gives the chunk to all passes, and leaves an empty chunk in its place. If more than
    /// [`MOST_CHUNKS_APART`] chunks are unfinished, waits for the oldest chunk and appends its
    /// intervals, pass by pass.
    pub(super) fn feed(&mut self, chunk: &mut Chunk, fed: Fed, intervals: &mut Vec<Interval>) {
        if self.under_way.len() > MOST_CHUNKS_APART {
            self.wait_for_the_oldest(intervals);
        }
        let chunk = Arc::new(std::mem::replace(
            chunk,
            self.spare.pop().unwrap_or_default(),
        ));
        for worker in &self.workers {
            // A thread that has panicked is noticed by its missing intervals.
            let _ = worker.chunks.send((Arc::clone(&chunk), fed));
        }
        self.under_way.push_back(chunk);
    }

    /// Makes all passes skip the chunks that no pass has begun.
    pub(super) fn stop_early(&self) {
        let mut state = self.turns.lock();
        state.last = state.furthest;
    }

    /// Waits until all passes have finished all chunks, ends the threads, and returns the results.
    pub(super) fn finish(mut self, intervals: &mut Vec<Interval>) -> Vec<PassResult> {
        while !self.under_way.is_empty() {
            self.wait_for_the_oldest(intervals);
        }
        // All threads are told to end before any is joined, so that they end at the same time.
        let threads: Vec<_> = self.workers.into_iter().map(Worker::end).collect();
        threads.into_iter().flat_map(join).collect()
    }

    fn wait_for_the_oldest(&mut self, intervals: &mut Vec<Interval>) {
        let Some(chunk) = self.under_way.pop_front() else {
            return;
        };
        for number in 0..self.workers.len() {
            let Ok(mut more) = self.workers[number].intervals.recv() else {
                return drop(join(self.workers.swap_remove(number).end()));
            };
            intervals.append(&mut more);
        }
        if let Some(mut chunk) = Arc::into_inner(chunk) {
            chunk.clear();
            self.spare.push(chunk);
        }
    }
}

impl Worker {
    fn start(number: usize, mut passes: Vec<Pass>, turns: Arc<Turns>) -> std::io::Result<Worker> {
        let (chunks, next) = channel::<(Arc<Chunk>, Fed)>();
        let (give, intervals) = channel();
        let run = move || {
            for (chunk_number, (chunk, fed)) in next.iter().enumerate() {
                let mut ended = Vec::new();
                if let Some(_turn) = turns.wait(chunk_number, number) {
                    for pass in &mut passes {
                        pass.feed(&chunk, fed);
                        pass.take_intervals(&mut ended);
                    }
                }
                // The thread that receives the intervals of all passes then holds the last
                // reference, and reuses the memory.
                drop(chunk);
                if give.send(ended).is_err() {
                    break;
                }
            }
            // Finishing needs permission, too, and waits for the passes that have chunks left.
            let _turn = turns.wait(END, number);
            passes.into_iter().map(Pass::finish).collect()
        };
        let thread = std::thread::Builder::new()
            .name(format!("simulation {number}"))
            .spawn(run)?;
        Ok(Worker {
            chunks,
            intervals,
            thread,
        })
    }

    /// Closes the worker's channel after its last chunk, and returns the thread's handle.
    fn end(self) -> JoinHandle<Vec<PassResult>> {
        self.thread
    }
}

/// Waits for a thread.
///
/// # Panics
///
/// If the thread panicked.
fn join(thread: JoinHandle<Vec<PassResult>>) -> Vec<PassResult> {
    thread
        .join()
        .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

/// Order in which passes run: of the waiting passes, the one that is furthest behind is next. No
/// chunk is then delayed longer than needed.
#[derive(Debug)]
struct Turns {
    state: Mutex<TurnState>,
    has_changed: Condvar,
}

#[derive(Debug)]
struct TurnState {
    free: usize,
    /// Number of the latest chunk that any pass has begun.
    furthest: usize,
    /// Number of the last chunk that passes process; larger numbers are skipped.
    last: usize,
    /// Waiting passes: the number of the chunk that each waits for, and the number of its worker.
    waiting: BTreeSet<(usize, usize)>,
}

/// Chunk number that stands for the end of the trace, larger than all others.
const END: usize = usize::MAX;

/// Permission to run a chunk. Dropping this value ends the permission.
struct Turn<'a>(&'a Turns);

impl Turns {
    fn new(free: usize) -> Turns {
        Turns {
            state: Mutex::new(TurnState {
                free,
                furthest: 0,
                last: END,
                waiting: BTreeSet::new(),
            }),
            has_changed: Condvar::new(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, TurnState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for permission to run a chunk. Returns `None` if the chunk is skipped.
    fn wait(&self, chunk: usize, worker: usize) -> Option<Turn<'_>> {
        let own = (chunk, worker);
        let mut state = self.lock();
        state.waiting.insert(own);
        let mut state = self
            .has_changed
            .wait_while(state, |state| {
                state.free == 0 || state.waiting.first() != Some(&own)
            })
            .unwrap_or_else(PoisonError::into_inner);
        state.waiting.remove(&own);
        // More threads may be allowed to run, so the next one is woken, too.
        self.has_changed.notify_all();
        if chunk != END {
            if chunk > state.last {
                return None;
            }
            state.furthest = state.furthest.max(chunk);
        }
        state.free -= 1;
        Some(Turn(self))
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        self.0.lock().free += 1;
        self.0.has_changed.notify_all();
    }
}

#[cfg(test)]
mod tests {

    use super::super::check::tests::unfit_chunk;
    use super::super::parts::WHOLE;
    use super::super::runner::runners;
    use super::super::{Options, Pass};
    use super::*;

    #[test]
    fn who_stops_early_leaves_out_what_none_has_begun_with() {
        let turns = Arc::new(Turns::new(2));
        assert!(turns.wait(0, 0).is_some() && turns.wait(1, 0).is_some());
        let workers = Workers {
            turns: Arc::clone(&turns),
            workers: Vec::new(),
            under_way: VecDeque::new(),
            spare: Vec::new(),
        };
        workers.stop_early();
        assert!(turns.wait(0, 1).is_some() && turns.wait(1, 1).is_some());
        assert!(turns.wait(2, 0).is_none() && turns.wait(END, 0).is_some());
    }

    #[test]
    #[should_panic(expected = "mid > len")]
    fn a_thread_that_panics_panics_whoever_waits_for_it() {
        let designs = ["mogul-1a", "plain-lru"]
            .map(|name| switchcost_design::shipped::find(name).expect("a shipped design"));
        let passes = runners(designs.to_vec(), usize::MAX)
            .into_iter()
            .map(|runner| Pass::new(runner, Options::default()));
        let mut workers = Workers::start(passes.collect(), 2).expect("two threads");
        // The chunk was not checked.
        workers.feed(&mut unfit_chunk(), WHOLE, &mut Vec::new());
        workers.finish(&mut Vec::new());
    }
}
